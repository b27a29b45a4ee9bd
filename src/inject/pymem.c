/* pymem - the allocators of a Python interpreter: blocks that it cuts out of arenas by itself.
 *
 * A layer of ours stands on the domains MEM and OBJ (RAW is malloc, which is hooked already). It
 * keeps no header and no state of a block: so blocks from before it came are freed through it, and
 * blocks from its time outlive it. Each block is told once, here, with the size that was asked for:
 * while the allocator beneath works for us it is muted, so what it takes from malloc or from the
 * kernel is not counted beside it. Small blocks of the interpreter's own allocator never come from
 * malloc: for these the layer counts down and jumps. One that is to be sampled is asked for a little
 * larger, so that it does come from malloc, whose free is hooked: frees of all others, millions a
 * second, then go straight to the interpreter.
 *
 * The layer keeps the context of what is beneath it and hands it on. So a switch of allocators
 * changes nothing but four function pointers, each right with each of the others, old or new: a
 * thread that reads them in the middle of the switch is safe. A second change of the same kind by
 * the program must not get lost, so we switch in a thread that holds the GIL, or before there is
 * one.
 *
 * The interpreter's debug hooks (-X dev, PYTHONMALLOC=debug) check what passes between them and the
 * program: there our layer goes beneath them, where sizes and addresses are those of the allocator.
 */
#include "inject/pymem.h"

#include "inject/elf.h"
#include "inject/event.h"
#include "inject/process.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#define SMALL 512u          /* the most that the interpreter serves from its pools */
#define RUNTIME_MOST 65536u /* bytes of _PyRuntime that its allocators are looked for in */

enum domain { RAW, MEM, OBJ };

struct functions {
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *);
};

struct allocator { /* PyMemAllocatorEx */
    void *context;
    struct functions f;
};

struct arenas { /* PyObjectArenaAllocator */
    void *context;
    void *(*alloc)(void *, size_t);
    void (*free)(void *, void *, size_t);
};

static struct {
    void (*get)(int, struct allocator *);
    void (*set)(int, const struct allocator *);
    void (*get_arenas)(struct arenas *);
    void (*set_arenas)(const struct arenas *);
    void (*set_debug)(void);
    int (*has_gil)(void);
    const struct allocator *now; /* its MEM and OBJ, where they can be looked at; or NULL: ask */
    const char *start, *end;     /* the module that it is in */
    atomic_bool found;
} interpreter;

/* ---- the layer ---- */

static inline int64_t mute(void)
{
    int64_t left = local.left;

    local.muted++;
    local.left = SAMPLE_FAR;
    return left;
}

static inline void unmute(int64_t left)
{
    local.left = left;
    local.muted--;
}

/* The countdown alone: in exact mode it stands below zero, and other changes of the mode are noticed
 * by the hooks of malloc and free, soon enough.
 */
static inline bool skip(size_t size)
{
    local.left = (int64_t)((uint64_t)local.left - size - 1);
    return likely(local.left >= 0);
}

/* What to ask the allocator for: see above. */
static inline size_t asked(size_t size)
{
    return local.left < 0 && size <= SMALL && process_mode() == RING_SAMPLED ? SMALL + 1 : size;
}

static inline void *take(const struct functions *u, void *context, size_t size, struct caller c)
{
    size_t ask = asked(size);
    int64_t left = mute();
    void *p = u->malloc(context, ask);

    unmute(left);
    if (likely(p))
        event_alloc(p, size, RING_BY_PYTHON, c);
    return p;
}

static inline void *take_zeroed(const struct functions *u, void *context, size_t n, size_t size,
                                struct caller c)
{
    size_t ask = asked(n * size);
    int64_t left = mute();
    void *p = ask > n * size ? u->calloc(context, 1, ask) : u->calloc(context, n, size);

    unmute(left);
    if (likely(p))
        event_alloc(p, n * size, RING_BY_PYTHON, c);
    return p;
}

/* A failed one leaves the old block alive, of size 0 as well. */
static inline void *retake(const struct functions *u, void *context, void *old, size_t size,
                           struct caller c)
{
    bool skipped = skip(size) && event_skip_free(old), freed;
    size_t ask;
    int64_t left;
    void *p;

    freed = !skipped && old && event_move(old, size, RING_BY_PYTHON, c.sp);
    ask = asked(size);
    left = mute();
    p = u->realloc(context, old, ask);
    unmute(left);
    if (unlikely(!skipped && p))
        event_alloc(p, size, RING_BY_PYTHON, c);
    else if (unlikely(freed))
        event_unfree(old, c.sp);
    return p;
}

