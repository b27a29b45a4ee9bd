/* parting - the command has ended, or enough was seen: who is left behind, who is to end as well,
 * and whom we leave as we found them. See watcher.h.
 */
#include "attach/attach.h"
#include "collect/collect.h"
#include "watch/watcher.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LAST_NS 200000 /* a dying process takes about this long */
#define LAST_MOST 500
#define SWEEPS_MOST 50
#define SWEEP_NS 10000000

static bool somebody_dies(const struct tree *t)
{
    for (int i = 0; i < t->live_count; i++)
        if (t->live[i].zombie)
            return true;
    return false;
}

void parting_endings(struct watcher *w, uint64_t ended_ns)
{
    struct timespec moment = {0, LAST_NS};

    watcher_read(w, ended_ns);
    endings_take(w);
    for (int i = 0; i < LAST_MOST && somebody_dies(&w->tree); i++) {
        nanosleep(&moment, NULL);
        endings_take(w);
    }
    if (somebody_dies(&w->tree) || w->tree.alive)
        bound_unknown(&w->tree.bound,
                      "a process outlived the command, and with it the account of the children "
                      "it had waited for");
}

/* All that were killed are waited for: the kernel tells of an end before there is something to wait
 * for.
 */
static void reap_killed(struct watcher *w)
{
    struct timespec moment = {0, LAST_NS};
    siginfo_t any;

    for (int i = 0; i < LAST_MOST && waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) == 0;
         i++) {
        nanosleep(&moment, NULL);
        endings_take(w);
    }
}

/* The tree is to be ended: kill until nothing of it is left, for it may go on forking. */
static void sweep_all(struct watcher *w)
{
    struct timespec moment = {0, SWEEP_NS};

    for (int i = 0; i < SWEEPS_MOST; i++) {
        watcher_read(w, watcher_mono());
        if (!tree_kill(&w->tree, SIGKILL)) {
            reap_killed(w);
            return;
        }
        nanosleep(&moment, NULL);
        endings_take(w);
    }
}

/* The command died of a signal that we passed on: what it left behind in our session goes, too. */
static void sweep_session(struct watcher *w)
{
    pid_t session = getsid(0);

    watcher_read(w, watcher_mono());
    for (int i = 0; i < w->tree.live_count; i++)
        if (getsid(w->tree.live[i].proc.pid) == session)
            kill(w->tree.live[i].proc.pid, w->passed_on);
}

void parting_sweep(struct watcher *w)
{
    if (w->stopping)
        sweep_all(w);
    else if (w->root && WIFSIGNALED(w->status) && WTERMSIG(w->status) == w->passed_on)
        sweep_session(w);
}

static void leave_one(void *context, int pid)
{
    struct err ignored;

    (void)context;
    attach_leave(pid, &ignored); /* the hooks that then stay do nothing: the mode is off */
}

void parting_leave(struct watcher *w)
{
    if (!w->o->library)
        return;
    if (collect_wants_reach(w->o->collect))
        looks_take(w, NULL);
    collect_mode(w->o->collect, RING_OFF);
    collect_pass(w->o->collect);
    if (!w->o->self_loading)
        collect_each(w->o->collect, leave_one, NULL);
}
