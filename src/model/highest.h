/* highest - the largest of any stretch of a list of numbers: asked in steps that grow with the
 * logarithm of its length.
 */
#ifndef MODEL_HIGHEST_H
#define MODEL_HIGHEST_H

#include <stddef.h>
#include <stdint.h>

struct highest { /* zeroed: of an empty list */
    uint64_t *tree;
    size_t count;
};

/* Make it of so many numbers, all 0; set each; then settle, and ask. */
void highest_start(struct highest *h, size_t count);
void highest_set(struct highest *h, size_t place, uint64_t number);
void highest_settle(struct highest *h);
/* From `from` to before `to`; 0: there is none. */
uint64_t highest_of(const struct highest *h, size_t from, size_t to);
void highest_free(struct highest *h);

#endif
