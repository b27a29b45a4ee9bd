/* heap - the pass over a trace. Every number in it came from a file and may be nonsense: an info
 * that is not defined, a free of what does not live and a thread without a process are counted and
 * left out.
 */
#include "model/heap_pass.h"

#include "base/memory.h"
#include "model/allowed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSES_MOST ((size_t)1 << 20)

uint64_t heap_blocks(const struct heap_amount *a)
{
    return (a->milliblocks + 500) / 1000;
}

/* Of few samples the variance is itself an estimate, and a poor one: too small where they are too
 * few. With two samples more it is right: of n equal ones it grows by 2 / n. Of a part of one,
 * which a peak may be, it does as of one.
 */
double heap_error(const struct heap_amount *a)
{
    double square = a->bytes ? a->variance / ((double)a->bytes * (double)a->bytes) : 0;

    return square > 0 ? sqrt(square * (1 + 2 * fmin(square, 1))) * 100 : 0;
}

void heap_add(struct heap_amount *to, const struct heap_amount *from)
{
    to->bytes += from->bytes;
    to->milliblocks += from->milliblocks;
    to->variance += from->variance;
    to->of_blocks += from->of_blocks;
}

double heap_share(const struct heap_amount *part, const struct heap_amount *whole)
{
    return (double)part->milliblocks / (double)whole->milliblocks * 100;
}

/* Of a ratio r = part / whole the error is that of part - r * whole: to first order. */
double heap_share_error(const struct heap_amount *part, const struct heap_amount *whole)
{
    double blocks = (double)whole->milliblocks / 1000, r = heap_share(part, whole) / 100;
    double rest = whole->of_blocks > part->of_blocks ? whole->of_blocks - part->of_blocks : 0;

    return sqrt((1 - r) * (1 - r) * part->of_blocks + r * r * rest) / blocks * 100;
}

void heap_subtract(struct heap_amount *from, const struct heap_amount *what)
{
    from->bytes -= what->bytes;
    from->milliblocks -= what->milliblocks;
    from->variance -= what->variance;
    from->of_blocks -= what->of_blocks;
    if (!from->milliblocks || from->variance < 0) /* what rounding leaves */
        from->variance = 0;
    if (!from->milliblocks || from->of_blocks < 0)
        from->of_blocks = 0;
}

unsigned int heap_size_class(uint64_t bytes)
{
    return bytes ? 64u - (unsigned int)__builtin_clzll(bytes) : 0;
}

/* ---- processes ---- */

struct heap_process *heap_process_of(const struct heap *h, uint64_t number)
{
    uint64_t place;

    return intmap_get(&h->pass->processes, number, &place) ? h->processes[place - 1] : NULL;
}

struct heap_process *heap_make_process(struct heap *h, uint64_t number)
{
    struct heap_process *p = heap_process_of(h, number);
    struct heap_pass *s = h->pass;

    if (p || h->process_count == PROCESSES_MOST ||
        h->process_count >= ALLOWED_THINGS(h->frames->names->file_bytes))
        return p;
    arena_fit(h->arena, h->processes, s->process_room, h->process_count + 1);
    p = arena_alloc(h->arena, sizeof(*p));
    p->state = arena_alloc(h->arena, sizeof(*p->state));
    p->state->epoch = 1;
    p->number = number;
    intmap_get(&s->was, number, &p->was);
    p->from_ns = p->end_ns = UINT64_MAX;
    h->processes[h->process_count++] = p;
    intmap_put(&s->processes, number, h->process_count);
    return p;
}

uint32_t heap_place_of(const struct heap *h, const struct heap_process *p)
{
    uint64_t place = 0;

    intmap_get(&h->pass->processes, p->number, &place);
    return (uint32_t)place;
}

struct heap_process *heap_process_of_thread(const struct heap *h, uint64_t thread)
{
    const struct threads_thread *t = threads_find(h->threads, thread);

