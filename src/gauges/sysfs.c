/* sysfs - see sysfs.h. */
#include "gauges/sysfs.h"

#include "base/absent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *after_line(const char *s)
{
    s += strcspn(s, "\n");
    return s + (*s == '\n');
}

uint64_t sysfs_number(const char *text)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);

    return end == text || text[0] == '-' ? ABSENT : n;
}

bool sysfs_value(const char *text, const char *key, char *out, size_t room)
{
    size_t length = strlen(key);

    out[0] = '\0';
    for (const char *s = text; *s; s = after_line(s))
        if (!strncmp(s, key, length) && s[length] == '=') {
            s += length + 1;
            snprintf(out, room, "%.*s", (int)strcspn(s, "\n"), s);
            return true;
        }
    return false;
}

uint64_t sysfs_property(const char *text, const char *name)
{
    size_t length = strlen(name);

    for (const char *s = text; *s; s = after_line(s))
        if (!strncmp(s, name, length) && s[length] == ' ')
            return sysfs_number(s + length + 1);
    return ABSENT;
}

const char *sysfs_next(const char *text, char name[SYSFS_NAME], uint64_t *number)
{
    for (const char *s = text; *s; s = after_line(s)) {
        size_t word = strcspn(s, " \n");

        if (!word || word >= SYSFS_NAME || s[word] != ' ')
            continue;
        memcpy(name, s, word);
        name[word] = '\0';
        *number = sysfs_number(s + word + 1);
        return after_line(s);
    }
    return NULL;
}
