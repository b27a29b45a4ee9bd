/* attach - see attach.h.
 *
 * The work is done by a child of ours: should it fail half-way, the kernel lets go of every thread
 * that it has stopped.
 */
#include "watch/attach.h"

#include "watch/loaded.h"
#include "watch/obstacle.h"
#include "watch/remote.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNREACHABLE 126
#define NOBODY 127
#define START_TRIES 200
#define START_US 10000
#define HELD_TEXT 64
#define HOLD_TRIES 5000

/* ---- can it be done? ---- */

struct state {
    char letter;
    int tracer, filter;
};

static bool read_state(int pid, struct state *s)
{
    char path[64], line[256];
    FILE *f;

    *s = (struct state){'?', 0, 0};
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    f = fopen(path, "re");
    if (!f)
        return false;
    while (fgets(line, sizeof(line), f)) {
        sscanf(line, "State: %c", &s->letter);
        sscanf(line, "TracerPid: %d", &s->tracer);
        sscanf(line, "Seccomp: %d", &s->filter);
    }
    fclose(f);
    return true;
}

static bool same_namespace(int pid, const char *which)
{
    struct stat ours, theirs;
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/ns/%s", which);
    if (stat(path, &ours) < 0)
        return true;
    snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, which);
    return stat(path, &theirs) < 0 || ours.st_ino == theirs.st_ino;
}

/* It must be stopped by us, and make system calls for us. */
static int check_entering(int pid, const struct state *s, struct err *err)
{
    if (s->tracer)
        return err_code(err, UNREACHABLE,
                        "process %d is traced by process %d, a debugger perhaps; end that first",
                        pid, s->tracer);
    if (s->letter == 'T')
        return err_code(err, UNREACHABLE,
                        "process %d is stopped; let it run on first: kill -CONT %d", pid, pid);
    if (s->filter)
        return err_code(err, UNREACHABLE,
                        "process %d filters its system calls (seccomp), and could be killed for "
                        "one of ours; start it with 'tidemark record' instead",
                        pid);
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
    if (!self_loading && check_entering(pid, &s, err) < 0)
        return -1;
    if (!same_namespace(pid, "pid"))
        return err_code(err, UNREACHABLE,
                        "process %d is in a container with pids of its own; run tidemark in there",
                        pid);
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
    for (int i = 0; loaded_open(l, pid) == 0; i++) {
        if (loaded_find(l, "gnu_get_libc_version", &at) || i == START_TRIES)
            return 0;
        loaded_close(l);
        usleep(START_US);
    }
    if (errno == ENOENT || errno == ESRCH)
        return err_code(err, NOBODY, "process %d has just ended", pid);
    return err_code(err, UNREACHABLE, "may not enter process %d: %s; attach as root", pid,
                    strerror(errno));
}

static int call_dlopen(struct remote *r, uint64_t dlopen_at, const char *path, uint64_t *handle,
                       struct err *err)
{
    uint64_t text = remote_text(r, path);

    if (!text)
        return err_code(err, UNREACHABLE, "the path '%s' is too long", path);
    return remote_call(r, dlopen_at, text, RTLD_NOW | RTLD_LOCAL, handle, err);
}

static bool copy_file(const char *from, int to)
{
    char bytes[65536];
    ssize_t n = -1;
    int fd = open(from, O_RDONLY | O_CLOEXEC);

    while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
        if (write(to, bytes, (size_t)n) != n)
            break;
    if (fd >= 0)
        close(fd);
    return n == 0;
}

/* The process does not see our files as we do: give it the library as a file without a name. */
static int load_copy(struct remote *r, uint64_t dlopen_at, const char *library, uint64_t *handle,
                     struct err *err)
{
    uint64_t name = remote_text(r, "libtidemark.so");
    const uint64_t how[6] = {name, MFD_CLOEXEC};
    char path[64];
    int64_t theirs = -1, closed;
    int fd;

    if (remote_system_call(r, SYS_memfd_create, how, &theirs, err) < 0)
        return -1;
    if (theirs < 0)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", r->process->pid, (int)theirs);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && copy_file(library, fd)) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", (int)theirs);
        if (call_dlopen(r, dlopen_at, path, handle, err) < 0)
            return close(fd), -1;
    }
    if (fd >= 0)
        close(fd);
    return remote_system_call(r, SYS_close, (const uint64_t[6]){(uint64_t)theirs}, &closed, err);
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

static int load(struct remote *r, const char *library, uint64_t *join, struct err *err)
{
    uint64_t dlopen_at, dlsym_at, dlerror_at, handle = 0;

    if (!loaded_find(r->process, "dlopen", &dlopen_at) &&
        !loaded_find(r->process, "__libc_dlopen_mode", &dlopen_at))
        return err_code(err, UNREACHABLE, "process %d has no function that loads a library",
                        r->process->pid);
    if (!loaded_find(r->process, "dlsym", &dlsym_at) &&
        !loaded_find(r->process, "__libc_dlsym", &dlsym_at))
        return err_code(err, UNREACHABLE, "process %d has no function that finds a function",
                        r->process->pid);
    loaded_find(r->process, "dlerror", &dlerror_at);
    if (call_dlopen(r, dlopen_at, library, &handle, err) < 0)
        return -1;
    if (!handle && load_copy(r, dlopen_at, library, &handle, err) < 0)
        return -1;
    if (!handle)
        return cannot_load(r, dlerror_at, err);
    return remote_call(r, dlsym_at, handle, remote_text(r, "tidemark_join"), join, err);
}

