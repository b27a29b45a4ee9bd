/* question_resident - the resident memory of a run at one moment, explained: parts that add up to
 * it.
 *
 * The moment is a sample: the one with the largest rss, or the one nearest to what was asked for.
 * In few samples the recorder has looked where it is; one of these is taken if it is as good. Its
 * rss is the sum of what was seen there. In the others the kernel says only how much is anonymous,
 * of files and shared, and stacks, data and slack are one rest.
 *
 * The live heap is taken at the very time of the sample, and so is what is mapped; which pages of
 * it are there the recorder has seen at the same time, or not long before. The parts are in
 * resident_parts.c.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "model/mapping_read.h"
#include "questions/covered_answer.h"
#include "questions/question.h"
#include "questions/resident_parts.h"
#include "questions/resident_rest.h"

#include <stdlib.h>

#define NEAR_NS CLOCK_SECOND_NS /* a sample that is looked into may be off by as much, */
#define SAMPLES_MOST ((size_t)1 << 20)
#define NEAR_PART 10 /* or smaller than the largest by one part in this many */

struct moment {
    const struct selection *options;
    bool largest; /* wanted: the sample with the largest rss, else the nearest to wanted_ns */
    uint64_t wanted_ns;
    struct resident_sample any, inside; /* the best of all, and of those that were looked into */
    struct resident_sample *all;        /* where the nearest to what is not known yet is wanted */
    size_t count, room;
    const struct resident_sample *chosen; /* NULL: there is none */
    struct table *facts;
    struct threads *threads;
    struct mappings mapped; /* then */
    struct residence_looks looks;
};

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static bool in_stretch(const struct selection *o, uint64_t time_ns)
{
    return time_ns >= o->from_ns && (!o->to_ns || time_ns <= o->to_ns);
}

static void keep_better(const struct moment *m, struct resident_sample *best,
                        const struct resident_sample *s)
{
    bool better = m->largest ? s->rss > best->rss
                             : apart(s->time_ns, m->wanted_ns) < apart(best->time_ns, m->wanted_ns);

    if (!best->found || better)
        *best = *s;
}

/* The same moment by its places, if they are known: their sum is the rss. */
static bool look_into(struct resident_sample *s, const struct run *r)
{
    s->looked_into = true;
    return resident_places(r, s->places, &s->rss);
}

/* Of each tick first all that is known of it, then, where it is, its places. */
static void keep(struct moment *m, const struct resident_sample *s)
{
    if (m->options->at != SELECTION_AT_PEAK) {
        keep_better(m, s->looked_into ? &m->inside : &m->any, s);
        return;
    }
    if (m->count == SAMPLES_MOST)
        return;
    memory_fit(m->all, m->room, m->count + 1);
    m->all[m->count++] = *s;
}

static void on_tick(const struct run *r, uint64_t time_ns, void *context)
{
    static const enum trace_metric metrics[RESIDENT_KINDS] = {METRIC_RSS_ANON, METRIC_RSS_FILE,
                                                              METRIC_RSS_SHMEM};
    struct moment *m = context;
    struct resident_sample s = {.found = true, .time_ns = time_ns};

    if (!run_tree(r, METRIC_RSS, &s.rss) || !in_stretch(m->options, time_ns))
        return;
    for (int i = 0; i < RESIDENT_KINDS; i++)
        s.known[i] = run_tree(r, metrics[i], &s.kinds[i]);
    s.threads_known = run_tree(r, METRIC_THREADS, &s.threads);
    keep(m, &s);
    if (look_into(&s, r))
        keep(m, &s);
}

static const struct resident_sample *choose(const struct moment *m)
{
    const struct resident_sample *any = &m->any, *inside = &m->inside;
    bool good = m->largest ? inside->rss >= any->rss - any->rss / NEAR_PART
                           : apart(inside->time_ns, any->time_ns) <= NEAR_NS;

    return inside->found && good ? inside : any;
}

static void begin(struct asked *q)
{
    const struct selection *o = q->options;
    struct moment *m = q->state;

    m->options = o;
    m->largest = o->at == SELECTION_AT_DEFAULT;
    m->wanted_ns = o->at == SELECTION_AT_TIME ? o->at_ns : UINT64_MAX;
    recorded_listen(q->recorded, on_tick, m);
}

static void take_mapping(void *context, const struct trace_event *ev)
{
    struct moment *m = context;

    mapping_read(&m->mapped, m->threads, ev);
    residence_take(&m->looks, ev);
}

/* Which sample it is was known when the heap was read: now what was there then. */
static void again(struct asked *q)
{
    struct heap *h = &q->recorded->heap;
    struct moment *m = q->state;

    m->wanted_ns = m->count ? h->peak_ns : m->wanted_ns;
    for (size_t i = 0; i < m->count; i++)
        keep_better(m, m->all[i].looked_into ? &m->inside : &m->any, &m->all[i]);
    free(m->all);
    if (!m->any.found)
        return;
    m->chosen = choose(m);
    m->threads = &q->recorded->threads;
    if (h->any)
        heap_want(h, HEAP_AT_TIME, m->chosen->time_ns);
    recorded_take_again(q->recorded, take_mapping, m, m->chosen->time_ns);
}

static const char *name_moment(const struct moment *m, const struct resident_sample *s)
{
    if (s->looked_into)
        return m->largest ? "the largest rss of those samples that tell where it is"
                          : "the nearest sample that tells where it is";
    return m->largest ? "the sample with the largest rss" : "the sample nearest to it";
}

static void put_facts(struct answer *a, struct moment *m, const struct resident_sample *s)
{
    struct table *t = m->facts = answer_facts(a, "facts");

    cell_number(table_fact(a, t, "at", UNIT_NS), s->time_ns);
    cell_number(table_fact(a, t, "rss", UNIT_BYTES), s->rss);
    cell_text(table_fact(a, t, "moment", UNIT_TEXT), name_moment(m, s));
    if (s->looked_into && m->largest)
        cell_number(table_fact(a, t, "largest_rss_of_a_sample", UNIT_BYTES), m->any.rss);
}

/* A look from long before says nothing of this moment. */
static void put_parts(struct asked *q, struct moment *m)
{
    const struct resident_moment now = {m->chosen, &m->mapped, &m->looks};
    uint64_t at = m->chosen->time_ns;
    size_t looked;

    residence_since(&m->looks, at > NEAR_NS ? at - NEAR_NS : 0);
    looked = residence_processes(&m->looks);
    if (q->recorded->heap.any)
        cell_text(table_fact(q->answer, m->facts, "pages", UNIT_TEXT),
                  looked ? "looked at, of large blocks and of mappings"
                         : "not looked at: each site has its part by its size");
    resident_parts(q->answer, &q->recorded->heap, &now);
}

static int run(struct asked *q, struct err *err)
{
    const struct selection *o = q->options;
    struct moment *m = q->state;

    covered_answer(q->answer, &q->recorded->run);
    if (o->space)
        return err_set(err, "what is resident is memory of the host: ask without --space");
    if (!m->chosen)
        return err_set(err, "the trace holds no sample of resident memory%s",
                       o->from_ns || o->to_ns ? " in this time" : "");
    put_facts(q->answer, m, m->chosen);
    put_parts(q, m);
    mappings_free(&m->mapped);
    residence_free(&m->looks);
    return 0;
}

const struct question question_resident = {
    .name = "resident",
    .summary = "what the resident memory consists of, adding up to it",
    .group = QUESTION_OF_TRACE,
    .reads = RECORDED_HEAP,
    .state = sizeof(struct moment),
    .begin = begin,
    .again = again,
    .run = run,
};