    return t ? heap_process_of(h, t->process) : NULL;
}

struct heap_sums *heap_sums_of_thread(struct heap *h, const struct threads_thread *t)
{
    memory_fit_zeroed(h->thread_sums, h->thread_room, t->place + 1);
    return &h->thread_sums[t->place];
}

struct heap_sums heap_thread_sums(const struct heap *h, const struct threads_thread *t)
{
    return t->place < h->thread_room ? h->thread_sums[t->place] : (struct heap_sums){0};
}

/* ---- the pass ---- */

void heap_take(struct heap *h, const struct trace_event *ev)
{
    h->pass->together.order++;
    switch (ev->kind) {
    case TRACE_CONTEXT:
        heap_take_context(h, ev);
        break;
    case TRACE_INFO_CONTEXT:
        heap_take_info_context(h, ev);
        break;
    case TRACE_INFOS:
        heap_take_infos(h, ev);
        break;
    case TRACE_BATCH:
        heap_take_batch(h, ev);
        break;
    case TRACE_ALLOC:
        heap_take_sample(h, ev);
        break;
    case TRACE_FREE:
        heap_take_sample_free(h, ev);
        break;
    case TRACE_PROCESS:
        heap_take_process(h, ev);
        break;
    case TRACE_PROCESS_END:
        heap_take_end(h, ev);
        heap_take_mapping(h, ev);
        break;
    case TRACE_UNREACHED:
        heap_take_unreached(h, ev);
        break;
    case TRACE_MARK:
        heap_take_mark(h, ev);
        break;
    case TRACE_MMAP:
    case TRACE_MUNMAP:
    case TRACE_RESIDENT:
        heap_take_mapping(h, ev);
        break;
    default:
        break;
    }
}

void heap_narrow(struct heap *h, const struct selection *o)
{
    h->options = *o;
    if (!h->options.temporary)
        h->options.temporary = 1;
}

void heap_start(struct heap *h, struct arena *arena, const struct selection *o,
                struct creators *creators)
{
    h->arena = arena;
    heap_narrow(h, o);
    h->pass = arena_alloc(arena, sizeof(*h->pass));
    h->pass->from_ns = o->from_ns;
    h->pass->to_ns = o->to_ns ? o->to_ns : UINT64_MAX;
    h->pass->creators = creators;
    h->pass->live.most = ALLOWED_THINGS(h->frames->names->file_bytes);
    h->grid = arena_alloc(arena, sizeof(*h->grid));
    heap_grid_init(h->grid, memory_zeroed(HEAP_GRID_STEPS * sizeof(struct heap_step)));
}

void heap_want_seen(struct heap *h)
{
    h->pass->timed = true;
}

void heap_want_lives(struct heap *h)
{
    h->pass->lived = true;
}

/* What is after a stretch that ends is not counted, and so has none. */
void heap_want_courses(struct heap *h)
{
    h->pass->courses.wanted = h->pass->to_ns == UINT64_MAX;
}

static void finish(struct heap *h)
{
    h->from_ns = UINT64_MAX;
    for (size_t i = 0; i < h->process_count; i++) {
        struct heap_process *p = h->processes[i];

        if (!p->state->began)
            heap_begin_stretch(p, h->pass->from_ns);
        if (p->from_ns < h->from_ns)
            h->from_ns = p->from_ns;
        if (p->to_ns > h->to_ns)
            h->to_ns = p->to_ns;
    }
    heap_together_end(h);
    heap_live_free(&h->pass->live);
    h->sampled = h->samples > 0 || h->pass->sampled_elsewhere;
    h->mean = h->pass->mean > 0 ? h->pass->mean : h->pass->mean_most;
    h->any = h->sampled || h->exact || h->events || h->mapped;
    h->temporary_known = !h->sampled || (!h->pass->fates_unknown && h->options.temporary == 1);
}

