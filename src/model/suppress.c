/* suppress - see suppress.h. */
#include "analyze/suppress.h"

#include "analyze/heap_pass.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define RULE "leak:"

/* '*' is any text; both end where their text ends. Where a later part fails, only the last '*' needs
 * to be tried again.
 */
static bool glob(const char *p, const char *p_end, const char *text)
{
    const char *star = NULL, *retry = NULL;

    while (*text) {
        if (p < p_end && *p == '*') {
            star = p++;
            retry = text;
        } else if (p < p_end && *p == *text) {
            p++;
            text++;
        } else if (star) {
            p = star + 1;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (p < p_end && *p == '*')
        p++;
    return p == p_end;
}

bool suppress_matches(const char *pattern, const char *text)
{
    const char *end = pattern + strlen(pattern);
    bool from_start = *pattern == '^', to_end = end > pattern && end[-1] == '$';
    char whole[1024];

    if (!text)
        return false;
    if (from_start)
        pattern++;
    if (to_end && end > pattern)
        end--;
    if ((size_t)(end - pattern) > sizeof(whole) - 3)
        return false;
    snprintf(whole, sizeof(whole), "%s%.*s%s", from_start ? "" : "*", (int)(end - pattern), pattern,
             to_end ? "" : "*");
    return glob(whole, whole + strlen(whole), text);
}

struct suppress_rule *suppress_find(const struct suppress *s, const struct table_stack *stack)
{
    for (size_t i = 0; s && stack && i < s->count; i++)
        for (int j = 0; j < stack->count; j++) {
            const struct table_frame *f = &stack->frames[j];

            if (suppress_matches(s->rules[i].pattern, f->function) ||
                suppress_matches(s->rules[i].pattern, f->file) ||
                suppress_matches(s->rules[i].pattern, f->module))
                return &s->rules[i];
        }
    return NULL;
}

static void suppress_stack(struct suppress_rule *rule, struct heap_amount *at,
                           struct heap_amount *sum)
{
    rule->stacks++;
    rule->bytes += at->bytes;
    rule->blocks += heap_blocks(at);
    heap_subtract(sum, at);
    *at = (struct heap_amount){0};
}

void suppress_apply(const struct suppress *s, struct heap *h, struct heap_amount *sum)
{
    struct arena scratch = {0};

    for (size_t i = 0; s && i < h->stack_count; i++) {
        struct heap_stack *stack = &h->stacks[i];
        struct suppress_rule *rule = NULL;

        if (stack->at.bytes)
            rule = suppress_find(s, frames_stack(&h->frames, &scratch, stack->number));
        if (rule)
            suppress_stack(rule, &stack->at, sum);
        if (i % 4096 == 4095) /* not all stacks at once */
            arena_free(&scratch);
    }
    arena_free(&scratch);
}

/* One line: a rule, a comment or nothing. */
static int take_line(struct suppress *s, struct arena *a, char *line, int number, struct err *err)
{
    size_t each = sizeof(*s->rules), length;

    line += strspn(line, " \t");
    length = strcspn(line, "\r\n");
    while (length && strchr(" \t", line[length - 1]))
        length--;
    if (length == 0 || *line == '#')
        return 0;
    if (length <= strlen(RULE) || strncmp(line, RULE, strlen(RULE)) != 0)
        return err_set(err, "line %d of '%s' is no suppression; write leak:PATTERN", number,
                       s->path);
    s->rules = arena_grow(a, s->rules, s->count * each, (s->count + 1) * each);
    s->rules[s->count++].pattern = arena_strndup(a, line + strlen(RULE), length - strlen(RULE));
    return 0;
}

static int take_lines(struct suppress *s, struct arena *a, FILE *f, struct err *err)
{
    char *line = NULL;
    size_t room = 0;
    int result = 0;

    for (int number = 1; result == 0 && getline(&line, &room, f) >= 0; number++)
        result = take_line(s, a, line, number, err);
    free(line);
    if (result == 0 && ferror(f))
        return err_set(err, "cannot read '%s': %s", s->path, strerror(errno));
    return result;
}

struct suppress *suppress_read(struct arena *a, const char *path, struct err *err)
{
    struct suppress *s = arena_alloc(a, sizeof(*s));
    FILE *f = fopen(path, "re");
    int result;

    s->path = path;
    if (!f) {
        err_set(err, "cannot open '%s': %s", path, strerror(errno));
        return NULL;
    }
    result = take_lines(s, a, f, err);
    fclose(f);
    return result ? NULL : s;
}

void suppress_table(struct answer *a, const struct suppress *s)
{
    static const struct table_column columns[] = {{"bytes", UNIT_BYTES},
                                                  {"blocks", UNIT_COUNT},
                                                  {"stacks", UNIT_COUNT},
                                                  {"pattern", UNIT_TEXT}};
    struct table *t;

    if (!s)
        return;
    t = answer_add(a, "suppressed", TABLE_ROWS, columns, COUNT(columns));
    for (size_t i = 0; i < s->count; i++) {
        struct table_cell *c;

        if (!s->rules[i].stacks)
            continue;
        c = table_add(a, t);
        cell_number(&c[0], s->rules[i].bytes);
        cell_number(&c[1], s->rules[i].blocks);
        cell_number(&c[2], s->rules[i].stacks);
        cell_text(&c[3], s->rules[i].pattern);
    }
    table_sort(t, 0);
    t->note = arena_printf(a->arena, "%d of %zu suppressions of %s matched.", t->rows, s->count,
                           s->path);
}
