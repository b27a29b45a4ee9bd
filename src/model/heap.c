/* heap - the pass over a trace. Every number in it came from a file and may be nonsense: an info
 * that is not defined, a free of what does not live and a thread without a process are counted and
 * left out.
 */
#include "analyze/heap_pass.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSES_MOST ((size_t)1 << 20)
#define THREADS_MOST ((size_t)1 << 20)

uint64_t heap_blocks(const struct heap_amount *a)
{
    return (a->milliblocks + 500) / 1000;
}

double heap_error(const struct heap_amount *a)
{
    return a->variance > 0 && a->bytes ? sqrt(a->variance) / (double)a->bytes * 100 : 0;
}

double heap_blocks_error(const struct heap_amount *a)
{
    return a->of_blocks > 0 && a->milliblocks
             ? sqrt(a->of_blocks) / ((double)a->milliblocks / 1000) * 100
             : 0;
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

/* ---- processes and threads ---- */

struct heap_process *heap_process_of(const struct heap *h, uint64_t number)
{
    uint64_t place;

    return intmap_get(&h->pass->processes, number, &place) ? h->processes[place - 1] : NULL;
}

struct heap_process *heap_make_process(struct heap *h, uint64_t number)
{
    struct heap_process *p = heap_process_of(h, number);
    struct heap_pass *s = h->pass;

    if (p || h->process_count == PROCESSES_MOST)
        return p;
    if (h->process_count == s->process_room) {
        size_t room = s->process_room ? s->process_room * 2 : 16, each = sizeof(*h->processes);

        h->processes = arena_grow(h->run.names.arena, h->processes, s->process_room * each,
                                  room * each);
        s->process_room = room;
    }
    p = arena_alloc(h->run.names.arena, sizeof(*p));
    p->state = arena_alloc(h->run.names.arena, sizeof(*p->state));
    p->state->epoch = 1;
    p->number = number;
    p->from_ns = p->end_ns = UINT64_MAX;
    h->processes[h->process_count++] = p;
    intmap_put(&s->processes, number, h->process_count);
    return p;
}

struct heap_thread *heap_thread_of(const struct heap *h, uint64_t number)
{
    uint64_t place;

    if (h->pass->thread && h->pass->thread->number == number)
        return h->pass->thread;
    if (!intmap_get(&h->pass->threads, number, &place))
        return NULL;
    return h->pass->thread = h->threads[place - 1];
}

struct heap_process *heap_process_of_thread(const struct heap *h, uint64_t thread)
{
    const struct heap_thread *t = heap_thread_of(h, thread);

    return t ? heap_process_of(h, t->process) : NULL;
}

struct heap_thread *heap_make_thread(struct heap *h, uint64_t number)
{
    struct heap_thread *t = heap_thread_of(h, number);
    struct heap_pass *s = h->pass;

    if (t || h->thread_count == THREADS_MOST)
        return t;
    if (h->thread_count == s->thread_room) {
        size_t room = s->thread_room ? s->thread_room * 2 : 16, each = sizeof(*h->threads);

        h->threads = arena_grow(h->run.names.arena, h->threads, s->thread_room * each, room * each);
        s->thread_room = room;
    }
    t = arena_alloc(h->run.names.arena, sizeof(*t));
    t->number = number;
    h->threads[h->thread_count++] = t;
    intmap_put(&s->threads, number, h->thread_count);
    return t;
}

bool heap_recorded(const struct heap *h, uint64_t number)
{
    uint64_t known;

    return intmap_get(&h->pass->recorded, number, &known) || heap_process_of(h, number);
}

static void take_thread(struct heap *h, const struct trace_event *ev)
{
    struct heap_thread *t = heap_make_thread(h, ev->thread.thread);

    if (!t || t->process)
        return;
    t->process = ev->thread.process;
    intmap_put(&h->pass->recorded, t->process, 1);
    t->tid = ev->thread.tid;
    t->creator = ev->thread.creator;
    t->name = names_get(&h->frames.names, ev->thread.name);
    t->from_ns = t->to_ns = ev->time_ns;
}

static void take_thread_end(struct heap *h, const struct trace_event *ev)
{
    struct heap_thread *t = heap_thread_of(h, ev->thread_end.thread);

    if (!t)
        return;
    t->ended = true;
    t->to_ns = ev->time_ns;
}

/* ---- the pass ---- */

/* What is left of its heap goes with it. */
static void take_process_end(struct heap *h, const struct trace_event *ev)
{
    struct heap_process *p = heap_process_of(h, ev->process_end.process);

    if (p && ev->process_end.end != TRACE_END_OUTLIVED && ev->time_ns <= h->pass->to_ns)
        p->end_ns = ev->time_ns;
}

static void take(struct heap *h, const struct trace_event *ev)
{
    switch (ev->kind) {
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
    case TRACE_THREAD:
        take_thread(h, ev);
        break;
    case TRACE_PROCESS_END:
        take_process_end(h, ev);
        break;
    case TRACE_THREAD_END:
        take_thread_end(h, ev);
        break;
    case TRACE_MMAP:
        if (ev->mmap.sort != TRACE_MMAP_ARENA && ev->time_ns >= h->pass->from_ns &&
            ev->time_ns <= h->pass->to_ns) {
            h->maps++;
            h->mapped_bytes += ev->mmap.bytes;
        }
        break;
    default:
        frames_take(&h->frames, ev);
    }
}

static void start(struct heap *h, struct arena *arena, const struct question_options *o)
{
    memset(h, 0, sizeof(*h));
    h->run.names.arena = arena;
    h->frames.names.arena = arena;
    h->options = *o;
    if (!h->options.temporary)
        h->options.temporary = 1;
    h->pass = arena_alloc(arena, sizeof(*h->pass));
    h->pass->from_ns = o->from_ns;
    h->pass->to_ns = o->to_ns ? o->to_ns : UINT64_MAX;
    h->grid = arena_alloc(arena, sizeof(*h->grid));
    heap_grid_init(h->grid, memory_zeroed(HEAP_GRID_STEPS * sizeof(struct heap_step)));
}

/* The last steps of a process: after its end it adds nothing to the sum of all. */
static void end_process(struct heap *h, struct heap_process *p)
{
    struct heap_amount live = p->state->live;
    bool in;

    if (p->end_ns < p->to_ns)
        p->end_ns = p->to_ns;
    if (p->end_ns != UINT64_MAX) {
        uint64_t to_ns = p->to_ns;

        heap_move_to(h, p, p->end_ns, &in);
        p->to_ns = to_ns;
        p->state->live = (struct heap_amount){0};
    }
    heap_end_step(h, p);
    p->state->live = live;
}

static void finish(struct heap *h)
{
    h->from_ns = UINT64_MAX;
    for (size_t i = 0; i < h->process_count; i++) {
        struct heap_process *p = h->processes[i];

        if (!p->state->began)
            heap_begin_stretch(p, h->pass->from_ns);
        end_process(h, p);
        if (p->from_ns < h->from_ns)
            h->from_ns = p->from_ns;
        if (p->to_ns > h->to_ns)
            h->to_ns = p->to_ns;
    }
    for (size_t i = 0; i < h->process_count; i++)
        intmap_put(&h->pass->recorded, h->processes[i]->number, 1);
    h->sampled = h->samples > 0;
    h->any = h->sampled || h->exact;
    h->temporary_known = !h->sampled || (!h->pass->fates_unknown && h->options.temporary == 1);
}

/* A batch's time is that of its end, so the last ones begin before it. */
static uint64_t read_until(uint64_t to_ns)
{
    return to_ns > UINT64_MAX - TRACE_BATCH_SPAN_MOST ? UINT64_MAX : to_ns + TRACE_BATCH_SPAN_MOST;
}

/* The processes together: the best moment on the grid, then what truly lived then. */
static void find_peak(struct heap *h, struct trace *t)
{
    size_t best = heap_grid_sum(h->grid, h->pass->from_ns);
    const struct heap_step *step = &h->grid->steps[best];
    uint64_t time_ns = step->high.rise ? step->high.time_ns : (best + 1) * h->grid->step_ns - 1;

    for (size_t i = 0; i < h->process_count; i++) {
        struct heap_state *s = h->processes[i]->state;

        s->cut_ns = time_ns;
        s->cut_events = h->processes[i]->end_ns < time_ns ? 0 : UINT64_MAX;
        if (step->high.rise && step->high.process == i)
            s->cut_events = step->high.event;
        s->peak_events = s->cut_events;
    }
    heap_cut(h, t);
    h->peak = heap_fold_at(h);
    h->peak_ns = time_ns;
    h->peak_at_least = true;
}

static void find_own_peak(struct heap *h)
{
    struct heap_process *p = h->processes[0];

    heap_grid_sum(h->grid, h->pass->from_ns);
    for (size_t i = 1; i <= p->state->info_count; i++)
        p->state->infos[i].at = heap_info_peak(p->state, &p->state->infos[i]);
    for (size_t i = 0; i < h->pass->sampled_count; i++)
        h->pass->sampled[i].at = *heap_sampled_peak(p->state, &h->pass->sampled[i]);
    h->peak = heap_fold_at(h);
    h->peak_ns = p->peak_ns;
    p->state->peak_events = p->state->peak_event;
}

/* A forked process is recorded from its first moment on if its parent was: a block that it frees and
 * did not allocate was its parent's.
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

void heap_read(struct heap *h, struct arena *arena, struct trace *t,
               const struct question_options *o, run_tick *tick, void *context)
{
    struct trace_event ev;

    start(h, arena, o);
    trace_rewind(t, 0, read_until(h->pass->to_ns));
    while (trace_next(t, &ev))
        take(h, &ev);
    finish(h);
    heap_fold(h);
    if (h->process_count == 1)
        find_own_peak(h);
    else if (h->process_count > 1)
        find_peak(h, t);
    h->pass->at = HEAP_AT_PEAK;
    h->pass->at_known = true;
    h->pass->at_sum = h->peak;
    trace_rewind(t, 0, h->pass->to_ns);
    run_read(&h->run, arena, t, tick, context);
    for (size_t i = 0; i < h->run.process_count; i++) {
        struct heap_process *p = heap_process_of(h, h->run.processes[i]->number);

        if (!p)
            continue;
        p->run = h->run.processes[i];
        find_heir(h, p);
    }
}

void heap_free(struct heap *h)
{
    struct heap_pass *s = h->pass;

    for (size_t i = 0; i < h->process_count; i++)
        free(h->processes[i]->state->infos);
    heap_live_free(&s->live);
    intmap_free(&s->processes);
    intmap_free(&s->threads);
    intmap_free(&s->recorded);
    intmap_free(&s->sampled_places);
    intmap_free(&s->stack_places);
    free(s->sampled);
    free(h->stacks);
    free(h->grid->steps);
    frames_free(&h->frames);
    h->stacks = NULL;
    h->stack_count = h->process_count = 0;
}
