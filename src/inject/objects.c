/* objects - see objects.h.
 *
 * Two copies of the table and a number: even, the first holds; odd, the second. A writer fills the
 * other one and then moves the number on; a reader looks at the number before and after, and once
 * more if it has changed. One thread writes at a time; another that comes
 * meanwhile does not wait but leaves word that there is more.
 */
#include "inject/objects.h"

#include "inject/state.h"
#include "inject/sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define MOST 8192u

#pragma weak _dl_find_object

struct entry {
    struct object object;
    const void *reach; /* the end of whichever ends last, of this one and those before it */
};

struct table {
    size_t count;
    struct entry at[MOST]; /* by their starts */
};

struct counts { /* of objects in all namespaces, ever */
    unsigned long long loaded, unloaded;
};

static struct table *tables[2];
static _Atomic uint32_t number;
static _Atomic bool made, more, missed;
static _Atomic(const struct link_map *) spaces[OBJECTS_SPACES]; /* besides the program's */
static struct counts last;                                      /* when the table was made */
static uint32_t last_forks;
/* 1 + process.forks while a thread writes: what a child inherits says nothing of its own threads.
 */
static _Atomic uint32_t writing;

/* ---- making it ---- */

static void put(struct table *t, const struct link_map *map, const Elf64_Phdr *headers,
                size_t count)
{
    uintptr_t low = UINTPTR_MAX, high = 0;
    struct object o = {.map = map};

    for (const Elf64_Phdr *p = headers; p < headers + count; p++) {
        uintptr_t at = map->l_addr + p->p_vaddr;

        if (p->p_type == PT_GNU_EH_FRAME)
            o.eh_frame = (const void *)at;
        if (p->p_type != PT_LOAD)
            continue;
        low = at < low ? at & ~(ARCH_PAGE_LEAST - 1ul) : low;
        high = at + p->p_memsz > high ? at + p->p_memsz : high;
    }
    o.start = (const void *)low;
    o.end = (const void *)high;
    if (t->count < MOST && low < high)
        t->at[t->count++].object = o;
}

/* The loader's list of headers is in the order of its list of objects. */
struct visit {
    struct table *table;
    const struct link_map *next;
    struct counts counts;
};

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
    struct visit *v = context;
    const struct link_map *map = v->next;

    (void)size;
    v->counts = (struct counts){info->dlpi_adds, info->dlpi_subs};
    while (map && map->l_name != info->dlpi_name)
        map = map->l_next;
    if (!map)
        return 0;
    put(v->table, map, info->dlpi_phdr, info->dlpi_phnum);
    v->next = map->l_next;
    return 0;
}

/* Of another namespace the loader tells no headers: they are the first bytes of each library. That
 * of the loader itself is in all of them.
 */
static void put_space(struct table *t, const struct link_map *map)
{
    static struct glimpse g;
    struct py_memory m = glimpse_begin(&g);
    Elf64_Ehdr h;

    for (; map; map = map->l_next)
        if (map->l_addr && (map->l_addr & (ARCH_PAGE_LEAST - 1ul)) == 0 &&
            m.read(m.context, map->l_addr, &h, sizeof(h)) &&
            memcmp(h.e_ident, ELFMAG, SELFMAG) == 0)
            put(t, map, (const Elf64_Phdr *)(map->l_addr + h.e_phoff), h.e_phnum);
}

