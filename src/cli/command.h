/* command - what tidemark can be told to do; one file each, one line in COMMANDS. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "base/arena.h"
#include "base/err.h"
#include "base/options.h"

enum { EXIT_OK = 0, EXIT_NO = 1, EXIT_USAGE = 2, EXIT_OWN = 125, EXIT_ABSENT = 127 };

struct command_exit {
    const char *code, *meaning;
};

struct command {
    const char *name;
    const char *operands; /* as in a usage line: "[--] COMMAND [ARGS...]" */
    const char *summary;  /* half a line, for the list of commands */
    /* For help and man page: paragraphs, separated by an empty line; a line "\tNAME\tTEXT" is a row
     * of a list, one that begins with a space is kept as it is.
     */
    const char *description;
    /* The same, where it is made from descriptors; for help there may be less than the `whole`. */
    const char *(*describe)(struct arena *a, bool whole);
    const char *examples; /* lines "command\n    what it shows", for help and man page */
    const struct option *options;
    const struct command_exit *exits; /* ends with a NULL code */
    bool hidden;                      /* left out of the list of commands */
    /* argv[0] is the command's name, argv[argc] is NULL. Returns the exit code; -1 with *err, whose
     * code says how to exit (0: EXIT_NO).
     */
    int (*run)(int argc, char **argv, struct err *err);
};

/* All of them, in the order that help shows. */
#define COMMANDS(X)                                                                                \
    X(run)                                                                                         \
    X(record)                                                                                      \
    X(attach)                                                                                      \
    X(detach)                                                                                      \
    X(pause)                                                                                       \
    X(resume)                                                                                      \
    X(snapshot)                                                                                    \
    X(report)                                                                                      \
    X(diff)                                                                                        \
    X(serve)                                                                                       \
    X(devices)                                                                                     \
    X(import)                                                                                      \
    X(completion)                                                                                  \
    X(man)                                                                                         \
    X(help)

#define X(name) extern const struct command cmd_##name;
COMMANDS(X)
#undef X

/* What the tool is where a link gives it another name; listed nowhere. */
extern const struct command as_mem_scan, as_gauge;

extern const struct command *const commands[]; /* NULL-terminated */
const struct command *command_find(const char *name);

/* -h and -V, which every command takes: options_parse knows them, these rows are for showing. */
extern const struct option command_common[];

extern const struct option command_no_options[];

/* For commands that tell of others: the one that the first of at most `most` operands names; NULL
 * where there is none. 0, or -1 with *err.
 */
int command_named(int argc, char **argv, int most, const struct command **c, struct err *err);

/* Its description, perhaps in the arena. */
const char *command_description(const struct command *c, struct arena *a, bool whole);
/* Write the help of one command (`brief`: the options alone) to stdout. */
void command_help(const struct command *c, bool brief);
/* Write what tidemark is and can do, to stdout. */
void command_overview(bool brief);
/* What stands on the first lines of both, and of the man page. */
extern const char command_tagline[];

#endif
