/* attach - see attach.h.
 *
 * The work is done by a child of ours: should it fail half-way, the kernel lets go of every thread
 * that it has stopped.
 */
#include "attach/attach.h"

#include "attach/borrow.h"
#include "attach/control.h"
#include "attach/earlier.h"
#include "attach/hand.h"
#include "attach/loaded.h"
#include "attach/obstacle.h"
#include "attach/remote.h"
#include "base/count.h"
#include "trace/ring.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNREACHABLE 126
#define NOBODY 127
#define START_TRIES 200
#define START_US 10000
#define ENTRY "tidemark_enter"
#define CANNOT_OPEN 4 /* of enum tidemark_join_error */

/* ---- can it be done? ---- */

struct state {
    char letter;
    int tracer;
};

static bool read_state(int pid, struct state *s)
{
    char path[64], line[256];
    FILE *f;

    *s = (struct state){'?', 0};
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    f = fopen(path, "re");
    if (!f)
        return false;
    while (fgets(line, sizeof(line), f)) {
        sscanf(line, "State: %c", &s->letter);
        sscanf(line, "TracerPid: %d", &s->tracer);
    }
    fclose(f);
    return true;
}

/* It must be stopped by us, and make system calls for us. */
static int check_entering(int pid, const struct state *s, struct err *err)
{
    if (s->tracer)
        return err_code(
            err, UNREACHABLE,
            "process %d is being traced by process %d, perhaps a debugger; end that first", pid,
            s->tracer);
    if (s->letter == 'T')
        return err_code(err, UNREACHABLE, "process %d is stopped; resume it first: kill -CONT %d",
                        pid, pid);
    return 0;
}

int attach_check(int pid, bool self_loading, struct err *err)
{
    const struct obstacle *obstacle;
    struct state s;

    if (kill(pid, 0) < 0 && errno == EPERM)
        return err_code(err, UNREACHABLE,
                        "process %d belongs to another user; attach as that user or as root", pid);
    if (!read_state(pid, &s) || s.letter == 'Z' || s.letter == 'X')
        return err_code(err, NOBODY, "there is no process %d", pid);
    if (!self_loading && (check_entering(pid, &s, err) < 0 || earlier_check(pid, err) < 0))
        return -1;
    obstacle = obstacle_in_program(pid);
    if (obstacle && !obstacle->partly)
        return err_code(err, UNREACHABLE, "process %d cannot be recorded: %s", pid, obstacle->text);
    return 0;
}

/* ---- in the process ---- */

static int open_target(struct loaded *l, int pid, struct err *err)
{
    uint64_t at;

    /* One that has just been started has its libc in a moment. */
    for (int i = 0; loaded_open(l, pid, NULL) == 0; i++) {
        if (loaded_find(l, "gnu_get_libc_version", &at) || i == START_TRIES)
            return 0;
        loaded_close(l);
        usleep(START_US);
    }
    if (errno == ENOENT || errno == ESRCH)
        return err_code(err, NOBODY, "process %d has just ended", pid);
    return err_code(err, UNREACHABLE, "cannot enter process %d: %s; %s", pid, strerror(errno),
                    borrow_advice());
}

/* What the library has for us; 0: it is not there. */
static uint64_t find_entry(int pid, const char *name)
{
    uint64_t at = 0;
    struct loaded now;

    if (loaded_open(&now, pid, "tidemark") < 0)
        return 0;
    if (!loaded_find(&now, name, &at))
        at = 0;
    loaded_close(&now);
    return at;
}

/* Its answer is not asked for: if it has worked, the library is there. */
static int call_dlopen(struct remote *r, uint64_t dlopen_at, const char *path, uint64_t *entry,
                       struct err *err)
{
    uint64_t text = remote_text(r, path);

    if (!text)
        return err_code(err, UNREACHABLE, "the path '%s' is too long", path);
    if (remote_call(r, dlopen_at, text, RTLD_NOW | RTLD_LOCAL, NULL, err) < 0)
        return -1;
    *entry = find_entry(r->process->pid, ENTRY);
    return 0;
}

