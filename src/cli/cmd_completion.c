/* completion - what a shell needs to complete our words, written from the descriptors.
 *
 * What a word may be is read from how the descriptor spells it: a value with choices is one of
 * them, FILE is a file, DIR a folder; the operands are a program with its words ("ARGS"), names of
 * commands ("COMMAND"), words ("a|b|c"), or a file ("FILE"), perhaps with a "QUESTION" after it.
 */
#include "analyze/question.h"
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

enum operand { OPERAND_NONE, OPERAND_PROGRAM, OPERAND_NAMES, OPERAND_WORDS, OPERAND_FILE };

static enum operand operand_of(const struct command *c)
{
    if (strstr(c->operands, "ARGS"))
        return OPERAND_PROGRAM;
    if (strstr(c->operands, "COMMAND"))
        return OPERAND_NAMES;
    if (strchr(c->operands, '|'))
        return OPERAND_WORDS;
    return strstr(c->operands, "FILE") ? OPERAND_FILE : OPERAND_NONE;
}

static bool is_optional(const struct option *o)
{
    return o->argument && o->argument[0] == '[';
}

/* Copy text up to `stop`, with a backslash before each of `special`; a quote ends and resumes the
 * quoted word of the shell ("'\''").
 */
static void put_escaped(const char *text, const char *stop, const char *special)
{
    for (size_t i = 0, n = strcspn(text, stop); i < n; i++) {
        if (text[i] == '\'') {
            fputs("'\\''", stdout);
            continue;
        }
        if (strchr(special, text[i]))
            putchar('\\');
        putchar(text[i]);
    }
}

/* "a|b|c" as "a b c", without brackets. */
static void put_words(const char *operands)
{
    for (; *operands; operands++)
        if (!strchr("[]", *operands))
            putchar(*operands == '|' ? ' ' : *operands);
}

static void put_names(const char *between)
{
    for (const struct command *const *c = commands; *c; c++)
        printf("%s%s", c == commands ? "" : between, (*c)->name);
}

static bool asks(const struct command *c)
{
    return strstr(c->operands, "QUESTION") != NULL;
}

static void put_questions(void)
{
    for (const struct question *const *q = questions; *q; q++)
        printf("%s%s", q == questions ? "" : " ", (*q)->name);
}

