/* record - run a command with our library in it and in all its children, and keep what they
 * allocated, with stacks, in one trace beside all that `run --record` keeps.
 */
#include "base/program.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/frame_names.h"
#include "cli/words.h"
#include "trace/preload.h"
#include "watch/collect.h"
#include "watch/obstacle.h"
#include "watch/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LIBRARY "libtidemark.so"
#define DEPTH_LEAST 8
#define SAMPLE_LEAST 1024

static bool exact, quiet, mute, no_names, native;
static const char *output;
static uint64_t sample_mean, depth, interval_ns = 100000000u;

static int parse_sample(const char *text, void *to, struct err *err)
{
    if (text_parse_size(text, to, err) < 0)
        return -1;
    if (*(uint64_t *)to < SAMPLE_LEAST)
        return err_code(err, EXIT_USAGE,
                        "a sample every %s bytes is out of range; it must be 1KiB or more", text);
    return 0;
}

static int parse_depth(const char *text, void *to, struct err *err)
{
    if (!text_parse_number(text, to) || *(uint64_t *)to < DEPTH_LEAST ||
        *(uint64_t *)to > RING_DEPTH_MOST)
        return err_code(err, EXIT_USAGE, "'%s' is not a depth; write a number from %d to %u", text,
                        DEPTH_LEAST, RING_DEPTH_MOST);
    return 0;
}

static int parse_interval(const char *text, void *to, struct err *err)
{
    return text_parse_interval(text, to, err);
}

static const struct option options[] = {
    {'o', "output", "FILE", &output, NULL,
     "Write the trace to FILE; COMMAND.PID.tide in this folder when not given", NULL, NULL},
    {0, "exact", NULL, &exact, NULL, "Record every allocation and free, not a sample of them",
     "sample", NULL},
    {0, "sample", "SIZE", &sample_mean, parse_sample,
     "Record one allocation per SIZE bytes on average; 512KiB when not given", "exact", NULL},
    {0, "depth", "N", &depth, parse_depth,
     "Keep at most N frames of a stack, from both ends; 256 when not given", NULL, NULL},
    {0, "interval", "TIME", &interval_ns, parse_interval,
     "Time between samples of the processes: 100 (ms), 50ms, 0.05s; 100 ms when not given", NULL,
     NULL},
    {0, "no-names", NULL, &no_names, NULL,
     "Leave addresses without function names and lines: the recording ends sooner", NULL, NULL},
    {0, "native", NULL, &native, NULL,
     "Leave out the lines of Python: an interpreter is a program like any other", NULL, NULL},
    {0, "mute", NULL, &mute, NULL, "Discard what the command writes", NULL, NULL},
    {'q', "quiet", NULL, &quiet, NULL, "Say nothing when all went well", NULL, NULL},
    {0},
};

/* ---- the library and the environment ---- */

/* Beside the tool in a build folder, or where it is installed. */
static int find_library(char out[PATH_MAX], struct err *err)
{
    static const char *const places[] = {"%.*s/" LIBRARY, "%.*s/../lib/tidemark/" LIBRARY};
    char tool[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", tool, sizeof(tool) - 1);
    const char *slash;

    tool[n > 0 ? n : 0] = '\0';
    slash = strrchr(tool, '/');
    for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
        char path[PATH_MAX];

        if (snprintf(path, sizeof(path), places[i], (int)(slash - tool), tool) < PATH_MAX &&
            realpath(path, out))
            return strpbrk(out, " :") ? err_code(err, EXIT_OWN,
                                                 "the loader cannot take a library from '%s': move "
                                                 "tidemark to a folder without spaces and colons",
                                                 out)
                                      : 0;
    }
    return err_code(err, EXIT_OWN, "cannot find " LIBRARY " beside the tool or in ../lib/tidemark");
}

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

/* ---- the recording ---- */

static const char *default_output(struct arena *a, const char *command)
{
    const char *base = strrchr(command, '/');

    return arena_printf(a, "%s.%d.tide", base && base[1] ? base + 1 : command, getpid());
}

static uint64_t origin_of(const struct trace_store *s)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - trace_store_now(s);
}

static void say_done(const struct watch_result *r, const char *path)
{
    char size[TEXT_SIZE];

    if (!quiet)
        fprintf(stderr, "tidemark: peak RSS %s; recorded to %s; see 'tidemark report %s'\n",
                text_size(size, r->peak_lower), path, path);
}

static int record(struct arena *a, char *const *argv, const char *path, struct err *err)
{
    struct collect_options how = {.mode = exact ? RING_EXACT : RING_SAMPLED,
                                  .sample_mean = sample_mean,
                                  .depth = (uint32_t)depth,
                                  .wants = native ? 0 : RING_WANTS_PYTHON};
    struct watch_options w = {.argv = argv,
                              .command = words_joined(a, argv),
                              .interval_ns = interval_ns,
                              .children = true,
                              .mute = mute,
                              .threshold = ABSENT};
    struct watch_result result;
    struct err later = {0};
    char library[PATH_MAX];
    int failed;

    if (find_library(library, err) < 0)
        return -1;
    w.store = trace_store_create(path, err);
    if (!w.store)
        return err->code = EXIT_OWN, -1;
    how.origin_ns = origin_of(w.store);
    w.collect = collect_create(&how, w.store, err);
    if (!w.collect) {
        trace_store_close(w.store, &later);
        return err->code = EXIT_OWN, -1;
    }
    w.environment = make_environment(a, argv[0], library, collect_environment(w.collect));
    trace_store_fact(w.store, TRACE_OF_RUN, 0, "recorded", exact ? "exact" : "sampled",
                     exact ? 5 : 7);
    failed = watch(&w, a, &result, err);
    if (!failed && !no_names && frame_names_add(path, w.store, &later) < 0)
        fprintf(stderr, "tidemark: addresses stay without names: %s\n", later.text);
    if (trace_store_close(w.store, failed ? &later : err) < 0 && !failed)
        failed = 1;
    if (failed < 0)
        unlink(path); /* the command was never started */
    if (failed > 0)
        err->code = EXIT_OWN;
    if (failed)
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
    status = record(&arena, argv + 1, output ? output : default_output(&arena, argv[1]), err);
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
    .summary = "record what a command and its processes allocate, with stacks",
    .description =
        "Runs COMMAND with a library in it and in all its children that notes allocations with "
        "their stacks, and writes one trace, which also holds what 'run --record' keeps. "
        "'tidemark report' answers from it.\n\n"
        "By default allocations are sampled: each byte has the same chance to be noted, and "
        "every number is an estimate with its error. --exact notes every allocation and free.\n\n"
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
