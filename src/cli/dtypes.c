/* dtypes - see dtypes.h. */
#include "cli/dtypes.h"

#include "cli/command.h"
#include "model/selection.h"
#include "model/tensors.h"

#include <stdlib.h>
#include <string.h>

/* By its name, or the beginning of it; TENSOR_KINDS: none, or several. */
static int kind_of(const char *name, size_t length)
{
    int found = TENSOR_KINDS;

    for (int k = 0; length && k < TENSOR_KINDS; k++) {
        if (strncmp(tensor_kind_text((enum tensor_kind)k), name, length) != 0)
            continue;
        if (found != TENSOR_KINDS)
            return TENSOR_KINDS;
        found = k;
    }
    return found;
}

int dtypes_parse(const char *text, void *to, struct err *err)
{
    struct selection_types *types = to;
    const char *percent = strchr(text, '=');
    int kind = percent ? kind_of(text, (size_t)(percent - text)) : TENSOR_KINDS;
    char *end = NULL;
    double share = percent ? strtod(percent + 1, &end) : 0;

    if (end && *end == '%')
        end++;
    if (kind == TENSOR_KINDS || !end || *end || !(share >= 0.1 && share < 100))
        return err_code(
            err, EXIT_USAGE,
            "'%s' is not a kind of tensors and a share of its bytes; write, for instance, "
            "--dtype 'optimizer state=25%%', which is a quarter of its bytes",
            text);
    if (types->count == SELECTION_TYPES_MOST)
        return err_code(err, EXIT_USAGE, "at most %d types can be given", SELECTION_TYPES_MOST);
    types->list[types->count++] = (struct selection_type){kind, (unsigned int)(share * 10 + 0.5)};
    return 0;
}