static inline void give_back(const struct functions *u, void *context, void *p, struct caller c)
{
    int64_t left;

    if (p)
        event_free(p, RING_BY_PYTHON, c.sp);
    left = mute();
    u->free(context, p);
    unmute(left);
}

#define LAYERS 5
#define QUICK 2 /* the first of them are for allocators that serve small blocks from pools */

/* What each layer stands on; set once, as a call may be on its way through it at any time. */
static struct functions beneath[LAYERS];
static _Atomic int claimed[LAYERS]; /* 1: being set; 2: set */

/* The functions of one layer. CALLER() needs each recorded form to be reached by a jump. */
#define LAYER(k)                                                                                   \
    static OUTLINE void *malloc_##k(void *context, size_t size)                                    \
    {                                                                                              \
        return take(&beneath[k], context, size, CALLER());                                         \
    }                                                                                              \
    static OUTLINE void *calloc_##k(void *context, size_t n, size_t size)                          \
    {                                                                                              \
        return take_zeroed(&beneath[k], context, n, size, CALLER());                               \
    }                                                                                              \
    static void *realloc_##k(void *context, void *old, size_t size)                                \
    {                                                                                              \
        return retake(&beneath[k], context, old, size, CALLER());                                  \
    }                                                                                              \
    static OUTLINE void free_recorded_##k(void *context, void *p)                                  \
    {                                                                                              \
        give_back(&beneath[k], context, p, CALLER());                                              \
    }                                                                                              \
    static void free_##k(void *context, void *p)                                                   \
    {                                                                                              \
        if (event_skip_free(p))                                                                    \
            beneath[k].free(context, p);                                                           \
        else                                                                                       \
            free_recorded_##k(context, p);                                                         \
    }                                                                                              \
    static void *count_malloc_##k(void *context, size_t size)                                      \
    {                                                                                              \
        if (skip(size) && k < QUICK && likely(size - 1 < SMALL))                                   \
            return beneath[k].malloc(context, size);                                               \
        return malloc_##k(context, size);                                                          \
    }                                                                                              \
    static void *count_calloc_##k(void *context, size_t n, size_t size)                            \
    {                                                                                              \
        if (skip(n * size) && k < QUICK && likely(n * size - 1 < SMALL))                           \
            return beneath[k].calloc(context, n, size);                                            \
        return calloc_##k(context, n, size);                                                       \
    }

LAYER(0)
LAYER(1)
LAYER(2)
LAYER(3)
LAYER(4)

#define FUNCTIONS(k)                                                                               \
    {                                                                                              \
        count_malloc_##k, count_calloc_##k, realloc_##k, free_##k                                  \
    }

static const struct functions layers[LAYERS] = {FUNCTIONS(0), FUNCTIONS(1), FUNCTIONS(2),
                                                FUNCTIONS(3), FUNCTIONS(4)};

/* ---- arenas: memory of blocks that are told one by one ---- */

static struct arenas beneath_arenas;

static void *arena_alloc(void *context, size_t size)
{
    int64_t left = mute();
    void *p = beneath_arenas.alloc(context, size);

    unmute(left);
    return p;
}

static void arena_free(void *context, void *p, size_t size)
{
    int64_t left = mute();

    beneath_arenas.free(context, p, size);
    unmute(left);
}

/* A program that brings arenas of its own keeps them. */
static void take_arenas(void)
{
    struct arenas a;

    interpreter.get_arenas(&a);
    if (a.alloc == arena_alloc || (beneath_arenas.alloc && beneath_arenas.alloc != a.alloc))
        return;
    beneath_arenas = a;
    a.alloc = arena_alloc;
    a.free = arena_free;
    interpreter.set_arenas(&a);
}

/* ---- which layer ---- */

static bool same(const struct functions *a, const struct functions *b)
{
    return a->malloc == b->malloc && a->calloc == b->calloc && a->realloc == b->realloc &&
           a->free == b->free;
}

/* Which layer this is, -1: none. */
static int layer_of(const struct allocator *a)
{
    int k = LAYERS - 1;

    while (k >= 0 && a->f.malloc != layers[k].malloc)
        k--;
    return k;
}

/* In exact mode every free passes through us. */
static bool is_ours(const struct allocator *a)
{
    int k = layer_of(a);

    return k >= 0 && (a->f.free == layers[k].free || !mode_is_exact(process_mode()));
}

static bool in_python(const void *p)
{
    return (const char *)p >= interpreter.start && (const char *)p < interpreter.end;
}

