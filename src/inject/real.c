/* real - see real.h. dlsym may allocate while it looks: that comes out of a few static bytes. A
 * libc before 2.34 has it in a library of its own, which a program need not have: then we look by
 * hand.
 */
#include "inject/real.h"

#include "arch/arch.h"
#include "inject/elf.h"
#include "inject/outside.h"
#include "inject/standin.h"
#include "inject/sys.h"

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

/* Where in `real` the function of a name belongs. */
#define AS(text, field)                                                                            \
    {                                                                                              \
        .name = (text), .at = offsetof(struct real, field)                                         \
    }
#define FIND(function) AS(#function, function)
/* Of two, the one that programs are linked with: RTLD_NEXT gives the oldest before glibc 2.36. */
#define FIND_OF(wanted, function)                                                                  \
    {                                                                                              \
        .name = #function, .at = offsetof(struct real, function), .version = (wanted)              \
    }
static const struct {
    const char *name;
    size_t at;
    const char *version;
} names[] = {
    FIND(malloc),
    FIND(free),
    FIND(calloc),
    FIND(realloc),
    FIND(posix_memalign),
    FIND(aligned_alloc),
    FIND(memalign),
    FIND(valloc),
    FIND(pvalloc),
    FIND(mmap),
    FIND(munmap),
    FIND(mremap),
    FIND(mprotect),
    FIND(shmat),
    FIND(shmdt),
    FIND(brk),
    FIND(sbrk),
    FIND(dlopen),
    FIND(dlmopen),
    FIND(dlsym),
    FIND(dlclose),
    FIND(pthread_getattr_np),
    FIND(prctl),
    FIND(setenv),
    FIND(putenv),
    FIND(syscall),
    FIND(execve),
    FIND(execvpe),
    FIND(fexecve),
    FIND(execveat),
    FIND_OF(ARCH_SPAWN_VERSION, posix_spawn),
    FIND_OF(ARCH_SPAWN_VERSION, posix_spawnp),
    FIND(system),
    FIND(popen),
    FIND(memmove),
    FIND(pthread_create),
    FIND(pthread_key_create),
    FIND(pthread_setspecific),
    FIND(pthread_attr_getstack),
    FIND(pthread_attr_getstacksize),
    FIND(pthread_sigmask),
    FIND(sigprocmask),
    FIND(sigaction),
    FIND(signal),
    AS("__sysv_signal", sysv_signal),
    FIND(sigwait),
    FIND(sigwaitinfo),
    FIND(sigtimedwait),
    FIND(signalfd),
    FIND(poll),
    AS("__poll_chk", poll_chk),
    FIND(ppoll),
    AS("__ppoll_chk", ppoll_chk),
    FIND(select),
    FIND(pselect),
    FIND(nanosleep),
    FIND(clock_nanosleep),
    FIND(thrd_sleep),
    FIND(sleep),
    FIND(usleep),
    FIND(sem_timedwait),
    FIND(sem_clockwait),
    FIND(pause),
    FIND(sigsuspend),
    FIND(msgrcv),
    FIND(msgsnd),
};

#pragma weak dlsym
#pragma weak dlvsym

static void *find(const char *name, const char *version)
{
    void *found = version && dlvsym ? dlvsym(RTLD_NEXT, name, version) : NULL;

    if (!found && dlsym)
        found = dlsym(RTLD_NEXT, name);
    return found ? found : (void *)elf_next(name);
}

/* A library may have come since that has it. */
static bool again(const char *name)
{
    uintptr_t *field = real_field(name), found = elf_next(name);

    if (!field || !found)
        return false;
    atomic_store((_Atomic uintptr_t *)field, found);
    return true;
}

void real_find(void)
{
    struct real r = {0};

    if (atomic_exchange(&looking, true))
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *found = find(names[i].name, names[i].version);

        memcpy((char *)&r + names[i].at, &found, sizeof(found));
    }
    r.dlsym = dlsym;
    sys_set_clock((sys_clock_function *)elf_next(ARCH_CLOCK));
    standin_fill(&r, &real, again);
    outside_guard(&r);
    late_free = r.free;
    if (atomic_load(&early_used))
        r.free = after_early_free;
    real = r;
}

uintptr_t *real_field(const char *name)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i].name, name) == 0)
            return (uintptr_t *)((char *)&real + names[i].at);
    return NULL;
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
