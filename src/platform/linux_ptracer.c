/* linux_ptracer - the stops of platform.h. They need no privilege, slow fork and thread creation,
 * keep other debuggers out, and a set-user-id program runs without its privilege under them.
 */
#include "platform/platform.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

const char stops_method[] = "ptrace";

int stops_begin(int pid, struct err *err)
{
    long options = PTRACE_O_TRACEEXIT | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                   PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;

    if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)options) < 0)
        return err_set(err, "cannot trace the command: %s", strerror(errno));
    return 0;
}

static int event_of(int status)
{
    return status >> 16;
}

/* At the exit stop of a thread the memory is still there. */
static void read_exit(struct stop *s)
{
    struct proc_reading r = {.rss_peak = ABSENT, .vsz_peak = ABSENT};
    struct proc p;

    s->at_exit = true;
    if (proc_open(&p, s->pid, false) || proc_read_status(&p, &r))
        return;
    s->process = r.tgid;
    s->rss_peak = r.rss_peak;
    s->vsz_peak = r.vsz_peak;
}

static int child_of(int pid)
{
    unsigned long child = 0;

    ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child);
    return (int)child;
}

bool stops_next(struct stop *s)
{
    int event;

    *s = (struct stop){.rss_peak = ABSENT, .vsz_peak = ABSENT};
    s->pid = wait4(-1, &s->status, WNOHANG | __WALL, &s->usage);
    if (s->pid <= 0)
        return false;
    s->stopped = WIFSTOPPED(s->status);
    event = s->stopped ? event_of(s->status) : 0;
    if (event == PTRACE_EVENT_EXIT)
        read_exit(s);
    else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK)
        s->child = child_of(s->pid);
    return true;
}

void stops_resume(const struct stop *s)
{
    int event = event_of(s->status), sig = WSTOPSIG(s->status);

    if (event == PTRACE_EVENT_STOP &&
        (sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU))
        ptrace(PTRACE_LISTEN, s->pid, NULL, NULL); /* a stop of job control stays one */
    else
        ptrace(PTRACE_CONT, s->pid, NULL, (void *)(long)(event ? 0 : sig));
}