/* The layer that stands on these functions, -1: there are too many of them. */
static int layer_on(const struct functions *f, bool pools)
{
    for (int k = pools ? 0 : QUICK; k < (pools ? QUICK : LAYERS); k++) {
        int state = 0;

        if (atomic_compare_exchange_strong(&claimed[k], &state, 1)) {
            beneath[k] = *f;
            atomic_store(&claimed[k], 2);
            return k;
        }
        if (state == 2 && same(&beneath[k], f))
            return k;
    }
    return -1;
}

/* Those who wrap an allocator keep what it was in the memory that their context points to: at its
 * start as tracemalloc does, or a word later as the debug hooks do. Only memory of a module is
 * looked at, which cannot fault.
 */
static bool readable(const void *context)
{
    struct dl_find_object o;
    uintptr_t at = (uintptr_t)context;

    return at && (at & 7) == 0 && _dl_find_object((void *)at, &o) == 0 &&
           at + 8 + sizeof(struct allocator) <= (((uintptr_t)o.dlfo_map_end + 4095) & ~4095ul);
}

static bool stands_on_ours(const struct allocator *a, int depth)
{
    const struct allocator *wrapped = a->context;
    const struct allocator *after = (const struct allocator *)((const char *)a->context + 8);

    if (is_ours(a))
        return true;
    if (depth == 0 || !readable(a->context))
        return false;
    return stands_on_ours(wrapped, depth - 1) || stands_on_ours(after, depth - 1);
}

/* The interpreter's debug hooks right on an allocator of its own: *wrapped is that. */
static bool is_debug(const struct allocator *a, struct allocator *wrapped)
{
    if (!interpreter.set_debug || !in_python(a->context) || !readable(a->context) ||
        !in_python((const void *)a->f.malloc))
        return false;
    *wrapped = *(const struct allocator *)((const char *)a->context + 8);
    return !wrapped->context && in_python((const void *)wrapped->f.malloc) &&
           in_python((const void *)wrapped->f.calloc) &&
           in_python((const void *)wrapped->f.realloc) && in_python((const void *)wrapped->f.free);
}

/* What serves a domain beneath our layer, or beneath the interpreter's debug hooks. */
static struct allocator bare(enum domain domain)
{
    struct allocator a, wrapped;
    int k;

    interpreter.get(domain, &a);
    if (is_debug(&a, &wrapped))
        a = wrapped;
    k = layer_of(&a);
    if (k >= 0)
        a.f = beneath[k];
    return a;
}

/* Its own allocator: it has no context, is no other module's, serves MEM and OBJ alike and not RAW,
 * which is malloc. Its mimalloc is not that: it has functions for each domain, and keeps large blocks
 * as well to itself.
 */
static bool has_pools(const struct allocator *a)
{
    return !a->context && in_python((const void *)a->f.malloc) &&
           a->f.malloc != bare(RAW).f.malloc && bare(MEM).f.malloc == bare(OBJ).f.malloc;
}

/* The interpreter takes its hooks off RAW for a moment, now and then. Putting all of them on again
 * just then would have blocks of RAW freed by another allocator than gave them.
 */
static bool may_take(void)
{
    struct allocator raw, mem, obj, wrapped;

    interpreter.get(RAW, &raw);
    interpreter.get(MEM, &mem);
    interpreter.get(OBJ, &obj);
    return is_debug(&raw, &wrapped) || (!is_debug(&mem, &wrapped) && !is_debug(&obj, &wrapped));
}

/* Returns false when it could not be. */
static bool cover(enum domain domain, const struct allocator *a)
{
    struct allocator layer = *a;
    int k = layer_of(a);

    if (k < 0)
        k = layer_on(&a->f, has_pools(a));
    if (k < 0)
        return false;
    layer.f = layers[k];
    if (k < QUICK && !mode_is_exact(process_mode()))
        layer.f.free = beneath[k].free;
    interpreter.set(domain, &layer);
    return true;
}

/* Returns true when debug hooks were taken off, which must be put on again. */
static bool take_domain(enum domain domain)
{
    struct allocator a, wrapped;

    interpreter.get(domain, &a);
    if (stands_on_ours(&a, 3))
        return false;
    if (!is_debug(&a, &wrapped)) {
        cover(domain, &a);
        return false;
    }
    return cover(domain, &wrapped);
}

/* Where no allocation is recorded, the interpreter is left as it is: even a call more would cost. */
static void take_all(void)
{
    bool debug;

    if ((process_mode() & ~RING_PAUSED) == RING_NO_HEAP || !interpreter.has_gil() || !may_take())
        return;
    debug = take_domain(MEM);
    debug |= take_domain(OBJ);
    if (debug)
        interpreter.set_debug();
    take_arenas();
}

