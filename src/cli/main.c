/* main - the table of commands, and the only place that prints errors and ends the tool.
 *
 * The first word is a command of ours, or everything is `run`. Nothing is done before the command
 * starts: what it measures must not wait for us.
 */
#include "base/count.h"
#include "base/descriptor.h"
#include "base/near.h"
#include "base/text.h"
#include "cli/command.h"
#include "devices/gauge_wire.h"
#include "watch/limits.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct command *const commands[] = {
#define X(name) &cmd_##name,
    COMMANDS(X)
#undef X
        NULL,
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

/* A command that documents 125 passes its target's status on, and so fails with 125 itself. */
static int own_failure(const struct command *c)
{
    for (const struct command_exit *e = c ? c->exits : NULL; e && e->code; e++)
        if (strcmp(e->code, "125") == 0)
            return EXIT_OWN;
    return EXIT_NO;
}

/* What the options asked for instead of the command's work; c is NULL where no command was named.
 */
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

/* "tidemark reprot x" is taken for a command to run: one that is not there may be one of ours. */
static void suggest_command(const char *word, struct err *err)
{
    struct near near = near_begin(word, strlen(word));
    size_t used = strlen(err->text);

    for (const struct command *const *c = commands; *c; c++)
        near_offer(&near, (*c)->name);
    if (near.guess)
        snprintf(err->text + used, sizeof(err->text) - used, " (did you mean 'tidemark %s'?)",
                 near.guess);
}

static int fail(const struct command *c, const struct err *err)
{
    if (err->code < 0)
        return answer(c, err->code);
    fflush(stdout);
    if (err->code == EXIT_USAGE && !command_find(c->name))
        fprintf(stderr, "%s: %s; see '%s --help'\n", c->name, err->text, c->name);
    else if (err->code == EXIT_USAGE)
        fprintf(stderr, "tidemark: %s; see 'tidemark %s --help'\n", err->text, c->name);
    else
        fprintf(stderr, "tidemark: %s\n", err->text);
    return err->code ? err->code : EXIT_NO;
}

/* A pipe whose reader has seen enough: nobody is left to be told. */
static bool reader_has_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

static int finish(const struct command *c, int status)
{
    int broken = ferror(stdout);

    errno = 0;
    if (fflush(stdout) == 0 && !broken)
        return status;
    if (reader_has_gone())
        return own_failure(c) == EXIT_OWN ? status : 128 + SIGPIPE;
    fprintf(stderr, "tidemark: cannot write to standard output%s%s\n", errno ? ": " : "",
            errno ? strerror(errno) : "");
    return own_failure(c);
}

/* A link of such a name is that command: whatever its first word is, it is no command of ours. */
static const struct command *linked(const char *name)
{
    static const struct {
        const char *name;
        const struct command *command;
    } links[] = {{"peak-mem", &cmd_run}, {"mem-scan", &as_mem_scan}, {WIRE_PROGRAM, &as_gauge}};

    for (int i = 0; name && i < COUNT(links); i++)
        if (strcmp(text_base(name), links[i].name) == 0)
            return links[i].command;
    return NULL;
}

/* -h, --help, -V or --version in the place of a command; 0: none of them. */
static int asked_first(char *word)
{
    static const struct option none[] = {{0}};
    char *words[] = {"tidemark", word, NULL};
    struct err err = {0};

    return options_parse(none, 2, words, false, &err) < 0 && err.code < 0 ? err.code : 0;
}

static int work(int argc, char **argv)
{
    const struct command *c = linked(argv[0]), *link = c;
    struct err err = {0};
    bool implied;
    int status;

    descriptor_fill_standard();
    catch_broken_pipe();
    if (argc < 2) {
        fputs("Usage: tidemark [run] [OPTIONS] [--] COMMAND [ARGS...]\n"
              "       tidemark report [OPTIONS] FILE; see 'tidemark --help'\n",
              stderr);
        return EXIT_USAGE;
    }
    status = link ? 0 : asked_first(argv[1]);
    if (status)
        return finish(NULL, answer(NULL, status));
    if (!link)
        c = command_find(argv[1]);
    implied = !c;
    if (c && !link) {
        argc--;
        argv++;
    } else {
        c = link ? link : &cmd_run;
        argv[0] = "run";
    }
    status = c->run(argc, argv, &err);
    if (status < 0 && err.code == EXIT_ABSENT && implied)
        suggest_command(argv[1], &err);
    return finish(c, status < 0 ? fail(c, &err) : status);
}

int main(int argc, char **argv)
{
    return limits_on_stack(work, argc, argv);
}
