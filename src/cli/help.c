/* help - what -h, --help and `tidemark help` print, written from the descriptors of the commands.
 */
#include "cli/command.h"

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

/* Print paragraphs. Lines that start with a space are kept as they are. */
static void put_paragraphs(const char *text)
{
    size_t column = 0;

    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n");
        if (n == 0 || *at == ' ') {
            if (column)
                putchar('\n');
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

static void put_row(const char *left, size_t left_width, const char *text)
{
    if (strlen(left) > left_width)
        printf("  %s\n%*s", left, (int)left_width + 4, "");
    else
        printf("  %-*s  ", (int)left_width, left);
    wrap(text, strlen(text), left_width + 4, left_width + 4);
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
        put_row(left, width, o->help ? o->help : "");
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
        put_row(e->code, width, e->meaning);
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

const char *command_description(const struct command *c, struct arena *a)
{
    return c->describe ? c->describe(a) : c->description;
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
    put_paragraphs(command_description(c, &scratch));
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
            put_row((*c)->name, width, (*c)->summary);
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

int command_tell(int argc, char **argv, void (*all)(void), void (*one)(const struct command *c),
                 struct err *err)
{
    int operands = options_parse(command_no_options, argc, argv, true, err);

    if (operands < 0)
        return -1;
    if (operands > 1)
        return err_code(err, EXIT_USAGE, "%s takes one command, not %d", argv[0], operands);
    if (operands == 0) {
        all();
        return EXIT_OK;
    }
    if (!command_find(argv[1]))
        return err_code(err, EXIT_USAGE, "tidemark has no command '%s'", argv[1]);
    one(command_find(argv[1]));
    return EXIT_OK;
}

static void help_with_all(void)
{
    command_overview(false);
}

static void help_with_one(const struct command *c)
{
    command_help(c, false);
}

static int run(int argc, char **argv, struct err *err)
{
    return command_tell(argc, argv, help_with_all, help_with_one, err);
}

static const struct command_exit exits[] = {
    {"0", "the help was printed"},
    {"1", "it could not be written"},
    {"2", "the command line is wrong"},
    {0},
};

const struct command cmd_help = {
    .name = "help",
    .operands = "[COMMAND]",
    .summary = "Show what a command of tidemark does and takes",
    .description =
        "Shows what a command of tidemark does, which options it takes, how it exits, and "
        "examples. Without a command: what tidemark can do.",
    .examples = "tidemark help run\n    what can be measured, and how\n",
    .options = command_no_options,
    .exits = exits,
    .run = run,
};
