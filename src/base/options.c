/* options - see options.h. One pass over argv: each word is an option, its value, or an operand. */
#include "base/options.h"

#include "base/arena.h"
#include "base/near.h"

#include <stdio.h>
#include <string.h>

#define NAME_MOST 64 /* longest name of an option, as it is shown */

struct parse {
    const struct option *table;
    bool *seen; /* one per row of the table */
    char **argv;
    int argc, at;
    struct err *err;
};

static const struct option builtin[] = {
    {.letter = 'h', .name = "help"},
    {.letter = 'V', .name = "version"},
    {0},
};

const struct option *options_find(const struct option *table, const char *name)
{
    for (const struct option *o = table; o && o->name; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

static const struct option *find_letter(const struct option *table, char letter)
{
    for (const struct option *o = table; o && o->name; o++)
        if (o->letter && o->letter == letter)
            return o;
    return NULL;
}

static bool is_optional(const struct option *o)
{
    return o->argument && o->argument[0] == '[';
}

/* Whether `word` is one of the words in `list`, which are separated by spaces. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; at && *at;) {
        size_t n = strcspn(at, " ");
        if (n == length && memcmp(at, word, n) == 0)
            return true;
        at += n + strspn(at + n, " ");
    }
    return false;
}

static int fail_unknown(struct parse *p, const char *dashes, const char *name, size_t length)
{
    struct near near = near_begin(name, length);

    for (const struct option *o = p->table; o && o->name; o++)
        near_offer(&near, o->name);
    for (const struct option *o = builtin; o->name; o++)
        near_offer(&near, o->name);
    if (!near.guess)
        return err_code(p->err, OPTIONS_MISUSE, "unknown option '%s%.*s'", dashes, (int)length,
                        name);
    return err_code(p->err, OPTIONS_MISUSE, "unknown option '%s%.*s' (did you mean '--%s'?)",
                    dashes, (int)length, name, near.guess);
}

/* --help and --version end the parse: the caller acts on the code. */
static int fail_builtin(struct parse *p, const struct option *o, bool brief)
{
    if (o->letter == 'h')
        return err_code(p->err, brief ? OPTIONS_HELP_BRIEF : OPTIONS_HELP, "help was asked for");
    return err_code(p->err, brief ? OPTIONS_VERSION_BRIEF : OPTIONS_VERSION,
                    "the version was asked for");
}

/* What the user typed, for a message: "--name" or "-n". */
static const char *spell(char out[NAME_MOST], const struct option *o, char letter)
{
    if (letter)
        snprintf(out, NAME_MOST, "-%c", letter);
    else
        snprintf(out, NAME_MOST, "--%s", o->name);
    return out;
}

const char *options_choices(const struct option *o)
{
    return o->choices_of ? o->choices_of() : o->choices;
}

const char *options_before_choices(const struct option *o)
{
    return o->or_more ? "Such as:" : "One of:";
}

static int fail_choice(struct parse *p, const char *choices, const char *typed, const char *value)
{
    struct arena scratch = {0};
    const char *list = "";

    for (const char *at = choices; *at; at += strcspn(at, " ") + strspn(at + strcspn(at, " "), " "))
        list = arena_printf(&scratch, "%s%s%.*s", list, *list ? ", " : "", (int)strcspn(at, " "),
                            at);
    err_code(p->err, OPTIONS_MISUSE, "%s: '%s' is not one of %s", typed, value, list);
    arena_free(&scratch);
    return -1;
}

static int store(struct parse *p, const struct option *o, const char *typed, const char *value)
{
    const char *choices = options_choices(o);
    struct err why = {0};

    if (!o->argument) {
        *(bool *)o->to = true;
        return 0;
    }
    if (choices && !o->or_more && !has_word(choices, value) && !(is_optional(o) && !*value))
        return fail_choice(p, choices, typed, value);
    if (!o->parse) {
        *(const char **)o->to = value;
        return 0;
    }
    if (o->parse(value, o->to, &why) == 0)
        return 0;
    return err_code(p->err, why.code ? why.code : OPTIONS_MISUSE, "%s: %.400s", typed, why.text);
}

static int check_conflicts(struct parse *p, const struct option *o)
{
    for (const struct option *other = p->table; other->name; other++) {
        if (!p->seen[other - p->table] || other == o)
            continue;
        if (has_word(o->excludes, other->name) || has_word(other->excludes, o->name))
            return err_code(p->err, OPTIONS_MISUSE, "--%s cannot be used with --%s", o->name,
                            other->name);
    }
    return 0;
}

/* One option was read. `value` is what was attached to it with '=' or directly, or NULL. */
static int take(struct parse *p, const struct option *o, char letter, const char *value)
{
    char typed[NAME_MOST];

    spell(typed, o, letter);
    if (p->seen[o - p->table] && !options_repeats(o))
        return err_code(p->err, OPTIONS_MISUSE, "--%s is given twice", o->name);
    p->seen[o - p->table] = true;
    if (check_conflicts(p, o))
        return -1;
    if (!o->argument && value)
        return err_code(p->err, OPTIONS_MISUSE, "%s takes no value, but '%s' was given", typed,
                        value);
    if (o->argument && !value && is_optional(o))
        value = "";
    if (o->argument && !value) {
        if (p->at >= p->argc)
            return err_code(p->err, OPTIONS_MISUSE, "%s needs a value: %s", typed, o->argument);
        value = p->argv[p->at++];
    }
    return store(p, o, typed, value);
}

static int parse_long(struct parse *p, const char *word)
{
    size_t length = strcspn(word, "=");
    const char *value = word[length] ? word + length + 1 : NULL;

    for (const struct option *o = p->table; o->name; o++)
        if (strlen(o->name) == length && memcmp(o->name, word, length) == 0)
            return take(p, o, 0, value);
    for (const struct option *o = builtin; o->name && !value; o++)
        if (strcmp(o->name, word) == 0)
            return fail_builtin(p, o, false);
    return fail_unknown(p, "--", word, length);
}

static int fail_letter(struct parse *p, const char *cluster, char letter)
{
    const struct option *o = find_letter(builtin, letter);

    if (o)
        return fail_builtin(p, o, true);
    if (cluster[1])
        return fail_unknown(p, "-", cluster, strcspn(cluster, "="));
    return err_code(p->err, OPTIONS_MISUSE, "unknown option '-%c'", letter);
}

/* -j, -jv, -t512M, -t=512M, -t 512M: letters up to the first that takes a value. */
static int parse_letters(struct parse *p, const char *cluster)
{
    for (const char *at = cluster; *at; at++) {
        const struct option *o = find_letter(p->table, *at);
        const char *value = NULL;

        if (!o)
            return fail_letter(p, cluster, *at);
        if (at[1] == '=')
            value = at + 2;
        else if (o->argument && !is_optional(o) && at[1])
            value = at + 1;
        if (take(p, o, *at, value))
            return -1;
        if (value)
            return 0;
    }
    return 0;
}

static size_t count_rows(const struct option *table)
{
    size_t rows = 0;

    while (table[rows].name)
        rows++;
    return rows;
}

int options_parse(const struct option *table, int argc, char **argv, bool permute, struct err *err)
{
    bool seen[count_rows(table) + 1];
    struct parse p = {
        .table = table, .seen = seen, .argv = argv, .argc = argc, .at = 1, .err = err};
    int operands = 0;

    memset(seen, 0, sizeof(seen));
    while (p.at < argc) {
        char *word = argv[p.at];
        if (strcmp(word, "--") == 0) {
            p.at++;
            break;
        }
        if (word[0] != '-' || !word[1]) {
            if (!permute)
                break;
            argv[++operands] = word;
            p.at++;
            continue;
        }
        p.at++;
        if (word[1] == '-' ? parse_long(&p, word + 2) : parse_letters(&p, word + 1))
            return -1;
    }
    while (p.at < argc)
        argv[++operands] = argv[p.at++];
    if (operands + 1 < argc)
        argv[operands + 1] = NULL;
    return operands;
}

bool options_repeats(const struct option *o)
{
    size_t n = o->argument ? strlen(o->argument) : 0;

    return n > 3 && strcmp(o->argument + n - 3, "...") == 0;
}
