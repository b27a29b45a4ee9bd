/* tensor_curve - see tensor_curve.h. */
#include "model/tensor_curve.h"

#include "base/memory.h"

#include <stdlib.h>

static int by_time(const void *a, const void *b)
{
    const struct tensor_edge *x = a, *y = b;

    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Those of births come in order where one process has them all. */
static void sort(struct tensor_edge *list, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (by_time(&list[i - 1], &list[i]) > 0) {
            memory_sort(list, count, sizeof(*list), by_time);
            return;
        }
}

static void merge(struct tensor_edge *to, const struct tensor_edge *births, size_t birth_count,
                  const struct tensor_edge *deaths, size_t death_count)
{
    const struct tensor_edge *births_end = births + birth_count, *deaths_end = deaths + death_count;

    while (births < births_end && deaths < deaths_end)
        *to++ = by_time(deaths, births) < 0 ? *deaths++ : *births++;
    while (births < births_end)
        *to++ = *births++;
    while (deaths < deaths_end)
        *to++ = *deaths++;
}

static void list_edges(struct tensor_curve *c, const struct tensors *t)
{
    struct tensor_edge *births = memory_resize(NULL, (t->count + 1) * sizeof(*births));
    struct tensor_edge *deaths = memory_resize(NULL, (t->count + 1) * sizeof(*deaths));
    size_t death_count = 0;

    for (size_t i = 0; i < t->count; i++) {
        const struct tensor *x = &t->list[i];

        births[i] = (struct tensor_edge){x->born_ns, x->born_no, (uint32_t)i, x->place, false};
        if (x->died_ns != UINT64_MAX)
            deaths[death_count++] = (struct tensor_edge){x->died_ns, x->died_no, (uint32_t)i,
                                                         x->place, true};
    }
    sort(births, t->count);
    sort(deaths, death_count);
    c->count = t->count + death_count;
    c->edges = memory_resize(NULL, (c->count + 1) * sizeof(*c->edges));
    merge(c->edges, births, t->count, deaths, death_count);
    free(births);
    free(deaths);
}

static void find_births(struct tensor_curve *c, const struct tensors *t)
{
    c->born = memory_zeroed((t->count + 1) * sizeof(*c->born));
    c->died = memory_zeroed((t->count + 1) * sizeof(*c->died));
    c->births = memory_zeroed((t->heap->process_count + 1) * sizeof(uint32_t *));
    for (size_t i = 0; i < t->heap->process_count; i++)
        c->births[i] = memory_zeroed(((size_t)t->born[i] + 1) * sizeof(uint32_t));
    for (size_t i = 0; i < t->count; i++)
        c->died[i] = (uint32_t)c->count;
    for (size_t i = 0; i < c->count; i++) {
        const struct tensor_edge *e = &c->edges[i];

        *(e->death ? &c->died[e->tensor] : &c->born[e->tensor]) = (uint32_t)i;
        if (!e->death && t->list[e->tensor].number != TENSOR_NEVER)
            c->births[e->place - 1][t->list[e->tensor].number] = (uint32_t)i;
    }
}

/* What lives when the stretch begins is a part of it. */
static void find_stretch(struct tensor_curve *c, uint64_t from_ns, uint64_t to_ns)
{
    while (c->from + 1 < c->count && c->edges[c->from + 1].time_ns <= from_ns)
        c->from++;
    for (c->to = c->from; c->to < c->count && (!to_ns || c->edges[c->to].time_ns <= to_ns);)
        c->to++;
}

static void find_peak(struct tensor_curve *c)
{
    c->peak = 0;
    for (size_t i = c->from; i < c->to; i++)
        if (c->live[i] > c->peak) {
            c->peak = c->live[i];
            c->peak_at = i;
        }
}

void tensor_curve_start(struct tensor_curve *c, const struct tensors *t, uint64_t from_ns,
                        uint64_t to_ns)
{
    uint64_t live = 0;

    *c = (struct tensor_curve){0};
    list_edges(c, t);
    find_births(c, t);
    c->live = memory_zeroed((c->count + 1) * sizeof(*c->live));
    c->less = memory_zeroed((c->count + 1) * sizeof(*c->less));
    for (size_t i = 0; i < c->count; i++) {
        uint64_t bytes = t->list[c->edges[i].tensor].bytes;

        live += c->edges[i].death ? 0 - bytes : bytes;
        c->live[i] = live;
    }
    find_stretch(c, from_ns, to_ns);
    find_peak(c);
}

size_t tensor_curve_birth(const struct tensor_curve *c, const struct tensors *t, uint32_t place,
                          uint32_t number)
{
    return number < t->born[place - 1] ? c->births[place - 1][number] : c->count;
}

/* Away from `near` by steps that double, until the edge lies between two of them. */
static void enclose(const struct tensor_curve *c, const struct tensor_edge *event, size_t near,
                    size_t *low, size_t *high)
{
    size_t step = 1;

    if (near < c->count && by_time(&c->edges[near], event) < 0) {
        *low = near + 1;
        while (*low + step < c->count && by_time(&c->edges[*low + step], event) < 0) {
            *low += step + 1;
            step *= 2;
        }
        *high = *low + step < c->count ? *low + step : c->count;
    } else {
        *high = near;
        while (step <= *high && by_time(&c->edges[*high - step], event) >= 0) {
            *high -= step;
            step *= 2;
        }
        *low = step <= *high ? *high - step + 1 : 0;
    }
}

size_t tensor_curve_at(const struct tensor_curve *c, uint32_t place, uint64_t time_ns,
                       uint64_t number, size_t near)
{
    const struct tensor_edge event = {.time_ns = time_ns, .number = number, .place = place};
    size_t low, high;

    enclose(c, &event, near < c->count ? near : c->count, &low, &high);
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (by_time(&c->edges[middle], &event) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void tensor_curve_try(struct tensor_curve *c, size_t from, size_t to, uint64_t bytes)
{
    if (from >= to || from >= c->count)
        return;
    c->less[from] += bytes;
    c->less[to < c->count ? to : c->count] -= bytes;
}

uint64_t tensor_curve_peak(struct tensor_curve *c, bool keep)
{
    uint64_t most = 0, less = 0;

    for (size_t i = 0; i < c->count; i++) {
        uint64_t live;

        less += c->less[i];
        c->less[i] = 0;
        live = c->live[i] - less;
        most = i >= c->from && i < c->to && live > most ? live : most;
        if (keep)
            c->live[i] = live;
    }
    c->less[c->count] = 0;
    if (keep)
        find_peak(c);
    return most;
}

void tensor_curve_free(struct tensor_curve *c, const struct tensors *t)
{
    for (size_t i = 0; c->births && i < t->heap->process_count; i++)
        free(c->births[i]);
    free(c->births);
    free(c->edges);
    free(c->live);
    free(c->less);
    free(c->born);
    free(c->died);
    *c = (struct tensor_curve){0};
}
