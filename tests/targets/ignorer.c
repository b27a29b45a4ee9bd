/* ignorer MIB [KIDS] - ignore what asks politely to end, touch MIB, print "ready PID", stay.
 *
 * Only SIGKILL ends it and its KIDS children, which do the same; or a minute, so that a failed test
 * leaves nothing behind.
 */
#include "target.h"

#include <signal.h>

int main(int argc, char **argv)
{
    const int polite[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof polite / sizeof *polite; i++)
        signal(polite[i], SIG_IGN);
    pid_t pid = 1;
    for (long kids = target_number(argc, argv, 2, 0); pid > 0 && kids > 0; kids--)
        pid = fork();
    if (pid < 0)
        target_fail("fork");
    alarm(60);
    printf("%s %d\n", pid ? "ready" : "child", (int)getpid());
    fflush(stdout);
    target_touch((size_t)target_number(argc, argv, 1, 0) * MIB);
    for (;;)
        pause();
}
