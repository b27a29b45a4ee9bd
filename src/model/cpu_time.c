/* cpu_time - see cpu_time.h. */
#include "model/cpu_time.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

#define ENTRIES_MOST ((size_t)1 << 22)
#define STACK_BITS 26 /* frames.c takes no stack above */

static struct cpu_sums *sums_of(struct cpu_time *c, uint64_t thread, uint64_t stack)
{
    uint64_t key = thread << STACK_BITS | stack, place;

    if (stack >> STACK_BITS || thread >> (64 - STACK_BITS))
        return NULL;
    if (intmap_get(&c->places, key, &place))
        return &c->entries[place].sums;
    if (c->count == ENTRIES_MOST || (c->most && c->count >= c->most))
        return NULL;
    memory_fit(c->entries, c->room, c->count + 1);
    intmap_put(&c->places, key, c->count);
    c->entries[c->count] = (struct cpu_entry){.thread = thread, .stack = stack};
    return &c->entries[c->count++].sums;
}

static void add_cpu(struct cpu_sums *s, const struct trace_cpu *r)
{
    uint64_t kind = r->cpu_kind & ~(uint64_t)TRACE_CPU_COPY;

    s->ns = r->ns;
    s->kind_ns[kind < CPU_TIME_KINDS ? kind : 0] = r->ns;
    s->in_copy_ns = r->cpu_kind & TRACE_CPU_COPY ? r->ns : 0;
    s->samples = 1;
    s->squares = (double)r->ns * (double)r->ns;
}

static void add_wait(struct cpu_sums *s, const struct trace_wait *r)
{
    s->wait_ns = r->cause == TRACE_WAIT_QUEUE ? 0 : r->ns;
    s->cause_ns[r->cause < CPU_TIME_CAUSES ? r->cause : 0] = r->ns;
    s->waits = 1;
}

static void add_copy(struct cpu_sums *s, const struct trace_event *ev)
{
    uint64_t milli = ev->present >= 4 && ev->copy.weight ? ev->copy.weight : 1000;

    s->copied = (uint64_t)(((unsigned __int128)ev->copy.bytes * milli + 500) / 1000);
    s->copied_variance = (double)milli / 1000 * ((double)milli / 1000 - 1) *
                         (double)ev->copy.bytes * (double)ev->copy.bytes;
    s->copies = 1;
}

bool cpu_time_of(const struct cpu_time *c, const struct trace_event *ev, struct cpu_sums *one)
{
    *one = (struct cpu_sums){0};
    if (ev->time_ns < c->from_ns || (c->to_ns && ev->time_ns > c->to_ns))
        return false;
    if (ev->kind == TRACE_CPU)
        add_cpu(one, &ev->cpu);
    else if (ev->kind == TRACE_WAIT)
        add_wait(one, &ev->wait);
    else if (ev->kind == TRACE_COPY)
        add_copy(one, ev);
    else
        return false;
    return true;
}

void cpu_time_take(struct cpu_time *c, const struct trace_event *ev)
{
    struct cpu_sums one, *to;

    if (!cpu_time_of(c, ev, &one))
        return;
    to = sums_of(c, ev->cpu.thread, ev->cpu.stack); /* all three begin with these */
    if (!to) {
        c->left_out++;
        return;
    }
    cpu_sums_add(to, &one);
    cpu_sums_add(&c->sums, &one);
}

void cpu_time_free(struct cpu_time *c)
{
    intmap_free(&c->places);
    free(c->entries);
    c->entries = NULL;
    c->count = c->room = 0;
}

void cpu_sums_add(struct cpu_sums *to, const struct cpu_sums *from)
{
    to->ns += from->ns;
    for (int i = 0; i < CPU_TIME_KINDS; i++)
        to->kind_ns[i] += from->kind_ns[i];
    to->in_copy_ns += from->in_copy_ns;
    to->samples += from->samples;
    to->squares += from->squares;
    to->wait_ns += from->wait_ns;
    for (int i = 0; i < CPU_TIME_CAUSES; i++)
        to->cause_ns[i] += from->cause_ns[i];
    to->waits += from->waits;
    to->copied += from->copied;
    to->copied_variance += from->copied_variance;
    to->copies += from->copies;
}

double cpu_sums_error(const struct cpu_sums *s)
{
    return s->ns ? sqrt(s->squares) / (double)s->ns * 100 : 0;
}

double cpu_sums_copied_error(const struct cpu_sums *s)
{
    return s->copied ? sqrt(s->copied_variance) / (double)s->copied * 100 : 0;
}
