/* dotted - see dotted.h. */
#include "base/dotted.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define PATTERN_MOST 256

static const char *next_of(const char *pattern)
{
    const char *end = strchr(pattern, '\n');

    return end ? end + 1 : pattern + strlen(pattern);
}

unsigned int dotted_count(const char *patterns)
{
    unsigned int count = 0;

    for (; *patterns; patterns = next_of(patterns))
        count++;
    return count;
}

const char *dotted_get(const char *patterns, unsigned int place, int *length)
{
    while (place--)
        patterns = next_of(patterns);
    *length = (int)strcspn(patterns, "\n");
    return patterns;
}

static bool fits(const char *pattern, int length, const char *name)
{
    const char *inner = strchr(name, '.');
    char one[PATTERN_MOST];

    if (length >= PATTERN_MOST)
        return false;
    snprintf(one, sizeof(one), "%.*s", length, pattern);
    return fnmatch(one, name, 0) == 0 || (inner && fnmatch(one, inner + 1, 0) == 0);
}

uint32_t dotted_fits(const char *patterns, const char *name)
{
    unsigned int count = dotted_count(patterns);
    uint32_t found = 0;

    for (unsigned int i = 0; i < count && i < DOTTED_MOST; i++) {
        int length;
        const char *one = dotted_get(patterns, i, &length);

        found |= (uint32_t)fits(one, length, name) << i;
    }
    return found;
}
