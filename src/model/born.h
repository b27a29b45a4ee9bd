/* born - which blocks are asked about, by where they were allocated: in some steps, under some
 * labels. See CONTEXT in docs/FORMAT.md.
 */
#ifndef MODEL_BORN_H
#define MODEL_BORN_H

#include "model/names.h"

#define BORN_LABELS_MOST 8

struct born_range { /* how many steps of a process had ended: from .. to, both included */
    uint64_t process, from, to;
};

struct born { /* all of it must hold */
    bool in_steps;
    struct born_range *ranges;
    size_t range_count;
    struct born_label {
        const char *key, *value; /* value NULL: any */
    } labels[BORN_LABELS_MOST];
    unsigned int label_count;
};

/* What is known of the contexts of a trace, by number: an answer for each. */
struct born_known {    /* zeroed: none */
    unsigned char *of; /* enum born_answer */
    size_t room;
};

enum born_answer { BORN_UNKNOWN, BORN_ELSEWHERE, BORN_THERE };

/* A CONTEXT: is it one of those? */
void born_take(struct born_known *k, const struct born *b, const struct names *names,
               const struct trace_event *ev);
/* A block of that process. */
enum born_answer born_in(const struct born_known *k, const struct born *b, uint64_t context,
                         uint64_t process);
void born_free(struct born_known *k);

#endif
