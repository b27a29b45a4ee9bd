/* formats - the list of ways to write an answer. */
#include "report/formats.h"

#include "base/memory.h"

#include <string.h>

const struct format *const formats[] = {
#define X(name) &format_##name,
    FORMATS(X)
#undef X
        NULL,
};

const struct format *format_find(const char *name)
{
    for (int i = 0; formats[i]; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

static bool is_of_all(const struct format *f)
{
    (void)f;
    return true;
}

static bool is_of_any(const struct format *f)
{
    return !f->question && !f->stacks;
}

static bool is_of_pairs(const struct format *f)
{
    return is_of_any(f) || f->pair;
}

/* Their names; `list` keeps them. */
static const char *named(bool (*is)(const struct format *f), const char **list)
{
    size_t bytes = 1;
    char *names, *end;

    if (*list)
        return *list;
    for (int i = 0; formats[i]; i++)
        bytes += strlen(formats[i]->name) + 1;
    end = names = memory_zeroed(bytes);
    for (int i = 0; formats[i]; i++)
        if (is(formats[i]))
            end = stpcpy(end == names ? end : stpcpy(end, " "), formats[i]->name);
    return *list = names;
}

const char *formats_of_all(void)
{
    static const char *list;

    return named(is_of_all, &list);
}

const char *formats_of_any(void)
{
    static const char *list;

    return named(is_of_any, &list);
}

const char *formats_of_pairs(void)
{
    static const char *list;

    return named(is_of_pairs, &list);
}