/* The process does not see our files as we do: give it a copy of the library. */
static int load_copy(struct remote *r, uint64_t dlopen_at, const char *library, uint64_t *entry,
                     struct err *err)
{
    for (unsigned int way = 0; way < HAND_WAYS && !*entry; way++) {
        char path[HAND_PATH];
        int copy = hand_copy(r, library, way, path, err);

        if (copy == -2)
            return -1;
        if (copy >= 0 && (call_dlopen(r, dlopen_at, path, entry, err) < 0 ||
                          hand_take_back(r, copy, path, err) < 0))
            return -1;
    }
    return 0;
}

static int cannot_load(struct remote *r, uint64_t dlerror_at, struct err *err)
{
    char text[300] = "";
    uint64_t at = 0;

    if (dlerror_at && remote_call(r, dlerror_at, 0, 0, &at, err) < 0)
        return -1;
    remote_read_text(r, at, text, sizeof(text));
    return err_code(err, UNREACHABLE, "process %d cannot load the library: %s", r->process->pid,
                    text[0] ? text : "its loader gives no reason");
}

static int load(struct remote *r, const char *library, uint64_t *entry, struct err *err)
{
    uint64_t dlopen_at, dlerror_at, unused;

    if (loaded_find(r->process, "tidemark_join", &unused))
        return err_code(
            err, UNREACHABLE,
            "process %d holds another version of tidemark; restart it to record it with this one",
            r->process->pid);
    if (!loaded_find(r->process, "dlopen", &dlopen_at) &&
        !loaded_find(r->process, "__libc_dlopen_mode", &dlopen_at))
        return err_code(err, UNREACHABLE, "process %d has no dlopen to load the library with",
                        r->process->pid);
    loaded_find(r->process, "dlerror", &dlerror_at);
    if (call_dlopen(r, dlopen_at, library, entry, err) < 0)
        return -1;
    if (!*entry && load_copy(r, dlopen_at, library, entry, err) < 0)
        return -1;
    return *entry ? 0 : cannot_load(r, dlerror_at, err);
}

static int explain(int pid, uint64_t failure, struct err *err)
{
    static const char *const why[] = {
        "",
        "it is already being recorded; end that first, with 'tidemark detach'",
        "it cannot use the path of the ring",
        "its kernel is too old: Linux 4.14 is needed",
        "it cannot open the ring, or it holds another version of tidemark",
        "there is no room in the ring"};

    return err_code(err, UNREACHABLE, "process %d cannot be recorded: %s", pid,
                    failure < COUNT(why) ? why[failure]
                                         : "its library refuses and gives no reason");
}

