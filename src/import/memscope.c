/* memscope - see memscope.h: what the rows mean. */
#include "import/memscope.h"

#include "base/hash.h"

#include <stdlib.h>

#define OPS_MOST 64 /* open in one thread: the rest of them is not charged */

struct thread_ops {
    uint64_t names[OPS_MOST]; /* texts */
    size_t count;
};

struct telling {
    struct memscope *m;
    struct intmap first;   /* by pid: the process that rows without a device are of */
    struct intmap threads; /* by thread: 1 + place in ops */
    struct thread_ops *ops;
    size_t op_count, op_room;
    struct intmap sums; /* by process and pool: 1 + place in running */
    struct {
        uint64_t live;
        bool begun;
    } * running;
    size_t sum_count, sum_room;
    uint64_t last_ns;    /* of what was recorded */
    uint64_t step_start; /* the text of a range that is a step, */
    uint64_t steps;      /* and how many of them have begun */
};

static int by_time(const void *left, const void *right)
{
    const struct memscope_row *a = left, *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Older dumps do not say on which device memory of the driver is freed: where it was allocated. */
static void find_devices(struct memscope *m)
{
    struct intmap of = {0};

    for (size_t i = 0; i < m->count; i++) {
        struct memscope_row *r = &m->rows[i];
        uint64_t key = hash_mix(hash_mix(hash_number(r->pid), r->block), r->pool), process = 0;

        if (r->event == MEMSCOPE_MALLOC)
            intmap_put(&of, key, r->process);
        else if (r->event == MEMSCOPE_FREE && !r->process && intmap_get(&of, key, &process))
            r->process = (uint32_t)process;
    }
    intmap_free(&of);
}

/* ---- operators ---- */

static struct thread_ops *ops_of(struct telling *t, uint32_t thread)
{
    uint64_t place = 0;

    if (!intmap_get(&t->threads, thread, &place)) {
        memory_fit(t->ops, t->op_room, t->op_count + 1);
        t->ops[t->op_count] = (struct thread_ops){.count = 0};
        place = ++t->op_count;
        intmap_put(&t->threads, thread, place);
    }
    return &t->ops[place - 1];
}

static void follow_op(struct thread_ops *o, const struct memscope_row *r)
{
    size_t at = o->count < OPS_MOST ? o->count : OPS_MOST;

    if (r->event == MEMSCOPE_OP) {
        if (o->count < OPS_MOST)
            o->names[o->count] = r->name;
        o->count++;
        return;
    }
    while (at && o->names[at - 1] != r->name)
        at--;
    if (at)
        o->count = at - 1;
}

/* The row's stack, with the operators that are open on top of it. */
static uint32_t charged(struct telling *t, const struct memscope_row *r, uint32_t thread)
{
    const struct thread_ops *o = ops_of(t, thread);
    uint32_t stack = r->stack;

    for (size_t i = 0; i < o->count && i < OPS_MOST; i++)
        stack = intake_stack(t->m->in, stack, intake_frame(t->m->in, false, o->names[i], 0, 0));
    return stack;
}

/* ---- running sums: the first of a pool says what was there before ---- */

static void check_sum(struct telling *t, const struct memscope_row *r)
{
    uint64_t key = r->pool << 20 ^ r->process, place = 0, live;

    if (!r->sum_known || r->shadow)
        return;
    if (!intmap_get(&t->sums, key, &place)) {
        memory_fit_zeroed(t->running, t->sum_room, t->sum_count + 1);
        place = ++t->sum_count;
        intmap_put(&t->sums, key, place);
    }
    memory_is_there(t->running);
    live = t->running[place - 1].live + (r->event == MEMSCOPE_MALLOC ? r->bytes : -r->bytes);
    if (t->running[place - 1].begun && live != r->used)
        t->m->in->sums_wrong++;
    t->running[place - 1].live = r->used;
    t->running[place - 1].begun = true;
}

/* ---- events ---- */

/* Numbers of the driver's blocks and addresses of those of pools may be the same. */
static uint64_t key_of(const struct memscope_row *r)
{
    return r->reserved ? r->address : hash_mix(hash_number(r->block << 1 | r->driver), r->pool);
}

static void tell_block(struct telling *t, const struct memscope_row *r, struct intake_event *e)
{
    bool ends = r->event == MEMSCOPE_FREE;

    check_sum(t, r);
    if (r->shadow && r->time_ns >= t->last_ns)
        return; /* when the recording ended it lived */
    e->kind = r->reserved ? ends ? INTAKE_SEGMENT_END : INTAKE_SEGMENT
            : ends        ? INTAKE_FREE
                          : INTAKE_ALLOC;
    e->key = key_of(r);
    e->bytes = r->bytes;
    e->stack = ends ? 0 : charged(t, r, e->thread);
    intake_add(t->m->in, *e);
}

/* A step ends where the next begins, or where its row says so. */
static bool tell_step(struct telling *t, const struct memscope_row *r, struct intake_event *e)
{
    bool begins = r->event == MEMSCOPE_MARK && r->name == t->step_start;

    if (begins && t->steps++ == 0)
        return false;
    if (begins || r->event == MEMSCOPE_STEP) {
        e->kind = INTAKE_STEP;
        e->key = 0;
        e->bytes = begins ? t->steps - 1 : r->bytes;
    }
    return true;
}

static void tell_row(struct telling *t, const struct memscope_row *r, uint64_t order)
{
    uint64_t process = r->process;
    struct intake_event e = {.time_ns = r->time_ns, .order = order, .key = r->name};

    if (!process && (!intmap_get(&t->first, r->pid, &process) || !process))
        return; /* a process without memory */
    e.thread = intake_thread(t->m->in, (uint32_t)process, r->tid, 0, NULL);
    if (r->event <= MEMSCOPE_FREE) {
        tell_block(t, r, &e);
        return;
    }
    if (r->event == MEMSCOPE_OP || r->event == MEMSCOPE_OP_END) {
        follow_op(ops_of(t, e.thread), r);
        e.kind = r->event == MEMSCOPE_OP ? INTAKE_REGION : INTAKE_REGION_END;
    } else {
        e.kind = INTAKE_MARK;
        if (!tell_step(t, r, &e))
            return;
    }
    intake_add(t->m->in, e);
}

void memscope_tell(struct memscope *m)
{
    struct telling t = {.m = m, .step_start = intake_text(m->in, "step start", 10)};

    memory_sort(m->rows, m->count, sizeof(*m->rows), by_time);
    find_devices(m);
    memscope_find_reserved(m);
    for (size_t i = 0; i < m->count; i++) {
        const struct memscope_row *r = &m->rows[i];
        uint64_t known;

        if (r->process && !intmap_get(&t.first, r->pid, &known))
            intmap_put(&t.first, r->pid, r->process);
        t.last_ns = !r->shadow && r->time_ns > t.last_ns ? r->time_ns : t.last_ns;
    }
    for (size_t i = 0; i < m->count; i++)
        tell_row(&t, &m->rows[i], i);
    m->in->since_1970 = true;
    m->in->rows_odd = m->odd;
    intmap_free(&t.first);
    intmap_free(&t.threads);
    intmap_free(&t.sums);
    free(t.ops);
    free(t.running);
}
