/* reach_maps - see reach_maps.h.
 *
 * Memory that blocks come from is no place of its own: free memory in it still holds what was there
 * before. It is known by the blocks that live in it, or did, by pieces of 64 KiB as blocks.h keeps
 * them, because the kernel makes one mapping of neighbours. What a thread's stack holds below where
 * it stands is old, too.
 */
#include "collect/reach_maps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP 65536u
#define RED_ZONE 128u     /* below its pointer a function may use so much of a stack */
#define DATA_BELOW 65536u /* of a thread, around its thread pointer */
#define DATA_ABOVE 4096u
#define STACKS_MOST 1024u

struct stack {
    uint64_t low, at, high; /* where it stands */
};

struct roots {
    struct member *member;
    bool before; /* there may be blocks that nobody knows, of before the attach */
    void (*scan)(void *context, uint64_t from, uint64_t to);
    void *context;
    struct stack stacks[STACKS_MOST];
    size_t count;
};

/* Where a thread stands that sleeps; 0: it runs, or nobody may know. */
static uint64_t stack_pointer(uint32_t pid, uint32_t tid)
{
    char path[64], line[512];
    uint64_t sp = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%u/task/%u/syscall", pid, tid);
    f = fopen(path, "re");
    if (!f)
        return 0;
    if (fgets(line, sizeof(line), f)) {
        char *last = strrchr(line, ' ');

        if (last && last > line) {
            *last = 0;
            last = strrchr(line, ' ');
            sp = last ? strtoull(last, NULL, 16) : 0;
        }
    }
    fclose(f);
    return sp;
}

/* Where a thread stands; 0: not known. */
static uint64_t stands_at(const struct absorb_process *p, uint32_t tid)
{
    for (size_t i = 0; p->reach.still && i < p->reach.still->count; i++)
        if (p->reach.still->threads[i].tid == tid)
            return p->reach.still->threads[i].stack;
    return tid == p->reach.tid ? p->reach.stack : stack_pointer(p->pid, tid);
}

static void find_stacks(struct roots *r, const struct collect *c)
{
    const struct member *m = r->member;

    for (unsigned int i = 0; i < m->slot_count && r->count < STACKS_MOST; i++) {
        const struct absorb_ring *ring = c->states[m->slots[i]];
        uint64_t low = ring->stack_low, high = low + ring->stack_bytes, at;

        if (!ring->stack_bytes)
            continue;
        at = stands_at(&m->process, ring->tid);
        if (at < low || at >= high)
            at = low;
        r->stacks[r->count++] = (struct stack){low, at - low > RED_ZONE ? at - RED_ZONE : low,
                                               high};
    }
}

/* Without what lies below where a stack stands. */
static void scan_part(struct roots *r, uint64_t from, uint64_t to)
{
    for (size_t i = 0; i < r->count && from < to; i++) {
        const struct stack *s = &r->stacks[i];

        if (s->at <= from || s->low >= to)
            continue;
        if (s->low > from)
            scan_part(r, from, s->low);
        from = s->at < to ? s->at : to;
    }
    if (from < to)
        r->scan(r->context, from, to);
}

static bool has_blocks(struct roots *r, uint64_t at)
{
    struct blocks *b = &r->member->process.blocks;

    return !r->before && b->groups && blocks_group(b, (uint32_t)(at >> 16))->slots;
}

/* Those pieces of a mapping that no block was ever in. */
static void scan_others(struct roots *r, uint64_t from, uint64_t to)
{
    while (from < to) {
        uint64_t end = from;

        while (end < to && !has_blocks(r, end))
            end = (end | (GROUP - 1)) + 1;
        if (end > from)
            scan_part(r, from, end < to ? end : to);
        from = (end | (GROUP - 1)) + 1;
    }
}

static bool is_ours(const char *path)
{
    return strstr(path, "/memfd:" RING_NAME) || strstr(path, "libtidemark");
}

/* The program's main stack grows down: what is mapped below where it stands is old. */
static void take_main_stack(struct roots *r, uint64_t from, uint64_t to)
{
    const struct absorb_process *p = &r->member->process;
    uint64_t at = stands_at(p, p->pid);

    if (at > from && at < to)
        from = at - from > RED_ZONE ? at - RED_ZONE : from;
    r->scan(r->context, from, to);
}

static void take_map(struct roots *r, uint64_t from, uint64_t to, const char *path)
{
    if (is_ours(path) || strncmp(path, "/dev/", 5) == 0 || strncmp(path, "[v", 2) == 0)
        return;
    if (strcmp(path, "[heap]") == 0 && !r->before)
        return;
    if (strcmp(path, "[stack]") == 0)
        take_main_stack(r, from, to);
    else if (*path == '/')
        scan_part(r, from, to);
    else
        scan_others(r, from, to);
}

static void take_data_at(struct roots *r, uint64_t at)
{
    if (at > DATA_BELOW)
        r->scan(r->context, at - DATA_BELOW, at + DATA_ABOVE);
}

static void take_thread_data(struct roots *r)
{
    const struct absorb_reach *reach = &r->member->process.reach;

    take_data_at(r, reach->data);
    for (size_t i = 0; reach->still && i < reach->still->count; i++)
        take_data_at(r, reach->still->threads[i].data);
}

static void take_line(struct roots *r, const char *line)
{
    uint64_t from, to;
    char rights[8];
    int used = 0;

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %n", &from, &to, rights, &used) < 3 ||
        strncmp(rights, "rw", 2) != 0 || !used)
        return;
    take_map(r, from, to, line + used);
}

bool reach_roots(const struct collect *c, struct member *m,
                 void (*scan)(void *context, uint64_t from, uint64_t to), void *context)
{
    struct roots r = {.member = m, .before = !c->launched, .scan = scan, .context = context};
    char path[64], *line = NULL;
    size_t room = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%u/maps", m->process.pid);
    f = fopen(path, "re");
    if (!f)
        return false;
    find_stacks(&r, c);
    while (getline(&line, &room, f) > 0) {
        line[strcspn(line, "\n")] = 0;
        take_line(&r, line);
    }
    for (size_t i = 0; i < r.count; i++)
        scan(context, r.stacks[i].at, r.stacks[i].high);
    take_thread_data(&r);
    free(line);
    fclose(f);
    return true;
}
