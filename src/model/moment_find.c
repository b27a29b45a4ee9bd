/* moment_find - see moment_find.h. */
#include "model/moment_find.h"

#include "base/memory.h"
#include "base/near.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EXIT_MISUSE 2
#define NAMES_SHOWN 8 /* in a sentence */

/* ---- names ---- */

static bool is_first_of_name(const struct moments *m, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (!strcmp(m->list[k].name, m->list[i].name))
            return false;
    return true;
}

/* The names that there are: "warm, eval and train", or "warm, eval, train and others". */
static const char *list_names(const struct moments *m, struct arena *a)
{
    const char *list = NULL, *last = NULL;
    unsigned int count = 0;

    for (size_t i = 0; i < m->count && count <= NAMES_SHOWN; i++) {
        if (!*m->list[i].name || !is_first_of_name(m, i))
            continue;
        if (last)
            list = list ? arena_printf(a, "%s, %s", list, last) : last;
        last = count++ == NAMES_SHOWN ? "others" : m->list[i].name;
    }
    return list ? arena_printf(a, "%s and %s", list, last) : last;
}

/* The name that is nearest to what was typed; NULL: none is near. */
static const char *nearest(const struct moments *m, const char *typed)
{
    struct near n = near_begin(typed, strcspn(typed, ":#"));

    for (size_t i = 0; i < m->count; i++)
        near_offer(&n, m->list[i].name);
    return n.guess;
}

static int fail_unknown(const struct moments *m, const char *text, struct arena *a, struct err *err)
{
    const char *guess = nearest(m, text), *names = list_names(m, a);

    if (!names)
        return err_code(
            err, EXIT_MISUSE,
            "'%s' is not a time, and the program has named no moment of this recording; "
            "write seconds, a unit or a part of the whole, such as 1.5, 200ms or 50%%",
            text);
    if (guess)
        return err_code(err, EXIT_MISUSE,
                        "'%s' is neither a time nor a moment that the program has named (did you "
                        "mean '%s'?)",
                        text, guess);
    return err_code(err, EXIT_MISUSE,
                    "'%s' is neither a time nor a moment that the program has named: these are %s",
                    text, names);
}

/* ---- one moment ---- */

struct wanted {
    const char *name;
    size_t length;
    bool has_value, any_loop;
    uint64_t value, which; /* which: of several, from 1; 0: not said */
};

static bool is_named(const struct wanted *w, const char *name)
{
    return strlen(name) == w->length && !memcmp(name, w->name, w->length);
}

static bool is_wanted(const struct wanted *w, const struct named_moment *m)
{
    if (w->any_loop ? m->kind != TRACE_MARK_STEP : !is_named(w, m->name))
        return false;
    return !w->has_value || m->value == w->value;
}

static bool any_named(const struct moments *m, const struct wanted *w)
{
    for (size_t i = 0; i < m->count; i++)
        if (is_named(w, m->list[i].name))
            return true;
    return false;
}

/* Take ":7" or "#2" from the end of what is wanted; false: there is none. */
static bool take_number(struct wanted *w, char sign, uint64_t *number)
{
    const char *at = w->name + w->length;
    char digits[24];

    while (at > w->name && at[-1] >= '0' && at[-1] <= '9')
        at--;
    if (at == w->name || at[-1] != sign || (size_t)(w->name + w->length - at) >= sizeof(digits))
        return false;
    memcpy(digits, at, (size_t)(w->name + w->length - at));
    digits[w->name + w->length - at] = 0;
    if (!text_parse_number(digits, number))
        return false;
    w->length = (size_t)(at - 1 - w->name);
    return true;
}

/* A name may have signs in it: the longest that there is counts. */
static struct wanted read_wanted(const struct moments *m, const char *text)
{
    struct wanted w = {.name = text, .length = strlen(text)};

    if (any_named(m, &w))
        return w;
    take_number(&w, '#', &w.which);
    if (any_named(m, &w))
        return w;
    w.has_value = take_number(&w, ':', &w.value);
    w.any_loop = w.has_value && !any_named(m, &w) && is_named(&w, "step");
    return w;
}

