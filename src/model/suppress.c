/* suppress - see suppress.h. */
#include "model/suppress.h"

#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RULE "leak:"

/* '*' is any text; both end where their text ends. Where a later part fails, only the last '*'
 * needs to be tried again.
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
    bool from_start = *pattern == '^', to_end;
    const char *end;
    char whole[1024];

    if (!text || (from_start && pattern[1] && !strchr("*$", pattern[1]) && pattern[1] != *text))
        return false;
    end = pattern + strlen(pattern);
    to_end = end > pattern && end[-1] == '$';
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

static bool matches_frame(const char *pattern, const struct table_frame *f)
{
    return suppress_matches(pattern, f->function) || suppress_matches(pattern, f->file) ||
           suppress_matches(pattern, f->module);
}

/* The number of the first rule that one of these names matches, or how many there are. */
static size_t first_rule(const struct suppress *s, const struct table_frame *names, size_t count)
{
    size_t rule = 0;

    for (; rule < s->count; rule++)
        for (size_t i = 0; i < count; i++)
            if (matches_frame(s->rules[rule].pattern, &names[i]))
                return rule;
    return rule;
}

struct suppress_rule *suppress_find(const struct suppress *s, const struct table_stack *stack)
{
    size_t rule = s && stack ? first_rule(s, stack->frames, (size_t)stack->count) : 0;

    return s && rule < s->count && stack ? &s->rules[rule] : NULL;
}

/* The same for every stack: each frame is looked at once, and a stack has what its parent has. */
static uint32_t *rules_of_stacks(const struct suppress *s, const struct frames *f)
{
    uint32_t *stacks = memory_zeroed((f->stack_count + 1) * sizeof(*stacks));
    uint32_t *frames = memory_zeroed((f->frame_count + 1) * sizeof(*frames));
    struct table_frame names[FRAMES_INLINED_MOST];

    for (size_t i = 0; i <= f->frame_count; i++)
        frames[i] = (uint32_t)first_rule(s, names, frames_expand(f, i, names, FRAMES_INLINED_MOST));
    stacks[0] = (uint32_t)s->count;
    for (size_t i = 1; i <= f->stack_count; i++) {
        uint32_t frame = f->stacks[i].frame, own = frames[frame <= f->frame_count ? frame : 0];
        uint32_t outer = stacks[f->stacks[i].parent];

        stacks[i] = own < outer ? own : outer;
    }
    free(frames);
    return stacks;
}

static void suppress_stack(struct suppress_rule *rule, struct heap *h, struct heap_stack *stack,
                           struct heap_amount *sum)
{
    struct heap_amount at = heap_stack_at(h, stack);

    rule->stacks++;
    rule->bytes += at.bytes;
    rule->blocks += heap_blocks(&at);
    heap_subtract(sum, &at);
    heap_stack_at_set(h, stack, &(struct heap_amount){0});
}

void suppress_apply(const struct suppress *s, struct heap *h, struct heap_amount *sum)
{
    uint32_t *rules;

    if (!s)
        return;
    rules = rules_of_stacks(s, h->frames);
    for (size_t i = 0; i < h->stack_count; i++) {
        struct heap_stack *stack = &h->stacks[i];
        uint64_t number = stack->number <= h->frames->stack_count ? stack->number : 0;

        if (stack->at.bytes && rules[number] < s->count)
            suppress_stack(&s->rules[rules[number]], h, stack, sum);
    }
    free(rules);
    heap_at_forget(h);
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
        return err_set(err, "line %d of '%s' is not a suppression; write leak:PATTERN", number,
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
