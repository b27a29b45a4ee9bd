/* what_if_plan - which ideas there are for the tensors of a recording, what each would do by
 * itself, and which of them, one after the other, make all tensors fit into a given size.
 */
#ifndef MODEL_WHAT_IF_PLAN_H
#define MODEL_WHAT_IF_PLAN_H

#include "model/selection.h"
#include "model/what_if.h"

struct what_if_plan { /* zeroed: empty */
    struct what_if *what_if;
    struct what_if_idea *ideas; /* the largest fall first */
    size_t count, room;
    struct what_if_idea together[WHAT_IF_TAKEN_MOST]; /* peak and fall: after those before it */
    size_t together_count;
    uint64_t peak; /* with all of these */
};

/* Fill `ideas`: by kind, with those types that suit it or that were asked for; and for the modules
 * and lines that hold most of a kind at the peak.
 */
void what_if_plan_ideas(struct what_if_plan *p, struct what_if *w,
                        const struct selection_type *types, size_t type_count);
/* Fill `together`: until the peak is no larger than the limit (0: until nothing lowers it). What
 * turns out to be needless is left out again; what is about all of a kind is about a module or a
 * line, if that is enough.
 */
void what_if_plan_together(struct what_if_plan *p, uint64_t limit);
void what_if_plan_free(struct what_if_plan *p);

#endif
