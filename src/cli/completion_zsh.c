/* completion_zsh - see completion.h: the script for zsh. */
#include "cli/completion.h"

#include <stdio.h>
#include <string.h>

/* The action that completes a value or an operand. */
static const char *zsh_action(const char *argument)
{
    return strstr(argument, "FILE") ? "_files" : strstr(argument, "DIR") ? "_files -/" : " ";
}

static void zsh_option(const struct option *o)
{
    const char *join = !o->argument ? "" : completion_optional(o) ? "=-" : "=";

    if (options_repeats(o))
        printf("    '(");
    else
        printf("    '(--%s", o->name);
    if (o->letter)
        printf(" -%c", o->letter);
    for (const char *at = o->excludes; at && *at; at += strspn(at, " ")) {
        printf(" --%.*s", (int)strcspn(at, " "), at);
        at += strcspn(at, " ");
    }
    if (o->letter)
        printf(")'{-%c%s,--%s%s}'[", o->letter, o->argument && !completion_optional(o) ? "+" : "",
               o->name, join);
    else
        printf(")%s--%s%s[", options_repeats(o) ? "*" : "", o->name, join);
    completion_escaped(o->help ? o->help : "", "\n", "[]\\:");
    putchar(']');
    if (o->argument) {
        fputs(completion_optional(o) ? "::" : ":", stdout);
        completion_escaped(o->argument + completion_optional(o), "]", ":\\");
        if (options_choices(o))
            printf(":(%s)", options_choices(o));
        else
            printf(":%s", zsh_action(o->argument));
    }
    puts("' \\");
}

static void zsh_operand(const struct command *c)
{
    switch (completion_operand(c)) {
    case OPERAND_PROGRAM:
        puts("    '(-)1:command: _command_names -e' '*::arguments:_normal'");
        break;
    case OPERAND_NAMES:
        fputs("    '1:command:(", stdout);
        completion_names(" ");
        puts(")'");
        break;
    case OPERAND_WORDS:
        fputs("    '1:word:(", stdout);
        completion_words(c->operands);
        puts(")'");
        break;
    case OPERAND_FILE:
        fputs(completion_asks(c) ? "    '1:file:_files'" : "    '*:file:_files'", stdout);
        if (completion_asks(c)) {
            fputs(" '2:question:(", stdout);
            completion_questions();
            fputs(")'", stdout);
        }
        putchar('\n');
        break;
    case OPERAND_NONE:
        puts("    ''");
    }
}

void completion_zsh(void)
{
    puts("#compdef tidemark\n");
    for (const struct command *const *c = commands; *c; c++) {
        printf("_tidemark_%s() {\n  _arguments -s -S \\\n", (*c)->name);
        for (const struct option *o = (*c)->options; o && o->name; o++)
            zsh_option(o);
        for (const struct option *o = command_common; o->name; o++)
            zsh_option(o);
        zsh_operand(*c);
        puts("}\n");
    }
    puts("_tidemark() {\n  local -a names\n  names=(");
    for (const struct command *const *c = commands; *c; c++) {
        printf("    '%s:", (*c)->name);
        completion_escaped((*c)->summary, "\n", ":\\");
        puts("'");
    }
    puts("  )\n"
         "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
         "    _describe -t commands 'tidemark command' names\n"
         "    [[ -n $words[2] ]] && _command_names -e\n"
         "    return\n"
         "  fi\n"
         "  case $words[2] in");
    fputs("    ", stdout);
    completion_names("|");
    puts(")\n"
         "      local name=$words[2]\n"
         "      shift words\n"
         "      (( CURRENT-- ))\n"
         "      _tidemark_$name ;;\n"
         "    *) _tidemark_run ;;\n"
         "  esac\n"
         "}\n\n"
         "if [[ $funcstack[1] == _tidemark ]]; then\n"
         "  _tidemark \"$@\"\n"
         "else\n"
         "  compdef _tidemark tidemark\n"
         "fi");
}
