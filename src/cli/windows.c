/* windows - see windows.h. */
#include "cli/windows.h"

#include "cli/command.h"
#include "trace/facts.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Digits alone: strtoull would take signs and spaces. */
static bool take_number(const char **at, uint64_t *out)
{
    char *end;

    if (!isdigit((unsigned char)**at))
        return false;
    errno = 0;
    *out = strtoull(*at, &end, 10);
    *at = end;
    return errno == 0 && *out > 0;
}

/* "5", "5-20" or "100-". */
static bool take_one(const char **at, struct ring_window *w)
{
    if (!take_number(at, &w->first))
        return false;
    w->last = w->first;
    if (**at != '-')
        return true;
    ++*at;
    if (!isdigit((unsigned char)**at)) {
        w->last = UINT64_MAX;
        return true;
    }
    return take_number(at, &w->last) && w->last >= w->first;
}

int windows_parse(const char *text, void *to, struct err *err)
{
    struct windows *w = to;
    const char *at = text;

    *w = (struct windows){.text = text};
    do {
        if (w->count == RING_WINDOWS)
            return err_code(err, EXIT_USAGE, "no more than %u windows can be given to --steps",
                            RING_WINDOWS);
        if (!take_one(&at, &w->list[w->count]))
            return err_code(err, EXIT_USAGE,
                            "'%s' are not steps; write numbers from 1 on, as in 5-20,40,100-",
                            text);
        w->count++;
    } while (*at == ',' && *++at);
    return *at || at[-1] == ','
             ? err_code(err, EXIT_USAGE,
                        "'%s' are not steps; write numbers from 1 on, as in 5-20,40,100-", text)
             : 0;
}

void windows_put(struct trace_store *s, const struct windows *w, bool deferred)
{
    const char *text = w->count ? w->text : deferred ? "deferred" : NULL;

    if (text)
        trace_store_fact(s, TRACE_OF_RUN, 0, FACT_WINDOWS, text, strlen(text));
}

void windows_say(const struct windows *w, bool deferred, const struct watch_result *r)
{
    if (r->windows)
        return;
    if (w->count && r->steps)
        fprintf(stderr,
                "tidemark: only %" PRIu64
                " steps were reported, and none of --steps %s was reached: no "
                "block was recorded with its stack\n",
                r->steps, w->text);
    else if (w->count)
        fprintf(stderr,
                "tidemark: the program reported no step, so none of --steps %s was reached and no "
                "block was recorded with its stack; report steps with tidemark.step(), "
                "tidemark.torch.attach(..., steps=True) or ranges of NVTX\n",
                w->text);
    else if (deferred)
        fprintf(stderr, "tidemark: tidemark.start() was never called, and no block was recorded "
                        "with its stack\n");
}