static int explain(int pid, uint64_t failure, struct err *err)
{
    static const char *const why[] = {
        "",
        "it is already recorded; end that first, with 'tidemark detach'",
        "the ring has no path that it knows",
        "its kernel lacks what is needed (Linux 4.14)",
        "it cannot open the ring, or another version of tidemark is in it",
        "there is no room in the ring"};

    return err_code(err, UNREACHABLE, "process %d cannot be recorded: %s", pid,
                    failure < sizeof(why) / sizeof(why[0]) ? why[failure] : "it says no");
}

static int enter(const struct loaded *l, struct remote *r, const char *library, const char *ring,
                 struct err *err)
{
    uint64_t join = 0, failure = 0;

    if (!loaded_find(l, "tidemark_join", &join) && load(r, library, &join, err) < 0)
        return -1;
    if (!join)
        return err_code(err, UNREACHABLE, "another library stands in for ours in process %d",
                        l->pid);
    if (remote_call(r, join, remote_text(r, ring), 0, &failure, err) < 0)
        return -1;
    return (int)failure ? explain(l->pid, (uint32_t)failure, err) : 0;
}

static int leave(const struct loaded *l, struct remote *r, struct err *err)
{
    uint64_t at, unused;

    return loaded_find(l, "tidemark_leave", &at) ? remote_call(r, at, 0, 0, &unused, err) : 0;
}

/* ---- by a child ---- */

static int work(int pid, const char *library, const char *ring, struct err *err)
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
    loaded_close(&l);
    return failed;
}

static int apart(int pid, const char *library, const char *ring, struct err *err)
{
    struct err said = {0};
    int answer[2];
    ssize_t n;
    pid_t child;

    if (pipe2(answer, O_CLOEXEC) < 0)
        return err_code(err, 125, "cannot make a pipe: %s", strerror(errno));
    child = fork();
    if (!child) {
        if (work(pid, library, ring, &said) == 0)
            said = (struct err){0};
        (void)!write(answer[1], &said, sizeof(said));
        _exit(0);
    }
    close(answer[1]);
    n = child < 0 ? 0 : read(answer[0], &said, sizeof(said));
    close(answer[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    if (n != sizeof(said))
        return err_code(err, 125, "cannot enter process %d: the attempt broke off", pid);
    if (!said.code)
        return 0;
    *err = said;
    return -1;
}

/* ---- for another user ---- */

static bool read_owner(int pid, uid_t *user, gid_t *group)
{
    char path[64], line[256];
    bool known = false;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        known = sscanf(line, "Uid: %*u %u", user) == 1 || known;
        sscanf(line, "Gid: %*u %u", group);
    }
    if (f)
        fclose(f);
    return known;
}

/* In a child of ours: hold nothing but the ring, as the other user, until our parent ends. */
static void hold(int fd, uid_t user, gid_t group, pid_t parent)
{
    char *const words[] = {"sleep", "infinity", NULL}, *const nothing[] = {NULL};

    if (dup2(fd, 3) < 0 || syscall(SYS_close_range, 4, ~0u, 0) < 0)
        return;
    for (int i = 0; i < 3; i++)
        close(i);
    if (setgroups(0, NULL) < 0 || setresgid(group, group, group) < 0 ||
        setresuid(user, user, user) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
        getppid() != parent)
        return;
    execve("/bin/sleep", words, nothing);
}

/* The files of a process can be opened only by its own user and root. We are root then, and the
 * process that shall open our ring is not: another that is of its user holds the ring for it.
 */
static int hold_for(int pid, const char *ring, char held[HELD_TEXT], struct err *err)
{
    gid_t group = getegid();
    uid_t user = geteuid();
    pid_t parent = getpid(), holder;
    int fd = -1;

    snprintf(held, HELD_TEXT, "%s", ring);
    if (!read_owner(pid, &user, &group) || user == geteuid())
        return 0;
    if (sscanf(ring, "/proc/%*d/fd/%d", &fd) != 1)
        return 0;
    holder = fork();
    if (!holder) {
        hold(fd, user, group, parent);
        _exit(127);
    }
    if (holder < 0)
        return err_code(err, 125, "cannot start a process: %s", strerror(errno));
    snprintf(held, HELD_TEXT, "/proc/%d/fd/3", (int)holder);
    for (int i = 0; i < HOLD_TRIES; i++) { /* until it is what it shall be */
        char path[64], name[32] = "";
        FILE *f;

        snprintf(path, sizeof(path), "/proc/%d/comm", (int)holder);
        f = fopen(path, "re");
        if (f) {
            (void)!fgets(name, sizeof(name), f);
            fclose(f);
        }
        if (strcmp(name, "sleep\n") == 0)
            return 0;
        usleep(1000);
    }
    kill(holder, SIGKILL);
    return err_code(err, UNREACHABLE,
                    "cannot hold the ring for the user of process %d; attach as "
                    "that user",
                    pid);
}

int attach_enter(int pid, const char *library, const char *ring, struct err *err)
{
    char held[HELD_TEXT];

    if (hold_for(pid, ring, held, err) < 0)
        return -1;
    return apart(pid, library, held, err);
}

int attach_leave(int pid, struct err *err)
{
    if (apart(pid, NULL, NULL, err) == 0 || err->code == NOBODY || kill(pid, 0) < 0)
        return 0;
    return -1;
}
