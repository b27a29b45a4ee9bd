/* members - see members.h. */
#include "collect/members.h"

#include "base/descriptor.h"
#include "base/memory.h"
#include "collect/identity.h"
#include "collect/ringcopy.h"

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

/* What a process says of itself in its first records: the process that forked it, its file and
 * name.
 */
struct announced {
    bool introduced; /* these records are in this ring: its first, if it has no other */
    uint32_t parent; /* 0: none */
    uint32_t called; /* its parent's pid, as it sees it; 0: it sees none */
    uint64_t namespace;
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
            out->called = (uint32_t)(copy[2] >> 32);
            out->namespace = copy[4];
            memcpy(out->text, &copy[5], copy[3]);
            out->name = absorb_name(out->text, copy[3]);
        }
        return true;
    }
    return true;
}

/* ---- who it is ---- */

static struct member *newest_of(const struct collect *c, int pid)
{
    uint64_t at;

    return intmap_get(&c->by_pid, (uint64_t)pid, &at) ? (struct member *)(uintptr_t)at : NULL;
}

static bool is_ours(void *context, int pid)
{
    const struct member *m = newest_of(context, pid);

    return m && !m->ended;
}

bool members_may_ask(struct collect *c, int pid)
{
    return pid > 0 && pid != getpid() && identity_descends(pid, is_ours, c);
}

/* A process that still has its ring mapped has not gone on by exec: whoever else uses its pid is
 * not that one, and must not end it.
 */
static bool is_taken(const struct collect *c, int pid)
{
    const struct member *m = newest_of(c, pid);

    return m && !m->ended && m->slot_count &&
           identity_maps(pid, c->rings.inode, rings_offset(m->slots[0])) == IDENTITY_YES;
}

/* Of another pid namespace: what the recorded process is that it calls so. */
static int pid_called(const struct collect *c, uint64_t namespace, uint32_t called)
{
    int pid = 0;

    for (const struct member *m = c->members; m; m = m->next)
        if (m->called == called && m->namespace == namespace && m->process.pid)
            pid = (int)m->process.pid; /* the newest */
    return pid;
}

/* By our numbers; 0: not known. It only says where in the tree one that is gone belongs. */
static int parent_pid(struct collect *c, const struct announced *said)
{
    const struct member *parent = said->parent ? find_member(c, said->parent) : NULL;

    if (parent)
        return (int)parent->process.pid;
    if (!said->called || !said->namespace)
        return 0;
    return said->namespace == identity_namespace() ? (int)said->called
                                                   : pid_called(c, said->namespace, said->called);
}

static int find_pid(struct collect *c, uint32_t number, uint32_t slot, uint32_t called,
                    const struct announced *said)
{
    struct identity_claim claim = {.pid = (int)called,
                                   .namespace = said->namespace,
                                   .inode = c->rings.inode,
                                   .offset = rings_offset(slot),
                                   .parent = parent_pid(c, said),
                                   .presented = presented_pid(&c->presented, number)};
    int pid = identity_find(&claim, is_ours, c);

    return pid && !is_taken(c, pid) ? pid : 0;
}

static void watch_life(struct collect *c, struct member *m, int pid)
{
    m->pidfd = -1;
    if (!pid)
        return;
    presented_reach(&c->presented, pid);
    m->pidfd = descriptor_keep((int)syscall(SYS_pidfd_open, pid, 0));
    m->birth = m->pidfd < 0 ? identity_birth(pid) : 0;
    intmap_put(&c->by_pid, (uint64_t)pid, (uint64_t)(uintptr_t)m);
}

static struct member *new_member(struct collect *c, uint32_t number, uint32_t slot, uint32_t called,
                                 const struct announced *said)
{
    struct member *m = memory_zeroed(sizeof(*m));
    int pid = find_pid(c, number, slot, called, said);
    struct claimant who = {pid, parent_pid(c, said), said->parent != 0, said->text, said->name};

    m->said = number;
    m->called = called;
    m->namespace = said->namespace;
    m->process.number = c->number ? (uint32_t)c->number(c->context, &who) : number;
    m->process.pid = (uint32_t)pid;
    m->process.stacks.process = m->process.number;
    m->process.contexts.process = m->process.number;
    m->process.file = memory_zeroed(1);
    watch_life(c, m, pid);
    *c->last = m;
    c->last = &m->next;
    c->alive++;
    intmap_put(&c->by_number, number, (uint64_t)(uintptr_t)m);
    return m;
}

/* A forked child goes on with its parent's stacks. */
static void inherit(struct collect *c, struct member *m, uint32_t number)
{
    struct member *parent = number ? find_member(c, number) : NULL;

    if (parent && parent != m) {
        m->process.stacks.parent = &parent->process.stacks;
        m->process.contexts.parent = &parent->process.contexts;
        parent->forked_from = true;
    }
}

static void add_slot(struct member *m, uint32_t slot)
{
    memory_fit(m->slots, m->slot_room, m->slot_count + 1);
    m->slots[m->slot_count++] = slot;
    m->process.threaded = m->slot_count > 1;
}

/* Whether the ring can be read. One that its owner has just claimed is left for the next time, and
 * for good where the owner has ended without a word.
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

/* `alone`: a process may also be told by a ring that does not introduce it. One that has ended, or
 * that another process says it is, gets no more rings.
 */
static void slot_seen(struct collect *c, uint32_t slot, bool alone)
{
    uint32_t number = c->rings.slots[slot].process, called = c->rings.slots[slot].pid;
    struct announced said;
    struct absorb_ring *r;
    struct member *m;

    if (c->states[slot] || !has_begun(c, slot, &said))
        return;
    m = find_member(c, number);
    if ((!m && !said.introduced && !alone) || (m && (m->ended || m->called != called)))
        return;
    if (!m) {
        m = new_member(c, number, slot, called, &said);
        inherit(c, m, said.parent);
    }
    r = memory_zeroed(sizeof(*r));
    r->process = &m->process;
    r->words = c->rings.maps[slot];
    r->slot = slot;
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

bool members_replaced(const struct collect *c, const struct member *m)
{
    const struct member *newest = m->process.pid ? newest_of(c, (int)m->process.pid) : NULL;

    return newest && newest != m;
}

bool members_gone(const struct member *m)
{
    struct pollfd p = {m->pidfd, POLLIN, 0};

    if (m->pidfd < 0)
        return m->process.pid && identity_gone((int)m->process.pid, m->birth);
    return poll(&p, 1, 0) > 0 && (p.revents & POLLIN);
}

void members_drop(struct collect *c, struct member *m)
{
    if (find_member(c, m->said) == m)
        intmap_put(&c->by_number, m->said, 0);
    if (newest_of(c, (int)m->process.pid) == m)
        intmap_put(&c->by_pid, m->process.pid, 0);
    stackmap_process_free(&m->process.stacks);
    free(m);
}
