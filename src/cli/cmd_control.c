/* control - commands that tell a recording what to do while it runs: detach, pause, resume,
 * snapshot.
 */
#include "attach/attach.h"
#include "attach/control.h"
#include "base/text.h"
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

static const char *name = "snapshot";

static const struct option no_options[] = {{0}};

static const struct option snapshot_options[] = {
    {0, "name", "TEXT", &name, NULL, "What the moment is called in the trace (default: snapshot)",
     NULL, NULL},
    {0},
};

/* The pid that was given; 0 with *err. */
static int parse(const struct option *options, int argc, char **argv, struct err *err)
{
    int operands = options_parse(options, argc, argv, true, err);
    uint64_t pid;

    if (operands < 0)
        return 0;
    if (operands != 1 || !text_parse_number(argv[1], &pid) || !pid || pid > 1 << 30) {
        err_code(err, EXIT_USAGE, "give the pid of one process that is being recorded");
        return 0;
    }
    return (int)pid;
}

static int tell(int pid, const char *text, bool to_the_end, char answer[CONTROL_TEXT],
                struct err *err)
{
    if (control_tell(pid, text, to_the_end, answer, err) < 0)
        return -1;
    return strncmp(answer, "ok", 2) == 0 ? 0 : err_set(err, "process %d: %s", pid, answer);
}

static int run_detach(int argc, char **argv, struct err *err)
{
    int pid = parse(no_options, argc, argv, err);
    char answer[CONTROL_TEXT];
    struct err ignored;

    if (!pid)
        return -1;
    if (control_find(pid) || !control_orphaned(pid) || attach_leave(pid, &ignored) < 0)
        return tell(pid, "detach", true, answer, err);
    return EXIT_OK; /* its recorder was killed, and could not put things back */
}

static int run_pause(int argc, char **argv, struct err *err)
{
    int pid = parse(no_options, argc, argv, err);
    char answer[CONTROL_TEXT];

    return pid ? tell(pid, "pause", false, answer, err) : -1;
}

static int run_resume(int argc, char **argv, struct err *err)
{
    int pid = parse(no_options, argc, argv, err);
    char answer[CONTROL_TEXT];

    return pid ? tell(pid, "resume", false, answer, err) : -1;
}

static int run_snapshot(int argc, char **argv, struct err *err)
{
    int pid = parse(snapshot_options, argc, argv, err);
    char answer[CONTROL_TEXT], text[CONTROL_TEXT];

    if (!pid)
        return -1;
    if (snprintf(text, sizeof(text), "snapshot %s", name) >= (int)sizeof(text))
        return err_code(err, EXIT_USAGE, "the name is too long");
    if (tell(pid, text, false, answer, err) < 0)
        return -1;
    printf("%s\n", answer[2] ? answer + 3 : ""); /* seconds */
    return EXIT_OK;
}

static const struct command_exit exits[] = {
    {"0", "it was done"},
    {"1", "the process is not being recorded, or not by this user"},
    {"2", "the options are wrong"},
    {NULL, NULL},
};

const struct command cmd_detach = {
    .name = "detach",
    .operands = "PID",
    .summary = "End the recording of a process that was attached to",
    .description =
        "Ends what 'tidemark attach' began, and waits until the trace is whole. The process "
        "runs on as before.",
    .examples = "tidemark detach 4711\n    the trace is where 'attach' said\n",
    .options = no_options,
    .exits = exits,
    .run = run_detach,
};

const struct command cmd_pause = {
    .name = "pause",
    .operands = "PID",
    .summary = "Stop recording new allocations for a while",
    .description =
        "From now on no new allocation is recorded in any process of the recording that PID "
        "belongs to. Blocks that were recorded earlier are still followed to their free, so live "
        "memory stays correct. The trace says when it was paused. 'tidemark resume' continues the "
        "recording.",
    .examples = "tidemark pause 4711\n    while it warms up\n",
    .options = no_options,
    .exits = exits,
    .run = run_pause,
};

const struct command cmd_resume = {
    .name = "resume",
    .operands = "PID",
    .summary = "Continue a recording that was paused",
    .description = "Ends what 'tidemark pause' or --start-paused began.",
    .examples = "tidemark resume 4711\n    it is warm\n",
    .options = no_options,
    .exits = exits,
    .run = run_resume,
};

const struct command cmd_snapshot = {
    .name = "snapshot",
    .operands = "PID",
    .summary = "Mark this moment in a recording",
    .description =
        "Puts a mark into the trace of the recording that PID belongs to, and prints its time in "
        "seconds. 'tidemark report FILE peak --at TIME' then shows what was alive. In a recording "
        "with --reachable it also finds the blocks that nothing points to any more; the processes "
        "are stopped meanwhile.",
    .examples = "tidemark snapshot --name idle 4711\n    12.345678\n",
    .options = snapshot_options,
    .exits = exits,
    .run = run_snapshot,
};
