/* watched - see watched.h. */
#include "inject/watched.h"

#include "inject/glimpse.h"
#include "inject/sys.h"

#include <stdatomic.h>
#include <string.h>

#define PIECE 1024u
#define TRIES 2000 /* of 50 us each: who holds it may be stopped, or have forked */

static struct watched list[WATCHED_MOST];
static _Atomic unsigned int count;
static _Atomic bool taken;

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

static uint64_t mix(uint64_t hash, const unsigned char *data, size_t bytes)
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
static bool hash_of(const struct watched *w, uint64_t *hash)
{
    struct glimpse g;
    unsigned char piece[PIECE];

    glimpse_begin(&g);
    *hash = w->bytes;
    for (size_t at = 0; at < w->bytes; at += PIECE) {
        size_t bytes = w->bytes - at < PIECE ? w->bytes - at : PIECE;

        if (!glimpse_read(&g, w->address + at, piece, bytes))
            return false;
        *hash = mix(*hash, piece, bytes);
    }
    return true;
}

bool watched_any(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed) != 0;
}

static void drop(struct watched *w)
{
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

bool watched_add(const void *block, size_t bytes, const char *name, watched_tell *tell,
                 void *context)
{
    struct watched w = {(uintptr_t)block, bytes, 0, ""}, *to;

    if (name)
        memcpy(w.name, name, strnlen(name, WATCHED_NAME_MOST - 1));
    if (!block || !bytes || !glimpse_allowed() || !hash_of(&w, &w.hash) || !take(TRIES))
        return false;
    to = find(w.address);
    atomic_fetch_add(&count, !to);
    to = to ? to : find(0);
    if (to) {
        *to = w;
        tell(context, WATCHED_BEGAN, to);
    } else {
        atomic_fetch_sub(&count, 1);
    }
    give();
    return to != NULL;
}

void watched_remove(const void *block, watched_tell *tell, void *context)
{
    struct watched *w;

    if (!block || !watched_any() || !take(TRIES))
        return;
    w = find((uintptr_t)block);
    if (w) {
        tell(context, WATCHED_ENDED, w);
        drop(w);
    }
    give();
}

static void look_at(struct watched *w, watched_tell *tell, void *context)
{
    uint64_t hash;

    if (!hash_of(w, &hash)) {
        tell(context, WATCHED_GONE, w);
        drop(w);
    } else if (hash != w->hash) {
        w->hash = hash;
        tell(context, WATCHED_CHANGED, w);
    }
}

void watched_look(watched_tell *tell, void *context)
{
    if (!take(1))
        return;
    for (unsigned int i = 0; i < WATCHED_MOST; i++)
        if (list[i].address)
            look_at(&list[i], tell, context);
    give();
}