/* ---- bash ---- */

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
    "        _tidemark_value \"$command\" \"$prev\" '' || _tidemark_value \"$command\" \"$prev=\" ''\n"
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
    const char *end = is_optional(o) ? "=" : "";

    printf("        %s:--%s%s", c->name, o->name, end);
    if (o->letter)
        printf(" | %s:-%c%s", c->name, o->letter, end);
    puts(")");
    if (o->choices)
        printf("            _tidemark_offer \"$3\" -W '%s'\n", o->choices);
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
    switch (operand_of(c)) {
    case OPERAND_PROGRAM:
        fputs("_tidemark_program \"$at\"", stdout);
        break;
    case OPERAND_NAMES:
        fputs("_tidemark_offer \"$cur\" -W \"$names\"", stdout);
        break;
    case OPERAND_WORDS:
        fputs("_tidemark_offer \"$cur\" -W '", stdout);
        put_words(c->operands);
        putchar('\'');
        break;
    case OPERAND_FILE:
        if (asks(c)) {
            fputs("((at < COMP_CWORD)) && words='", stdout);
            put_questions();
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

static void put_bash(void)
{
    fputs(bash_head, stdout);
    for (const struct command *const *c = commands; *c; c++)
        for (const struct option *o = (*c)->options; o && o->name; o++)
            if (o->argument)
                bash_value(*c, o);
    fputs(bash_body, stdout);
    put_names(" ");
    fputs(bash_walk, stdout);
    for (const struct command *const *c = commands; *c; c++)
        bash_options(*c);
    puts("        esac\n        _tidemark_offer \"$cur\" -W \"$options\"\n"
         "        return\n    fi\n    case $command in");
    for (const struct command *const *c = commands; *c; c++)
        bash_operand(*c);
    fputs(bash_tail, stdout);
}

/* ---- zsh ---- */

/* The action that completes a value or an operand. */
static const char *zsh_action(const char *argument)
{
    return strstr(argument, "FILE") ? "_files" : strstr(argument, "DIR") ? "_files -/" : " ";
}

static void zsh_option(const struct option *o)
{
    const char *join = !o->argument ? "" : is_optional(o) ? "=-" : "=";

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
        printf(")'{-%c%s,--%s%s}'[", o->letter, o->argument && !is_optional(o) ? "+" : "", o->name,
               join);
    else
        printf(")%s--%s%s[", options_repeats(o) ? "*" : "", o->name, join);
    put_escaped(o->help ? o->help : "", "\n", "[]\\:");
    putchar(']');
    if (o->argument) {
        fputs(is_optional(o) ? "::" : ":", stdout);
        put_escaped(o->argument + is_optional(o), "]", ":\\");
        if (o->choices)
            printf(":(%s)", o->choices);
        else
            printf(":%s", zsh_action(o->argument));
    }
    puts("' \\");
}

static void zsh_operand(const struct command *c)
{
    switch (operand_of(c)) {
    case OPERAND_PROGRAM:
        puts("    '(-)1:command: _command_names -e' '*::arguments:_normal'");
        break;
    case OPERAND_NAMES:
        fputs("    '1:command:(", stdout);
        put_names(" ");
        puts(")'");
        break;
    case OPERAND_WORDS:
        fputs("    '1:word:(", stdout);
        put_words(c->operands);
        puts(")'");
        break;
    case OPERAND_FILE:
        fputs(asks(c) ? "    '1:file:_files'" : "    '*:file:_files'", stdout);
        if (asks(c)) {
            fputs(" '2:question:(", stdout);
            put_questions();
            fputs(")'", stdout);
        }
        putchar('\n');
        break;
    case OPERAND_NONE:
        puts("    ''");
    }
}

static void put_zsh(void)
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
        put_escaped((*c)->summary, "\n", ":\\");
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
    put_names("|");
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

/* ---- fish ---- */

static void fish_option(const struct command *c, const struct option *o)
{
    printf("complete -c tidemark -n '__tidemark_on %s' -l %s", c->name, o->name);
    if (o->letter)
        printf(" -s %c", o->letter);
    if (o->argument && !is_optional(o))
        fputs(strstr(o->argument, "FILE") || strstr(o->argument, "DIR") ? " -r -F" : " -x", stdout);
    if (o->choices)
        printf(" -a '%s'", o->choices);
    fputs(" -d '", stdout);
    put_escaped(o->help ? o->help : "", "\n", "\\");
    puts("'");
}

static void fish_operand(const struct command *c)
{
    if (operand_of(c) == OPERAND_FILE && !asks(c))
        return;
    printf("complete -c tidemark -n '__tidemark_on %s' %s", c->name, asks(c) ? "-F -a '" : "-f");
    if (asks(c)) {
        put_questions();
        putchar('\'');
    }
    if (operand_of(c) == OPERAND_PROGRAM)
        fputs(" -a '(__tidemark_program)'", stdout);
    if (operand_of(c) == OPERAND_NAMES || operand_of(c) == OPERAND_WORDS) {
        fputs(" -a '", stdout);
        if (operand_of(c) == OPERAND_NAMES)
            put_names(" ");
        else
            put_words(c->operands);
        putchar('\'');
    }
    putchar('\n');
}

static void put_fish(void)
{
    fputs("# fish completion for tidemark\n\nset -g __tidemark_names ", stdout);
    put_names(" ");
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
        put_escaped((*c)->summary, "\n", "\\");
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

static const struct option options[] = {{0}};

static int run(int argc, char **argv, struct err *err)
{
    static const struct {
        const char *shell;
        void (*put)(void);
    } shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};
    int operands = options_parse(options, argc, argv, true, err);

    if (operands < 0)
        return -1;
    if (operands != 1)
        return err_code(err, EXIT_USAGE, "name one shell: bash, zsh or fish");
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(shells[i].shell, argv[1]) == 0) {
            shells[i].put();
            return EXIT_OK;
        }
    }
    return err_code(err, EXIT_USAGE, "'%s' is not a known shell: bash, zsh or fish", argv[1]);
}

static const struct command_exit exits[] = {
    {"0", "the script was printed"},
    {"1", "it could not be written"},
    {"2", "the command line is wrong"},
    {0},
};

const struct command cmd_completion = {
    .name = "completion",
    .operands = "bash|zsh|fish",
    .summary = "Print the script that completes our words in a shell",
    .description =
        "Prints the script by which a shell completes the commands, options and values of "
        "tidemark. `make install` puts all three in their places.",
    .examples = "source <(tidemark completion bash)\n    complete in this shell\n"
                "tidemark completion zsh > ~/.zfunc/_tidemark\n    complete in every zsh that has "
                "~/.zfunc in its fpath\n"
                "tidemark completion fish > ~/.config/fish/completions/tidemark.fish\n    the same "
                "for fish\n",
    .options = options,
    .exits = exits,
    .run = run,
};
