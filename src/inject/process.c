/* process - see process.h. */
#include "inject/process.h"
#include "inject/objects.h"

#include "inject/real.h"
#include "inject/ringfile.h"

#include <gnu/libc-version.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

enum { UNKNOWN, STARTING, ABSENT, READY };

static _Atomic uint32_t own_mode; /* what a process looks at that has paused itself */
static _Atomic int state;
static const char *library; /* its path, as the loader knows it */

/* What it has said of windows itself, and so which of the collector's modes is its own. */
enum { FOLLOWS, INSIDE, OUTSIDE };
static _Atomic int scope;

static _Atomic uint32_t *mode_of(struct ring_control *c)
{
    int is = atomic_load(&scope);

    return is == INSIDE ? &c->mode : is == OUTSIDE ? &c->mode_outside : &c->mode_followed;
}

static void look_at(struct ring_control *c)
{
    process.control = c;
    process.mode = mode_of(c);
}

/* By its path, or by a descriptor that was handed over. */
static bool map_control(int fd)
{
    struct ring_control *c = fd < 0 ? ringfile_open() : ringfile_take(fd);

    if (!c)
        return false;
    process.slots = (struct ring_slot *)((char *)c + RING_SLOTS_OFFSET);
    process.depth = c->depth < 8 ? 8 : c->depth > RING_DEPTH_MOST ? RING_DEPTH_MOST : c->depth;
    look_at(c);
    return true;
}

static void find_library(void)
{
    struct object o;

    if (objects_find((const void *)find_library, &o))
        library = o.map->l_name;
}

const char *process_library(void)
{
    return library;
}

/* The mark is for this program alone: what it starts without our seeing shall come without one. */
static bool take_mark(char *ring)
{
    size_t bytes = ring ? strlen(ring) : 0;

    if (!bytes || ring[bytes - 1] != RING_COUNTED)
        return false;
    ring[bytes - 1] = '\0';
    return true;
}

/* Nobody who looks at the program from outside could tell: what it is run by is older than what
 * this library has been tried with.
 */
static bool is_new_libc(const char *version)
{
    return strncmp(version, "2.", 2) != 0 ||
           (version[2] >= '1' && version[3] >= '0' && (version[2] > '1' || version[3] >= '7'));
}

static bool start(bool (*settle)(void))
{
    char *ring = getenv(RING_ENV);
    bool marked = take_mark(ring);

    find_library();
    if (!is_new_libc(gnu_get_libc_version()) || !ringfile_name(ring) || !settle() ||
        !map_control(-1))
        return false;
    atomic_fetch_add(marked ? &process.control->came : &process.control->came_unmarked, 1);
    return true;
}

bool process_ready(bool (*settle)(void))
{
    int seen = atomic_load_explicit(&state, memory_order_acquire);

    if (likely(seen >= ABSENT))
        return true;
    if (seen != UNKNOWN || !environ || !real.mmap ||
        !atomic_compare_exchange_strong(&state, &seen, STARTING))
        return false; /* dlsym itself may allocate while the real functions are looked for */
    atomic_store(&state, start(settle) ? READY : ABSENT);
    return true;
}

bool process_has_collector(void)
{
    return process.control != &nobody;
}

bool process_recorded(void)
{
    return atomic_load_explicit(&process.control->mode, memory_order_relaxed) != RING_OFF;
}

bool process_collected(void)
{
    return process_recorded() && !(atomic_load(&process.control->collector) & RING_COLLECTOR_DIED);
}

void process_check(void)
{
    if (!process_collected())
        look_at(&nobody);
}

bool process_follow(int fd)
{
    atomic_store(&state, READY);
    atomic_store(&scope, FOLLOWS);
    return map_control(fd);
}

void process_leave(void)
{
    look_at(&nobody);
}

/* The collector may end the recording meanwhile, and that holds. */
static void change(_Atomic uint32_t *mode, uint32_t bit, bool set)
{
    uint32_t seen = atomic_load(mode);

    while (seen != RING_OFF &&
           !atomic_compare_exchange_weak(mode, &seen, set ? seen | bit : seen & ~bit))
        ;
}

void process_pause(bool paused)
{
    struct ring_control *c = process.control;
    uint32_t mode = atomic_load(&c->mode);

    if (mode == RING_OFF)
        return;
    if (!paused) { /* if all were paused from outside, all go on */
        change(&c->mode, RING_PAUSED, false);
        change(&c->mode_outside, RING_PAUSED, false);
        change(&c->mode_followed, RING_PAUSED, false);
    }
    atomic_store(&own_mode, mode | RING_PAUSED);
    process.mode = paused ? &own_mode : mode_of(c);
}

bool process_paused(void)
{
    return process_mode() & RING_PAUSED;
}

void process_window(bool inside)
{
    struct ring_control *c = process.control;
    bool paused = process.mode == &own_mode;

    atomic_store(&scope, inside ? INSIDE : OUTSIDE);
    change(&c->mode_followed, RING_OUTSIDE, !inside);
    if (!paused)
        process.mode = mode_of(c);
}

bool process_follows(void)
{
    return atomic_load(&scope) == FOLLOWS;
}

void process_forked(void)
{
    atomic_store(&scope, FOLLOWS);
    if (process.mode != &own_mode)
        process.mode = mode_of(process.control);
}

uint32_t process_number(void)
{
    uint32_t number = atomic_load(&process.number), none = 0;

    if (number)
        return number;
    number = atomic_fetch_add(&process.control->next_process, 1);
    return atomic_compare_exchange_strong(&process.number, &none, number) ? number : none;
}
