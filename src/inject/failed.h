/* failed - memory was asked for in vain: how much, by whom, when. In every mode that records
 * allocations, as far as a call comes by: a small one that would not be a sample passes unseen.
 */
#ifndef INJECT_FAILED_H
#define INJECT_FAILED_H

#include "inject/state.h"

/* `call`, a text that stays, was to give so many bytes, and said `status`: only that of ENOMEM is
 * told, as others are mistakes of the caller. errno is kept.
 */
void failed_tell(const char *call, size_t bytes, int status, struct caller c);

/* The same of an allocation that event_skip_alloc was asked for. */
void failed_alloc(const char *call, size_t bytes, int status, struct caller c);

/* What calloc was to give: as much as there can be, where that is no number. */
static inline size_t failed_product(size_t n, size_t size)
{
    size_t bytes;

    return __builtin_mul_overflow(n, size, &bytes) ? SIZE_MAX : bytes;
}

#endif
