/* real - see real.h. dlsym may allocate while it looks: that comes out of a few static bytes. */
#include "inject/real.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define EARLY_BYTES 8192

static _Alignas(16) char early[EARLY_BYTES];
static _Atomic size_t early_used;
static _Atomic bool looking;

static void *first_malloc(size_t size);
static void first_free(void *p);
static void *first_calloc(size_t n, size_t size);
static void *first_realloc(void *p, size_t size);

/* Only these can be called by dlsym itself; the others are found before their first call. */
struct real real = {
    .malloc = first_malloc,
    .free = first_free,
    .calloc = first_calloc,
    .realloc = first_realloc,
};

static void after_early_free(void *p);

static void (*late_free)(void *);

static bool is_early(const void *p)
{
    return (const char *)p >= early && (const char *)p < early + EARLY_BYTES;
}

static void *early_alloc(size_t size)
{
    size_t need = (size + 31) & ~(size_t)15, at; /* the size stands before the block */

    if (size > EARLY_BYTES)
        return NULL;
    at = atomic_fetch_add(&early_used, need);
    if (at + need > EARLY_BYTES)
        return NULL;
    memcpy(early + at, &size, sizeof(size));
    return early + at + 16;
}

typedef int spawn_function(pid_t *, const char *, const posix_spawn_file_actions_t *,
                           const posix_spawnattr_t *, char *const[], char *const[]);

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

void real_find(void)
{
    struct real r = {0};

    if (atomic_exchange(&looking, true))
        return;
    r.malloc = (void *(*)(size_t))next("malloc");
    r.calloc = (void *(*)(size_t, size_t))next("calloc");
    r.realloc = (void *(*)(void *, size_t))next("realloc");
    r.posix_memalign = (int (*)(void **, size_t, size_t))next("posix_memalign");
    r.aligned_alloc = (void *(*)(size_t, size_t))next("aligned_alloc");
    r.memalign = (void *(*)(size_t, size_t))next("memalign");
    r.valloc = (void *(*)(size_t))next("valloc");
    r.pvalloc = (void *(*)(size_t))next("pvalloc");
    r.mmap = (void *(*)(void *, size_t, int, int, int, off_t))next("mmap");
    r.munmap = (int (*)(void *, size_t))next("munmap");
    r.mremap = (void *(*)(void *, size_t, size_t, int, ...))next("mremap");
    r.brk = (int (*)(void *))next("brk");
    r.sbrk = (void *(*)(intptr_t))next("sbrk");
    r.dlopen = (void *(*)(const char *, int))next("dlopen");
    r.dlmopen = (void *(*)(Lmid_t, const char *, int))next("dlmopen");
    r.dlsym = dlsym;
    r.dlclose = (int (*)(void *))next("dlclose");
    r.pthread_getattr_np = (int (*)(pthread_t, pthread_attr_t *))next("pthread_getattr_np");
    r.prctl = (int (*)(int, ...))next("prctl");
    r.syscall = (long (*)(long, ...))next("syscall");
    r.execve = (int (*)(const char *, char *const[], char *const[]))next("execve");
    r.execvpe = (int (*)(const char *, char *const[], char *const[]))next("execvpe");
    r.fexecve = (int (*)(int, char *const[], char *const[]))next("fexecve");
    r.execveat = (int (*)(int, const char *, char *const[], char *const[], int))next("execveat");
    r.posix_spawn = (spawn_function *)next("posix_spawn");
    r.posix_spawnp = (spawn_function *)next("posix_spawnp");
    r.memmove = (void *(*)(void *, const void *, size_t))next("memmove");
    r.pthread_create = (create_function *)next("pthread_create");
    r.pthread_sigmask = (mask_function *)next("pthread_sigmask");
    r.sigprocmask = (mask_function *)next("sigprocmask");
    r.sigaction = (int (*)(int, const struct sigaction *, struct sigaction *))next("sigaction");
    r.signal = (sighandler_t(*)(int, sighandler_t))next("signal");
    r.sysv_signal = (sighandler_t(*)(int, sighandler_t))next("__sysv_signal");
    r.sigwait = (int (*)(const sigset_t *, int *))next("sigwait");
    r.sigwaitinfo = (int (*)(const sigset_t *, siginfo_t *))next("sigwaitinfo");
    r.sigtimedwait = (timedwait_function *)next("sigtimedwait");
    r.signalfd = (int (*)(int, const sigset_t *, int))next("signalfd");
    late_free = (void (*)(void *))next("free");
    r.free = atomic_load(&early_used) ? after_early_free : late_free;
    real = r;
}

/* free for a process in which dlsym had to allocate. */
static void after_early_free(void *p)
{
    if (!is_early(p))
        late_free(p);
}

static void *first_malloc(size_t size)
{
    real_find();
    return real.malloc == first_malloc ? early_alloc(size) : real.malloc(size);
}

static void *first_calloc(size_t n, size_t size)
{
    real_find();
    if (real.calloc != first_calloc)
        return real.calloc(n, size);
    return n && size > EARLY_BYTES / n ? NULL : early_alloc(n * size);
}

static void *first_realloc(void *p, size_t size)
{
    size_t old;
    void *q;

    real_find();
    if (real.realloc != first_realloc)
        return real.realloc(p, size);
    q = early_alloc(size);
    if (q && p) {
        memcpy(&old, (char *)p - 16, sizeof(old));
        memcpy(q, p, old < size ? old : size);
    }
    return q;
}

static void first_free(void *p)
{
    real_find();
    if (real.free != first_free)
        real.free(p);
}
