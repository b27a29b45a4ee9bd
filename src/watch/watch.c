#include "watch/watch.h"

#include "base/memory.h"
#include "watch/attach.h"
#include "watch/collect.h"
#include "watch/control.h"
#include "watch/launch.h"
#include "watch/ptracer.h"
#include "watch/watcher.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FIRST_NS 1500000u /* after exec: a command that ends at once should not wait for us */
#define COUNTER_LAG                                                                                \
    (256u << 10)       /* what we may still touch before exec, and what the kernel may count late */
#define LAST_NS 200000 /* a dying process takes about this long */
#define LAST_MOST 500
#define SWEEPS_MOST 50
#define SWEEP_NS 10000000

static uint64_t now_on(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

uint64_t watcher_mono(void)
{
    return now_on(CLOCK_MONOTONIC);
}

uint64_t watcher_real(void)
{
    return now_on(CLOCK_REALTIME);
}

void watcher_read(struct watcher *w, uint64_t mono_ns)
{
    if (w->o->collect)
        collect_look(w->o->collect);
    tree_read(&w->tree, mono_ns, watcher_real());
}

void watcher_range(struct watch_range *r, uint64_t value)
{
    if (!r->count || value < r->least)
        r->least = value;
    if (value > r->most)
        r->most = value;
    r->sum += (double)value;
    r->count++;
}

/* ---- endings ---- */

static void add_usage(struct watcher *w, const struct rusage *u)
{
    w->result->user_ns += (uint64_t)u->ru_utime.tv_sec * SECOND_NS +
                          (uint64_t)u->ru_utime.tv_usec * 1000;
    w->result->system_ns += (uint64_t)u->ru_stime.tv_sec * SECOND_NS +
                            (uint64_t)u->ru_stime.tv_usec * 1000;
    w->result->minor_faults += (uint64_t)u->ru_minflt;
    w->result->major_faults += (uint64_t)u->ru_majflt;
}

/* A process ended and can be, or was, waited for. */
static void note_end(struct watcher *w, int pid, int status, const struct rusage *usage,
                     const struct proc_reading *zombie)
{
    struct tree_end end = {
        .pid = pid,
        .ppid = zombie ? zombie->ppid : 0,
        .name = zombie ? zombie->name : NULL,
        .waited = true,
        .rss = ABSENT,
        .vsz = ABSENT,
        .maxrss = (uint64_t)usage->ru_maxrss * 1024,
        .minor_faults = zombie ? zombie->minor_faults : ABSENT,
        .child_faults = zombie ? zombie->child_minor_faults : ABSENT,
        .lived_ns = ABSENT,
        .ignored_children = zombie && zombie->ignores_children,
        .how = WIFSIGNALED(status) ? TRACE_END_SIGNALED : TRACE_END_EXITED,
        .status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
    };

    w->tree.now_ns = watcher_mono();
    if (w->tree.children || pid == w->root)
        tree_ended(&w->tree, &end);
    if (!zombie || zombie->ppid == w->tree.self) /* its usage holds all that it waited for */
        add_usage(w, usage);
    if (pid == w->root) {
        w->status = status;
        w->done = true;
    }
}

/* Look at each zombie before it is taken away: its fault counts tell what its marks cannot. */
static void reap(struct watcher *w)
{
    siginfo_t info = {0};

    while (!waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid) {
        struct proc_reading zombie = {0};
        struct proc p;
        struct rusage usage;
        bool read;
        int status;

        read = !proc_open(&p, info.si_pid, false) && !proc_read_stat(&p, &zombie);
        if (wait4(info.si_pid, &status, 0, &usage) == info.si_pid)
            note_end(w, info.si_pid, status, &usage, read ? &zombie : NULL);
        info.si_pid = 0;
    }
}

static void reap_traced(struct watcher *w)
{
    struct rusage usage;
    int status, pid;

    while ((pid = wait4(-1, &status, WNOHANG | __WALL, &usage)) > 0) {
        struct proc_reading r = {.ppid = pid == w->root ? w->tree.self : 0,
                                 .minor_faults = ABSENT,
                                 .child_minor_faults = ABSENT};

        if (ptracer_at_exit(status))
            tick_at_ending(w); /* the dying still holds its memory */
        if (ptracer_stopped(&w->tree, pid, status) || (!tree_has(&w->tree, pid) && pid != w->root))
            continue;
        note_end(w, pid, status, &usage, &r);
        tick_at_ending(w);
    }
}

static void take_endings(struct watcher *w)
{
    if (w->o->collect) /* while the tree knows who they are */
        collect_look(w->o->collect);
    if (w->records.fd >= 0)
        taskstats_drain(&w->records, &w->tree);
    if (w->traced)
        reap_traced(w);
    else
        reap(w);
}

/* ---- signals ---- */

static void pause_ourselves(struct watcher *w)
{
    if (w->o->on_pause)
        w->o->on_pause(w->o->context, true);
    kill(getpid(), SIGSTOP);
    w->next_ns = watcher_mono();
    if (w->o->on_pause)
        w->o->on_pause(w->o->context, false);
}

/* What the terminal sends reaches the whole group, the command included: nothing to pass on. The
 * same for a signal that a process of the tree sent, which is meant for its group.
 */
static void pass_on(struct watcher *w, const struct signalfd_siginfo *s)
{
    int sig = (int)s->ssi_signo, from = (int)s->ssi_pid;
    bool stop = sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;

    if (s->ssi_code <= 0 && from != getpid() && !tree_has(&w->tree, from)) {
        kill(w->root, sig);
        w->passed_on = sig;
    }
    if (stop)
        pause_ourselves(w);
}

static void take_signals(struct watcher *w)
{
    struct signalfd_siginfo s[8];
    ssize_t n = read(w->signals, s, sizeof(s));

    for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(s[0]); i++) {
        int sig = (int)s[i].ssi_signo;

        if (sig == SIGCHLD)
            take_endings(w);
        else if (w->root)
            pass_on(w, &s[i]);
        else if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT)
            w->done = true; /* enough seen of processes that are not ours */
        else if (sig == SIGTSTP)
            pause_ourselves(w);
    }
}

