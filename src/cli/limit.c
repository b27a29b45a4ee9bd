/* limit - see limit.h. */
#include "cli/limit.h"

#include "base/hash.h"
#include "base/intmap.h"
#include "base/jail.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/command.h"
#include "questions/question.h"
#include "trace/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_SHOWN 5

static const struct {
    const char *name;
    bool bytes;
    const char *after; /* what its value may end with */
} kinds[] = {
    [LIMIT_PEAK] = {"peak", true, ""},
    [LIMIT_LEAK] = {"leak", true, ""},
    [LIMIT_GROWTH] = {"growth", true, "/s"},
    [LIMIT_ALLOCATIONS] = {"allocations", false, ""},
};

static int parse_value(enum limit_kind kind, const char *text, uint64_t *most, struct err *err)
{
    char value[64];
    size_t bytes = strlen(text), after = strlen(kinds[kind].after);

    if (bytes >= after && strcmp(text + bytes - after, kinds[kind].after) == 0)
        bytes -= after;
    if (bytes >= sizeof(value))
        return err_code(err, EXIT_USAGE, "'%s' is too long for a limit", text);
    memcpy(value, text, bytes);
    value[bytes] = '\0';
    if (kinds[kind].bytes)
        return text_parse_size(value, most, err);
    if (!text_parse_number(value, most))
        return err_code(err, EXIT_USAGE, "'%s' is not a number of %s", value, kinds[kind].name);
    return 0;
}

int limit_parse(const char *text, void *limits, struct err *err)
{
    struct limits *l = limits;

    for (int i = 0; i < LIMIT_KINDS; i++) {
        size_t bytes = strlen(kinds[i].name);

        if (strncmp(text, kinds[i].name, bytes) != 0 || text[bytes] != '=')
            continue;
        l->set[i] = true;
        return parse_value((enum limit_kind)i, text + bytes + 1, &l->most[i], err);
    }
    return err_code(err, EXIT_USAGE,
                    "'%s' is not a limit; write peak=SIZE, leak=SIZE, growth=SIZE/s or "
                    "allocations=N",
                    text);
}

int limit_parse_peak(const char *text, void *bytes, struct err *err)
{
    struct limits l = {0};

    if (limit_parse(text, &l, err) < 0)
        return -1;
    if (!l.set[LIMIT_PEAK])
        return err_code(err, EXIT_USAGE,
                        "from outside only the peak is known; 'tidemark record --limit %s' knows "
                        "more",
                        text);
    *(uint64_t *)bytes = l.most[LIMIT_PEAK];
    return 0;
}

static const struct table *find_table(const struct answer *a, const char *name)
{
    for (int i = 0; i < a->count; i++)
        if (strcmp(a->tables[i]->name, name) == 0)
            return a->tables[i];
    return NULL;
}

static const struct table_cell *find_cell(const struct table *t, int row, const char *column)
{
    for (int i = 0; i < t->width; i++)
        if (strcmp(t->columns[i].name, column) == 0)
            return table_at(t, row, i);
    return NULL;
}

/* Rows are stacks; a line may have many. */
struct by_line {
    struct line {
        const char *site;
        uint64_t sum;
    } * lines;
    size_t count, room;
};

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;

    return (b->sum > a->sum) - (b->sum < a->sum);
}

static void add_line(struct by_line *l, struct intmap *found, const char *site, uint64_t number)
{
    uint64_t key = hash_bytes(HASH_START, site, strlen(site)), at;

    if (!intmap_get(found, key, &at)) {
        at = l->count;
        memory_fit(l->lines, l->room, l->count + 1);
        l->lines[l->count++] = (struct line){site, 0};
        intmap_put(found, key, at);
    }
    memory_is_there(l->lines);
    l->lines[at].sum += number;
}

/* The largest first. */
static struct by_line sum_lines(const struct table *t, const char *column)
{
    struct by_line l = {0};
    struct intmap found = {0};

    for (int row = 0; t && row < t->rows; row++) {
        const struct table_cell *site = find_cell(t, row, "site"), *c = find_cell(t, row, column);

        if (c && c->present)
            add_line(&l, &found, site && site->present ? site->text : "(no stack)", c->number);
    }
    intmap_free(&found);
    memory_sort(l.lines, l.count, sizeof(*l.lines), compare_lines);
    return l;
}

