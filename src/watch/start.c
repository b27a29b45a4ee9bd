/* start - what is watched: the command, which we launch, or processes that run already. See
 * watcher.h.
 */
#include "attach/attach.h"
#include "collect/collect.h"
#include "watch/launch.h"
#include "watch/watcher.h"

#include <errno.h>
#include <signal.h>

static int check_pid(int pid, struct err *err)
{
    if (!kill(pid, 0))
        return 0;
    if (errno == EPERM)
        return err_code(
            err, 125, "process %d belongs to another user; watch it as that user or as root", pid);
    return err_code(err, 125, "there is no process %d", pid);
}

static int enter_found(struct watcher *w, struct err *err)
{
    bool no_cpu = false;

    collect_expect(w->o->collect, w->o->pids[0]);
    if (attach_enter(w->o->pids[0], w->o->library, collect_ring(w->o->collect), &no_cpu, err) < 0)
        return -1;
    if (no_cpu && w->o->on_confined)
        w->o->on_confined(w->o->context);
    return 0;
}

int start_found(struct watcher *w, struct err *err)
{
    for (size_t i = 0; i < w->o->pid_count; i++)
        if (check_pid(w->o->pids[i], err) < 0)
            return -1;
    for (size_t i = 0; i < w->o->pid_count; i++)
        if (proc_is_kernel(w->o->pids[i]))
            return err_code(err, 125,
                            "process %d belongs to the kernel: it has no memory of its own",
                            w->o->pids[i]);
    for (size_t i = 0; i < w->o->pid_count; i++)
        if (!tree_has(&w->tree, w->o->pids[i]))
            tree_add(&w->tree, w->o->pids[i], -1, TRACE_BORN_FOUND);
    if (!w->tree.live_count)
        return err_code(err, 125, "process %d has just ended", w->o->pids[0]);
    w->result->main_pid = w->o->pids[0];
    return w->o->library && !w->o->self_loading ? enter_found(w, err) : 0;
}

int start_command(struct watcher *w, struct err *err)
{
    struct launch l = {.argv = w->o->argv,
                       .environment = w->o->environment,
                       .mute = w->o->mute,
                       .mask = &w->mask,
                       .ignores_children = w->ignored_children,
                       .gated = w->traced};

    self_adopt(true);
    w->root = launch(&l, err);
    w->tree.floor = l.floor;
    if (w->root < 0)
        return -1;
    w->result->main_pid = w->root;
    if (w->o->collect)
        collect_launched(w->o->collect);
    if (w->traced && stops_begin(w->root, err) < 0) {
        kill(w->root, SIGKILL);
        return -1;
    }
    tree_add(&w->tree, w->root, -1, TRACE_BORN_LAUNCHED);
    if (w->recorder.cover && w->recorder.processes)
        coverage_launched(&w->recorder.coverage, w->recorder.processes, w->o->argv[0]);
    return w->traced ? launch_release(&l, err) : 0;
}
