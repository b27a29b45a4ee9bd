/* members - see members.h. */
#include "watch/members.h"

#include "base/memory.h"
#include "watch/ringcopy.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct member *find_member(struct collect *c, uint32_t number)
{
    uint64_t at;

    return intmap_get(&c->by_number, number, &at) ? (struct member *)(uintptr_t)at : NULL;
}

static struct member *new_member(struct collect *c, uint32_t number, uint32_t pid, const char *file,
                                 const char *name)
{
    struct member *m = memory_zeroed(sizeof(*m));

    m->said = number;
    m->process.number = c->number ? (uint32_t)c->number(c->context, (int)pid, file, name) : number;
    m->process.pid = pid;
    m->process.stacks.process = m->process.number;
    m->process.file = memory_zeroed(1);
    m->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    *c->last = m;
    c->last = &m->next;
    c->alive++;
    intmap_put(&c->by_number, number, (uint64_t)(uintptr_t)m);
    return m;
}

/* What a process says of itself in its first records: the process that forked it, its file and name. */
struct announced {
    bool introduced; /* these records are in this ring: its first, if it has no other */
    uint32_t parent; /* 0: none */
    char text[RING_TEXT_MOST + 1];
    const char *name;
};

/* False: it has said nothing yet. */
static bool read_announced(const uint64_t *words, struct announced *out)
{
    *out = (struct announced){.name = ""};
    for (unsigned int i = 0; i < 4; i++) {
        uint64_t first = atomic_load_explicit((_Atomic uint64_t *)&words[i], memory_order_acquire);
        uint64_t copy[RING_RECORD_MOST];

        if (!first)
            return false;
        if ((first & 31) == RING_TICK)
            continue;
        if ((first & 31) == RING_PROCESS && ringcopy(copy, &words[i], first, RING_WORDS - i)) {
            out->introduced = true;
            out->parent = (uint32_t)copy[2];
            memcpy(out->text, &copy[4], copy[3]);
            out->name = absorb_name(out->text, copy[3]);
        }
        return true;
    }
    return true;
}

/* A forked child goes on with its parent's stacks. */
static void inherit(struct collect *c, struct member *m, uint32_t number)
{
    struct member *parent = number ? find_member(c, number) : NULL;

    if (parent && parent != m) {
        m->process.stacks.parent = &parent->process.stacks;
        parent->forked_from = true;
    }
}

static void add_slot(struct member *m, uint32_t slot)
{
    if (m->slot_count == m->slot_room) {
        m->slot_room = m->slot_room ? m->slot_room * 2 : 4;
        m->slots = memory_resize(m->slots, m->slot_room * sizeof(*m->slots));
    }
    m->slots[m->slot_count++] = slot;
    m->process.threaded = m->slot_count > 1;
}

/* Whether the ring can be read. One that its owner has just claimed is left for the next time, and for
 * good where the owner has ended without a word.
 */
static bool has_begun(struct collect *c, uint32_t slot, struct announced *said)
{
    const uint64_t *words = rings_map(&c->rings, slot);

    if (!words)
        return false;
    if (read_announced(words, said))
        return true;
    if (kill((pid_t)c->rings.slots[slot].pid, 0) == 0)
        return false;
    return read_announced(words, said); /* it may have begun and ended since we looked */
}

/* `alone`: a process may also be told by a ring that does not introduce it. */
static void slot_seen(struct collect *c, uint32_t slot, bool alone)
{
    struct ring_slot *s = &c->rings.slots[slot];
    struct announced said;
    struct absorb_ring *r;
    struct member *m;

    if (c->states[slot] || !has_begun(c, slot, &said))
        return;
    m = find_member(c, s->process);
    if (!m && !said.introduced && !alone)
        return;
    if (!m) {
        m = new_member(c, s->process, s->pid, said.text, said.name);
        inherit(c, m, said.parent);
    }
    r = memory_zeroed(sizeof(*r));
    r->process = &m->process;
    r->words = c->rings.maps[slot];
    c->states[slot] = r;
    add_slot(m, slot);
}

static void note_claim(void *context, uint32_t slot)
{
    struct collect *c = context;

    if (c->states[slot])
        return;
    /* Once: a program may have scribbled over the number. */
    c->put_off[slot] = c->rings.slots[slot].process >= c->unnumbered && !c->put_off[slot];
    if (!c->put_off[slot])
        c->claims[c->claim_count++] = (uint64_t)c->rings.slots[slot].process << 32 | slot;
}

static int by_process(const void *left, const void *right)
{
    const uint64_t *l = left, *r = right;

    return *l < *r ? -1 : *l > *r;
}

void members_look(struct collect *c)
{
    c->claim_count = 0;
    c->unnumbered = atomic_load(&c->rings.control->next_process);
    rings_claimed(&c->rings, note_claim, c);
    memory_sort(c->claims, c->claim_count, sizeof(*c->claims), by_process);
    for (size_t i = 0; i < c->claim_count; i++)
        slot_seen(c, (uint32_t)c->claims[i], false);
    for (size_t i = 0; i < c->claim_count; i++)
        slot_seen(c, (uint32_t)c->claims[i], true);
}

bool members_replaced(const struct member *m)
{
    for (const struct member *n = m->next; n; n = n->next) {
        if (!n->ended && n->process.pid == m->process.pid)
            return true;
    }
    return false;
}

bool members_gone(const struct member *m)
{
    struct pollfd p = {m->pidfd, POLLIN, 0};

    return m->pidfd < 0 || (poll(&p, 1, 0) > 0 && (p.revents & POLLIN));
}

void members_drop(struct collect *c, struct member *m)
{
    intmap_put(&c->by_number, m->said, 0);
    stackmap_process_free(&m->process.stacks);
    free(m);
}
