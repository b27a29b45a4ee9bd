/* narrow - see narrow.h. */
#include "cli/narrow.h"

#include "base/text.h"
#include "cli/command.h"
#include "model/born.h"
#include "model/moment_find.h"
#include "model/process_lens.h"
#include "model/space_lens.h"
#include "model/suppress.h"

#include <string.h>

struct parsing {
    const struct narrow *given;
    struct trace *trace;
    struct arena *arena;
    struct selection *out;
    struct moments moments; /* once a name was met */
    bool named;
    struct err *err;
};

static const struct moments *moments_of(struct parsing *p)
{
    if (!p->named)
        moments_read(&p->moments, p->trace, p->arena, p->out->process);
    p->named = true;
    return &p->moments;
}

/* One more sentence for the answer: a clause, which gets its end here. */
static void say(struct parsing *p, const char *clause)
{
    const char *said = p->out->asked;

    if (clause)
        p->out->asked = said ? arena_printf(p->arena, "%s %s.", said, clause)
                             : arena_printf(p->arena, "%s.", clause);
}

/* ---- moments ---- */

/* What came before a named moment has an earlier time, what came after it the same or a later one:
 * `after` is the first time of these, else it is the last of those.
 */
static int parse_moment(struct parsing *p, const char *text, bool after, uint64_t *ns)
{
    struct moment_found found;
    struct err no_time;

    if (!text_parse_moment(text, trace_last_ns(p->trace), ns, &no_time))
        return 0;
    if (moment_find(moments_of(p), text, p->arena, &found, p->err)) {
        if (strchr("0123456789.-+", *text))
            *p->err = no_time;
        return -1;
    }
    say(p, found.meant);
    *ns = found.moment->time_ns - (!after && found.moment->time_ns);
    return 0;
}

static int check_moment(struct parsing *p, const char *option, const char *text, uint64_t ns)
{
    uint64_t last_ns = trace_last_ns(p->trace);
    char end[TEXT_SIZE];

    if (ns <= last_ns)
        return 0;
    return err_code(p->err, EXIT_USAGE, "--%s %s is after the end of the recording, %s", option,
                    text, last_ns ? text_duration(end, last_ns) : "which has no events");
}

/* A time after the end is the end here: "the first ten seconds" is no mistake in a short run. */
static int parse_to(struct parsing *p)
{
    uint64_t *ns = &p->out->to_ns, last_ns = trace_last_ns(p->trace);

    if (parse_moment(p, p->given->to, false, ns))
        return -1;
    *ns = *ns < last_ns ? *ns : last_ns;
    return 0;
}

static int parse_step(struct parsing *p)
{
    struct moment_steps found;

    if (moment_find_steps(moments_of(p), p->given->step, p->arena, &found, p->err))
        return -1;
    say(p, found.meant);
    p->out->from_ns = moments_from(found.loop, found.first);
    p->out->to_ns = found.loop->steps[found.last]->time_ns - 1;
    return 0;
}

static int parse_stretch(struct parsing *p)
{
    const struct narrow *n = p->given;
    struct selection *o = p->out;

    if (n->step)
        return parse_step(p);
    if (n->from && (parse_moment(p, n->from, !n->moments, &o->from_ns) ||
                    check_moment(p, "from", n->from, o->from_ns)))
        return -1;
    if (n->to && parse_to(p))
        return -1;
    if (n->to && o->to_ns <= o->from_ns)
        return err_code(p->err, EXIT_USAGE, "there is no time between --from %s and --to %s",
                        n->from ? n->from : "0", n->to);
    return 0;
}

static int parse_at(struct parsing *p)
{
    const char *text = p->given->at;
    struct selection *o = p->out;

    if (strcmp(text, "peak") == 0) {
        o->at = SELECTION_AT_PEAK;
        return 0;
    }
    if (strcmp(text, "end") == 0) {
        o->at = SELECTION_AT_END;
        return 0;
    }
    o->at = SELECTION_AT_TIME;
    if (parse_moment(p, text, false, &o->at_ns) || check_moment(p, "at", text, o->at_ns))
        return -1;
    if (o->at_ns < o->from_ns || (o->to_ns && o->at_ns > o->to_ns))
        return err_code(p->err, EXIT_USAGE, "--at %s is not between %s", text,
                        p->given->step ? "the beginning and the end of --step" : "--from and --to");
    return 0;
}

/* ---- spaces ---- */

static const char *list_spaces(struct parsing *p, const struct space_list *l)
{
    const char *list = "host";

    for (size_t i = 0; i < l->count; i++)
        list = arena_printf(p->arena, "%s%s%s", list, i + 1 == l->count ? " and " : ", ",
                            l->list[i].name);
    return list;
}

static int parse_space(struct parsing *p)
{
    const char *name = p->given->space;
    const struct space_entry *found;
    struct space_list l = {0};

    if (strcmp(name, "host") == 0)
        return 0;
    space_list_read(&l, p->trace, p->arena);
    found = space_find(&l, name);
    if (!found && !l.count)
        return err_code(p->err, EXIT_USAGE,
                        "this trace has no memory of '%s': no device's library was seen to "
                        "allocate, so it has the host's alone",
                        name);
    if (!found)
        return err_code(p->err, EXIT_USAGE, "this trace has no memory of '%s', only that of %s",
                        name, list_spaces(p, &l));
    p->out->space = found->number;
    say(p, arena_printf(p->arena, "Allocations are those of %s, not of the host", name));
    return 0;
}

/* ---- processes ---- */

