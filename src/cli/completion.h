/* completion - what the scripts of all shells say of commands and options, and the scripts: one
 * file for each shell, which knows its language and no other's. All of them write to standard
 * output.
 *
 * What a word may be is read from how the descriptor spells it: a value with choices is one of
 * them, FILE is a file, DIR a folder; the operands are a program with its words ("ARGS"), names of
 * commands ("COMMAND"), words ("a|b|c"), or a file ("FILE"), perhaps with a "QUESTION" after it.
 */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include "cli/command.h"

enum operand { OPERAND_NONE, OPERAND_PROGRAM, OPERAND_NAMES, OPERAND_WORDS, OPERAND_FILE };

enum operand completion_operand(const struct command *c);
/* Is its second operand a question? */
bool completion_asks(const struct command *c);
/* May its value be left out? */
bool completion_optional(const struct option *o);

/* Copy text up to `stop`, with a backslash before each of `special`; a quote ends and resumes the
 * quoted word of the shell ("'\''").
 */
void completion_escaped(const char *text, const char *stop, const char *special);
/* "a|b|c" as "a b c", without brackets. */
void completion_words(const char *operands);
/* Of all commands. */
void completion_names(const char *between);
void completion_questions(void);

void completion_bash(void);
void completion_zsh(void);
void completion_fish(void);

#endif
