/* own_rank - which rank of a distributed program this process is, as the environment says. Of that
 * only the variables of RING_RANKS are looked at, and only a number is told.
 */
#ifndef INJECT_OWN_RANK_H
#define INJECT_OWN_RANK_H

#include "inject/buffer.h"

#include <stdbool.h>

enum {
#define X(kind, name) +1
    OWN_RANK_NAMES = 0 RING_RANKS(X)
#undef X
};

/* As the program starts, and never later: a shell frees what its environment was made of. Is there
 * anything? */
bool own_rank_learn(char *const *environment);
/* What is known now, of the environment or by the program's word. */
void own_rank_keep(size_t which, const char *digits, size_t count);
void own_rank_tell(struct thread *t);
/* Which of the names it is, of so many bytes; OWN_RANK_NAMES: none. */
size_t own_rank_which(const char *name, size_t bytes);
/* How many digits a value has; 0: it is no number, or a longer one. */
size_t own_rank_digits(const char *value);
void own_rank_put(struct thread *t, size_t which, const char *digits, size_t count);

#endif
