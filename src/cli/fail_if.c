/* fail_if - see fail_if.h. */
#include "cli/fail_if.h"

#include "base/text.h"
#include "cli/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong(const char *text, struct err *err)
{
    return err_code(err, EXIT_USAGE,
                    "'%s' is not a condition; write NAME>LIMIT, as in 'peak>+5%%', 'leaked>+1M' or "
                    "'allocated>10G'",
                    text);
}

static int parse_limit(struct condition *c, const char *limit, struct err *err)
{
    size_t bytes = strlen(limit);
    struct err ignored;
    uint64_t size;
    char *end;

    c->change = *limit == '+';
    limit += c->change;
    bytes -= c->change;
    c->percent = bytes && limit[bytes - 1] == '%';
    if (c->percent) {
        c->limit = strtod(limit, &end);
        return c->change && end == limit + bytes - 1 && end != limit && isfinite(c->limit) &&
                       c->limit >= 0
                 ? 0
                 : wrong(c->text, err);
    }
    if (text_parse_size(limit, &size, &ignored) < 0)
        return wrong(c->text, err);
    c->limit = (double)size;
    return 0;
}

int fail_if_parse(const char *text, void *fail_if, struct err *err)
{
    struct fail_if *f = fail_if;
    struct condition *c = &f->list[f->count];
    size_t name = strcspn(text, ">");

    if (f->count == FAIL_IF_MOST)
        return err_code(err, EXIT_USAGE, "at most %d conditions can be given", FAIL_IF_MOST);
    *c = (struct condition){.text = text};
    if (text[name] != '>' || !name || name >= sizeof(c->name))
        return wrong(text, err);
    memcpy(c->name, text, name);
    if (parse_limit(c, text + name + 1, err) < 0)
        return -1;
    f->count++;
    return 0;
}

static const struct table *totals_of(const struct answer *a)
{
    for (int i = 0; i < a->count; i++)
        if (strcmp(a->tables[i]->name, "totals") == 0)
            return a->tables[i];
    return NULL;
}

/* One side of it; false: there is no such total. */
static bool find_side(const struct table *t, const struct condition *c, const char *side,
                      double *value)
{
    char name[sizeof(c->name) + 4];
    const struct table_cell *cell;

    snprintf(name, sizeof(name), "%s_%s", c->name, side);
    cell = t ? table_find_fact(t, name) : NULL;
    if (cell)
        *value = (double)cell->number;
    return cell != NULL;
}

/* Anything is more than a hundred percent of nothing. */
static bool holds(const struct condition *c, double before, double after)
{
    double change = after - before;

    if (!c->change)
        return after > c->limit;
    if (!c->percent)
        return change > c->limit;
    return before > 0 ? 100 * change / before > c->limit : change > 0;
}

static int check_one(const struct condition *c, const struct table *t, struct err *err)
{
    char was[TEXT_SIZE], is[TEXT_SIZE];
    double before, after;

    if (!find_side(t, c, "a", &before) || !find_side(t, c, "b", &after))
        return err_code(
            err, EXIT_USAGE,
            "--fail-if '%s': the comparison has no total '%s'; 'tidemark diff -f json' shows "
            "those that it has",
            c->text, c->name);
    if (!holds(c, before, after))
        return 0;
    fprintf(stderr, "tidemark: %s holds: %s was %s and is %s\n", c->text, c->name,
            text_size(was, text_rounded(before)), text_size(is, text_rounded(after)));
    return 1;
}

int fail_if_check(const struct fail_if *f, const struct answer *a, struct err *err)
{
    int held = 0;

    for (int i = 0; i < f->count; i++) {
        int result = check_one(&f->list[i], totals_of(a), err);

        if (result < 0)
            return -1;
        held += result;
    }
    return held;
}
