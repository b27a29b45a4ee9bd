/* rings - see rings.h. */
#include "collect/rings.h"

#include "base/clock.h"
#include "collect/lifeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

uint64_t rings_offset(uint32_t slot)
{
    return RING_RINGS_OFFSET + (uint64_t)slot * RING_WORDS * 8;
}

/* Holes cost nothing, but a limit on the size of files counts them. What raises a signal here would
 * end the tool.
 */
static uint32_t slots_allowed(void)
{
    struct rlimit limit;
    uint64_t most = RING_SLOTS;

    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < RING_FILE_BYTES)
        most = limit.rlim_cur > RING_RINGS_OFFSET
                 ? (limit.rlim_cur - RING_RINGS_OFFSET) / (RING_WORDS * 8ull)
                 : 0;
    return (uint32_t)most;
}

/* The size is sealed: else a program that cuts the file off would end us by SIGBUS. */
static int make_file(struct rings *r, struct err *err)
{
    char name[32];
    struct stat st;

    r->slot_count = slots_allowed();
    if (!r->slot_count)
        return err_set(err,
                       "files may not be larger than the limit here (ulimit -f), and recording "
                       "needs %llu KiB of shared memory",
                       (unsigned long long)(rings_offset(1) / 1024));
    snprintf(name, sizeof(name), RING_NAME "%d", (int)getpid());
    r->fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (r->fd < 0 || ftruncate(r->fd, (off_t)rings_offset(r->slot_count)) != 0 ||
        fcntl(r->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
        fstat(r->fd, &st) != 0)
        return err_set(err, "cannot make the shared memory for recording: %s", strerror(errno));
    r->inode = (uint64_t)st.st_ino;
    return 0;
}

/* Only those that the file has room for. */
static void offer_slots(struct rings *r)
{
    for (uint32_t slot = 0; slot < r->slot_count; slot += 64) {
        uint32_t count = r->slot_count - slot;

        r->control->free_slots[slot / 64] = count < 64 ? (1ull << count) - 1 : UINT64_MAX;
    }
}

static void fill_control(struct rings *r, const struct rings_options *o)
{
    struct ring_control *c = r->control;

    c->slots = RING_SLOTS;
    c->words = RING_WORDS;
    lifeline_hold(&c->collector);
    c->collector_user = geteuid();
    c->origin_ns = r->origin_ns = o->origin_ns;
    c->depth = o->depth;
    c->sample_mean = o->sample_mean;
    rings_mode(r, o->mode);
    atomic_store(&c->next_process, 1);
    offer_slots(r);
    rings_tick(r);
    c->magic = RING_MAGIC;
}

int rings_create(struct rings *r, const struct rings_options *o, struct err *err)
{
    struct ring_control *c;

    r->fd = -1;
    if (make_file(r, err) < 0) {
        rings_close(r);
        return -1;
    }
    c = mmap(NULL, RING_RINGS_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (c == MAP_FAILED) {
        err_set(err, "cannot map the shared memory for recording: %s", strerror(errno));
        rings_close(r);
        return -1;
    }
    r->control = c;
    r->slots = (struct ring_slot *)((char *)c + RING_SLOTS_OFFSET);
    fill_control(r, o);
    return 0;
}

void rings_close(struct rings *r)
{
    for (uint32_t s = 0; s < r->mapped; s++) {
        if (r->maps[s])
            munmap(r->maps[s], RING_WORDS * 8);
        r->maps[s] = NULL;
    }
    /* A process that goes on has this mapped until it joins another: leave it no pages. */
    if (r->fd >= 0)
        fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, RING_RINGS_OFFSET,
                  (off_t)(rings_offset(r->slot_count) - RING_RINGS_OFFSET));
    lifeline_drop();
    if (r->control)
        munmap(r->control, RING_RINGS_OFFSET);
    if (r->fd >= 0)
        close(r->fd);
    r->control = NULL;
    r->slots = NULL;
    r->mapped = 0;
    r->fd = -1;
}

void rings_path(const struct rings *r, char *path, size_t room)
{
    snprintf(path, room, "/proc/%d/fd/%d", (int)getpid(), r->fd);
}

/* A program may have moved it, too, but only to a moment that has been, or that is while we look.
 */
#define AHEAD_NS 1000000u

uint64_t rings_tick(struct rings *r)
{
    _Atomic uint64_t *tick = &r->control->tick;
    uint64_t now = clock_ns(CLOCK_MONOTONIC) - r->origin_ns, seen = atomic_load(tick);

    if (seen > now + AHEAD_NS) /* nonsense: put right what the others look at */
        atomic_store(tick, seen = now);
    while (seen < now && !atomic_compare_exchange_weak(tick, &seen, now))
        ;
    return r->tick = seen < now ? now : seen;
}

void rings_mode(struct rings *r, uint32_t mode)
{
    uint32_t follow = atomic_load(&r->control->mode_followed) & RING_OUTSIDE;
    bool off = mode == RING_OFF;

    r->mode = mode;
    atomic_store(&r->control->mode, mode);
    atomic_store(&r->control->mode_outside, off ? mode : mode | RING_OUTSIDE);
    atomic_store(&r->control->mode_followed, off ? mode : mode | follow);
}

void rings_window(struct rings *r, bool inside)
{
    struct ring_control *c = r->control;

    if (inside) {
        atomic_fetch_add(&c->windows_opened, 1);
        atomic_fetch_and(&c->mode_followed, ~RING_OUTSIDE);
    } else {
        atomic_fetch_or(&c->mode_followed, RING_OUTSIDE);
    }
}

bool rings_paused(const struct rings *r)
{
    return atomic_load(&r->control->mode) & RING_PAUSED;
}

uint64_t *rings_map(struct rings *r, uint32_t slot)
{
    void *p;

    if (r->maps[slot])
        return r->maps[slot];
    p = mmap(NULL, RING_WORDS * 8, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
             (off_t)rings_offset(slot));
    if (p == MAP_FAILED)
        return NULL;
    if (slot >= r->mapped)
        r->mapped = slot + 1;
    return r->maps[slot] = p;
}

void rings_claimed(struct rings *r, void (*seen)(void *context, uint32_t slot), void *context)
{
    for (uint32_t w = 0; w < RING_SLOTS / 64; w++) {
        uint64_t taken = ~atomic_load_explicit(&r->control->free_slots[w], memory_order_relaxed);

        for (; taken; taken &= taken - 1) {
            uint32_t slot = w * 64 + (uint32_t)__builtin_ctzll(taken);

            if (slot < r->slot_count &&
                atomic_load_explicit(&r->slots[slot].state, memory_order_acquire) ==
                    RING_SLOT_CLAIMED)
                seen(context, slot);
        }
    }
}

void rings_release(struct rings *r, uint32_t slot, uint64_t at, bool unread)
{
    struct ring_slot *s = &r->slots[slot];
    uint64_t *ring = r->maps[slot], from = at % RING_WORDS;
    uint64_t words = RING_WORDS - from < RING_SLACK ? RING_WORDS - from : RING_SLACK;

    if (unread)
        memset(ring, 0, RING_WORDS * 8);
    else
        memset(ring + from, 0, words * 8); /* what a writer that was killed left half written */
    atomic_store(&s->tail, 0);
    atomic_store(&s->lost, 0);
    atomic_store(&s->nested, 0);
    atomic_store(&s->torn, 0);
    atomic_store(&s->answered, 0);
    s->process = s->pid = 0;
    atomic_store(&s->state, RING_SLOT_FREE);
    atomic_fetch_or(&r->control->free_slots[slot / 64], 1ull << (slot % 64));
}
