/* got - see got.h.
 *
 * An object is in the loader's list before the loader is done with it. So a look has three steps:
 * note which objects are there, pass the loader's own lock once (whoever was loading is done then),
 * and work on those that were noted and are still there. One thread looks at a time; another that
 * comes meanwhile does not wait but leaves word that there is more.
 */
#include "inject/got.h"

#include "inject/device_files.h"
#include "inject/elf.h"
#include "inject/extra_hooks.h"
#include "inject/guard.h"
#include "inject/guard_calls.h"
#include "inject/namespaces.h"
#include "inject/objects.h"
#include "inject/outside.h"
#include "inject/real.h"
#include "inject/relocate.h"
#include "inject/restart.h"
#include "inject/space.h"
#include "inject/state.h"
#include "inject/sys.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <threads.h>
#include <unistd.h>

#define OBJECTS_MOST 4096u
#define PATIENCE 20000 /* times 100 us, for another thread that looks */
#define HOOKS (sizeof(hooks) / sizeof(hooks[0]))

void free_sized(void *p, size_t size);
void free_aligned_sized(void *p, size_t alignment, size_t size);

static void *look_up(void *handle, const char *name);

#define HOOK(function)                                                                             \
    {                                                                                              \
        .name = #function, .ours = (uintptr_t)(function)                                           \
    }
#define LIBC(function)                                                                             \
    {                                                                                              \
        .name = #function, .ours = (uintptr_t)(function), .of_libc = true                          \
    }
static const struct got_hook hooks[] = {
    HOOK(malloc),
    HOOK(free),
    HOOK(calloc),
    HOOK(realloc),
    HOOK(posix_memalign),
    HOOK(aligned_alloc),
    HOOK(memalign),
    HOOK(valloc),
    HOOK(pvalloc),
    HOOK(reallocarray),
    HOOK(free_sized),
    HOOK(free_aligned_sized),
    HOOK(mmap),
    HOOK(mmap64),
    HOOK(munmap),
    HOOK(mremap),
    HOOK(mprotect),
    HOOK(shmat),
    HOOK(shmdt),
    HOOK(brk),
    HOOK(sbrk),
    HOOK(dlopen),
    HOOK(dlmopen),
    {.name = "dlsym", .ours = (uintptr_t)look_up},
    HOOK(dlclose),
    HOOK(pthread_create),
    HOOK(pthread_sigmask),
    HOOK(sigprocmask),
    HOOK(sigaction),
    HOOK(signal),
    HOOK(__sysv_signal),
    HOOK(sigwait),
    HOOK(sigwaitinfo),
    HOOK(sigtimedwait),
    HOOK(signalfd),
    HOOK(pthread_getattr_np),
    LIBC(poll),
    LIBC(__poll_chk),
    LIBC(ppoll),
    LIBC(__ppoll_chk),
    LIBC(select),
    LIBC(pselect),
    LIBC(nanosleep),
    LIBC(clock_nanosleep),
    LIBC(thrd_sleep),
    LIBC(sleep),
    LIBC(usleep),
    LIBC(sem_timedwait),
    LIBC(sem_clockwait),
    LIBC(pause),
    LIBC(sigsuspend),
    LIBC(msgrcv),
    LIBC(msgsnd),
};
#undef HOOK
#undef LIBC
_Static_assert(HOOKS <= SPACE_HOOKS_MOST, "a namespace has room for all");

/* Not the loader's own answer but ours, as it would be had we been there first. */
static OUTLINE void *look_up_ours(void *handle, const char *name)
{
    void *found = real.dlsym(handle, name);

    for (size_t i = 0; found && i < HOOKS; i++) {
        const uintptr_t *field = real_field(hooks[i].name);

        if (field && (uintptr_t)found == outside_behind(*field))
            return (void *)hooks[i].ours;
    }
    return found;
}

/* Of a vendor's library: whatever way leads to a function of it ends at ours. */
static OUTLINE void *look_up_device(void *handle, const char *name)
{
    void *found = got_taken_over() && handle != RTLD_DEFAULT ? look_up_ours(handle, name)
                                                             : real.dlsym(handle, name);

    return (void *)devices_ours((uintptr_t)found);
}

/* Of libc, while memory is guarded. */
static OUTLINE void *look_up_guarded(void *handle, const char *name)
{
    void *found = devices_there() ? look_up_device(handle, name) : real.dlsym(handle, name);

    return (void *)guard_calls_ours((uintptr_t)found);
}

/* For programs that we are not preloaded into, and such whose copies are recorded or that use a
 * device: they look a function up once a library is there. The answer may depend on who asks; then
 * this is a jump.
 */
static void *look_up(void *handle, const char *name)
{
    got_catch_up();
    if (guard_any() && handle != RTLD_NEXT)
        return look_up_guarded(handle, name);
    if (devices_there() && (handle != RTLD_DEFAULT || devices_know(name)) && handle != RTLD_NEXT)
        return look_up_device(handle, name);
    if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || !got_taken_over())
        return real.dlsym(handle, name);
    return look_up_ours(handle, name);
}

static struct objects {
    const Elf64_Dyn *at[OBJECTS_MOST];
    size_t count;
} noted, seen;
static struct space space;
static struct space copying; /* what else is of interest in the first: see extra_hooks.h */
/* 1 + process.forks while a thread looks: what a child inherits says nothing of its own threads. */
static _Atomic uint32_t looking;
static _Atomic bool more, expected, unloaded, taken_over, elsewhere, anew;
static bool giving_back;

/* All objects of all namespaces, while the loader's list stands still */