static int parse_process(struct parsing *p)
{
    struct process_lens *lens = arena_alloc(p->arena, sizeof(*lens));
    const char *text = p->given->process;
    uint64_t pid;

    if (!text_parse_number(text, &pid) || !pid)
        return err_code(p->err, EXIT_USAGE,
                        "'%s' is not a process; write its pid, as 'tidemark report FILE processes' "
                        "shows it",
                        text);
    process_lens_read(lens, p->trace, pid);
    p->out->process = lens;
    if (!lens->processes.used)
        return err_code(
            p->err, EXIT_USAGE,
            "this trace has no process %s; 'tidemark report FILE processes' lists those "
            "that it has",
            text);
    if (!lens->recorded)
        return err_code(p->err, EXIT_USAGE,
                        "process %s was not recorded from inside: only what 'tidemark report FILE "
                        "processes' shows is known of it",
                        text);
    say(p, arena_printf(p->arena, "Allocations, steps and CPU time are those of process %s alone",
                        text));
    return 0;
}

static int parse_rank(struct parsing *p)
{
    struct process_lens *lens = arena_alloc(p->arena, sizeof(*lens));
    const char *text = p->given->rank;
    uint64_t rank;

    if (!text_parse_number(text, &rank))
        return err_code(p->err, EXIT_USAGE, "'%s' is not a rank; write its number, from 0 on",
                        text);
    p->out->process = lens;
    if (!process_lens_read_rank(lens, p->trace, p->arena, rank))
        return err_code(p->err, EXIT_USAGE,
                        "no process of this trace says which rank it is; --process takes a pid");
    if (!lens->recorded)
        return err_code(
            p->err, EXIT_USAGE,
            "this trace has no rank %s; 'tidemark report FILE processes' lists those that it has",
            text);
    say(p,
        arena_printf(p->arena, "Allocations, steps and CPU time are those of rank %s alone", text));
    return 0;
}

void narrow_free(struct selection *o)
{
    if (o->process)
        process_lens_free((struct process_lens *)o->process);
    o->process = NULL;
}

/* ---- blocks ---- */

int narrow_add_label(const char *text, void *to, struct err *err)
{
    struct narrow *n = to;

    if (!*text || *text == '=')
        return err_code(err, EXIT_USAGE,
                        "'%s' is not a label; write its key, or KEY=VALUE, such as phase=forward",
                        text);
    if (n->label_count == NARROW_LABELS_MOST)
        return err_code(err, EXIT_USAGE, "at most %d labels can be given", NARROW_LABELS_MOST);
    n->labels[n->label_count++] = text;
    return 0;
}

static void add_label(struct parsing *p, struct born *b, const char *text)
{
    const char *equals = strchr(text, '=');
    struct born_label *l = &b->labels[b->label_count++];

    l->key = equals ? arena_printf(p->arena, "%.*s", (int)(equals - text), text) : text;
    l->value = equals ? equals + 1 : NULL;
}

static const char *describe_born(struct parsing *p)
{
    const struct narrow *n = p->given;
    struct arena *a = p->arena;
    const char *where = n->born_in ? arena_printf(a, " in step%s %s",
                                                  strstr(n->born_in, "..") ? "s" : "", n->born_in)
                                   : "";

    for (unsigned int i = 0; i < n->label_count; i++)
        where = arena_printf(a, "%s%s%s", where, i ? ", " : " under ", n->labels[i]);
    return arena_printf(a, "Only allocations%s are counted", where);
}

static int parse_born(struct parsing *p)
{
    struct born *b = arena_alloc(p->arena, sizeof(*b));

    if (p->given->born_in && moment_born(moments_of(p), p->given->born_in, p->arena, b, p->err))
        return -1;
    for (unsigned int i = 0; i < p->given->label_count; i++)
        add_label(p, b, p->given->labels[i]);
    p->out->born = b;
    say(p, describe_born(p));
    return 0;
}

/* ---- numbers ---- */

static int parse_count(const char *option, const char *text, uint64_t most, uint64_t *count,
                       struct err *err)
{
    if (!text_parse_number(text, count) || *count == 0 || *count > most)
        return most == UINT64_MAX
                 ? err_code(err, EXIT_USAGE, "--%s must be a number of at least 1, not '%s'",
                            option, text)
                 : err_code(err, EXIT_USAGE, "--%s must be a number from 1 to %d, not '%s'", option,
                            (int)most, text);
    return 0;
}

static int parse_rest(struct parsing *p)
{
    const struct narrow *n = p->given;
    struct selection *o = p->out;
    uint64_t temporary = 0;

    if (n->temporary &&
        parse_count("temporary", n->temporary, SELECTION_TEMPORARY_MOST, &temporary, p->err))
        return -1;
    o->temporary = (unsigned int)temporary;
    o->all_leaks = n->all_leaks;
    if (n->limit && parse_count("limit", n->limit, UINT64_MAX, &o->rows, p->err))
        return -1;
    if (!n->suppressions)
        return 0;
    o->suppress = suppress_read(p->arena, n->suppressions, p->err);
    return o->suppress ? 0 : -1;
}

int narrow_parse(const struct narrow *n, struct trace *t, struct arena *a, struct selection *o,
                 struct err *err)
{
    struct parsing p = {.given = n, .trace = t, .arena = a, .out = o, .err = err};
    int result = n->process ? parse_process(&p) : n->rank ? parse_rank(&p) : 0;

    if (result == 0)
        result = parse_stretch(&p);
    if (result == 0 && n->at)
        result = parse_at(&p);
    if (result == 0 && n->space)
        result = parse_space(&p);
    if (result == 0 && (n->born_in || n->label_count))
        result = parse_born(&p);
    if (result == 0)
        result = parse_rest(&p);
    moments_free(&p.moments);
    return result;
}
