/* near - which word somebody may have meant. */
#ifndef BASE_NEAR_H
#define BASE_NEAR_H

#include <stddef.h>

struct near {
    const char *word; /* as it was typed, not always ended by NUL */
    size_t length, edits;
    const char *guess; /* the nearest so far, NULL: none is near */
};

/* Begin with the word that nobody knows, offer each that there is, read `guess`. */
struct near near_begin(const char *word, size_t length);
void near_offer(struct near *n, const char *candidate);

#endif
