/* oom_pools - see oom_pools.h. */
#include "questions/oom_pools.h"

#include "questions/pool_rows.h"

static void take_imported(void *context, const struct trace_event *ev)
{
    struct oom_pools *p = context;

    reserves_take(&p->imported, p->told.threads, ev);
}

void oom_pools_want(struct asked *q, struct oom_pools *p, uint64_t time_ns)
{
    p->told.threads = &q->recorded->threads;
    p->told.shown = q->options->space;
    recorded_take_again(q->recorded, pools_then_take, &p->told, time_ns);
    recorded_take_again(q->recorded, take_imported, p, UINT64_MAX);
}

void oom_pools_put(struct asked *q, struct oom_pools *p)
{
    struct table *t = NULL;
    struct reserves one;

    for (size_t i = 0; i < p->told.spaces.count; i++) {
        const struct space_entry *x = &p->told.spaces.list[i];

        if (x->kind != TRACE_SPACE_POOL || !pools_then_of(&p->told, x, &one))
            continue;
        t = t ? t : pool_rows_table(q->answer);
        pool_rows_put_all(q->answer, t, &q->recorded->heap, x->name, &one);
        reserves_free(&one);
    }
    if (!p->imported.count)
        return;
    t = t ? t : pool_rows_table(q->answer);
    pool_rows_put_all(q->answer, t, &q->recorded->heap, NULL, &p->imported);
    t->note = "As they were when the imported file was written.";
}

void oom_pools_free(struct oom_pools *p)
{
    pools_then_free(&p->told);
    reserves_free(&p->imported);
}
