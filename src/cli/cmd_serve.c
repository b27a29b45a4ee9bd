/* serve - show the report page in a browser, and tell it more where it looks closer. */
#include "base/jail.h"
#include "cli/command.h"
#include "cli/served.h"

#include <stdio.h>

static const char *port;

static const struct option options[] = {
    {0, "port", "N", &port, NULL, "The port to answer at (default: one that is free)", NULL, NULL},
    {0},
};

static int check(int operands, char **argv, struct err *err)
{
    if (operands == 0)
        return err_code(err, EXIT_USAGE, "name the trace to show");
    if (operands > SERVED_MOST)
        return err_code(err, EXIT_USAGE, "show one trace, or compare two; '%s' is one too many",
                        argv[SERVED_MOST + 1]);
    for (int i = 1; i <= operands; i++)
        if (served_check(argv[i], err))
            return -1;
    return 0;
}

static int run(int argc, char **argv, struct err *err)
{
    int operands = options_parse(options, argc, argv, true, err), result;
    const char *paths[SERVED_MOST + 1] = {NULL};
    struct served s = {0};

    if (operands < 0 || check(operands, argv, err))
        return -1;
    for (int i = 0; i < operands; i++)
        paths[i] = argv[i + 1];
    result = served_open(&s, paths, port, err);
    if (result == 0) {
        printf("%s\n", served_address(&s));
        fflush(stdout);
        jail_privileges();
        serve_run(&s.serve);
    }
    served_close(&s);
    return result;
}

static const struct command_exit exits[] = {
    {"0", "it was ended by Ctrl-C or SIGTERM"},
    {"1", "the trace cannot be read, or there is no such port to answer at"},
    {"2", "the command line is wrong"},
    {0},
};

const struct command cmd_serve = {
    .name = "serve",
    .operands = "FILE [FILE]",
    .summary = "Serve the report page to a browser, with finer data where it zooms in",
    .description =
        "Serves the page that 'tidemark report FILE -f html' writes to a browser, until Ctrl-C; prints its address. Where a window of time is narrow, the page asks for finer data: any stretch of the recording has as many moments as the whole. The sums of a window stay the same, to the byte. Two traces are compared, as 'tidemark diff' does.\n\nOnly programs on this machine get an answer (127.0.0.1), and only those that know the random key in the address. Nothing is served but the page and its data. Each answer reads the trace again, in a process of its own; a file that has been replaced is shown as it is then.\n\nFrom another machine: ssh -L 8000:127.0.0.1:PORT HOST, and http://localhost:8000/KEY/ there.",
    .examples = "tidemark serve app.tide\n    prints the address to open\n"
                "tidemark serve --port 8000 before.tide after.tide\n    two runs, compared\n",
    .options = options,
    .exits = exits,
    .run = run,
};
