/* help - what -h, --help and `tidemark help` print, written from the descriptors of the commands.
 */
#include "cli/command.h"
#include "cli/report_help.h"

#include <stdio.h>
#include <string.h>

#define WIDTH 79     /* columns of a line, at most */
#define LEFT_MOST 26 /* a longer left column puts its text on the next line */

const char command_tagline[] = "Measure the memory of a command and everything it starts.";

const struct option command_common[] = {
    {.letter = 'h', .name = "help", .help = "Show help; -h shows the options alone"},
    {.letter = 'V', .name = "version", .help = "Show the version; -V prints the number alone"},
    {0},
};

/* Columns of s[0..n): bytes that do not continue a UTF-8 sequence. */
static size_t columns(const char *s, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)s[i] & 0xc0) != 0x80;
    return count;
}

/* Print one line of text, broken at spaces; the cursor stands at `column`, later lines start at
 * `indent`. Returns where the cursor stands.
 */
static size_t wrap(const char *text, size_t length, size_t indent, size_t column)
{
    for (size_t at = 0; at < length;) {
        size_t n = strcspn(text + at, " \n");
        size_t width;

        if (n > length - at)
            n = length - at;
        width = columns(text + at, n);
        if (column > indent && column + 1 + width > WIDTH) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            putchar(' ');
            column++;
        }
        fwrite(text + at, 1, n, stdout);
        column += width;
        at += n;
        at += at < length;
    }
    return column;
}

static void put_row(const char *left, int length, size_t left_width, const char *text, size_t n)
{
    if ((size_t)length > left_width)
        printf("  %.*s\n%*s", length, left, (int)left_width + 4, "");
    else
        printf("  %-*.*s  ", (int)left_width, length, left);
    wrap(text, n, left_width + 4, left_width + 4);
    putchar('\n');
}

static void put_pair(const char *left, size_t left_width, const char *text)
{
    put_row(left, (int)strlen(left), left_width, text, strlen(text));
}

/* "\tNAME\tTEXT" */
static void put_listed(const char *line, size_t length, size_t left_width)
{
    size_t name = strcspn(line + 1, "\t");

    put_row(line + 1, (int)name, left_width, line + name + 2, length - name - 2);
}

/* Of all rows of lists, so that they are one column. */
static size_t listed_width(const char *text)
{
    size_t width = 0;

    for (const char *at = strchr(text, '\t'); at; at = strchr(strchr(at + 1, '\t') + 1, '\t'))
        if (strcspn(at + 1, "\t") > width)
            width = strcspn(at + 1, "\t");
    return width;
}

/* As command.h has it of descriptions. */
static void put_paragraphs(const char *text)
{
    size_t column = 0, left_width = listed_width(text);

    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n");
        if (n == 0 || *at == ' ' || *at == '\t') {
            if (column)
                putchar('\n');
            if (*at == '\t')
                put_listed(at, n, left_width);
            else
                printf("%.*s\n", (int)n, at);
            column = 0;
        } else {
            column = wrap(at, n, 0, column);
        }
        at += n + (at[n] == '\n');
    }
    if (column)
        putchar('\n');
}

static void spell(char *out, size_t size, const struct option *o)
{
    const char *value = o->argument ? o->argument : "";
    const char *join = !o->argument ? "" : *value == '[' ? "[=" : " ";

    if (o->letter)
        snprintf(out, size, "-%c, --%s%s%s", o->letter, o->name, join, value + (*value == '['));
    else
        snprintf(out, size, "    --%s%s%s", o->name, join, value + (*value == '['));
}

static size_t options_width(const struct option *table, size_t least)
{
    char left[80];

    for (const struct option *o = table; o && o->name; o++) {
        spell(left, sizeof(left), o);
        if (strlen(left) > least && strlen(left) <= LEFT_MOST)
            least = strlen(left);
    }
    return least;
}

static void put_options(const struct option *table, size_t width)
{
    char left[80];

    for (const struct option *o = table; o && o->name; o++) {
        const char *choices = options_choices(o);

        spell(left, sizeof(left), o);
        put_pair(left, width, o->help ? o->help : "");
        if (choices) {
            const char *before = options_before_choices(o);

            printf("%*s%s", (int)width + 4, "", before);
            wrap(choices, strlen(choices), width + 4, width + 4 + strlen(before));
            putchar('\n');
        }
    }
}

static void put_all_options(const struct command *c)
{
    size_t width = options_width(command_common, options_width(c ? c->options : NULL, 0));

    puts("\nOptions:");
    if (c)
        put_options(c->options, width);
    put_options(command_common, width);
}

