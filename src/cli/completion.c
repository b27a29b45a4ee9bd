/* completion - see completion.h. */
#include "cli/completion.h"

#include "questions/question.h"

#include <stdio.h>
#include <string.h>

enum operand completion_operand(const struct command *c)
{
    if (strstr(c->operands, "ARGS"))
        return OPERAND_PROGRAM;
    if (strstr(c->operands, "COMMAND"))
        return OPERAND_NAMES;
    if (strchr(c->operands, '|'))
        return OPERAND_WORDS;
    return strstr(c->operands, "FILE") ? OPERAND_FILE : OPERAND_NONE;
}

bool completion_optional(const struct option *o)
{
    return o->argument && o->argument[0] == '[';
}

void completion_escaped(const char *text, const char *stop, const char *special)
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

void completion_words(const char *operands)
{
    for (; *operands; operands++)
        if (!strchr("[]", *operands))
            putchar(*operands == '|' ? ' ' : *operands);
}

void completion_names(const char *between)
{
    for (const struct command *const *c = commands; *c; c++)
        printf("%s%s", c == commands ? "" : between, (*c)->name);
}

bool completion_asks(const struct command *c)
{
    return strstr(c->operands, "QUESTION") != NULL;
}

void completion_questions(void)
{
    for (const struct question *const *q = questions; *q; q++)
        printf("%s%s", q == questions ? "" : " ", (*q)->name);
}
