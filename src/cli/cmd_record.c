/* record - run a command with our library in it and in all its children, and keep what they
 * allocated, with stacks, in one trace beside all that `run --record` keeps.
 */
#include "base/program.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/recording.h"
#include "cli/words.h"
#include "trace/preload.h"
#include "watch/collect.h"
#include "watch/obstacle.h"
#include "watch/watch.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct recording how;
static bool mute;

static const struct option options[] = {
    RECORDING_OPTIONS(how, "COMMAND.PID.tide in this folder when not given"),
    {0, "mute", NULL, &mute, NULL, "Discard what the command writes", NULL, NULL},
    {0},
};

/* A sanitizer that is to be loaded wants to be the first. NULL: ours as it is. */
static char **make_environment(struct arena *a, const char *command, const char *library,
                               const char *ring)
{
    struct preload p = {.library = library, .ring = ring + strlen(RING_ENV "=")};
    size_t bytes;

    unsetenv(RING_ENV); /* of another recording, in which we run */
    p.out = obstacle_breaks(command) || program_lists_sanitizer(preload_value(environ));
    bytes = preload_bytes(&p, environ);
    return bytes ? preload_make(&p, environ, arena_alloc(a, bytes)) : NULL;
}

static void say_done(const struct watch_result *r, const char *path)
{
    char size[TEXT_SIZE];

    if (!how.quiet)
        fprintf(stderr, "tidemark: peak RSS %s; recorded to %s; see 'tidemark report %s'\n",
                text_size(size, r->peak_lower), path, path);
}

static int record(struct arena *a, char *const *argv, const char *path, struct err *err)
{
    struct watch_options w = {.argv = argv,
                              .command = words_joined(a, argv),
                              .children = true,
                              .mute = mute,
                              .threshold = ABSENT};
    struct watch_result result;
    char library[PATH_MAX];
    int failed;

    if (recording_library(library, err) < 0 || recording_open(&how, path, &w, err) < 0)
        return -1;
    w.environment = make_environment(a, argv[0], library, collect_environment(w.collect));
    failed = watch(&w, a, &result, err);
    if (recording_close(&how, path, &w, failed, err) < 0)
        return -1;
    say_done(&result, path);
    return result.signal ? 128 + result.signal : result.exit_code;
}

static int run(int argc, char **argv, struct err *err)
{
    struct arena arena = {0};
    int operands = options_parse(options, argc, argv, false, err), status;

    if (operands < 0)
        return -1;
    if (!operands)
        return err_code(err, EXIT_USAGE, "give a command to record");
    status = record(&arena, argv + 1,
                    how.output ? how.output : recording_default(&arena, argv[1], getpid()), err);
    arena_free(&arena);
    return status;
}

static const struct command_exit exits[] = {
    {"N", "the command's own exit code"},
    {"128+N", "the command was killed by signal N"},
    {"2", "the options are wrong"},
    {"125", "tidemark itself failed"},
    {"126", "the command was found but cannot be run"},
    {"127", "the command was not found"},
    {NULL, NULL},
};

const struct command cmd_record = {
    .name = "record",
    .operands = "[--] COMMAND [ARGS...]",
    .summary = "record what a command and its processes allocate and compute, with stacks",
    .description =
        "Runs COMMAND with a library in it and in all its children that notes allocations with "
        "their stacks, and writes one trace, which also holds what 'run --record' keeps. "
        "'tidemark report' answers from it.\n\n"
        "By default allocations are sampled: each byte has the same chance to be noted, and "
        "every number is an estimate with its error. --exact notes every allocation and free.\n\n"
        "CPU time is sampled beside that: each thread tells where it is whenever it has used 10 ms "
        "of CPU time, at first more often: at every tick of the kernel, mostly 4 ms, which is the "
        "closest there is. The kernel's work for page faults counts for the code that met them.\n\n"
        "Programs that the library cannot enter (statically linked, 32-bit, set-user-id, of another "
        "libc, with a sanitizer) run as always and are watched from outside; the report names "
        "them. A program with a malloc of its own inside tells of its blocks by tidemark.h.\n\n"
        "The recorded processes have two variables more in their environment, LD_PRELOAD and "
        "TIDEMARK_RING, also where a program gives its children another environment.",
    .examples = "tidemark record -o app.tide ./app\n    sampled: cheap enough to leave on\n"
                "tidemark record --exact make -j4\n    every allocation of every process\n"
                "tidemark report app.tide peak\n    who held memory at the peak\n",
    .options = options,
    .exits = exits,
    .run = run,
};
