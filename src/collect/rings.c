/* rings - see rings.h. */
#include "watch/rings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int rings_create(struct rings *r, enum ring_mode mode, uint64_t sample_mean, uint32_t depth,
                 uint64_t origin_ns, struct err *err)
{
    struct ring_control *c;
    char name[32];

    memset(r, 0, sizeof(*r));
    snprintf(name, sizeof(name), RING_NAME "%d", (int)getpid());
    r->fd = memfd_create(name, MFD_CLOEXEC);
    if (r->fd < 0 || ftruncate(r->fd, (off_t)RING_FILE_BYTES) != 0) {
        rings_close(r);
        return err_set(err, "Cannot make the shared memory for recording: %s.", strerror(errno));
    }
    c = mmap(NULL, RING_RINGS_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (c == MAP_FAILED) {
        rings_close(r);
        return err_set(err, "Cannot map the shared memory for recording: %s.", strerror(errno));
    }
    r->control = c;
    r->slots = (struct ring_slot *)((char *)c + RING_SLOTS_OFFSET);
    c->slots = RING_SLOTS;
    c->words = RING_WORDS;
    c->collector_pid = (uint64_t)getpid();
    c->origin_ns = origin_ns;
    atomic_store(&c->mode, mode);
    c->depth = depth;
    c->sample_mean = sample_mean;
    atomic_store(&c->next_process, 1);
    memset((void *)c->free_slots, 0xff, sizeof(c->free_slots));
    rings_tick(r);
    c->magic = RING_MAGIC;
    return 0;
}

void rings_close(struct rings *r)
{
    for (uint32_t s = 0; s < RING_SLOTS; s++) {
        if (r->maps[s])
            munmap(r->maps[s], RING_WORDS * 8);
    }
    /* A process that goes on has this mapped until it joins another: leave it no pages. */
    if (r->fd >= 0)
        fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, RING_RINGS_OFFSET,
                  (off_t)(RING_FILE_BYTES - RING_RINGS_OFFSET));
    if (r->control)
        munmap(r->control, RING_RINGS_OFFSET);
    if (r->fd >= 0)
        close(r->fd);
    memset(r, 0, sizeof(*r));
    r->fd = -1;
}

void rings_path(const struct rings *r, char *path, size_t room)
{
    snprintf(path, room, "/proc/%d/fd/%d", (int)getpid(), r->fd);
}

uint64_t rings_tick(struct rings *r)
{
    _Atomic uint64_t *tick = &r->control->tick;
    uint64_t now = now_ns() - r->control->origin_ns, seen = atomic_load(tick);

    while (seen < now && !atomic_compare_exchange_weak(tick, &seen, now))
        ; /* a program may have moved it, too: it never goes back */
    return seen < now ? now : seen;
}

uint64_t *rings_map(struct rings *r, uint32_t slot)
{
    off_t at = (off_t)(RING_RINGS_OFFSET + (uint64_t)slot * RING_WORDS * 8);
    void *p;

    if (r->maps[slot])
        return r->maps[slot];
    p = mmap(NULL, RING_WORDS * 8, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, at);
    return p == MAP_FAILED ? NULL : (r->maps[slot] = p);
}

void rings_claimed(struct rings *r, void (*seen)(void *context, uint32_t slot), void *context)
{
    for (uint32_t w = 0; w < RING_SLOTS / 64; w++) {
        uint64_t taken = ~atomic_load_explicit(&r->control->free_slots[w], memory_order_relaxed);

        for (; taken; taken &= taken - 1) {
            uint32_t slot = w * 64 + (uint32_t)__builtin_ctzll(taken);

            if (atomic_load_explicit(&r->slots[slot].state, memory_order_acquire) ==
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
    s->process = s->pid = 0;
    atomic_store(&s->state, RING_SLOT_FREE);
    atomic_fetch_or(&r->control->free_slots[slot / 64], 1ull << (slot % 64));
}
