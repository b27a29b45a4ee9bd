/* heap_labels - under which labels blocks were allocated: sets of them, by number. See CONTEXT in
 * docs/FORMAT.md.
 */
#ifndef MODEL_HEAP_LABELS_H
#define MODEL_HEAP_LABELS_H

#include "model/names.h"

#define HEAP_LABEL_SETS 255u /* more of them are no set: 0 */
#define HEAP_LABEL_PAIRS 8u

struct heap_label_set {
    unsigned int count;
    struct {
        const char *key, *value;
    } pairs[HEAP_LABEL_PAIRS];
};

struct heap_labels { /* zeroed but for its names: none */
    const struct names *names;
    struct heap_label_set sets[HEAP_LABEL_SETS + 1]; /* the first is of no labels */
    unsigned int count;                              /* without that */
    unsigned char *contexts;                         /* by number: its set */
    size_t context_room;
    struct heap_label_span { /* of infos of a process, in the order of the trace */
        uint64_t process, first, count;
        unsigned char set;
    } * spans;
    size_t span_count, span_room;
    bool sorted;
};

/* Take a CONTEXT or INFO_CONTEXT; the context is the labels. */
void heap_labels_record(void *labels, const struct trace_event *ev);
unsigned int heap_labels_of_context(const struct heap_labels *l, uint64_t context);
unsigned int heap_labels_of_info(struct heap_labels *l, uint64_t process, uint64_t info);
void heap_labels_free(struct heap_labels *l);

#endif
