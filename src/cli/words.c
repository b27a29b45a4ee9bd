#include "cli/words.h"

#include <string.h>

const char *words_joined(struct arena *a, char *const *words)
{
    size_t len = 1;
    char *text, *at;

    for (char *const *w = words; *w; w++)
        len += strlen(*w) + 1;
    at = text = arena_alloc(a, len);
    for (char *const *w = words; *w; w++)
        at = stpcpy(w == words ? at : stpcpy(at, " "), *w);
    return text;
}