/* ---- the interpreter ---- */

#define FIND(member, name) (interpreter.member = (__typeof__(interpreter.member))elf_find(e, name))

static bool find_functions(const struct elf *e)
{
    FIND(set_debug, "PyMem_SetupDebugHooks");
    return FIND(get, "PyMem_GetAllocator") && FIND(set, "PyMem_SetAllocator") &&
           FIND(get_arenas, "PyObject_GetArenaAllocator") &&
           FIND(set_arenas, "PyObject_SetArenaAllocator") && FIND(has_gil, "PyGILState_Check");
}

/* In a free-threaded build each thread has heaps of its own, which the collector of garbage walks:
 * its allocators are left alone. malloc is recorded.
 */
static bool is_free_threaded(const struct elf *e)
{
    const char *(*version)(void) = (const char *(*)(void))elf_find(e, "Py_GetVersion");

    for (const char *at = version ? version() : NULL; at && *at; at++)
        if (strncmp(at, "free-threading", 14) == 0)
            return true;
    return false;
}

static bool find_module(void)
{
    struct dl_find_object o;

    if (_dl_find_object((void *)(uintptr_t)interpreter.set, &o) != 0)
        return false;
    interpreter.start = o.dlfo_map_start;
    interpreter.end = o.dlfo_map_end;
    return true;
}

/* Since 3.12 the functions above take a lock, which a fork may leave taken in the child, and the
 * allocators stand in the structure of the runtime: looking there needs none.
 */
static const struct allocator *look_in_runtime(const struct elf *e)
{
    const Elf64_Sym *symbol = elf_symbol(e, "_PyRuntime");
    const char *runtime = symbol ? (const char *)(e->base + symbol->st_value) : NULL;
    size_t bytes = symbol && symbol->st_size < RUNTIME_MOST ? symbol->st_size : RUNTIME_MOST;
    struct allocator mem, obj;

    interpreter.get(MEM, &mem);
    interpreter.get(OBJ, &obj);
    for (size_t i = 0; runtime && i + 2 * sizeof(mem) <= bytes; i += 8) {
        const struct allocator *a = (const struct allocator *)(runtime + i);

        if (same(&a[0].f, &mem.f) && same(&a[1].f, &obj.f))
            return a;
    }
    return NULL;
}

/* May it be looked at again and again? */
static bool can_check(const struct elf *e)
{
    interpreter.now = look_in_runtime(e);
    return interpreter.now || !elf_find(e, "PyUnstable_Code_New"); /* new in 3.12 */
}

static bool take_module(const struct link_map *map)
{
    struct elf e;

    if (!elf_open(&e, map) || !elf_find(&e, "PyMem_SetAllocator"))
        return false;
    if (find_functions(&e) && find_module() && !is_free_threaded(&e)) {
        take_all();
        atomic_store(&interpreter.found, can_check(&e));
    }
    return true;
}

void pymem_start(void)
{
    if (!process_recorded() || atomic_load(&interpreter.found))
        return;
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
        if (take_module(map))
            return;
}

static _Atomic(const struct link_map *) late; /* has an interpreter, to be looked at */

void pymem_module(const struct link_map *map)
{
    struct elf e;

    if (!atomic_load(&interpreter.found) && elf_open(&e, map) && elf_find(&e, "PyMem_SetAllocator"))
        atomic_store(&late, map);
}

void pymem_unloaded(void)
{
    struct dl_find_object o;

    atomic_store(&late, NULL);
    if (atomic_load(&interpreter.found) &&
        _dl_find_object((void *)(uintptr_t)interpreter.set, &o) != 0)
        atomic_store(&interpreter.found, false);
}

static bool settled(void)
{
    struct allocator mem, obj;

    if (interpreter.now)
        return is_ours(&interpreter.now[0]) && is_ours(&interpreter.now[1]);
    interpreter.get(MEM, &mem);
    interpreter.get(OBJ, &obj);
    return is_ours(&mem) && is_ours(&obj);
}

void pymem_check(void)
{
    const struct link_map *map;

    if (local.muted)
        return;
    if (atomic_load_explicit(&interpreter.found, memory_order_acquire)) {
        if (!settled())
            take_all();
    } else if (unlikely(atomic_load_explicit(&late, memory_order_relaxed))) {
        map = atomic_exchange(&late, NULL);
        if (map)
            take_module(map);
    }
}
