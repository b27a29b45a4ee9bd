/* completion_fish - see completion.h: the script for fish. */
#include "cli/completion.h"

#include <stdio.h>
#include <string.h>

static void fish_option(const struct command *c, const struct option *o)
{
    printf("complete -c tidemark -n '__tidemark_on %s' -l %s", c->name, o->name);
    if (o->letter)
        printf(" -s %c", o->letter);
    if (o->argument && !completion_optional(o))
        fputs(strstr(o->argument, "FILE") || strstr(o->argument, "DIR") ? " -r -F" : " -x", stdout);
    if (options_choices(o))
        printf(" -a '%s'", options_choices(o));
    fputs(" -d '", stdout);
    completion_escaped(o->help ? o->help : "", "\n", "\\");
    puts("'");
}

static void fish_operand(const struct command *c)
{
    if (completion_operand(c) == OPERAND_FILE && !completion_asks(c))
        return;
    printf("complete -c tidemark -n '__tidemark_on %s' %s", c->name,
           completion_asks(c) ? "-F -a '" : "-f");
    if (completion_asks(c)) {
        completion_questions();
        putchar('\'');
    }
    if (completion_operand(c) == OPERAND_PROGRAM)
        fputs(" -a '(__tidemark_program)'", stdout);
    if (completion_operand(c) == OPERAND_NAMES || completion_operand(c) == OPERAND_WORDS) {
        fputs(" -a '", stdout);
        if (completion_operand(c) == OPERAND_NAMES)
            completion_names(" ");
        else
            completion_words(c->operands);
        putchar('\'');
    }
    putchar('\n');
}

void completion_fish(void)
{
    fputs("# fish completion for tidemark\n\nset -g __tidemark_names ", stdout);
    completion_names(" ");
    puts("\n\n"
         "function __tidemark_first\n"
         "    test (count (commandline -opc)) -eq 1\n"
         "end\n\n"
         "# Whether the words so far belong to command $argv[1]; without a name it is run.\n"
         "function __tidemark_on\n"
         "    set -l words (commandline -opc)\n"
         "    if contains -- \"$words[2]\" $__tidemark_names\n"
         "        test \"$words[2]\" = $argv[1]\n"
         "    else\n"
         "        test $argv[1] = run\n"
         "    end\n"
         "end\n\n"
         "function __tidemark_program\n"
         "    set -l words (commandline -opc)\n"
         "    if test \"$words[2]\" = run\n"
         "        __fish_complete_subcommand --fcs-skip=2\n"
         "    else\n"
         "        __fish_complete_subcommand --fcs-skip=1\n"
         "    end\n"
         "end\n");
    for (const struct command *const *c = commands; *c; c++) {
        printf("complete -c tidemark -n __tidemark_first -f -a %s -d '", (*c)->name);
        completion_escaped((*c)->summary, "\n", "\\");
        puts("'");
    }
    for (const struct command *const *c = commands; *c; c++) {
        for (const struct option *o = (*c)->options; o && o->name; o++)
            fish_option(*c, o);
        for (const struct option *o = command_common; o->name; o++)
            fish_option(*c, o);
        fish_operand(*c);
    }
}
