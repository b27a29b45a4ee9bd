/* main - the table of commands, and the only place that prints errors and ends the tool.
 *
 * The first word is a command of ours, or everything is `run`. Nothing is done before the command
 * starts: what it measures must not wait for us.
 */
#include "cli/command.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct command *const commands[] = {
    &cmd_run,    &cmd_record, &cmd_attach,     &cmd_detach, &cmd_pause, &cmd_resume, &cmd_snapshot,
    &cmd_report, &cmd_diff,   &cmd_completion, &cmd_man,    &cmd_help,  NULL,
};

const struct command *command_find(const char *name)
{
    for (const struct command *const *c = commands; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

static void ignore(int signal_number)
{
    (void)signal_number;
}

/* A reader that went away is an error to report, not a death. This is a handler and not SIG_IGN
 * because exec undoes a handler: the command that we launch gets what we got.
 */
static void catch_broken_pipe(void)
{
    struct sigaction mine = {.sa_handler = ignore, .sa_flags = SA_RESTART}, theirs;

    if (sigaction(SIGPIPE, &mine, &theirs) == 0 && theirs.sa_handler == SIG_IGN)
        sigaction(SIGPIPE, &theirs, NULL);
}

/* A trace is mapped to be read: what somebody cuts off meanwhile cannot be read any more. */
static void say_cut(int signal)
{
    static const char text[] =
        "tidemark: the file became shorter while it was read; try again when "
        "nobody writes to it\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);

    (void)signal, (void)written;
    _exit(EXIT_NO);
}

static void catch_cut_file(void)
{
    struct sigaction mine = {.sa_handler = say_cut}, theirs;

    if (sigaction(SIGBUS, &mine, &theirs) == 0 && theirs.sa_handler == SIG_IGN)
        sigaction(SIGBUS, &theirs, NULL);
}

/* A command that documents 125 passes its target's status on, and so fails with 125 itself. */
static int own_failure(const struct command *c)
{
    for (const struct command_exit *e = c ? c->exits : NULL; e && e->code; e++)
        if (strcmp(e->code, "125") == 0)
            return EXIT_OWN;
    return EXIT_NO;
}

/* What the options asked for instead of the command's work; c is NULL where no command was named. */
static int answer(const struct command *c, int code)
{
    if (code == OPTIONS_VERSION)
        puts("tidemark " TIDEMARK_VERSION);
    else if (code == OPTIONS_VERSION_BRIEF)
        puts(TIDEMARK_VERSION);
    else if (c)
        command_help(c, code == OPTIONS_HELP_BRIEF);
    else
        command_overview(code == OPTIONS_HELP_BRIEF);
    return EXIT_OK;
}

static int fail(const struct command *c, const struct err *err)
{
    if (err->code < 0)
        return answer(c, err->code);
    fflush(stdout);
    if (err->code == EXIT_USAGE)
        fprintf(stderr, "tidemark: %s; see 'tidemark %s --help'\n", err->text, c->name);
    else
        fprintf(stderr, "tidemark: %s\n", err->text);
    return err->code ? err->code : EXIT_NO;
}

static int finish(const struct command *c, int status)
{
    int broken = ferror(stdout);

    errno = 0;
    if (fflush(stdout) == 0 && !broken)
        return status;
    fprintf(stderr, "tidemark: cannot write to standard output%s%s\n", errno ? ": " : "",
            errno ? strerror(errno) : "");
    return own_failure(c);
}

/* -h, --help, -V or --version in the place of a command; 0: none of them. */
static int asked_first(char *word)
{
    static const struct option none[] = {{0}};
    char *words[] = {"tidemark", word, NULL};
    struct err err = {0};

    return options_parse(none, 2, words, false, &err) < 0 && err.code < 0 ? err.code : 0;
}

int main(int argc, char **argv)
{
    const struct command *c;
    struct err err = {0};
    int status;

    catch_broken_pipe();
    catch_cut_file();
    if (argc < 2) {
        fputs("Usage: tidemark [run] [OPTIONS] [--] COMMAND [ARGS...]\n"
              "       tidemark report [OPTIONS] FILE; see 'tidemark --help'\n",
              stderr);
        return EXIT_USAGE;
    }
    status = asked_first(argv[1]);
    if (status)
        return finish(NULL, answer(NULL, status));
    c = command_find(argv[1]);
    if (c) {
        argc--;
        argv++;
    } else {
        c = &cmd_run;
        argv[0] = "run";
    }
    status = c->run(argc, argv, &err);
    return finish(c, status < 0 ? fail(c, &err) : status);
}