/* ---- what we are told ---- */

static void obey(struct watcher *w, int fd, const char *said)
{
    char answer[CONTROL_TEXT] = "ok";
    uint64_t at;

    if (strcmp(said, "pause") == 0 || strcmp(said, "resume") == 0) {
        collect_pause(w->o->collect, said[0] == 'p');
    } else if (strncmp(said, "snapshot ", 9) == 0) {
        at = collect_snapshot(w->o->collect, said + 9);
        snprintf(answer, sizeof(answer), "ok %.6f", (double)at / 1e9);
    } else if (strcmp(said, "detach") == 0 && !w->root) {
        w->done = true;
    } else if (strcmp(said, "detach") == 0) {
        snprintf(answer, sizeof(answer),
                 "it was started by 'tidemark record', whose recording ends with it");
    } else {
        snprintf(answer, sizeof(answer),
                 "the recorder, which is of another version, does not understand");
    }
    control_answer(fd, answer);
    if (!w->done)
        close(fd); /* else our end tells that the trace is whole */
}

static void listen_to(struct watcher *w)
{
    char said[CONTROL_TEXT];
    int fd = control_accept(w->control, said);

    if (fd >= 0)
        obey(w, fd, said);
}

/* ---- the loop ---- */

/* Read what recorded programs have written, as often as the collector asks for. */
static void drain(struct watcher *w)
{
    uint64_t now = watcher_mono();

    if (w->o->collect && now >= w->drain_ns)
        w->drain_ns = now + collect_pass(w->o->collect) * 1000ull;
}

static uint64_t next_wake(const struct watcher *w)
{
    uint64_t next = w->o->collect && w->drain_ns < w->next_ns ? w->drain_ns : w->next_ns;
    uint64_t end = w->started_ns + w->o->duration_ns;

    return w->o->duration_ns && end < next ? end : next;
}

