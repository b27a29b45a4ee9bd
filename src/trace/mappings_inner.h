/* mappings_inner - what only mappings*.c share: the mappings themselves, in the order of their
 * addresses, and telling what of them counts. mappings.c knows what each record does to them.
 */
#ifndef TRACE_MAPPINGS_INNER_H
#define TRACE_MAPPINGS_INNER_H

#include "trace/mappings.h"

/* One that overlaps the range: the highest in the tree; NULL: none does. */
struct mapping *mappings_overlapping(const struct mappings *m, uint64_t process, uint64_t start,
                                     uint64_t end);
/* In the tree; NULL: it is empty, or there are too many. */
struct mapping *mappings_insert(struct mappings *m, const struct mapping *what);
/* The part of a mapping from start to end, with its share of what it stands for. */
struct mapping mapping_part(const struct mapping *p, uint64_t start, uint64_t end);
/* Take a part out of a mapping; what is before and after it stays, and the part has all else of it.
 */
struct mapping mappings_take_out(struct mappings *m, struct mapping *p, uint64_t start,
                                 uint64_t end, uint64_t time_ns);
/* Take this range out, but for what is younger. *first: one of those that were there; or NULL. */
void mappings_clear(struct mappings *m, uint64_t process, uint64_t start, uint64_t end,
                    uint64_t time_ns, struct mappings_gone *first);
/* A record meets a mapping that it does not change; false: there were too many of these. */
bool mappings_may_pass(struct mappings *m);

/* It began to count, or ended. */
void mappings_tell(struct mappings *m, const struct mapping *p, uint64_t time_ns, bool ended);
/* What is resident of a reservation has become another amount: the difference alone is a change. */
void mappings_tell_resident(struct mappings *m, const struct mapping *p, uint64_t time_ns,
                            uint64_t was);

#endif
