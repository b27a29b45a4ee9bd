/* narrow - see narrow.h. */
#include "cli/narrow.h"

#include "analyze/suppress.h"
#include "base/text.h"
#include "cli/command.h"

#include <string.h>

int narrow_moment(const char *option, const char *text, const struct trace *t, uint64_t *ns,
                  struct err *err)
{
    uint64_t last_ns = trace_last_ns(t);
    char end[TEXT_SIZE];

    if (text_parse_moment(text, last_ns, ns, err))
        return -1;
    if (*ns > last_ns)
        return err_code(err, EXIT_USAGE, "--%s %s is after the end of the recording, %s", option,
                        text, last_ns ? text_duration(end, last_ns) : "which has no events");
    return 0;
}

/* A time after the end is the end here: "the first ten seconds" is no mistake in a short run. */
static int parse_to(const char *text, const struct trace *t, uint64_t *ns, struct err *err)
{
    uint64_t last_ns = trace_last_ns(t);

    if (text_parse_moment(text, last_ns, ns, err))
        return -1;
    if (*ns > last_ns)
        *ns = last_ns;
    return 0;
}

static int parse_stretch(const struct narrow *n, const struct trace *t, struct question_options *o,
                         struct err *err)
{
    if (n->from && narrow_moment("from", n->from, t, &o->from_ns, err))
        return -1;
    if (n->to && parse_to(n->to, t, &o->to_ns, err))
        return -1;
    if (n->to && o->to_ns <= o->from_ns)
        return err_code(err, EXIT_USAGE, "there is no time between --from %s and --to %s",
                        n->from ? n->from : "0", n->to);
    return 0;
}

static int parse_at(const char *text, const struct trace *t, struct question_options *o,
                    struct err *err)
{
    if (strcmp(text, "peak") == 0) {
        o->at = QUESTION_AT_PEAK;
        return 0;
    }
    if (strcmp(text, "end") == 0) {
        o->at = QUESTION_AT_END;
        return 0;
    }
    o->at = QUESTION_AT_TIME;
    if (narrow_moment("at", text, t, &o->at_ns, err))
        return -1;
    if (o->at_ns < o->from_ns || (o->to_ns && o->at_ns > o->to_ns))
        return err_code(err, EXIT_USAGE, "--at %s is not between --from and --to", text);
    return 0;
}

static int parse_count(const char *option, const char *text, uint64_t most, uint64_t *count,
                       struct err *err)
{
    if (!text_parse_number(text, count) || *count == 0 || *count > most)
        return most == UINT64_MAX
                 ? err_code(err, EXIT_USAGE, "--%s is a number from 1 on, not '%s'", option, text)
                 : err_code(err, EXIT_USAGE, "--%s is a number from 1 to %d, not '%s'", option,
                            (int)most, text);
    return 0;
}

int narrow_parse(const struct narrow *n, const struct trace *t, struct arena *a,
                 struct question_options *o, struct err *err)
{
    uint64_t temporary = 0;

    if (parse_stretch(n, t, o, err) || (n->at && parse_at(n->at, t, o, err)))
        return -1;
    if (n->temporary &&
        parse_count("temporary", n->temporary, QUESTION_TEMPORARY_MOST, &temporary, err))
        return -1;
    o->temporary = (unsigned int)temporary;
    if (n->limit && parse_count("limit", n->limit, UINT64_MAX, &o->rows, err))
        return -1;
    if (n->suppressions) {
        o->suppress = suppress_read(a, n->suppressions, err);
        if (!o->suppress)
            return -1;
    }
    return 0;
}
