/* space_tables - see space_tables.h. */
#include "questions/space_tables.h"

#include "base/count.h"
#include "questions/space_look.h"

#define ROWS_MOST 4096 /* of what failed, and of launches: each a stack */

enum { SPACE, KIND, PEAK, PEAK_TIME, LIVE, BLOCKS, ALLOCATED, FAILED };

static const struct table_column space_columns[] = {
    [SPACE] = {"space", UNIT_TEXT},      [KIND] = {"kind", UNIT_TEXT},
    [PEAK] = {"peak", UNIT_BYTES},       [PEAK_TIME] = {"peak_time", UNIT_NS},
    [LIVE] = {"live_end", UNIT_BYTES},   [BLOCKS] = {"allocations", UNIT_COUNT},
    [ALLOCATED] = {"bytes", UNIT_BYTES}, [FAILED] = {"failed", UNIT_COUNT},
};

enum {
    FAILED_SPACE,
    FAILED_MOST,
    FAILED_COUNT,
    FAILED_CALL,
    FAILED_STATUS,
    FAILED_LAST,
    FAILED_SITE,
    FAILED_STACK
};

static const struct table_column failed_columns[] = {
    [FAILED_SPACE] = {"space", UNIT_TEXT},   [FAILED_MOST] = {"asked_for", UNIT_BYTES},
    [FAILED_COUNT] = {"times", UNIT_COUNT},  [FAILED_CALL] = {"call", UNIT_TEXT},
    [FAILED_STATUS] = {"status", UNIT_TEXT}, [FAILED_LAST] = {"last", UNIT_NS, .detail = true},
    [FAILED_SITE] = {"site", UNIT_TEXT},     [FAILED_STACK] = {"stack", UNIT_STACK},
};

enum { CALL_SPACE, CALL_BYTES, CALL_COUNT, CALL_NAME };

static const struct table_column call_columns[] = {
    [CALL_SPACE] = {"space", UNIT_TEXT},
    [CALL_BYTES] = {"allocated", UNIT_BYTES},
    [CALL_COUNT] = {"allocations", UNIT_COUNT},
    [CALL_NAME] = {"call", UNIT_TEXT},
};

enum { LAUNCH_COUNT, LAUNCH_CALL, LAUNCH_SITE, LAUNCH_STACK };

static const struct table_column launch_columns[] = {
    [LAUNCH_COUNT] = {"launches", UNIT_COUNT},
    [LAUNCH_CALL] = {"call", UNIT_TEXT},
    [LAUNCH_SITE] = {"site", UNIT_TEXT},
    [LAUNCH_STACK] = {"stack", UNIT_STACK},
};

/* ---- while the trace is read ---- */

static bool is_asked(const struct space_tables *s, const struct trace_event *ev)
{
    const struct selection *o = &s->recorded->selection;

    return ev->time_ns >= o->from_ns && (!o->to_ns || ev->time_ns <= o->to_ns);
}

static void take_failed(struct space_tables *s, const struct trace_event *ev)
{
    const struct trace_space_failed *f = &ev->space_failed;
    struct space_refusal *r;
    size_t i = 0;

    while (i < s->refused_count &&
           (s->refused[i].space != f->space || s->refused[i].stack != f->stack ||
            s->refused[i].call != f->call || s->refused[i].status != f->status))
        i++;
    if (i == ROWS_MOST) {
        s->left_out++;
        return;
    }
    if (i == s->refused_count) {
        arena_fit(&s->recorded->arena, s->refused, s->refused_room, s->refused_count + 1);
        s->refused[s->refused_count++] = (struct space_refusal){
            f->space, f->stack, f->call, f->status, 0, 0, 0};
    }
    r = &s->refused[i];
    r->count += ev->present >= 7 ? f->times : 1;
    r->most = f->bytes > r->most ? f->bytes : r->most;
    r->last_ns = ev->time_ns;
}