static void wait_for_something(struct watcher *w)
{
    struct pollfd fds[3] = {{.fd = w->signals, .events = POLLIN},
                            {.fd = w->records.fd, .events = POLLIN},
                            {.fd = w->control, .events = POLLIN}}; /* -1: not looked at */
    uint64_t now = watcher_mono(), next = next_wake(w), ns = next > now ? next - now : 0;
    struct timespec patience = {(time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS)};

    if (ppoll(fds, 3, &patience, NULL) <= 0)
        return;
    if (fds[1].revents) {
        taskstats_drain(&w->records, &w->tree);
        tick_at_ending(w);
    }
    if (fds[2].revents)
        listen_to(w);
    if (fds[0].revents)
        take_signals(w);
}

/* Ticks stand at whole intervals from the start; the first reading comes before them. */
static uint64_t next_tick(const struct watcher *w, uint64_t last_ns)
{
    return last_ns < w->started_ns + w->o->interval_ns ? w->started_ns + w->o->interval_ns
                                                       : last_ns + w->o->interval_ns;
}

static void loop(struct watcher *w)
{
    while (!w->done) {
        uint64_t now;

        wait_for_something(w);
        drain(w);
        now = watcher_mono();
        if (w->o->duration_ns && now >= w->started_ns + w->o->duration_ns)
            w->done = true;
        if (w->done || now < w->next_ns)
            continue;
        tick(w);
        if (!w->root && !w->tree.live_count)
            w->done = true;
        w->next_ns = next_tick(w, w->next_ns);
        now = watcher_mono();
        if (w->next_ns < now) { /* a reading took longer than an interval */
            uint64_t missed = (now - w->next_ns) / w->o->interval_ns + 1;

            w->late += missed;
            w->next_ns += missed * w->o->interval_ns;
        }
    }
}

static bool somebody_dies(const struct tree *t)
{
    for (int i = 0; i < t->live_count; i++)
        if (t->live[i].zombie)
            return true;
    return false;
}

static uint64_t number_process(void *context, int pid, const char *file, const char *name)
{
    struct tree *t = context;

    t->now_ns = watcher_mono();
    return tree_claim(t, pid, file, name);
}

/* What outlives the command, and what ends with it: orphans that are about to be ours to wait for. */
static void take_last(struct watcher *w, uint64_t ended_ns)
{
    struct timespec moment = {0, LAST_NS};

    watcher_read(w, ended_ns);
    take_endings(w);
    for (int i = 0; i < LAST_MOST && somebody_dies(&w->tree); i++) {
        nanosleep(&moment, NULL);
        take_endings(w);
    }
    if (somebody_dies(&w->tree) || w->tree.alive)
        bound_unknown(&w->tree.bound,
                      "a process outlived the command, with what it had waited for");
}

