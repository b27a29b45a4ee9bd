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

static bool is_for_any(const struct format *f)
{
    return (!f->question && !f->stacks) || f->pair;
}

static char *joined(bool all)
{
    size_t bytes = 1;
    char *list, *end;

    for (int i = 0; formats[i]; i++)
        bytes += strlen(formats[i]->name) + 1;
    end = list = memory_zeroed(bytes);
    for (int i = 0; formats[i]; i++)
        if (all || is_for_any(formats[i]))
            end = stpcpy(end == list ? end : stpcpy(end, " "), formats[i]->name);
    return list;
}

const char *formats_of_all(void)
{
    static const char *list;

    return list ? list : (list = joined(true));
}

const char *formats_of_any(void)
{
    static const char *list;

    return list ? list : (list = joined(false));
}
