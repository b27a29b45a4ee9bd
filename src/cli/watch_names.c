/* watch_names - see watch_names.h. */
#include "cli/watch_names.h"

#include "base/dotted.h"
#include "cli/command.h"
#include "trace/facts.h"

#include <stdio.h>
#include <string.h>

int watch_names_parse(const char *text, void *to, struct err *err)
{
    struct watch_names *n = to;
    size_t bytes = strlen(text), used = strlen(n->text);

    if (!bytes || strchr(text, '\n'))
        return err_code(err, EXIT_USAGE,
                        "it takes the name of a tensor, such as Net.blocks.3.weight");
    if (bytes >= RING_WATCH_NAME)
        return err_code(err, EXIT_USAGE, "a name for --watch has at most %u bytes",
                        RING_WATCH_NAME - 1);
    if (dotted_count(n->text) == DOTTED_MOST || used + bytes + 2 > sizeof(n->text))
        return err_code(err, EXIT_USAGE,
                        "too many names are given to --watch: write a pattern, "
                        "such as '*.weight'");
    if (used)
        n->text[used++] = '\n';
    memcpy(n->text + used, text, bytes + 1);
    return 0;
}

void watch_names_put(struct trace_store *s, const struct watch_names *n)
{
    if (*n->text)
        trace_store_fact(s, TRACE_OF_RUN, 0, FACT_WATCH, n->text, strlen(n->text));
}

void watch_names_say(const struct watch_names *n, const struct watch_result *r)
{
    unsigned int count = dotted_count(n->text);

    for (unsigned int i = 0; i < count; i++) {
        int length;
        const char *name = dotted_get(n->text, i, &length);

        if (!(r->watched >> i & 1))
            fprintf(stderr,
                    "tidemark: --watch %.*s: no model of PyTorch that was called has such a "
                    "parameter or buffer; see 'tidemark report FILE watch'\n",
                    length, name);
    }
}