static const char *say_which(struct arena *a, const struct wanted *w,
                             const struct named_moment *found, uint64_t count)
{
    char time[TEXT_SIZE];
    const char *of = w->has_value ? arena_printf(a, "%s:%" PRIu64, found->name, w->value)
                                  : found->name;

    return arena_printf(a, "'%s' is the first of %" PRIu64 ", at %s (the last is '%s#%" PRIu64 "')",
                        of, count, text_duration(time, found->time_ns), of, count);
}

static int compare_times(const void *a, const void *b)
{
    const struct named_moment *x = *(const struct named_moment *const *)a,
                              *y = *(const struct named_moment *const *)b;

    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Those that are wanted, in the order of time; how many. */
static size_t collect(const struct moments *m, const struct wanted *w,
                      const struct named_moment **list)
{
    size_t count = 0;

    for (size_t i = 0; i < m->count; i++)
        if (is_wanted(w, &m->list[i]))
            list[count++] = &m->list[i];
    memory_sort(list, count, sizeof(struct named_moment *), compare_times);
    return count;
}

int moment_find(const struct moments *m, const char *text, struct arena *a,
                struct moment_found *out, struct err *err)
{
    struct wanted w = read_wanted(m, text);
    const struct named_moment **list = arena_alloc(a,
                                                   (m->count + 1) * sizeof(struct named_moment *));
    size_t count = collect(m, &w, list);

    *out = (struct moment_found){0};
    if (!count && w.has_value && any_named(m, &w))
        return err_code(err, EXIT_MISUSE,
                        "no moment '%.*s' of the recording has the value %" PRIu64, (int)w.length,
                        w.name, w.value);
    if (!count && w.any_loop && m->loop_count)
        return err_code(err, EXIT_MISUSE, "no step of the recording has the number %" PRIu64,
                        w.value);
    if (!count)
        return fail_unknown(m, text, a, err);
    if (w.which > count)
        return err_code(err, EXIT_MISUSE, "the program has named '%.*s' %zu time%s, not %" PRIu64,
                        (int)w.length, w.name, count, count == 1 ? "" : "s", w.which);
    out->moment = list[w.which ? w.which - 1 : 0];
    if (count > 1 && !w.which)
        out->meant = say_which(a, &w, out->moment, count);
    return 0;
}

/* ---- steps ---- */

struct range { /* as it was typed */
    const char *loop;
    size_t length; /* 0: not said */
    uint64_t from, to;
};

static int read_range(const char *text, struct range *r, struct err *err)
{
    const char *colon = strrchr(text, ':'), *numbers = colon ? colon + 1 : text;
    const char *dots = strstr(numbers, "..");
    char first[32];
    size_t length = dots ? (size_t)(dots - numbers) : strlen(numbers);

    *r = (struct range){text, colon ? (size_t)(colon - text) : 0, 0, 0};
    snprintf(first, sizeof(first), "%.*s", length < sizeof(first) ? (int)length : 0, numbers);
    if (!text_parse_number(first, &r->from) || !text_parse_number(dots ? dots + 2 : first, &r->to))
        return err_code(
            err, EXIT_MISUSE,
            "'%s' is not a step; write a number, two with '..' between, or the name of the "
            "loop before it, such as 7, 5..9 or epoch:2",
            text);
    if (r->to < r->from)
        return err_code(err, EXIT_MISUSE, "steps %s end before they begin", text);
    return 0;
}

/* The first step with that number, from one on; the count of steps: none. */
static size_t find_number(const struct moments_loop *l, uint64_t number, size_t from)
{
    while (from < l->count && l->steps[from]->value != number)
        from++;
    return from;
}

static bool has_steps(const struct moments_loop *l, const struct range *r)
{
    size_t first = find_number(l, r->from, 0);

    return first < l->count && find_number(l, r->to, first) < l->count;
}

static bool is_loop(const struct moments_loop *l, const struct range *r)
{
    return !r->length || (strlen(l->name) == r->length && !memcmp(l->name, r->loop, r->length));
}

static int fail_steps(const struct moments *m, const char *text, const struct range *r,
                      struct err *err)
{
    const struct moments_loop *near = NULL;

    for (size_t i = 0; i < m->loop_count && !near; i++)
        near = is_loop(&m->loops[i], r) ? &m->loops[i] : NULL;
    if (!m->loop_count)
        return err_code(err, EXIT_MISUSE,
                        "there are no steps in this recording; a program reports them by "
                        "tidemark_step() of tidemark.h, or step() of the Python package");
    if (!near)
        return err_code(err, EXIT_MISUSE, "no loop of steps is called '%.*s', but '%s' is",
                        (int)r->length, r->loop, m->loops[0].name);
    return err_code(err, EXIT_MISUSE,
                    "there is no step %s: those of '%s' are %" PRIu64 " to %" PRIu64, text,
                    near->name, near->steps[0]->value, near->steps[near->count - 1]->value);
}

/* The name of the loop that has these steps; -1: none has, or several that are called differently.
 */
static int choose_loop(const struct moments *m, const char *text, const struct range *r,
                       const struct moments_loop **out, struct err *err)
{
    const struct moments_loop *found = NULL;

    for (size_t i = 0; i < m->loop_count; i++) {
        const struct moments_loop *l = &m->loops[i];

        if (!is_loop(l, r) || !has_steps(l, r))
            continue;
        if (found && strcmp(found->name, l->name) != 0)
            return err_code(err, EXIT_MISUSE,
                            "both '%s' and '%s' have steps %s; name the loop, as in %s:%s",
                            found->name, l->name, text, found->name, text);
        found = found ? found : l;
    }
    *out = found;
    return found ? 0 : fail_steps(m, text, r, err);
}

int moment_find_steps(const struct moments *m, const char *text, struct arena *a,
                      struct moment_steps *out, struct err *err)
{
    struct range r;
    uint64_t others = 0;

    if (read_range(text, &r, err) || choose_loop(m, text, &r, &out->loop, err))
        return -1;
    out->first = find_number(out->loop, r.from, 0);
    out->last = find_number(out->loop, r.to, out->first);
    for (size_t i = 0; i < m->loop_count; i++)
        others += &m->loops[i] != out->loop && !strcmp(m->loops[i].name, out->loop->name) &&
                  has_steps(&m->loops[i], &r);
    out->meant = others ? arena_printf(a,
                                       "steps %s are those of the first of %" PRIu64
                                       " processes that have them",
                                       text, others + 1)
                        : NULL;
    return 0;
}

static bool are_counted(const struct moments *m)
{
    for (size_t i = 0; i < m->loop_count; i++)
        for (size_t k = 0; k < m->loops[i].count; k++)
            if (!m->loops[i].steps[k]->step)
                return false;
    return true;
}

static void add_range(struct born *b, const struct moments_loop *l, size_t i)
{
    uint64_t before = i ? l->steps[i - 1]->step : 0, step = l->steps[i]->step;

    size_t n = b->range_count;

    if (step <= before)
        return;
    if (n && b->ranges[n - 1].process == l->process && b->ranges[n - 1].to + 1 == before)
        b->ranges[n - 1].to = step - 1;
    else
        b->ranges[b->range_count++] = (struct born_range){l->process, before, step - 1};
}

int moment_born(const struct moments *m, const char *text, struct arena *a, struct born *out,
                struct err *err)
{
    const struct moments_loop *chosen = NULL;
    struct range r;

    if (read_range(text, &r, err) || choose_loop(m, text, &r, &chosen, err) || !chosen)
        return -1;
    if (chosen->how != STEP_TOLD)
        return err_code(err, EXIT_MISUSE,
                        "the steps of this recording were found by %s, and what was allocated in "
                        "which was not kept; let the program report them by tidemark.step()",
                        step_how_text(chosen->how));
    if (!are_counted(m))
        return err_code(err, EXIT_MISUSE,
                        "this recording does not say in which step a block was allocated; make it "
                        "again with a newer tidemark");
    out->in_steps = true;
    out->ranges = arena_alloc(a, (m->count + 1) * sizeof(*out->ranges));
    for (size_t i = 0; i < m->loop_count; i++)
        for (size_t k = 0; k < m->loops[i].count; k++)
            if (!strcmp(m->loops[i].name, chosen->name) && m->loops[i].steps[k]->value >= r.from &&
                m->loops[i].steps[k]->value <= r.to)
                add_range(out, &m->loops[i], k);
    return 0;
}
