#include "watch/ptracer.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

int ptracer_seize(int pid, struct err *err)
{
    long options = PTRACE_O_TRACEEXIT | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                   PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;

    if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)options) < 0)
        return err_set(err, "cannot trace the command: %s", strerror(errno));
    return 0;
}

/* At the exit stop of a thread the memory is still there. The marks that the last one shows are
 * final; the process's end itself comes with its wait status.
 */
static void read_exit(struct tree *t, int tid)
{
    struct proc_reading r = {.rss_peak = ABSENT, .vsz_peak = ABSENT};
    struct proc p;

    if (!proc_open(&p, tid, false) && !proc_read_status(&p, &r))
        tree_marks(t, r.tgid, r.rss_peak, r.vsz_peak);
}

static void handle_event(struct tree *t, int pid, int event)
{
    unsigned long child = 0;

    if (event == PTRACE_EVENT_EXIT)
        read_exit(t, pid);
    if (event != PTRACE_EVENT_FORK && event != PTRACE_EVENT_VFORK)
        return;
    ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child);
    if (!tree_has(t, (int)child))
        tree_add(t, (int)child, -1, TRACE_BORN_FORKED);
}

bool ptracer_at_exit(int status)
{
    return WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_EXIT;
}

bool ptracer_stopped(struct tree *t, int pid, int status)
{
    int event = status >> 16, sig;

    if (!WIFSTOPPED(status))
        return false;
    sig = WSTOPSIG(status);
    handle_event(t, pid, event);
    if (event == PTRACE_EVENT_STOP &&
        (sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU))
        ptrace(PTRACE_LISTEN, pid, NULL, NULL); /* a stop of job control stays one */
    else
        ptrace(PTRACE_CONT, pid, NULL, (void *)(long)(event ? 0 : sig));
    return true;
}
