/* got - see got.h.
 *
 * An object is in the loader's list before the loader is done with it. So a look has three steps:
 * note which objects are there, pass the loader's own lock once (whoever was loading is done then),
 * and work on those that were noted and are still there. One thread looks at a time; another that
 * comes meanwhile does not wait but leaves word that there is more.
 */
#include "inject/got.h"

#include "inject/copies.h"
#include "inject/elf.h"
#include "inject/real.h"
#include "inject/restart.h"
#include "inject/state.h"
#include "inject/sys.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <threads.h>
#include <unistd.h>

#define OBJECTS_MOST 4096u
#define SLOTS (1u << 16) /* a power of two */
#define PATIENCE 20000   /* times 100 us, for another thread that looks */
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

/* Not the loader's own answer but ours, as it would be had we been there first. */
static OUTLINE void *look_up_ours(void *handle, const char *name)
{
    void *found = real.dlsym(handle, name);

    for (size_t i = 0; found && i < HOOKS; i++) {
        const uintptr_t *field = real_field(hooks[i].name);

        if (field && (uintptr_t)found == *field)
            return (void *)hooks[i].ours;
    }
    return found;
}

/* For programs that we are not preloaded into, and such whose copies are recorded: they look a
 * function up once a library is there. The
 * answer may depend on who asks; then this is a jump.
 */
static void *look_up(void *handle, const char *name)
{
    got_catch_up();
    if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || !got_taken_over())
        return real.dlsym(handle, name);
    return look_up_ours(handle, name);
}

struct slot { /* an address that we have written */
    uintptr_t at, old;
};

struct space { /* a namespace while it is looked at */
    const struct got_hook *hooks;
    size_t count;
    uintptr_t reals[HOOKS];
    bool alone[HOOKS]; /* no other object defines one of that name */
};

static struct slot *slots; /* open addressing; entries stay, their old value may change */
static size_t slots_used;
static struct objects {
    const Elf64_Dyn *at[OBJECTS_MOST];
    size_t count;
} noted, seen;
static struct space space;
static struct got_hook copying_hooks[COPIES_HOOKS + 1]; /* and dlsym, for what is loaded later */
static struct space copying;                            /* what else is of interest in the first */
static _Atomic bool looking, more, expected, unloaded, taken_over, elsewhere;
static bool giving_back;

/* What was written where */

static struct slot *slot_of(uintptr_t at)
{
    size_t i = (at >> 3) * 0x9e3779b97f4a7c15u >> 32 & (SLOTS - 1);

    if (!slots && !(slots = sys_memory(SLOTS * sizeof(*slots))))
        return NULL;
    for (; slots[i].at && slots[i].at != at; i = (i + 1) & (SLOTS - 1))
        ;
    if (!slots[i].at && slots_used > SLOTS / 2)
        return NULL;
    return &slots[i];
}

/* The value that belongs there instead; false: leave it. */
static bool wanted(const struct space *w, uintptr_t at, uintptr_t is, size_t hook, bool unbound,
                   uintptr_t *value)
{
    uintptr_t ours = w->hooks[hook].ours, theirs = w->reals[hook];
    struct slot *s;

    if (giving_back ? is != ours : is == ours || (is != theirs && !unbound) || !theirs)
        return false;
    if (unbound && !giving_back && !w->alone[hook] && !got_taken_over())
        return false; /* which one it would be bound to is not known */
    s = slot_of(at);
    if (!s || (giving_back && !s->at))
        return false;
    if (giving_back) {
        *value = s->old;
        return true;
    }
    slots_used += !s->at;
    *s = (struct slot){at, is};
    *value = ours;
    return true;
}

/* One object */

static bool is_read_only(const struct elf *e, uintptr_t at)
{
    return at >= e->relro_from && at < e->relro_to;
}

static bool protect(const struct elf *e, int protection)
{
    return !sys_failed(sys_call(SYS_mprotect, (long)e->relro_from,
                                (long)(e->relro_to - e->relro_from), protection, 0, 0, 0));
}

static size_t hook_named(const struct space *w, const char *name)
{
    size_t i = 0;

    while (i < w->count && (w->hooks[i].name[0] != name[0] || strcmp(w->hooks[i].name, name) != 0))
        i++;
    return i;
}

/* Not bound yet: it leads back into the object's own linkage table. */
static bool is_unbound(const struct link_map *map, uint32_t type, uintptr_t is)
{
    struct dl_find_object here, there;

    return type == R_X86_64_JUMP_SLOT && _dl_find_object(map->l_ld, &here) == 0 &&
           _dl_find_object((void *)is, &there) == 0 && here.dlfo_link_map == there.dlfo_link_map;
}

static void relocate(const struct space *w, const struct elf *e, const struct link_map *map,
                     const Elf64_Rela *r, bool *opened)
{
    uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
    const Elf64_Sym *symbol = &e->symbols[ELF64_R_SYM(r->r_info)];
    uintptr_t at = e->base + r->r_offset, is, value;
    bool unbound;
    size_t hook;

    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
        (type != R_X86_64_64 || r->r_addend))
        return;
    hook = hook_named(w, e->strings + symbol->st_name);
    if (hook == w->count || at & 7)
        return;
    is = atomic_load_explicit((_Atomic uintptr_t *)at, memory_order_relaxed);
    unbound = symbol->st_shndx == SHN_UNDEF && is_unbound(map, type, is);
    if (!wanted(w, at, is, hook, unbound, &value))
        return;
    if (is_read_only(e, at) && !*opened && !(*opened = protect(e, PROT_READ | PROT_WRITE)))
        return;
    atomic_store_explicit((_Atomic uintptr_t *)at, value, memory_order_release);
}

