/* sigs COUNT - print "ready PID", then a line "got NAME" for each signal that arrives.
 *
 * Ends with 0 after COUNT signals. Every signal that can be caught is taken by sigwaitinfo, so it
 * neither stops nor kills, and two of the same kind sent one after the other are both seen as long
 * as the sender waits for the line. SIGCHLD and SIGCONT are left alone.
 */
#include "target.h"

#include <signal.h>
#include <string.h>

int main(int argc, char **argv)
{
    long count = target_number(argc, argv, 1, 1);
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGCHLD);
    sigdelset(&all, SIGCONT);
    sigprocmask(SIG_SETMASK, &all, NULL);
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    while (count > 0) {
        int signo = sigwaitinfo(&all, NULL);
        if (signo < 0)
            continue;
        printf("got %s\n", signo < SIGRTMIN ? sigabbrev_np(signo) : "RT");
        fflush(stdout);
        count--;
    }
    return 0;
}
