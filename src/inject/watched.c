/* watched - see watched.h. */
#include "inject/watched.h"

#include "inject/glimpse.h"
#include "inject/state.h"
#include "inject/sys.h"

#include <stdatomic.h>
#include <string.h>

#define PIECE 1024u
#define TRIES 2000 /* of 50 us each: who holds it may be stopped, or have forked */

static struct watched list[WATCHED_MOST];
static _Atomic uint32_t writes[WATCHED_MOST];
static _Atomic unsigned int count;
static _Atomic bool taken;
static uint32_t owner; /* process.forks of whose they are */

static bool take(int tries)
{
    while (atomic_exchange(&taken, true)) {
        if (!--tries)
            return false;
        sys_pause_us(50);
    }
    return true;
}

static void give(void)
{
    atomic_store(&taken, false);
}

/* A forked child watches nothing: its memory is another. */
static void forget_inherited(void)
{
    if (home.session && owner == atomic_load(&process.forks))
        return;
    guard_end_all();
    memset(list, 0, sizeof(list));
    atomic_store(&count, 0);
    owner = atomic_load(&process.forks);
}

/* ---- hashes ---- */

uint64_t watched_hash(uint64_t hash, const unsigned char *data, size_t bytes)
{
    uint64_t word = 0;

    for (; bytes; bytes -= bytes < 8 ? bytes : 8, data += 8) {
        memcpy(&word, data, bytes < 8 ? bytes : 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return hash;
}

/* False: some of it is not there any more. */
static bool hash_of(uintptr_t from, uintptr_t to, uint64_t *hash)
{
    struct glimpse g;
    unsigned char piece[PIECE];

    glimpse_begin(&g);
    for (uintptr_t at = from; at < to; at += PIECE) {
        size_t bytes = to - at < PIECE ? to - at : PIECE;

        if (!glimpse_read(&g, at, piece, bytes))
            return false;
        *hash = watched_hash(*hash, piece, bytes);
    }
    return true;
}

static bool hash_inner(const struct watched *w, uint64_t *hash)
{
    *hash = w->bytes;
    return hash_of(w->low, w->high, hash);
}

static bool hash_outer(const struct watched *w, uint64_t *hash)
{
    *hash = w->bytes;
    return hash_of(w->address, w->low, hash) && hash_of(w->high, w->address + w->bytes, hash);
}

/* ---- one of them ---- */

bool watched_any(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed) != 0;
}

static unsigned int place_of(const struct watched *w)
{
    return (unsigned int)(w - list);
}

static void drop(struct watched *w)
{
    guard_end(place_of(w));
    w->address = 0;
    atomic_fetch_sub(&count, 1);
}

static struct watched *find(uintptr_t address)
{
    for (unsigned int i = 0; i < WATCHED_MOST; i++)
        if (list[i].address == address)
            return &list[i];
    return NULL;
}

static void tell_untold(const struct watched *w, watched_tell *tell, void *context)
{
    _Atomic uint32_t *n = &writes[place_of(w)];
    uint32_t all = atomic_load(n);

    if (all > WATCHED_WRITES && atomic_compare_exchange_strong(n, &all, WATCHED_WRITES))
        tell(context, RING_WATCH_UNTOLD, all - WATCHED_WRITES, w);
}

/* The guard first: what is written while it is hashed is met. */
static bool begin(struct watched *to, const struct watched *w, bool guarded, watched_tell *tell,
                  void *context)
{
    unsigned int place = place_of(to);
    enum ring_why no;

    *to = *w;
    atomic_store(&writes[place], 0);
    no = guarded ? guard_begin(place, w->address, w->bytes) : RING_WHY_UNASKED;
    if (no || !guard_pages(place, &to->low, &to->high))
        to->low = to->high = w->address;
    if (!hash_inner(to, &to->inner) || !hash_outer(to, &to->outer))
        return false;
    tell(context, RING_WATCH_BEGAN, w->bytes, to);
    if (no)
        tell(context, RING_WATCH_LOOKED, no, to);
    return true;
}

bool watched_add(const void *block, size_t bytes, const char *name, bool guarded,
                 watched_tell *tell, void *context)
{
    struct watched w = {.address = (uintptr_t)block, .bytes = bytes}, *to;
    bool added = false;

    if (name)
        memcpy(w.name, name, strnlen(name, WATCHED_NAME_MOST - 1));
    if (!block || !bytes || (uintptr_t)block + bytes < bytes || !glimpse_allowed() ||
        !take(TRIES)) {
        tell(context, RING_WATCH_GONE, bytes, &w);
        return false;
    }
    forget_inherited();
    to = find(w.address);
    atomic_fetch_add(&count, !to);
    to = to ? to : find(0);
    if (to)
        added = begin(to, &w, guarded, tell, context);
    if (!added)
        tell(context, to ? RING_WATCH_GONE : RING_WATCH_NO_ROOM, bytes, &w);
    if (to && !added)
        drop(to);
    else if (!to)
        atomic_fetch_sub(&count, 1);
    give();
    return added;
}

static void end(struct watched *w, enum ring_watch kind, watched_tell *tell, void *context)
{
    tell_untold(w, tell, context);
    tell(context, kind, w->bytes, w);
    drop(w);
}

void watched_remove(const void *block, watched_tell *tell, void *context)
{
    struct watched *w;

    if (!block || !watched_any() || !take(TRIES))
        return;
    w = find((uintptr_t)block);
    if (w)
        end(w, RING_WATCH_ENDED, tell, context);
    give();
}

/* ---- looks ---- */

static bool has_changed(uint64_t *before, uint64_t now)
{
    bool changed = *before != now;

    *before = now;
    return changed;
}

static void look_at(struct watched *w, watched_tell *tell, void *context)
{
    bool touched = guard_close(place_of(w)), changed;
    enum ring_why lost = guard_lost(place_of(w));
    uint64_t inner = w->inner, outer = w->outer;
    uintptr_t low, high;

    if (lost)
        tell(context, RING_WATCH_LOOKED, lost, w);
    touched = touched || !guard_pages(place_of(w), &low, &high);
    if (!hash_outer(w, &outer) || (touched && !hash_inner(w, &inner))) {
        end(w, RING_WATCH_GONE, tell, context);
        return;
    }
    changed = has_changed(&w->inner, inner);
    changed = has_changed(&w->outer, outer) || changed;
    if (changed)
        tell(context, RING_WATCH_CHANGED, 0, w);
    tell_untold(w, tell, context);
}

void watched_look(watched_tell *tell, void *context)
{
    if (!take(1))
        return;
    forget_inherited();
    for (unsigned int i = 0; i < WATCHED_MOST; i++)
        if (list[i].address)
            look_at(&list[i], tell, context);
    give();
}

/* ---- what the program does with it ---- */

static bool meets(const struct watched *w, uintptr_t address, size_t bytes)
{
    return w->address && w->address < address + bytes && address < w->address + w->bytes;
}

/* Its pages are opened in any case: whoever gets them next must find them so. */
void watched_freed(const void *block, size_t bytes, watched_tell *tell, void *context)
{
    uintptr_t address = (uintptr_t)block;

    for (unsigned int i = 0; i < WATCHED_MOST; i++) {
        struct watched *w = &list[i];

        if (!meets(w, address, bytes))
            continue;
        guard_release(address, bytes, RING_WHY_KEPT);
        if (!take(TRIES))
            return;
        if (meets(w, address, bytes) && home.session && owner == atomic_load(&process.forks)) {
            look_at(w, tell, context);
            if (w->address)
                end(w, RING_WATCH_FREED, tell, context);
        }
        give();
    }
}

size_t watched_part(uintptr_t *address, size_t bytes)
{
    for (unsigned int i = 0; i < WATCHED_MOST; i++) {
        const struct watched *w = &list[i];
        uintptr_t end_of = *address + bytes;

        if (!meets(w, *address, bytes))
            continue;
        *address = *address > w->address ? *address : w->address;
        return (end_of < w->address + w->bytes ? end_of : w->address + w->bytes) - *address;
    }
    return 0;
}

bool watched_count(unsigned int place)
{
    return atomic_fetch_add(&writes[place], 1) < WATCHED_WRITES;
}

unsigned int watched_place(uintptr_t address)
{
    unsigned int i = 0;

    while (i < WATCHED_MOST && !meets(&list[i], address, 1))
        i++;
    return i;
}