static void take_alloc(struct space_tables *s, const struct trace_event *ev)
{
    const struct trace_space_alloc *f = &ev->space_alloc;
    struct space_calls *r;
    size_t i = 0;

    while (i < s->calls_count && (s->calls[i].space != f->space || s->calls[i].call != f->call))
        i++;
    if (i == ROWS_MOST) {
        s->left_out++;
        return;
    }
    if (i == s->calls_count) {
        arena_fit(&s->recorded->arena, s->calls, s->calls_room, s->calls_count + 1);
        s->calls[s->calls_count++] = (struct space_calls){f->space, f->call, 0, 0};
    }
    r = &s->calls[i];
    r->count++;
    r->bytes += f->bytes;
}

static void take_launches(struct space_tables *s, const struct trace_event *ev)
{
    const struct trace_launches *l = &ev->launches;
    struct space_launches *r;
    size_t i = 0;

    while (i < s->launched_count &&
           (s->launched[i].stack != l->stack || s->launched[i].call != l->call))
        i++;
    if (i == ROWS_MOST) {
        s->left_out++;
        return;
    }
    if (i == s->launched_count) {
        arena_fit(&s->recorded->arena, s->launched, s->launched_room, s->launched_count + 1);
        s->launched[s->launched_count++] = (struct space_launches){l->stack, l->call, 0};
    }
    r = &s->launched[i];
    r->count += l->count;
}

static void take(void *context, const struct trace_event *ev)
{
    struct space_tables *s = context;

    space_list_take(&s->spaces, &s->recorded->names, ev);
    if (ev->kind == TRACE_SPACE_ALLOC && is_asked(s, ev))
        take_alloc(s, ev);
    if (ev->kind == TRACE_SPACE_FAILED && is_asked(s, ev))
        take_failed(s, ev);
    if (ev->kind == TRACE_LAUNCHES && is_asked(s, ev)) {
        take_launches(s, ev);
        space_kernels_take(&s->kernels, &s->recorded->arena, ev);
    }
}

void space_tables_begin(struct space_tables *s, struct recorded *r)
{
    *s = (struct space_tables){.recorded = r};
    recorded_take_first(r, take, s);
}

/* ---- the tables ---- */

/* What a question about this space would say. */
static struct space_row fill_space(struct space_tables *s, const struct selection *o,
                                   uint64_t space, struct table_cell *c)
{
    struct space_seen seen = space_look(s->recorded->trace, o, space, NULL);

    if (seen.any) {
        cell_number(&c[PEAK], seen.peak);
        cell_number(&c[PEAK_TIME], seen.peak_ns);
        cell_number(&c[LIVE], seen.live);
        cell_number(&c[BLOCKS], seen.blocks);
        cell_number(&c[ALLOCATED], seen.allocated);
    }
    return (struct space_row){NULL, seen.any, seen.peak, seen.live};
}

static uint64_t failed_of(const struct space_tables *s, uint64_t space)
{
    uint64_t count = 0;

    for (size_t i = 0; i < s->refused_count; i++)
        if (s->refused[i].space == space)
            count += s->refused[i].count;
    return count;
}

static void add_spaces(struct space_tables *s, const struct selection *o, struct answer *a)
{
    struct table *t = answer_add(a, "spaces", TABLE_ROWS, space_columns, COUNT(space_columns));
    struct table_cell *c = table_add(a, t);

    cell_text(&c[SPACE], "host");
    cell_text(&c[KIND], "host");
    if (failed_of(s, SPACE_HOST)) /* older recorders did not tell */
        cell_number(&c[FAILED], failed_of(s, SPACE_HOST));
    fill_space(s, o, SPACE_HOST, c);
    for (size_t i = 0; i < s->spaces.count; i++) {
        c = table_add(a, t);
        cell_text(&c[SPACE], s->spaces.list[i].name);
        cell_text(&c[KIND], space_kind(s->spaces.list[i].kind));
        cell_number(&c[FAILED], failed_of(s, s->spaces.list[i].number));
        s->rows[i] = fill_space(s, o, s->spaces.list[i].number, c);
        s->rows[i].space = &s->spaces.list[i];
    }
    t->note = "They are not added up: --space NAME asks about one.";
}

