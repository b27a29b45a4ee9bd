/* perfetto_samples - see perfetto_samples.h. */
#include "report/perfetto_samples.h"

#include "base/memory.h"
#include "report/chrome_event.h"
#include "report/named.h"
#include "report/stack_tree.h"

#include <stdlib.h>

/* as many times the time of a sample between two: the thread did something else */
#define APART 2

struct open { /* a span that goes on */
    const struct table_frame *frame;
    uint64_t from_ns;
};

struct flame {
    struct emit *to;
    const struct answer *answer;
    const struct table *table;
    struct stack_tree tree;
    struct open *open; /* the outermost first */
    size_t depth, room;
    uint32_t *path; /* of a sample: its nodes, the innermost first */
    size_t path_room;
    uint64_t pid, tid, end_ns;
};

static uint64_t number_of(const struct table *t, int row, const char *column)
{
    const struct table_cell *c = named_cell(t, row, column);

    return c ? c->number : 0;
}

static int by_thread(const void *left, const void *right, const void *context)
{
    static const char *const keys[] = {"pid", "tid", "time"};
    int a = *(const int *)left, b = *(const int *)right;

    for (int i = 0; i < 3; i++) {
        uint64_t one = number_of(context, a, keys[i]), two = number_of(context, b, keys[i]);

        if (one != two)
            return one < two ? -1 : 1;
    }
    return a - b;
}

/* End the spans from a depth on. */
static void close_from(struct flame *f, size_t depth)
{
    while (f->depth > depth) {
        const struct open *o = &f->open[--f->depth];

        if (f->end_ns > o->from_ns)
            chrome_span(f->to, stack_frame_name(f->answer->arena, o->frame), f->pid,
                        f->tid + PERFETTO_SAMPLES_TID, o->from_ns, f->end_ns - o->from_ns);
    }
}

static bool is_same(const struct table_frame *a, const struct table_frame *b)
{
    return a->function == b->function && a->file == b->file && a->module == b->module &&
           (a->function || a->address == b->address);
}

/* The nodes of a sample's stack; how many. */
static size_t find_path(struct flame *f, int row)
{
    const struct table_cell *stack = named_cell(f->table, row, "stack");
    uint32_t node = stack_tree_leaf(&f->tree, stack ? stack->stack : NULL, f->answer->native);
    size_t count = 0;

    for (; node; node = f->tree.nodes[node].parent) {
        memory_fit(f->path, f->path_room, count + 1);
        f->path[count++] = node;
    }
    return count;
}

static const struct table_frame *frame_at(const struct flame *f, size_t count, size_t depth)
{
    return f->tree.frames[f->tree.nodes[f->path[count - 1 - depth]].frame];
}

static void take(struct flame *f, int row)
{
    uint64_t time_ns = number_of(f->table, row, "time"), ns = number_of(f->table, row, "cpu");
    uint64_t from_ns = time_ns > ns ? time_ns - ns : 0;
    size_t count = find_path(f, row), same = 0;

    if (from_ns > f->end_ns && from_ns - f->end_ns > APART * ns)
        close_from(f, 0);
    while (same < count && same < f->depth &&
           is_same(f->open[same].frame, frame_at(f, count, same)))
        same++;
    if (f->depth) /* it goes on up to here */
        f->end_ns = from_ns > f->end_ns ? from_ns : f->end_ns;
    close_from(f, same);
    from_ns = from_ns > f->end_ns ? from_ns : f->end_ns;
    for (; f->depth < count; f->depth++) {
        memory_fit(f->open, f->room, f->depth + 1);
        f->open[f->depth] = (struct open){frame_at(f, count, f->depth), from_ns};
    }
    f->end_ns = time_ns > f->end_ns ? time_ns : f->end_ns;
}

static void begin_thread(struct flame *f, uint64_t pid, uint64_t tid)
{
    close_from(f, 0);
    f->pid = pid;
    f->tid = tid;
    f->end_ns = 0;
    chrome_name(f->to, "thread_name", pid, tid + PERFETTO_SAMPLES_TID,
                arena_printf(f->answer->arena, "CPU samples of %llu", (unsigned long long)tid));
}

void perfetto_samples(struct emit *j, const struct answer *a)
{
    struct flame f = {.to = j, .answer = a, .table = named_table(a, "samples")};
    int *order = memory_resize(NULL, ((size_t)f.table->rows + 1) * sizeof(*order));

    for (int i = 0; i < f.table->rows; i++)
        order[i] = i;
    memory_sort_with(order, (size_t)f.table->rows, sizeof(*order), by_thread, f.table);
    for (int i = 0; i < f.table->rows; i++) {
        uint64_t pid = number_of(f.table, order[i], "pid"),
                 tid = number_of(f.table, order[i], "tid");

        if (i == 0 || pid != f.pid || tid != f.tid)
            begin_thread(&f, pid, tid);
        take(&f, order[i]);
    }
    close_from(&f, 0);
    stack_tree_free(&f.tree);
    free(f.open);
    free(f.path);
    free(order);
}