static void relocate_all(const struct space *w, const struct elf *e, const struct link_map *map)
{
    bool opened = false;

    for (unsigned int t = 0; t < 2; t++)
        for (size_t i = 0; i < e->counts[t]; i++)
            relocate(w, e, map, &e->relocations[t][i], &opened);
    if (opened)
        protect(e, PROT_READ);
}

/* All objects of all namespaces, while the loader's list stands still */

static bool is_ours(const struct link_map *map)
{
    return map->l_ld == _DYNAMIC;
}

static void for_all(void (*visit)(const struct link_map *map, unsigned int place),
                    void (*enter)(const struct link_map *first, unsigned int place))
{
    const struct r_debug_extended *d = (const struct r_debug_extended *)&_r_debug;

    for (unsigned int place = 0; d; place++) {
        if (enter)
            enter(d->base.r_map, place);
        for (const struct link_map *map = d->base.r_map; map; map = map->l_next)
            visit(map, place);
        d = _r_debug.r_version > 1 ? d->r_next : NULL;
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

/* The first object in the order of loading that defines a function is the one that all use. What has
 * the name of a function of libc only may be something else altogether, if it is not libc's.
 */
static void find_reals(const struct link_map *first)
{
    bool foreign[HOOKS] = {false}, libc;
    struct elf e;

    memset(space.reals, 0, sizeof(space.reals));
    for (const struct link_map *map = first; map; map = map->l_next) {
        if (is_ours(map) || !elf_open(&e, map))
            continue;
        libc = elf_find(&e, "gnu_get_libc_version");
        for (size_t i = 0; i < space.count; i++) {
            uintptr_t found = elf_find(&e, space.hooks[i].name);

            space.alone[i] = found ? !space.reals[i] : space.alone[i];
            space.reals[i] = space.reals[i] ? space.reals[i] : found;
            foreign[i] |= found && !libc && space.hooks[i].of_libc;
        }
    }
    for (size_t i = 0; i < space.count; i++)
        space.reals[i] = foreign[i] ? 0 : space.reals[i];
}

static bool is_home(const struct link_map *map, uintptr_t function)
{
    struct dl_find_object o;

    return _dl_find_object((void *)function, &o) == 0 && o.dlfo_link_map == map;
}

/* Which of its functions libc uses for copies it says at run time, so they are known already; does
 * anybody else define one of that name?
 */
static void enter_copying(const struct link_map *first)
{
    struct elf e;

    for (size_t i = 0; i < copying.count; i++)
        copying.alone[i] = true;
    for (const struct link_map *map = first; map && copying.count; map = map->l_next) {
        if (is_ours(map) || !elf_open(&e, map))
            continue;
        for (size_t i = 0; i < copying.count; i++)
            if (elf_find(&e, copying.hooks[i].name) && !is_home(map, copying.reals[i]))
                copying.alone[i] = false;
    }
}

static void enter_space(const struct link_map *first, unsigned int place)
{
    space.count = 0;
    if (place == 0)
        enter_copying(first);
    if (place > NAMESPACES)
        return; /* more namespaces than we have functions for: they are not recorded */
    if (!atomic_load(&elsewhere) && !giving_back)
        return; /* all are bound to us anyway */
    space.hooks = place ? namespaces[place - 1] : hooks;
    space.count = place ? NAMESPACE_HOOKS : HOOKS;
    find_reals(first);
    for (size_t i = 0; i < space.count && place && !giving_back; i++)
        namespaces_real(place - 1, (unsigned int)i, space.reals[i]);
}

static void visit(const struct link_map *map, unsigned int place)
{
    struct elf e;

    if ((!space.count && !copying.count) || is_ours(map) || !has(&noted, map) ||
        (has(&seen, map) && !giving_back))
        return;
    add(&seen, map);
    if (!elf_open(&e, map) || elf_find(&e, "__tls_get_addr")) /* the loader itself */
        return;
    relocate_all(&space, &e, map);
    if (place == 0)
        relocate_all(&copying, &e, map);
}

static int note_all(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info, (void)size, (void)context;
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

static void look(void)
{
    int kept = errno;

    atomic_store(&more, true);
    while (atomic_load(&more) && !atomic_exchange(&looking, true)) {
        atomic_store(&more, false);
        dl_iterate_phdr(note_all, NULL);
        wait_for_loaders();
        dl_iterate_phdr(visit_all, NULL);
        atomic_store(&looking, false);
    }
    errno = kept;
}

static int find_all(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info, (void)size, (void)context;
    enter_space(_r_debug.r_map, 0);
    for (size_t i = 0; i < HOOKS; i++) {
        uintptr_t *field = real_field(hooks[i].name);

        if (field && space.reals[i])
            atomic_store((_Atomic uintptr_t *)field, space.reals[i]);
    }
    return 1;
}

void got_take_over(void)
{
    real_now();
    atomic_store(&elsewhere, true);
    dl_iterate_phdr(find_all, NULL);
    atomic_store(&taken_over, true);
    got_unloaded();
    look();
}

bool got_taken_over(void)
{
    return atomic_load_explicit(&taken_over, memory_order_relaxed);
}

void got_copies(void)
{
    if (!copies_start())
        return;
    for (size_t i = 0; i < COPIES_HOOKS; i++) {
        copying_hooks[i] = copies_hooks[i];
        copying.reals[i] = copies_real(i);
    }
    copying_hooks[COPIES_HOOKS] = (struct got_hook){.name = "dlsym", .ours = (uintptr_t)look_up};
    copying.reals[COPIES_HOOKS] = (uintptr_t)real.dlsym;
    copying.hooks = copying_hooks;
    copying.count = COPIES_HOOKS + 1;
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
    for (int i = 0; atomic_exchange(&looking, true); i++) {
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
    atomic_store(&looking, false);
}

void got_forked(void)
{
    atomic_store(&looking, false);
}