/* Those above a limit. */
static void say_lines(const struct by_line *l, uint64_t most, const char *after)
{
    char size[TEXT_SIZE];

    for (size_t i = 0; i < l->count && i < LINES_SHOWN && l->lines[i].sum > most; i++)
        fprintf(stderr, "  %s%s  %s\n", text_size(size, l->lines[i].sum), after, l->lines[i].site);
}

static void say_broken(enum limit_kind kind, const char *what, uint64_t number, uint64_t most)
{
    char is[TEXT_SIZE], allowed[TEXT_SIZE];

    if (kinds[kind].bytes)
        fprintf(stderr, "tidemark: limit broken: %s %s%s, above %s%s\n", what,
                text_size(is, number), kinds[kind].after, text_size(allowed, most),
                kinds[kind].after);
    else
        fprintf(stderr, "tidemark: limit broken: %s %s, above %s\n", text_count(is, number), what,
                text_count(allowed, most));
}

static bool check_rows(const struct table *t, enum limit_kind kind, const char *column,
                       const char *what, uint64_t most)
{
    struct by_line l = sum_lines(t, column);
    bool broken = l.count && l.lines[0].sum > most;

    if (broken) {
        say_broken(kind, what, l.lines[0].sum, most);
        say_lines(&l, most, kinds[kind].after);
    }
    free(l.lines);
    return broken;
}

static bool check_peak(const struct limits *l, const struct watch_result *r, const struct answer *a)
{
    struct by_line held;

    if (r->peak_lower == ABSENT || r->peak_lower <= l->most[LIMIT_PEAK])
        return false;
    say_broken(LIMIT_PEAK, "the peak is", r->peak_lower, l->most[LIMIT_PEAK]);
    held = sum_lines(find_table(a, "peak"), "bytes");
    say_lines(&held, 0, "");
    free(held.lines);
    return true;
}

static bool check_allocations(const struct limits *l, const struct answer *a)
{
    const struct table *facts = find_table(a, "facts");
    const struct table_cell *c = facts ? table_find_fact(facts, "allocations") : NULL;

    if (!c || c->number <= l->most[LIMIT_ALLOCATIONS])
        return false;
    say_broken(LIMIT_ALLOCATIONS, "allocations", c->number, l->most[LIMIT_ALLOCATIONS]);
    return true;
}

enum { SUMMARY, PEAK, LEAKS, ASKED };

static int check_answers(const struct limits *l, const struct watch_result *r,
                         const struct answer *answers)
{
    const struct table *leaks = find_table(&answers[LEAKS], "leaks");
    int broken = 0;

    broken += l->set[LIMIT_PEAK] && check_peak(l, r, &answers[PEAK]);
    broken += l->set[LIMIT_ALLOCATIONS] && check_allocations(l, &answers[SUMMARY]);
    broken += l->set[LIMIT_LEAK] &&
              check_rows(leaks, LIMIT_LEAK, "bytes", "one line keeps", l->most[LIMIT_LEAK]);
    broken += l->set[LIMIT_GROWTH] && check_rows(leaks, LIMIT_GROWTH, "growth_per_second",
                                                 "one line grows by", l->most[LIMIT_GROWTH]);
    return broken;
}

static bool any_set(const struct limits *l)
{
    bool any = false;

    for (int i = 0; i < LIMIT_KINDS; i++)
        any |= l->set[i];
    return any;
}

int limit_check(const struct limits *l, const struct watch_result *r, const char *path,
                struct err *err)
{
    static const struct question *const asked[] = {
        [SUMMARY] = &question_summary, [PEAK] = &question_peak, [LEAKS] = &question_leaks};
    struct arena arena = {0};
    struct answer answers[ASKED] = {{.arena = &arena}, {.arena = &arena}, {.arena = &arena}};
    struct err errs[ASKED] = {0};
    struct selection o = {.rows = UINT64_MAX};
    struct recorded recorded;
    struct trace *t;
    int broken;

    if (!any_set(l))
        return 0;
    jail_command();
    t = trace_open(path, err);
    if (!t)
        return -1;
    recorded_open(&recorded, t);
    question_ask_all(asked, ASKED, &recorded, &o, answers,
                     errs); /* what is not known breaks nothing */
    broken = check_answers(l, r, answers);
    recorded_close(&recorded);
    trace_close(t);
    arena_free(&arena);
    return broken;
}