static const char *site_of(const struct space_tables *s, struct answer *a, uint64_t stack)
{
    struct table_frame site;

    if (!stack || stack > s->recorded->frames.stack_count)
        return "(stack not known)";
    site = frames_site(&s->recorded->frames, stack);
    return table_frame_text(a->arena, &site);
}

static const char *space_name(const struct space_tables *s, uint64_t number)
{
    for (size_t i = 0; i < s->spaces.count; i++)
        if (s->spaces.list[i].number == number)
            return s->spaces.list[i].name;
    return number == SPACE_HOST ? "host" : NULL;
}

static void add_failed(struct space_tables *s, struct answer *a)
{
    struct table *t = answer_add(a, "failed", TABLE_ROWS, failed_columns, COUNT(failed_columns));

    for (size_t i = 0; i < s->refused_count; i++) {
        const struct space_refusal *r = &s->refused[i];
        struct table_cell *c = table_add(a, t);

        cell_text(&c[FAILED_SPACE], space_name(s, r->space));
        cell_number(&c[FAILED_MOST], r->most);
        cell_number(&c[FAILED_COUNT], r->count);
        cell_text(&c[FAILED_CALL], names_get(&s->recorded->names, r->call));
        cell_text(&c[FAILED_STATUS], arena_printf(a->arena, "%d", (int)(uint32_t)r->status));
        cell_number(&c[FAILED_LAST], r->last_ns);
        cell_text(&c[FAILED_SITE], site_of(s, a, r->stack));
        cell_stack(&c[FAILED_STACK], frames_shared(&s->recorded->frames, r->stack));
    }
    table_sort(t, FAILED_MOST);
}

static void add_calls(struct space_tables *s, struct answer *a)
{
    struct table *t = answer_add(a, "calls", TABLE_ROWS, call_columns, COUNT(call_columns));

    for (size_t i = 0; i < s->calls_count; i++) {
        const struct space_calls *k = &s->calls[i];
        struct table_cell *c = table_add(a, t);

        cell_text(&c[CALL_SPACE], space_name(s, k->space));
        cell_number(&c[CALL_BYTES], k->bytes);
        cell_number(&c[CALL_COUNT], k->count);
        cell_text(&c[CALL_NAME], names_get(&s->recorded->names, k->call));
    }
    table_sort(t, CALL_BYTES);
}

static void add_launches(struct space_tables *s, struct answer *a)
{
    struct table *t = answer_add(a, "launches", TABLE_ROWS, launch_columns, COUNT(launch_columns));

    for (size_t i = 0; i < s->launched_count; i++) {
        const struct space_launches *l = &s->launched[i];
        struct table_cell *c = table_add(a, t);

        cell_number(&c[LAUNCH_COUNT], l->count);
        cell_text(&c[LAUNCH_CALL], names_get(&s->recorded->names, l->call));
        cell_text(&c[LAUNCH_SITE], site_of(s, a, l->stack));
        cell_stack(&c[LAUNCH_STACK], frames_shared(&s->recorded->frames, l->stack));
    }
    table_sort(t, LAUNCH_COUNT);
}

void space_tables_add(struct space_tables *s, const struct selection *o, struct answer *a, bool all)
{
    if (!s->spaces.count && !s->launched_count && !(all && s->refused_count))
        return;
    add_spaces(s, o, a);
    space_joins_devices(s->rows, s->spaces.count, s->recorded->heap.run, a);
    space_joins_pools(s->rows, s->spaces.count, a);
    if (all && s->calls_count)
        add_calls(s, a);
    if (all && s->refused_count)
        add_failed(s, a);
    if (all && s->launched_count) {
        space_kernels_add(&s->kernels, &s->recorded->names, a);
        add_launches(s, a);
    }
}