static void put_exits(const struct command_exit *exits)
{
    size_t width = 0;

    for (const struct command_exit *e = exits; e && e->code; e++)
        if (strlen(e->code) > width)
            width = strlen(e->code);
    puts("\nExit status:");
    for (const struct command_exit *e = exits; e && e->code; e++)
        put_pair(e->code, width, e->meaning);
}

static void put_examples(const char *examples)
{
    puts("\nExamples:");
    for (const char *at = examples; *at;) {
        size_t n = strcspn(at, "\n");
        printf("  %.*s\n", (int)n, at);
        at += n + (at[n] == '\n');
    }
}

const char *command_description(const struct command *c, struct arena *a, bool whole)
{
    return c->describe ? c->describe(a, whole) : c->description;
}

void command_help(const struct command *c, bool brief)
{
    struct arena scratch = {0};

    printf("Usage: tidemark %s [OPTIONS]%s%s\n", c->name, *c->operands ? " " : "", c->operands);
    if (brief) {
        put_all_options(c);
        return;
    }
    putchar('\n');
    put_paragraphs(command_description(c, &scratch, false));
    arena_free(&scratch);
    put_all_options(c);
    if (c->exits)
        put_exits(c->exits);
    if (c->examples)
        put_examples(c->examples);
}

void command_overview(bool brief)
{
    size_t width = 0;

    puts("Usage: tidemark [run] [OPTIONS] [--] COMMAND [ARGS...]\n"
         "       tidemark NAME [OPTIONS] ...\n");
    puts(command_tagline);
    puts("\nCommands:");
    for (const struct command *const *c = commands; *c; c++)
        if (!(*c)->hidden && strlen((*c)->name) > width)
            width = strlen((*c)->name);
    for (const struct command *const *c = commands; *c; c++)
        if (!(*c)->hidden)
            put_pair((*c)->name, width, (*c)->summary);
    if (brief)
        return;
    put_all_options(NULL);
    puts("\nIf the first word is not one of these, it is the command to run. To run a\n"
         "program that has one of these names, write 'tidemark -- NAME'.\n"
         "'tidemark help NAME' and 'tidemark NAME --help' say more about each.");
    if (cmd_run.examples)
        put_examples(cmd_run.examples);
}

const struct option command_no_options[] = {{0}};

int command_named(int argc, char **argv, int most, const struct command **c, struct err *err)
{
    int operands = options_parse(command_no_options, argc, argv, true, err);

    *c = NULL;
    if (operands < 0)
        return -1;
    if (operands > most)
        return err_code(err, EXIT_USAGE, "'%s' is one word too many for %s", argv[1 + most],
                        argv[0]);
    if (operands == 0)
        return 0;
    *c = command_find(argv[1]);
    if (!*c)
        return err_code(err, EXIT_USAGE, "there is no command '%s'", argv[1]);
    return 0;
}

static int help_with_question(const char *name, struct err *err)
{
    const struct question *q = report_question(name, err);
    struct arena scratch = {0};

    if (!q)
        return -1;
    printf("Usage: tidemark report [OPTIONS] FILE %s\n\n", name);
    put_paragraphs(report_help_question(&scratch, q));
    puts("\n'tidemark help report' shows the options.");
    arena_free(&scratch);
    return EXIT_OK;
}

static int run(int argc, char **argv, struct err *err)
{
    const struct command *c;

    if (command_named(argc, argv, 2, &c, err))
        return -1;
    if (c && argv[2] && c != &cmd_report)
        return err_code(err, EXIT_USAGE, "'%s' is one word too many for help", argv[2]);
    if (c && argv[2])
        return help_with_question(argv[2], err);
    if (c)
        command_help(c, false);
    else
        command_overview(false);
    return EXIT_OK;
}

static const struct command_exit exits[] = {
    {"0", "the help was printed"},
    {"1", "it could not be written"},
    {"2", "the command line is wrong"},
    {0},
};

const struct command cmd_help = {
    .name = "help",
    .operands = "[COMMAND [QUESTION]]",
    .summary = "Show what a command of tidemark does and takes",
    .description =
        "Shows what a command of tidemark does, which options it takes, how it exits, and "
        "examples; or what a question of 'tidemark report' is about. Without a command: what "
        "tidemark can do.",
    .examples = "tidemark help run\n    what can be measured, and how\ntidemark help report "
                "leaks\n    which leaks are reported, and how they are judged\n",
    .options = command_no_options,
    .exits = exits,
    .run = run,
};
