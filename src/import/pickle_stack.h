/* pickle_stack - what the opcodes of a pickle do: values, the stack that they are put together on,
 * and what it remembers. Each is false where the stack does not hold what it needs.
 */
#ifndef IMPORT_PICKLE_STACK_H
#define IMPORT_PICKLE_STACK_H

#include "import/pickle_values.h"

pickle_value pickle_add(struct pickle *p, struct pickle_node n);
void pickle_push(struct pickle *p, pickle_value v);
void pickle_push_container(struct pickle *p, enum pickle_type type);
void pickle_push_integer(struct pickle *p, enum pickle_type type, int64_t value);
pickle_value pickle_top(const struct pickle *p);

/* Into the container below the last mark, or below the last values. */
bool pickle_fill_marked(struct pickle *p, enum pickle_type type);
bool pickle_fill_last(struct pickle *p, size_t count, enum pickle_type type);
/* They become one. */
bool pickle_gather_marked(struct pickle *p);
bool pickle_gather_last(struct pickle *p, size_t count);
bool pickle_pop_marked(struct pickle *p);

bool pickle_remember(struct pickle *p, uint64_t slot);
bool pickle_recall(struct pickle *p, uint64_t slot);

#endif