static void for_all(void (*visit)(const struct link_map *map, unsigned int place),
                    void (*enter)(const struct link_map *first, unsigned int place))
{
    const struct link_map *first;

    for (unsigned int place = 0; objects_space(place, &first); place++) {
        if (enter && first)
            enter(first, place);
        for (const struct link_map *map = first; map; map = map->l_next)
            visit(map, place);
    }
}

static bool has(const struct objects *o, const struct link_map *map)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->at[i] == map->l_ld)
            return true;
    return false;
}

static void add(struct objects *o, const struct link_map *map)
{
    if (o->count < OBJECTS_MOST)
        o->at[o->count++] = map->l_ld;
}

static void note(const struct link_map *map, unsigned int place)
{
    (void)place;
    add(&noted, map);
}

static void enter_space(const struct link_map *first, unsigned int place)
{
    space.count = 0;
    if (place == 0)
        space_find_others(&copying, first);
    if (place > NAMESPACES)
        return; /* more namespaces than we have functions for: they are not recorded */
    if (!atomic_load(&elsewhere) && !giving_back)
        return; /* all are bound to us anyway */
    space.hooks = place ? namespaces[place - 1] : hooks;
    space.count = place ? NAMESPACE_HOOKS : HOOKS;
    space_find_reals(&space, first);
    for (size_t i = 0; i < space.count && place && !giving_back; i++)
        namespaces_real(place - 1, (unsigned int)i, space.reals[i]);
}

static enum relocate_how how_to_relocate(void)
{
    return giving_back ? RELOCATE_BACK : got_taken_over() ? RELOCATE_ALL : RELOCATE_BOUND;
}

static void visit(const struct link_map *map, unsigned int place)
{
    enum relocate_how how = how_to_relocate();
    struct elf e;

    if ((!space.count && !copying.count) || space_is_ours(map) || !has(&noted, map) ||
        (has(&seen, map) && !giving_back))
        return;
    add(&seen, map);
    if (!elf_open(&e, map) || elf_find(&e, "__tls_get_addr")) /* the loader itself */
        return;
    relocate_all(&space, how, &e, map);
    if (place == 0)
        relocate_all(&copying, how, &e, map);
}

static int note_all(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size, (void)context;
    elf_program(info);
    noted.count = 0;
    if (atomic_exchange(&unloaded, false))
        seen.count = 0;
    for_all(note, NULL);
    return 1;
}

static int visit_all(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info, (void)size, (void)context;
    for_all(visit, enter_space);
    return 1;
}

/* Whoever loads something now has the loader's lock until it is done. */
static void wait_for_loaders(void)
{
    void *program = real_now()->dlopen(NULL, RTLD_LAZY);

    if (program)
        real.dlclose(program);
}

static bool begin_looking(void)
{
    uint32_t here = atomic_load(&process.forks) + 1, before = atomic_load(&looking);

    return before != here && atomic_compare_exchange_strong(&looking, &before, here);
}

static bool find_more(void)
{
    return extra_hooks_find(&copying, (uintptr_t)look_up);
}

static void look(void)
{
    int kept = errno;

    atomic_store(&more, true);
    while (atomic_load(&more) && begin_looking()) {
        atomic_store(&more, false);
        if (atomic_exchange(&anew, false))
            find_more();
        dl_iterate_phdr(note_all, NULL);
        wait_for_loaders();
        dl_iterate_phdr(visit_all, NULL);
        atomic_store(&looking, 0);
    }
    errno = kept;
}

static int find_all(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size, (void)context;
    elf_program(info);
    enter_space(_r_debug.r_map, 0);
    for (size_t i = 0; i < HOOKS; i++) {
        uintptr_t *field = real_field(hooks[i].name);

        if (field && space.reals[i] && outside_behind(*field) != space.reals[i])
            atomic_store((_Atomic uintptr_t *)field, space.reals[i]);
    }
    outside_guard(&real);
    return 1;
}

void got_take_over(void)
{
    real_now();
    atomic_store(&elsewhere, true);
    dl_iterate_phdr(find_all, NULL);
    atomic_store(&taken_over, true);
    find_more();
    got_unloaded();
    look();
}

bool got_taken_over(void)
{
    return atomic_load_explicit(&taken_over, memory_order_relaxed);
}

void got_more(void)
{
    if (find_more())
        look();
}

void got_anew(void)
{
    atomic_store(&anew, true);
    got_unloaded(); /* all objects are looked at once more */
    look();
}

bool got_copying(void)
{
    return copying.count != 0;
}

void got_loaded(bool bound_elsewhere)
{
    if (bound_elsewhere)
        atomic_store(&elsewhere, true);
    look();
}

void got_expect(bool bound_elsewhere)
{
    if (bound_elsewhere)
        atomic_store(&elsewhere, true);
    atomic_store(&expected, true);
}

void got_catch_up(void)
{
    if (atomic_load_explicit(&expected, memory_order_relaxed) && atomic_exchange(&expected, false))
        look();
}

void got_unloaded(void)
{
    atomic_store_explicit(&unloaded, true, memory_order_relaxed);
}

void got_give_back(void)
{
    for (int i = 0; !begin_looking(); i++) {
        if (i == PATIENCE)
            return; /* our functions stay: they do nothing but call the real ones */
        sys_pause_us(100);
    }
    giving_back = true;
    dl_iterate_phdr(note_all, NULL);
    wait_for_loaders();
    dl_iterate_phdr(visit_all, NULL);
    giving_back = false;
    copying.count = 0;
    got_unloaded();
    atomic_store(&taken_over, false);
    atomic_store(&elsewhere, false);
    atomic_store(&looking, 0);
}
