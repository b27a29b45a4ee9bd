/* format - the list of ways to write an answer. */
#include "report/formats.h"

#include <string.h>

const struct format *const formats[] = {
    &format_text,      &format_json,    &format_csv, &format_resource_log,
    &format_collapsed, &format_scalene, NULL,
};

const struct format *format_find(const char *name)
{
    for (int i = 0; formats[i]; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}
