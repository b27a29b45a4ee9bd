/* heap_labels - see heap_labels.h. */
#include "model/heap_labels.h"

#include "base/memory.h"
#include "model/allowed.h"

#include <stdlib.h>
#include <string.h>

static bool is_same(const struct heap_label_set *a, const struct heap_label_set *b)
{
    return a->count == b->count && !memcmp(a->pairs, b->pairs, a->count * sizeof(a->pairs[0]));
}

static unsigned char set_of(struct heap_labels *l, const struct heap_label_set *s)
{
    for (unsigned int i = 0; i <= l->count; i++)
        if (is_same(&l->sets[i], s))
            return (unsigned char)i;
    if (l->count == HEAP_LABEL_SETS)
        return 0;
    l->sets[++l->count] = *s;
    return (unsigned char)l->count;
}

static void take_context(struct heap_labels *l, const struct trace_event *ev)
{
    struct trace_event copy = *ev;
    struct heap_label_set s = {0};
    struct trace_pair pair;
    uint64_t number = ev->context.context;

    while (s.count < HEAP_LABEL_PAIRS && trace_next_pair(&copy, &pair)) {
        s.pairs[s.count].key = names_get(l->names, pair.metric);
        s.pairs[s.count].value = names_get(l->names, pair.value);
        s.count += s.pairs[s.count].key != NULL;
    }
    if (!s.count || number >= ALLOWED_THINGS(l->names->file_bytes))
        return;
    memory_fit_zeroed(l->contexts, l->context_room, (size_t)number + 1);
    l->contexts[number] = set_of(l, &s);
}

static void take_infos(struct heap_labels *l, const struct trace_info_context *r)
{
    unsigned char set = (unsigned char)heap_labels_of_context(l, r->context);

    if (!set || l->span_count >= ALLOWED_THINGS(l->names->file_bytes))
        return;
    memory_fit(l->spans, l->span_room, l->span_count + 1);
    l->spans[l->span_count++] = (struct heap_label_span){r->process, r->first, r->count, set};
    l->sorted = false;
}

void heap_labels_record(void *labels, const struct trace_event *ev)
{
    if (ev->kind == TRACE_CONTEXT)
        take_context(labels, ev);
    else if (ev->kind == TRACE_INFO_CONTEXT)
        take_infos(labels, &ev->info_context);
}

unsigned int heap_labels_of_context(const struct heap_labels *l, uint64_t context)
{
    return context < l->context_room ? l->contexts[context] : 0;
}

static int by_first(const void *left, const void *right)
{
    const struct heap_label_span *a = left, *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

unsigned int heap_labels_of_info(struct heap_labels *l, uint64_t process, uint64_t info)
{
    const struct heap_label_span key = {.process = process, .first = info};
    size_t low = 0, high = l->span_count;

    if (!l->sorted)
        memory_sort(l->spans, l->span_count, sizeof(*l->spans), by_first);
    l->sorted = true;
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (by_first(&l->spans[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || l->spans[low - 1].process != process ||
        info - l->spans[low - 1].first >= l->spans[low - 1].count)
        return 0;
    return l->spans[low - 1].set;
}

void heap_labels_free(struct heap_labels *l)
{
    free(l->contexts);
    free(l->spans);
}
