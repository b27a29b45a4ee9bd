/* completion_bash - see completion.h: the script for bash. */
#include "cli/completion.h"

#include <stdio.h>
#include <string.h>

static const char bash_head[] =
    "# bash completion for tidemark\n\n"
    "# Offer the words of compgen's options $2.. that begin with $1.\n"
    "_tidemark_offer()\n{\n"
    "    mapfile -t COMPREPLY < <(compgen \"${@:2}\" -- \"$1\")\n"
    "}\n\n"
    "_tidemark_files()\n{\n"
    "    compopt -o filenames 2> /dev/null\n"
    "    _tidemark_offer \"$@\"\n"
    "}\n\n"
    "# Complete the value $3 of option $2 of command $1; fails where it takes none.\n"
    "# An option whose value is optional is asked for with '=' at its end.\n"
    "_tidemark_value()\n{\n    case $1:$2 in\n";

static const char bash_body[] =
    "        *) return 1 ;;\n    esac\n}\n\n"
    "# Complete the program and its words from word $1 on.\n"
    "_tidemark_program()\n{\n"
    "    if declare -F _command_offset > /dev/null; then\n"
    "        _command_offset \"$1\"\n"
    "    elif ((COMP_CWORD == $1)); then\n"
    "        _tidemark_offer \"$cur\" -c\n"
    "    else\n"
    "        _tidemark_files \"$cur\" -f\n"
    "    fi\n}\n\n"
    "_tidemark()\n{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local command=run names='";

static const char bash_walk[] =
    "' at=1 options='' words=''\n"
    "    COMPREPLY=()\n"
    "    if ((COMP_CWORD > 1)) && [[ \" $names \" == *\" ${COMP_WORDS[1]} \"* ]]; then\n"
    "        command=${COMP_WORDS[1]} at=2\n"
    "    elif ((COMP_CWORD == 1)) && [[ $cur != -* ]]; then\n"
    "        _tidemark_offer \"$cur\" -W \"$names\" ${cur:+-c}\n"
    "        return\n"
    "    fi\n"
    "    # An equals sign is a word of its own in COMP_WORDS.\n"
    "    if [[ $cur == = ]]; then\n"
    "        _tidemark_value \"$command\" \"$prev\" '' || _tidemark_value \"$command\" \"$prev=\" "
    "''\n"
    "        return\n"
    "    elif [[ $prev == = ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "        _tidemark_value \"$command\" \"$prev\" \"$cur\" ||\n"
    "            _tidemark_value \"$command\" \"$prev=\" \"$cur\"\n"
    "        return\n"
    "    fi\n"
    "    while ((at < COMP_CWORD)); do\n"
    "        if [[ ${COMP_WORDS[at]} == -- ]]; then\n"
    "            ((at += 1))\n"
    "            break\n"
    "        elif [[ ${COMP_WORDS[at + 1]} == = ]]; then\n"
    "            ((at += 3))\n"
    "        elif [[ ${COMP_WORDS[at]} != -* ]]; then\n"
    "            break\n"
    "        elif _tidemark_value \"$command\" \"${COMP_WORDS[at]}\" \"$cur\"; then\n"
    "            ((at += 2))\n"
    "            ((at > COMP_CWORD)) && return\n"
    "        else\n"
    "            ((at += 1))\n"
    "        fi\n"
    "        COMPREPLY=()\n"
    "    done\n"
    "    if [[ $cur == -* && ${COMP_WORDS[at - 1]} != -- ]] && ((at == COMP_CWORD)); then\n"
    "        case $command in\n";

static const char bash_tail[] = "    esac\n}\n\n"
                                "complete -F _tidemark tidemark\n";

static void bash_value(const struct command *c, const struct option *o)
{
    const char *end = completion_optional(o) ? "=" : "";

    printf("        %s:--%s%s", c->name, o->name, end);
    if (o->letter)
        printf(" | %s:-%c%s", c->name, o->letter, end);
    puts(")");
    if (options_choices(o))
        printf("            _tidemark_offer \"$3\" -W '%s'\n", options_choices(o));
    else if (strstr(o->argument, "FILE"))
        puts("            _tidemark_files \"$3\" -f");
    else if (strstr(o->argument, "DIR"))
        puts("            _tidemark_files \"$3\" -d");
    puts("            ;;");
}

static void bash_options(const struct command *c)
{
    printf("            %s) options='", c->name);
    for (const struct option *o = c->options; o && o->name; o++)
        printf("--%s ", o->name);
    puts("--help --version' ;;");
}

static void bash_operand(const struct command *c)
{
    printf("        %s) ", c->name);
    switch (completion_operand(c)) {
    case OPERAND_PROGRAM:
        fputs("_tidemark_program \"$at\"", stdout);
        break;
    case OPERAND_NAMES:
        fputs("_tidemark_offer \"$cur\" -W \"$names\"", stdout);
        break;
    case OPERAND_WORDS:
        fputs("_tidemark_offer \"$cur\" -W '", stdout);
        completion_words(c->operands);
        putchar('\'');
        break;
    case OPERAND_FILE:
        if (completion_asks(c)) {
            fputs("((at < COMP_CWORD)) && words='", stdout);
            completion_questions();
            fputs(
                "'\n            [[ $words ]] && _tidemark_offer \"$cur\" -W \"$words\" && return\n"
                "            ",
                stdout);
        }
        fputs("_tidemark_files \"$cur\" -f", stdout);
        break;
    case OPERAND_NONE:
        putchar(':');
    }
    puts(" ;;");
}

void completion_bash(void)
{
    fputs(bash_head, stdout);
    for (const struct command *const *c = commands; *c; c++)
        for (const struct option *o = (*c)->options; o && o->name; o++)
            if (o->argument)
                bash_value(*c, o);
    fputs(bash_body, stdout);
    completion_names(" ");
    fputs(bash_walk, stdout);
    for (const struct command *const *c = commands; *c; c++)
        bash_options(*c);
    puts("        esac\n        _tidemark_offer \"$cur\" -W \"$options\"\n"
         "        return\n    fi\n    case $command in");
    for (const struct command *const *c = commands; *c; c++)
        bash_operand(*c);
    fputs(bash_tail, stdout);
}
