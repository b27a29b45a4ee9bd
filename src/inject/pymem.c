/* pymem - the allocators of a Python interpreter: blocks that it cuts out of arenas by itself.
 *
 * A layer of ours (pylayer.c) stands on the domains MEM and OBJ; RAW is malloc, which is hooked
 * already. It keeps the context of what is beneath it and hands it on. So a switch of allocators
 * changes nothing but four function pointers, each right with each of the others, old or new: a
 * thread that reads them in the middle of the switch is safe. A second change of the same kind by
 * the program must not get lost, so we switch in a thread that holds the GIL, or before there is
 * one.
 *
 * The interpreter's debug hooks (-X dev, PYTHONMALLOC=debug) check what passes between them and the
 * program: there our layer goes beneath them, where sizes and addresses are those of the allocator.
 */
#include "inject/pymem.h"
#include "inject/objects.h"

#include "inject/elf.h"
#include "inject/event.h"
#include "inject/maps.h"
#include "inject/modules.h"
#include "inject/mute.h"
#include "inject/process.h"
#include "inject/pylayer.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#define RUNTIME_MOST 65536u /* bytes of _PyRuntime that its allocators are looked for in */

enum domain { RAW, MEM, OBJ };

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

/* ---- arenas: memory of blocks that are told one by one ---- */

static struct arenas beneath_arenas;

static void *arena_alloc(void *context, size_t size)
{
    int64_t left = mute_begin();
    void *p = beneath_arenas.alloc(context, size);

    mute_end(left);
    return p;
}

static void arena_free(void *context, void *p, size_t size)
{
    int64_t left = mute_begin();

    beneath_arenas.free(context, p, size);
    mute_end(left);
}

/* A program that brings arenas of its own keeps them. */
static void take_arenas(void)
{
    struct arenas a;

    interpreter.get_arenas(&a);
    if (a.alloc == arena_alloc || (beneath_arenas.alloc && beneath_arenas.alloc != a.alloc))
        return;
    beneath_arenas = a;
    maps_are_arenas((uintptr_t)a.alloc);
    a.alloc = arena_alloc;
    a.free = arena_free;
    interpreter.set_arenas(&a);
}

/* ---- which layer ---- */

/* In exact mode every free passes through us. */
static bool is_ours(const struct allocator *a)
{
    int k = pylayer_of(a);

    return k >= 0 && (a->f.free == pylayers[k].free || !mode_is_exact(process_mode()));
}

static bool in_python(const void *p)
{
    return (const char *)p >= interpreter.start && (const char *)p < interpreter.end;
}

/* Those who wrap an allocator keep what it was in the memory that their context points to: at its
 * start as tracemalloc does, or a word later as the debug hooks do. Only memory of a module is
 * looked at, which cannot fault.
 */
static bool readable(const void *context)
{
    struct object o;
    uintptr_t at = (uintptr_t)context;

    return at && (at & 7) == 0 && objects_find((const void *)at, &o) &&
           at + 8 + sizeof(struct allocator) <= (((uintptr_t)o.end + 4095) & ~4095ul);
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
    k = pylayer_of(&a);
    if (k >= 0)
        a.f = *pylayer_beneath(k);
    return a;
}

/* Its own allocator: it has no context, is no other module's, serves MEM and OBJ alike and not RAW,
 * which is malloc. Its mimalloc is not that: it has functions for each domain, and keeps large
 * blocks as well to itself.
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
    int k = pylayer_of(a);

    if (k < 0)
        k = pylayer_on(&a->f, has_pools(a));
    if (k < 0)
        return false;
    layer.f = pylayers[k];
    if (k < PYLAYER_QUICK && !mode_is_exact(process_mode()))
        layer.f.free = pylayer_beneath(k)->free;
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

/* Where no allocation is recorded, the interpreter is left as it is: even a call more would cost.
 */
static void take_all(void)
{
    bool debug;

    if ((process_mode() & RING_MODES) == RING_NO_HEAP || !interpreter.has_gil() || !may_take())
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
    struct object o;

    if (!objects_find((const void *)(uintptr_t)interpreter.set, &o))
        return false;
    interpreter.start = o.start;
    interpreter.end = o.end;
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

        if (pylayer_same(&a[0].f, &mem.f) && pylayer_same(&a[1].f, &obj.f))
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

static void take_module(const struct link_map *map)
{
    struct elf e;

    if (!elf_open(&e, map) || !elf_find(&e, "PyMem_SetAllocator"))
        return;
    if (find_functions(&e) && find_module() && !is_free_threaded(&e)) {
        take_all();
        atomic_store(&interpreter.found, can_check(&e));
    }
}

static _Atomic(const struct link_map *) late; /* has an interpreter, to be looked at */

static void note_module(const struct link_map *map)
{
    struct elf e;

    if (!atomic_load(&interpreter.found) && elf_open(&e, map) && elf_find(&e, "PyMem_SetAllocator"))
        atomic_store(&late, map);
}

static void note_unloaded(void)
{
    struct object o;

    atomic_store(&late, NULL);
    if (atomic_load(&interpreter.found) &&
        !objects_find((const void *)(uintptr_t)interpreter.set, &o))
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

/* Is our layer still there? An interpreter may have set its allocators anew, as it does in
 * Py_Initialize and as a program may at any time.
 */
static void check(void)
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

void pymem_start(void)
{
    const struct link_map *map;

    modules_watch(note_module, note_unloaded);
    event_now_and_then(check);
    if (!process_recorded() || atomic_load(&interpreter.found))
        return;
    map = elf_defining("PyMem_SetAllocator");
    if (map)
        take_module(map);
}