/* A batch's time is that of its end, so the last ones begin before it. */
uint64_t heap_until(const struct selection *o)
{
    return !o->to_ns || o->to_ns > UINT64_MAX - TRACE_BATCH_SPAN_MOST
             ? UINT64_MAX
             : o->to_ns + TRACE_BATCH_SPAN_MOST;
}

/* What truly lived at the peak of several processes takes the events again. */
static void find_peak(struct heap *h)
{
    h->peak_ns = h->pass->together.peak_ns;
    h->peak_of_several = true;
}

static void find_own_peak(struct heap *h)
{
    h->peak_ns = h->processes[0]->peak_ns;
    h->peak = heap_at(h, HEAP_AT_PEAK, 0);
}

void heap_end(struct heap *h)
{
    finish(h);
    heap_twin_end(h);
    heap_fold(h);
    if (h->process_count == 1)
        find_own_peak(h);
    else if (h->process_count > 1)
        find_peak(h);
}

/* A forked process is recorded from its first moment on if its parent was: a block that it frees
 * and did not allocate was its parent's.
 */
static void find_heir(struct heap *h, struct heap_process *p)
{
    const struct run_process *r = p->run;

    if (!r || r->born != TRACE_BORN_FORKED || !r->parent || !r->parent->recorded)
        return;
    p->heir_frees = p->unknown_frees;
    p->unknown_frees = 0;
    h->heir_frees += p->heir_frees;
    h->unknown_frees -= p->heir_frees;
}

/* A recording by samples that has met none: what it knows is mapped, if anything. */
static bool is_all_sampled(const struct heap *h, const struct run *run)
{
    const char *how = names_find(run->names, TRACE_OF_RUN, FACT_RECORDED);

    return !h->exact && how && !strcmp(how, "sampled");
}

static void find_peaks_again(struct heap *h)
{
    heap_at_forget(h);
    if (h->process_count == 1)
        find_own_peak(h);
}

void heap_bound(struct heap *h, const struct heap *whole)
{
    if (heap_twin_within(h, whole))
        find_peaks_again(h);
}

void heap_bound_sum(struct heap *h, uint64_t most)
{
    h->pass->peak_most = most;
    if (h->peak.bytes > most)
        find_peaks_again(h);
}

void heap_join(struct heap *h, struct run *run)
{
    bool again = h->run != NULL;
    uint64_t mean;

    h->run = run;
    h->sampled = h->sampled || is_all_sampled(h, run);
    if (h->sampled && !(h->mean > 0) &&
        names_number(run->names, TRACE_OF_RUN, FACT_SAMPLE_MEAN, &mean))
        h->mean = (double)mean;
    for (size_t i = 0; i < run->process_count; i++) {
        struct heap_process *p = heap_process_of(h, run->processes[i]->number);

        if (!p)
            continue;
        p->run = run->processes[i];
        if (!again)
            find_heir(h, p);
    }
    if (!again && heap_twin_bound(h))
        find_peaks_again(h);
}

void heap_free(struct heap *h)
{
    struct heap_pass *s = h->pass;

    if (!s)
        return;
    for (size_t i = 0; i < h->process_count; i++) {
        heap_infos_free(h->processes[i]->state);
        free(h->processes[i]->state->worked);
    }
    heap_cuts_free(h);
    heap_together_free(&s->together);
    born_free(&s->born);
    heap_live_free(&s->live);
    mappings_free(&s->mappings);
    free(s->courses.list);
    intmap_free(&s->processes);
    intmap_free(&s->ends);
    intmap_free(&s->was);
    intmap_free(&s->sampled_places);
    free(s->stack_places);
    free(s->spread_places);
    free(s->spreads);
    free(s->python);
    free(s->seen);
    free(s->sampled);
    free(h->thread_sums);
    free(h->stacks);
    free(h->unreached);
    free(h->grid->steps);
    memset(h, 0, sizeof(*h));
}