/* The tree is to be ended: kill until nothing of it is left, for it may go on forking. */
static void sweep_all(struct watcher *w)
{
    struct timespec moment = {0, SWEEP_NS};

    for (int i = 0; i < SWEEPS_MOST; i++) {
        watcher_read(w, watcher_mono());
        if (!tree_kill(&w->tree, SIGKILL))
            return;
        nanosleep(&moment, NULL);
        take_endings(w);
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

static void sweep(struct watcher *w)
{
    if (w->stopping)
        sweep_all(w);
    else if (w->root && WIFSIGNALED(w->status) && WTERMSIG(w->status) == w->passed_on)
        sweep_session(w);
}

/* Processes that were there before us go on without us. */
static void leave_one(void *context, int pid)
{
    struct err ignored;

    (void)context;
    attach_leave(pid, &ignored); /* the hooks that then stay do nothing: the mode is off */
}

static void leave_all(struct watcher *w)
{
    if (!w->o->library)
        return;
    collect_mode(w->o->collect, RING_OFF);
    collect_pass(w->o->collect);
    if (!w->o->self_loading)
        collect_each(w->o->collect, leave_one, NULL);
}

/* ---- the start ---- */

static int check_pid(int pid, struct err *err)
{
    if (!kill(pid, 0))
        return 0;
    if (errno == EPERM)
        return err_code(
            err, 125, "process %d belongs to another user; watch it as that user or as root", pid);
    return err_code(err, 125, "there is no process %d", pid);
}

static int start_pids(struct watcher *w, struct err *err)
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
    if (w->o->library && !w->o->self_loading)
        return attach_enter(w->o->pids[0], w->o->library, collect_ring(w->o->collect), err);
    return 0;
}

static int start_command(struct watcher *w, const sigset_t *mask, struct err *err)
{
    struct launch l = {.argv = w->o->argv,
                       .environment = w->o->environment,
                       .mute = w->o->mute,
                       .mask = mask,
                       .ignores_children = w->ignored_children,
                       .gated = w->traced};

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    w->tree.floor = launch_shrink() + COUNTER_LAG;
    w->root = launch(&l, err);
    if (w->root < 0)
        return -1;
    w->result->main_pid = w->root;
    if (w->traced && ptracer_seize(w->root, err) < 0) {
        kill(w->root, SIGKILL);
        return -1;
    }
    tree_add(&w->tree, w->root, -1, TRACE_BORN_LAUNCHED);
    return w->traced ? launch_release(&l, err) : 0;
}

/* Exit records where the kernel gives them, else a stop at every exit. */
static void choose_method(struct watcher *w)
{
    struct err ignored;

    w->result->method = "sampled";
    if (!w->o->exact || !w->o->argv)
        return;
    w->tree.records = true;
    if (!taskstats_open(&w->records, &ignored)) {
        w->result->method = "taskstats";
    } else {
        w->result->method = "ptrace";
        w->traced = true;
    }
}

static void prepare(struct watcher *w)
{
    struct watch_result *r = w->result;

    *r = (struct watch_result){
        .command = w->o->command,
        .interval_ns = w->o->interval_ns,
        .children = w->o->children,
    };
    w->records.fd = -1;
    w->tree.children = w->o->children;
    w->tree.details = w->o->store != NULL;
    w->tree.self = w->o->argv ? getpid() : 0;
    w->recorder.store = w->o->store;
    w->recorder.cover = w->o->collect != NULL;
    if (w->o->store) {
        w->tree.events = &recorder_events;
        w->tree.context = &w->recorder;
    }
    choose_method(w);
    if (w->o->collect)
        collect_numbered_by(w->o->collect, number_process, &w->tree);
    recorder_begin(&w->recorder, w->o->argv, w->o->command, w->o->interval_ns, r->method);
}

static int begin(struct watcher *w, struct err *err)
{
    sigset_t all, before;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    w->ignored_children = signal(SIGCHLD, SIG_DFL) == SIG_IGN; /* or nothing could be waited for */
    w->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    if (w->signals < 0)
        return err_code(err, 125, "cannot watch signals: %s", strerror(errno));
    if (w->o->collect)
        w->control = control_listen();
    tree_init(&w->tree);
    w->started_ns = watcher_mono();
    w->result->start_real_ns = watcher_real();
    w->tree.now_ns = w->started_ns;
    return w->o->argv ? start_command(w, &before, err) : start_pids(w, err);
}

/* While the tree still knows the processes. */
static void finish_collecting(struct watcher *w)
{
    struct absorb_counts counts;

    if (w->o->collect)
        collect_finish(w->o->collect, &counts);
}

int watch(const struct watch_options *o, struct arena *arena, struct watch_result *result,
          struct err *err)
{
    struct watcher *w = memory_zeroed(sizeof(*w));
    uint64_t ended_ns;
    int failed;

    w->o = o;
    w->result = result;
    w->control = w->signals = -1;
    w->cgroup.peak = -1;
    w->cgroup.kills = ABSENT;
    w->oom_before = ABSENT;
    prepare(w);
    failed = begin(w, err);
    if (!failed) {
        if (o->on_begun)
            o->on_begun(o->context);
        w->next_ns = watcher_mono() + (w->root ? FIRST_NS : 0);
        loop(w);
        ended_ns = watcher_mono();
        leave_all(w);
        sweep(w);
        take_last(w, ended_ns);
        finish_collecting(w);
        outcome(w, ended_ns, arena);
    } else {
        finish_collecting(w);
    }
    if (w->signals >= 0)
        close(w->signals);
    if (w->control >= 0)
        close(w->control);
    taskstats_close(&w->records);
    cgroup_close(&w->cgroup);
    machine_close(&w->machine);
    tree_free(&w->tree);
    coverage_free(&w->recorder.coverage);
    free(w->points);
    free(w);
    return failed;
}