/* Whether the process finds our memory by the path that we have for it. */
static bool sees(int pid, const char *ring)
{
    struct stat ours, theirs;
    char path[96];

    snprintf(path, sizeof(path), "/proc/%d/root%s", pid, ring);
    return stat(ring, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
           ours.st_ino == theirs.st_ino;
}

static int join(struct remote *r, uint64_t entry, const struct ring_entry *e, uint32_t *failure,
                struct err *err)
{
    uint64_t answer = 0;

    if (remote_call(r, entry, remote_bytes(r, e, sizeof(*e)), 0, &answer, err) < 0)
        return -1;
    *failure = (uint32_t)answer - RING_ANSWER;
    return 0;
}

/* By its path where it has one; a process that may not open that is handed a descriptor. */
static int join_somehow(struct remote *r, uint64_t entry, const char *ring, uint32_t *failure,
                        struct err *err)
{
    int pid = r->process->pid, fd = -1;
    struct ring_entry e = {.fd = -1, .alone = !control_find(pid)};

    snprintf(e.path, sizeof(e.path), "%s", ring);
    memcpy(e.never, r->confined.never, sizeof(e.never));
    *failure = CANNOT_OPEN;
    if (sees(pid, ring) && join(r, entry, &e, failure, err) < 0)
        return -1;
    if (*failure != CANNOT_OPEN || sscanf(ring, "/proc/%*d/fd/%d", &fd) != 1)
        return 0;
    e.fd = hand_descriptor(r, fd, err);
    if (e.fd < 0 || join(r, entry, &e, failure, err) < 0)
        return -1;
    return hand_close(r, e.fd, err);
}

static int enter(const struct loaded *l, struct remote *r, const char *library, const char *ring,
                 struct err *err)
{
    uint32_t failure = 0;
    uint64_t entry = 0;

    if (!loaded_find(l, ENTRY, &entry) && load(r, library, &entry, err) < 0)
        return -1;
    if (join_somehow(r, entry, ring, &failure, err) < 0)
        return -1;
    return failure ? explain(l->pid, failure, err) : 0;
}

static int leave(const struct loaded *l, struct remote *r, struct err *err)
{
    uint64_t at, unused;

    return loaded_find(l, "tidemark_quit", &at) ? remote_call(r, at, 0, 0, &unused, err) : 0;
}

/* ---- by a child ---- */

struct answer { /* of the child */
    struct err err;
    bool no_cpu;
};

static int work(int pid, const char *library, const char *ring, bool *no_cpu, struct err *err)
{
    static struct remote r;
    struct loaded l;
    int failed;

    if (open_target(&l, pid, err) < 0)
        return -1;
    if (remote_borrow(&r, &l, err) < 0)
        return -1;
    failed = ring ? enter(&l, &r, library, ring, err) : leave(&l, &r, err);
    remote_return(&r);
    *no_cpu = confined_no_cpu(&r.confined);
    loaded_close(&l);
    return failed;
}

/* In a session of its own: what ends us from a terminal does not break it off. It looks for signals
 * itself, at points where it can end.
 */
static void be_apart(pid_t parent)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        raise(SIGTERM);
}

/* Wait for its answer; it is told if we are to end meanwhile, and then ends as soon as it can. */
static ssize_t hear(int answer, pid_t child, struct answer *said)
{
    sigset_t ends;
    int signals;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigaddset(&ends, SIGQUIT);
    signals = signalfd(-1, &ends, SFD_CLOEXEC); /* they stay pending, for those who look later */
    for (struct pollfd p[2] = {{answer, POLLIN, 0}, {signals, POLLIN, 0}};
         poll(p, 2, -1) < 0 || !p[0].revents;) {
        if (p[1].revents)
            kill(child, SIGTERM);
        p[1].fd = p[1].revents ? -1 : p[1].fd;
    }
    if (signals >= 0)
        close(signals);
    return read(answer, said, sizeof(*said));
}

static int apart(int pid, const char *library, const char *ring, bool *no_cpu, struct err *err)
{
    struct answer said = {0};
    pid_t child, parent = getpid();
    int answer[2];
    ssize_t n;

    if (pipe2(answer, O_CLOEXEC) < 0)
        return err_code(err, 125, "cannot make a pipe: %s", strerror(errno));
    child = fork();
    if (!child) {
        be_apart(parent);
        if (work(pid, library, ring, &said.no_cpu, &said.err) == 0)
            said.err = (struct err){0};
        (void)!write(answer[1], &said, sizeof(said));
        _exit(0);
    }
    close(answer[1]);
    n = child < 0 ? 0 : hear(answer[0], child, &said);
    close(answer[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    if (n != sizeof(said))
        return err_code(err, 125, "cannot enter process %d: the attempt was cut short; try again",
                        pid);
    *no_cpu = said.no_cpu;
    if (!said.err.code)
        return 0;
    *err = said.err;
    return -1;
}

int attach_enter(int pid, const char *library, const char *ring, bool *no_cpu, struct err *err)
{
    return apart(pid, library, ring, no_cpu, err);
}

int attach_leave(int pid, struct err *err)
{
    bool ignored;

    if (apart(pid, NULL, NULL, &ignored, err) == 0 || err->code == NOBODY || kill(pid, 0) < 0)
        return 0;
    return -1;
}
