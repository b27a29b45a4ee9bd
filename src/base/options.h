/* options - the options of a command: one const table that parses, and that prints its own help.
 *
 * Understood: -j, -jv, -t512M, -t 512M, -t=512M, --name, --name VALUE, --name=VALUE, and `--`.
 * An option given twice (unless its argument ends in "..."), or beside one that excludes it, is an
 * error. -h, --help, -V and --version
 * need no row: where they stand as options, the parse ends with the code that says so.
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include "base/err.h"

#include <stdbool.h>

/* err->code after a failed parse. */
enum {
    OPTIONS_MISUSE = 2, /* also the exit code that is usual for it */
    OPTIONS_HELP = -1,
    OPTIONS_HELP_BRIEF = -2, /* -h */
    OPTIONS_VERSION = -3,
    OPTIONS_VERSION_BRIEF = -4, /* -V */
};

struct option {
    char letter;      /* 0: none */
    const char *name; /* NULL ends the table */
    /* NULL: a flag. "[HOW]": optional, only as --name=HOW; without it: "". "WHAT...": may be given
     * again, and `parse` is called each time.
     */
    const char *argument;
    void *to; /* bool * for a flag, const char ** for text, else what `parse` expects */
    int (*parse)(const char *text, void *to, struct err *err); /* NULL: keep the text */
    const char *help;     /* one sentence without a full stop; may hold newlines */
    const char *excludes; /* names of options it cannot stand beside, separated by spaces */
    const char *choices;  /* all values, separated by spaces: checked, completed, shown */
    const char *(*choices_of)(void); /* the same, where they are made from other descriptors */
    bool or_more;                    /* the choices are only some of them: `parse` judges */
};

/* Parse argv[1..). With `permute`, options may follow operands; otherwise the first operand ends
 * them. Returns the number of operands, which are moved to argv[1..] in order; -1 with *err.
 * `--` ends the options and is dropped.
 */
int options_parse(const struct option *table, int argc, char **argv, bool permute, struct err *err);

/* All values that it may have, separated by spaces; NULL: any. */
const char *options_choices(const struct option *o);

/* What help says before them. */
const char *options_before_choices(const struct option *o);

/* May it be given again? */
bool options_repeats(const struct option *o);

/* The option called `name`, or NULL. */
const struct option *options_find(const struct option *table, const char *name);

#endif
