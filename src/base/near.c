/* near - see near.h. */
#include "base/near.h"

#include <string.h>

#define NAME_MOST 64 /* longest name that is worth a suggestion */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edit distance of a[0..length) and b: insert, drop and replace count one each. */
static size_t distance(const char *a, size_t length, const char *b)
{
    size_t row[NAME_MOST + 1];
    size_t width = strlen(b);

    if (length > NAME_MOST || width > NAME_MOST)
        return NAME_MOST;
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 0; i < length; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < width; j++) {
            size_t replaced = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = least(replaced, least(row[j], row[j + 1]) + 1);
        }
    }
    return row[width];
}

struct near near_begin(const char *word, size_t length)
{
    return (struct near){.word = word, .length = length, .edits = length < 4 ? 2 : 3};
}

/* A beginning is nearer than anything else. */
void near_offer(struct near *n, const char *candidate)
{
    size_t d = distance(n->word, n->length, candidate);

    if (n->length >= 2 && strncmp(n->word, candidate, n->length) == 0)
        d = 0;
    if (d < n->edits) {
        n->edits = d;
        n->guess = candidate;
    }
}
