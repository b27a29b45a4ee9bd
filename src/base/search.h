/* search - binary search in any ordered list, by whatever it is ordered by. */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

#include <stddef.h>

/* Move `low` to the first place of [low, high) that does not come before what is looked for, or to
 * `high`: `before` is an expression in `at`, a place, that holds of all places up to some and of
 * none behind it.
 */
#define SEARCH(low, high, at, before)                                                              \
    do {                                                                                           \
        size_t search_high_ = (high);                                                              \
                                                                                                   \
        while ((low) < search_high_) {                                                             \
            size_t at = (low) + (search_high_ - (low)) / 2;                                        \
                                                                                                   \
            if (before)                                                                            \
                (low) = at + 1;                                                                    \
            else                                                                                   \
                search_high_ = at;                                                                 \
        }                                                                                          \
    } while (0)

#endif
