/* align - two sequences of numbers matched in order, by as few insertions and deletions as can be
 * (Myers 1986, in linear space).
 */
#ifndef MODEL_ALIGN_H
#define MODEL_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALIGN_NONE SIZE_MAX
#define ALIGN_DIFFERENCES_MOST 8192u /* of one part, but for what only one side has */

/* partner[i]: the place in b that a[i] is matched with, or ALIGN_NONE. False: somewhere there are
 * too many differences to look further, so that less is matched than could be.
 */
bool align(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count, size_t *partner);

#endif
