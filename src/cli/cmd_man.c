/* man - the manual pages, written in roff (the man macros) from the descriptors of the commands. */
#include "cli/command.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Text as roff shows it: a dash stays a dash, and no line turns into a request. */
static void put_text(const char *text, size_t length)
{
    if (length && (text[0] == '.' || text[0] == '\''))
        fputs("\\&", stdout);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '-')
            fputs("\\-", stdout);
        else if (text[i] == '\\')
            fputs("\\e", stdout);
        else if (text[i] == '\'')
            fputs("\\(aq", stdout);
        else
            putchar(text[i]);
    }
}

static void put_string(const char *text)
{
    put_text(text, strlen(text));
}

static void put_upper(const char *text)
{
    for (; *text; text++)
        putchar(toupper((unsigned char)*text));
}

/* Lines that stay lines. */
static void put_lines(const char *text)
{
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n");
        if (at != text)
            puts(".br");
        put_text(at, n);
        putchar('\n');
        at += n + (at[n] == '\n');
    }
}

/* "\tNAME\tTEXT" */
static void put_listed(const char *line, size_t length)
{
    size_t name = strcspn(line + 1, "\t");

    fputs(".TP\n\\fB", stdout);
    put_text(line + 1, name);
    puts("\\fR");
    put_text(line + name + 2, length - name - 2);
    putchar('\n');
}

/* As command.h has it of descriptions. */
static void put_paragraphs(const char *text)
{
    bool fixed = false;

    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n");
        bool is_fixed = *at == ' ';
        if (is_fixed != fixed)
            puts(is_fixed ? ".PP\n.nf" : ".fi");
        fixed = is_fixed;
        if (*at == '\t') {
            put_listed(at, n);
        } else if (n == 0) {
            if (!fixed && at[1] && at[1] != ' ')
                puts(".PP");
        } else {
            put_text(at, n);
            putchar('\n');
        }
        at += n + (at[n] == '\n');
    }
    if (fixed)
        puts(".fi");
}

static void put_options(const struct option *table)
{
    for (const struct option *o = table; o && o->name; o++) {
        puts(".TP");
        if (o->letter)
            printf("\\fB\\-%c\\fR, ", o->letter);
        fputs("\\fB\\-\\-", stdout);
        put_string(o->name);
        fputs("\\fR", stdout);
        if (o->argument && o->argument[0] == '[')
            printf("[=\\fI%.*s\\fR]", (int)strcspn(o->argument + 1, "]"), o->argument + 1);
        else if (o->argument)
            printf(" \\fI%s\\fR", o->argument);
        putchar('\n');
        put_lines(o->help ? o->help : "");
        if (options_choices(o)) {
            printf(".br\n%s ", options_before_choices(o));
            put_string(options_choices(o));
            putchar('\n');
        }
    }
}

static void put_exits(const struct command_exit *exits)
{
    if (!exits)
        return;
    puts(".SH EXIT STATUS");
    for (const struct command_exit *e = exits; e->code; e++) {
        puts(".TP");
        fputs("\\fB", stdout);
        put_string(e->code);
        puts("\\fR");
        put_lines(e->meaning);
    }
}

static void put_examples(const char *examples)
{
    if (!examples)
        return;
    puts(".SH EXAMPLES");
    for (const char *at = examples; *at;) {
        size_t n = strcspn(at, "\n");
        size_t blank = strspn(at, " ");
        if (blank == 0 && n) {
            fputs(".TP\n\\fB", stdout);
            put_text(at, n);
            puts("\\fR");
        } else if (n > blank) {
            put_text(at + blank, n - blank);
            putchar('\n');
        }
        at += n + (at[n] == '\n');
    }
}

static void put_see_also(const struct command *but)
{
    bool first = true;

    puts(".SH SEE ALSO");
    if (but) {
        fputs(".BR tidemark (1)", stdout);
        first = false;
    }
    for (const struct command *const *c = commands; *c; c++) {
        if (*c == but || (*c)->hidden)
            continue;
        printf("%s.BR tidemark\\-%s (1)", first ? "" : ",\n", (*c)->name);
        first = false;
    }
    putchar('\n');
}

static void put_command_page(const struct command *c)
{
    struct arena scratch = {0};

    fputs(".TH TIDEMARK\\-", stdout);
    put_upper(c->name);
    printf(" 1 \"\" \"tidemark " TIDEMARK_VERSION "\" \"User Commands\"\n"
           ".SH NAME\ntidemark\\-%s \\- ",
           c->name);
    put_string(c->summary);
    printf("\n.SH SYNOPSIS\n.B tidemark %s\n[\\fIOPTIONS\\fR] ", c->name);
    put_string(c->operands);
    puts("\n.SH DESCRIPTION");
    put_paragraphs(command_description(c, &scratch, true));
    arena_free(&scratch);
    puts(".SH OPTIONS");
    put_options(c->options);
    put_options(command_common);
    put_exits(c->exits);
    put_examples(c->examples);
    put_see_also(c);
}

static void put_overview_page(void)
{
    puts(".TH TIDEMARK 1 \"\" \"tidemark " TIDEMARK_VERSION "\" \"User Commands\"\n"
         ".SH NAME\ntidemark \\- measure the memory of a command and everything it starts\n"
         ".SH SYNOPSIS\n.B tidemark\n[\\fBrun\\fR] [\\fIOPTIONS\\fR] [\\-\\-] \\fICOMMAND\\fR "
         "[\\fIARGS\\fR...]\n.br\n.B tidemark\n\\fINAME\\fR [\\fIOPTIONS\\fR] ...\n"
         ".SH DESCRIPTION");
    put_string(command_tagline);
    puts("\n.PP\nIf the first word is not one of the names below, it is the command to run. To "
         "run\na program that has one of these names, write\n.BR \"tidemark \\-\\- NAME\" .\n.SH "
         "COMMANDS");
    for (const struct command *const *c = commands; *c; c++) {
        if ((*c)->hidden)
            continue;
        printf(".TP\n\\fB%s\\fR\n", (*c)->name);
        put_string((*c)->summary);
        putchar('\n');
    }
    puts(".SH OPTIONS");
    put_options(command_common);
    put_exits(cmd_run.exits);
    put_examples(cmd_run.examples);
    put_see_also(NULL);
}

static int run(int argc, char **argv, struct err *err)
{
    const struct command *c;

    if (command_named(argc, argv, 1, &c, err))
        return -1;
    if (c)
        put_command_page(c);
    else
        put_overview_page();
    return EXIT_OK;
}

static const struct command_exit exits[] = {
    {"0", "the page was printed"},
    {"1", "it could not be written"},
    {"2", "the command line is wrong"},
    {0},
};

const struct command cmd_man = {
    .name = "man",
    .operands = "[COMMAND]",
    .summary = "Print the manual page of a command",
    .description =
        "Prints the manual page of a command of tidemark, or of tidemark itself, in roff. "
        "Installed pages are read with man(1); this needs no installation.",
    .examples = "tidemark man run | man -l -\n    read the page of 'tidemark run'\n",
    .options = command_no_options,
    .exits = exits,
    .run = run,
};
