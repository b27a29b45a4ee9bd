/* command - what tidemark can be told to do; one file each, one line in main.c. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "base/err.h"
#include "base/options.h"

enum { EXIT_OK = 0, EXIT_NO = 1, EXIT_USAGE = 2, EXIT_OWN = 125 };

struct command_exit {
    const char *code, *meaning;
};

struct command {
    const char *name;
    const char *operands;    /* as in a usage line: "[--] COMMAND [ARGS...]" */
    const char *summary;     /* half a line, for the list of commands */
    const char *description; /* paragraphs, separated by an empty line; for help and man page */
    const char *examples;    /* lines "command\n    what it shows", for help and man page */
    const struct option *options;
    const struct command_exit *exits; /* ends with a NULL code */
    bool hidden;                      /* left out of the list of commands */
    /* argv[0] is the command's name, argv[argc] is NULL. Returns the exit code; -1 with *err, whose
     * code says how to exit (0: EXIT_NO).
     */
    int (*run)(int argc, char **argv, struct err *err);
};

extern const struct command cmd_run, cmd_record, cmd_attach, cmd_detach, cmd_pause, cmd_resume,
    cmd_snapshot, cmd_report, cmd_diff, cmd_man, cmd_completion, cmd_help;

/* NULL-terminated, in the order that help shows. */
extern const struct command *const commands[];
const struct command *command_find(const char *name);

/* -h and -V, which every command takes: options_parse knows them, these rows are for showing. */
extern const struct option command_common[];

/* Write the help of one command (`brief`: the options alone) to stdout. */
void command_help(const struct command *c, bool brief);
/* Write what tidemark is and can do, to stdout. */
void command_overview(bool brief);
/* What stands on the first lines of both, and of the man page. */
extern const char command_tagline[];

#endif
