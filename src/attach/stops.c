/* stops - see stops.h. */
#include "attach/stops.h"

#include "base/count.h"
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#define STEP_NS 250000
#define STEP_FIRST_NS 20000
#define STEPS_FIRST 20

void stops_nap(long ns)
{
    struct timespec t = {0, ns};

    nanosleep(&t, NULL);
}

bool stops_told_to_end(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    bool told = false;
    sigset_t pending;

    sigpending(&pending);
    for (int i = 0; i < COUNT(signals); i++)
        told |= sigismember(&pending, signals[i]) == 1;
    return told;
}

bool stops_wait(int tid, int *status, int tries)
{
    for (int i = 0; i < tries; i++) {
        pid_t got = waitpid(tid, status, __WALL | WNOHANG);

        if (got == tid)
            return WIFSTOPPED(*status);
        if (got < 0 && errno != EINTR)
            return false;
        stops_nap(i > STEPS_FIRST ? STEP_NS : STEP_FIRST_NS);
    }
    return false;
}

bool stops_is_ours(int status)
{
    return status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
}

/* One that runs stops when it is its turn: to give up before would leave it behind, half stopped.
 */
static bool wait_patiently(int tid, int *status)
{
    for (int i = 0; i < STOPS_PATIENCE / STOPS_TRIES; i++) {
        errno = 0;
        if (stops_wait(tid, status, STOPS_TRIES))
            return true;
        if (errno == ECHILD || WIFEXITED(*status) || WIFSIGNALED(*status) || stops_told_to_end())
            return false;
    }
    return false;
}

/* Signals pass on their way. */
bool stops_interrupt(int tid)
{
    int status = -1;

    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0)
        return false;
    while (wait_patiently(tid, &status)) {
        if (stops_is_ours(status))
            return true;
        if (status >> 16 == PTRACE_EVENT_STOP)
            return false; /* job control */
        if (ptrace(PTRACE_CONT, tid, NULL, (void *)(long)WSTOPSIG(status)) < 0)
            return false;
    }
    return false;
}