static void sort(struct table *t)
{
    for (size_t gap = t->count / 2; gap; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (size_t i = gap; i < t->count; i++) {
            struct object o = t->at[i].object;
            size_t at = i;

            for (; at >= gap && t->at[at - gap].object.start > o.start; at -= gap)
                t->at[at].object = t->at[at - gap].object;
            t->at[at].object = o;
        }
    for (size_t i = 0; i < t->count; i++) {
        const void *before = i ? t->at[i - 1].reach : NULL, *end = t->at[i].object.end;

        t->at[i].reach = end > before ? end : before;
    }
}

static int visit_spaces(struct dl_phdr_info *info, size_t size, void *context)
{
    const struct link_map *first;

    (void)info, (void)size;
    for (unsigned int place = 1; objects_space(place, &first); place++)
        put_space(context, first);
    return 1;
}

static bool make_room(void)
{
    struct table *t = tables[0] ? tables[0] : sys_memory(2 * sizeof(struct table));

    if (!t)
        return false;
    tables[0] = t;
    tables[1] = t + 1;
    return true;
}

static void make(void)
{
    struct visit v = {.next = _r_debug.r_map};

    if (!make_room())
        return;
    v.table = tables[(atomic_load(&number) + 1) & 1];
    v.table->count = 0;
    dl_iterate_phdr(visit, &v);
    dl_iterate_phdr(visit_spaces, v.table);
    sort(v.table);
    last = v.counts;
    last_forks = atomic_load(&process.forks);
    atomic_fetch_add(&number, 1);
    atomic_store(&made, true);
}

static bool begin_writing(void)
{
    uint32_t here = atomic_load(&process.forks) + 1, before = atomic_load(&writing);

    return before != here && atomic_compare_exchange_strong(&writing, &before, here);
}

static void look(void)
{
    int kept = errno;

    atomic_store(&more, true);
    while (atomic_load(&more) && begin_writing()) {
        atomic_store(&more, false);
        make();
        atomic_store(&writing, 0);
    }
    if (atomic_exchange(&missed, false)) { /* what was not found has been remembered as such */
        lookup_forget(&process.rows);
        atomic_fetch_add(&process.generation, 1);
    }
    errno = kept;
}

static int count(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(struct counts *)context = (struct counts){info->dlpi_adds, info->dlpi_subs};
    return 1;
}

static struct counts counts_now(void)
{
    struct counts c = {0};

    dl_iterate_phdr(count, &c);
    return c;
}

/* Objects that libc has loaded for itself, or whose constructors run now. Not in a signal handler,
 * which may have interrupted the loader, and not in a forked child before it loads something: a
 * thread that is not there any more may have had the loader's lock.
 */
static bool look_if_changed(void)
{
    struct counts now;

    if (local.quiet || last_forks != atomic_load(&process.forks)) {
        atomic_store_explicit(&missed, true, memory_order_relaxed);
        return false;
    }
    now = counts_now();
    if (now.loaded == last.loaded && now.unloaded == last.unloaded)
        return false;
    look();
    return true;
}

/* ---- asking ---- */

/* Of those around an address the innermost: what the kernel has loaded, the program and the loader,
 * may have room between its segments, and others in that.
 */
static bool find_in(const struct table *t, const void *address, struct object *found)
{
    size_t low = 0, high = t->count < MOST ? t->count : MOST;

    while (low < high) { /* those before `low` start at the address or before it */
        size_t middle = (low + high) / 2;

        if (t->at[middle].object.start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    while (low && t->at[low - 1].reach > address) {
        *found = t->at[--low].object;
        if (found->end > address)
            return true;
    }
    return false;
}

static bool find_now(const void *address, struct object *found)
{
    uint32_t before;
    bool there;

    do {
        before = atomic_load_explicit(&number, memory_order_acquire);
        if (!tables[before & 1])
            return false;
        there = find_in(tables[before & 1], address, found);
        atomic_thread_fence(memory_order_acquire);
    } while (atomic_load_explicit(&number, memory_order_relaxed) != before);
    return there;
}

static OUTLINE bool find_by_table(const void *address, struct object *found)
{
    if (!atomic_load_explicit(&made, memory_order_acquire) && !local.quiet)
        look();
    return find_now(address, found) || (look_if_changed() && find_now(address, found));
}

bool objects_find(const void *address, struct object *found)
{
    struct dl_find_object o;

    if (unlikely(!_dl_find_object))
        return find_by_table(address, found);
    if (_dl_find_object((void *)(uintptr_t)address, &o) != 0)
        return false;
    *found = (struct object){o.dlfo_map_start, o.dlfo_map_end, o.dlfo_eh_frame, o.dlfo_link_map};
    return true;
}

bool objects_are_ours(void)
{
    return !_dl_find_object;
}

/* ---- namespaces ---- */

static bool loader_lists_spaces(void)
{
    return _r_debug.r_version > 1;
}

bool objects_space(unsigned int place, const struct link_map **first)
{
    const struct r_debug_extended *s = (const struct r_debug_extended *)&_r_debug;

    if (!loader_lists_spaces() && place) {
        *first = place <= OBJECTS_SPACES ? atomic_load(&spaces[place - 1]) : NULL;
        return place <= OBJECTS_SPACES;
    }
    for (; s && place; place--)
        s = s->r_next;
    *first = s ? s->base.r_map : NULL;
    return s;
}

static void keep_space(const struct link_map *map)
{
    while (map->l_prev)
        map = map->l_prev;
    if (map == _r_debug.r_map)
        return;
    for (unsigned int i = 0; i < OBJECTS_SPACES; i++)
        if (atomic_load(&spaces[i]) == map)
            return;
    for (unsigned int i = 0; i < OBJECTS_SPACES; i++) {
        const struct link_map *none = NULL;

        if (atomic_compare_exchange_strong(&spaces[i], &none, map))
            return;
    }
}

void objects_came(const void *handle)
{
    if (handle && !loader_lists_spaces())
        keep_space(handle);
    if (!_dl_find_object)
        look();
}

struct closing {
    const void *handle;
    struct objects_closing found;
};

/* The handle is compared, not looked into: it is the program's, and may be none. */
static int find_closing(struct dl_phdr_info *info, size_t size, void *context)
{
    struct closing *c = context;

    (void)size;
    for (unsigned int i = 0; i < OBJECTS_SPACES && !c->found.place; i++) {
        const struct link_map *first = atomic_load(&spaces[i]), *map = first;

        while (map && map != c->handle)
            map = map->l_next;
        if (map)
            c->found = (struct objects_closing){i + 1, first, info->dlpi_subs};
    }
    return 1;
}

struct objects_closing objects_close(const void *handle)
{
    struct closing c = {.handle = handle};

    if (handle && !loader_lists_spaces())
        dl_iterate_phdr(find_closing, &c);
    if (c.found.place)
        atomic_store(&spaces[c.found.place - 1], NULL);
    return c.found;
}

void objects_closed(const struct objects_closing *c)
{
    if (c->place && counts_now().unloaded == c->unloaded)
        atomic_store(&spaces[c->place - 1], c->first);
    if (!_dl_find_object)
        look();
}
