/* record - run a command with our library in it and in all its children, and keep what they
 * allocated, with stacks, in one trace beside all that `run --record` keeps.
 */
#include "attach/obstacle.h"
#include "base/jail.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/limit.h"
#include "cli/live_page.h"
#include "cli/plainly.h"
#include "cli/recording.h"
#include "cli/script.h"
#include "cli/tracefile.h"
#include "cli/webpage.h"
#include "cli/words.h"
#include "collect/collect.h"
#include "preload/preload.h"
#include "preload/program.h"
#include "watch/limits.h"
#include "watch/watch.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct recording how;
static bool mute;
static const char *html, *port;
static bool live;
static struct live_page live_page;
static struct limits limits;

static const struct option options[] = {
    RECORDING_OPTIONS(how, "(default: COMMAND.PID.tide in this folder)"),
    {0, "reachable", NULL, &how.reachable, NULL,
     "When a program ends, and at each 'tidemark snapshot', find blocks that nothing points to any more; needs --exact",
     NULL, NULL},
    {0, "ops", NULL, &how.ops, NULL,
     "Record when each operator of PyTorch begins and ends, for the question ops", NULL, NULL},
    {0, "watch", "NAME...", &how.watch, watch_names_parse,
     "Watch a parameter or a buffer of a PyTorch model by its name (Net.blocks.3.weight, or a pattern such as '*.bias'), so that the question watch says who writes to it; can be given more than once",
     NULL, NULL},
    {0, "html", "FILE", &html, NULL, "Write the report page to FILE when the recording has ended",
     NULL, NULL},
    {0, "live", NULL, &live, NULL,
     "Serve the report page while the command runs, at an address that is printed first", NULL,
     NULL},
    {0, "port", "N", &port, NULL, "The port for --live (default: one that is free)", NULL, NULL},
    {0, "limit", "KIND=VALUE...", &limits, limit_parse,
     "Exit with 1, and say which lines it was, if the command broke a limit: peak=SIZE (RSS of all processes), leak=SIZE (kept by one line at the end), growth=SIZE/s (of one line that grows), allocations=N; can be given more than once",
     NULL, NULL},
    {0, "mute", NULL, &mute, NULL, "Discard what the command writes", NULL, NULL},
    {0},
};

#define ITT_LISTENER "INTEL_LIBITTNOTIFY64"
#define OPENCL_VENDORS "/etc/OpenCL/vendors" /* is there where OpenCL is installed */

/* Programs that annotate themselves load whoever listens, by these names, unless another tool is
 * named; so does the loader of OpenCL.
 */
static void set_injection(const char *library)
{
    setenv("NVTX_INJECTION64_PATH", library, 0);
    setenv(ITT_LISTENER, library, 0);
    if (getenv("OCL_ICD_VENDORS") || access(OPENCL_VENDORS, F_OK) == 0)
        setenv("OPENCL_LAYERS", library, 0);
}

/* A sanitizer that is to be loaded wants to be the first. NULL: ours as it is. */
static char **make_environment(struct arena *a, const char *command, const char *library,
                               struct collect *collect)
{
    struct preload p = {.library = library,
                        .ring = collect_environment(collect) + strlen(RING_ENV "=")};
    const struct obstacle *obstacle = obstacle_in_command(command);
    size_t bytes;

    unsetenv(RING_ENV); /* of another recording, in which we run */
    p.out = obstacle_breaks(command) || program_lists_sanitizer(preload_value(environ));
    p.marked = !p.out && (!obstacle || obstacle->partly);
    if (!p.marked)
        collect_unmarked(
            collect); /* the loader itself may be the command, or what a static one becomes */
    if (!p.out)
        set_injection(library);
    bytes = preload_bytes(&p, environ);
    return bytes ? preload_make(&p, environ, arena_alloc(a, bytes)) : NULL;
}

static void say_done(const struct watch_result *r, const char *path)
{
    char size[TEXT_SIZE];

    recording_say_devices(r);
    recording_say_tensors(&how, r);
    recording_say_windows(&how, r);
    watch_names_say(&how.watch, r);
    if (!how.quiet)
        fprintf(stderr, "tidemark: peak RSS %s%s; recorded to %s; see 'tidemark report %s'\n",
                r->peak_exact     ? ""
                : r->peak_at_most ? "at most "
                                  : "at least ",
                text_size(size, r->peak_lower), path, path);
}

/* The recording has ended: whatever becomes of the page, the status is the command's. */
static void write_page(const char *path)
{
    const char *const traces[] = {path, NULL};
    struct err err = {0};

    if (!html)
        return;
    jail_command();
    if (webpage_write(traces, html, &err))
        fprintf(stderr, "tidemark: %s\n", err.text);
    else if (!how.quiet)
        fprintf(stderr, "tidemark: the report page is %s\n", html);
}

/* The command's own failure says more than ours. */
static int status_of(const struct watch_result *r, const char *path)
{
    struct err err = {0};
    int broken = limit_check(&limits, r, path, &err);

    if (broken < 0)
        fprintf(stderr, "tidemark: the limits were not checked: %s\n", err.text);
    if (r->signal)
        return 128 + r->signal;
    return r->exit_code || broken <= 0 ? r->exit_code : EXIT_NO;
}

/* PyTorch's operators come to whoever this variable names. */
static int check_ops(const char *library, struct err *err)
{
    const char *other = getenv(ITT_LISTENER);

    if (!how.ops || !other || strcmp(other, library) == 0)
        return 0;
    return err_code(err, EXIT_USAGE,
                    "--ops listens to PyTorch by %s, which is set to '%s' already: unset it",
                    ITT_LISTENER, other);
}

static int record(struct arena *a, const char *name, char *const *argv, struct err *err)
{
    struct watch_options w = {.argv = argv,
                              .command = words_joined(a, argv),
                              .children = true,
                              .mute = mute,
                              .threshold = ABSENT};
    struct recorded to = {0};
    struct watch_result result = {0};
    char library[PATH_MAX];
    sigset_t mask;
    int failed;

    sigprocmask(SIG_BLOCK, NULL, &mask);
    limits_raise();
    plainly_after_all(&w, &result, &to.path);
    if (recording_possible(err) < 0)
        return plainly_become(argv, &mask, mute, err);
    if (recording_library(library, err) < 0 || check_ops(library, err) < 0)
        return -1;
    if (recording_open(&how, a, tracefile_default(a, name, getpid()), &to, &w, err) < 0)
        return to.state ? plainly_become(argv, &mask, mute, err) : -1;
    live_page_of(&live_page, to.path);
    collect_library(w.collect, library);
    w.environment = make_environment(a, argv[0], library, w.collect);
    failed = watch(&w, a, &result, err);
    plainly_ended();
    if (recording_close(&how, &to, &w, failed, err) == 0) {
        say_done(&result, to.path);
        write_page(to.path);
        return status_of(&result, to.path);
    }
    if (failed)
        return err->code == EXIT_OWN ? plainly_become(argv, &mask, mute, err) : -1;
    fprintf(stderr, "tidemark: %s\n", err->text); /* whose status is the command's */
    return result.signal ? 128 + result.signal : result.exit_code;
}

/* The address is said in any case, as nobody can know it. */
static int start_live(struct arena *a, struct err *err)
{
    if (port && !live)
        return err_code(err, EXIT_USAGE, "--port is for --live");
    if (!live)
        return 0;
    if (live_page_start(&live_page, port, a, err))
        return -1;
    fprintf(stderr, "tidemark: the recording can be watched at %s\n", live_page.address);
    return 0;
}

static int run(int argc, char **argv, struct err *err)
{
    struct arena arena = {0};
    int operands = options_parse(options, argc, argv, false, err), status;

    if (operands < 0)
        return -1;
    if (!operands)
        return err_code(err, EXIT_USAGE, "give a command to record");
    if (html && webpage_check(html, err))
        return err->code = EXIT_OWN, -1;
    if (start_live(&arena, err))
        return err->code = err->code ? err->code : EXIT_OWN, -1;
    status = record(&arena, argv[1], script_words(&arena, argv + 1, how.quiet), err);
    live_page_end(&live_page);
    arena_free(&arena);
    return status;
}

static const struct command_exit exits[] = {
    {"N", "the command's own exit code"},
    {"1", "the command ended well, and broke a --limit"},
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
    .summary = "Record what a command and its processes allocate and compute, with stacks",
    .description =
        "Runs COMMAND with a library loaded into it and all its children that records allocations with their stacks. Everything goes into one trace, with all that 'run --record' keeps. 'tidemark report' answers questions from it.\n\nBy default allocations are sampled: each byte has the same chance of being sampled, and every number is an estimate with its error. --exact records every allocation and free. Once a process has loaded a deep-learning framework (PyTorch, jaxlib and others), its blocks of 4 KiB and more, which its tensors are, are recorded exactly unless --sample or --exact is given.\n\nWith --steps 5-20 stacks are recorded in these steps only. What is allocated in other steps is known by address and size, so totals of what is alive are right everywhere. A step is what the program reports with tidemark.step(), tidemark_step() or a range of NVTX or ITT that is called step.\n\nCPU time is sampled as well: each thread records where it is whenever it has used 10 ms of CPU time, and at first at every tick of the kernel, usually 4 ms, which is as fine as it gets. The kernel's work for page faults is charged to the code that caused them.\n\nPrograms that the library cannot enter (statically linked, 32-bit, set-user-id, of another libc, with a sanitizer) run as usual and are watched from outside; the report names them. A program with its own malloc linked in can report its blocks through tidemark.h.\n\nWhere the machine does not allow a recording (no space on the disk, no memory, no descriptors), the command runs unrecorded, a message says so, and the exit code is the command's own. If another recording is already writing the same trace, this one takes the next name: x.2.tide for x.tide. A trace that is lost while the command runs is reported at the end, with the command's exit code. A request that cannot be met, such as a trace in a folder that does not exist, is an error before anything runs.\n\nWith --live the report page is served while the command runs, as 'tidemark serve' does, and grows with the recording. Its data is made by another process, at the lowest priority, for at most a tenth of the time, and only while somebody looks; the recording itself is unchanged. When the command has ended, open pages show the final state.\n\nOnly you can read the trace (mode 0600). It holds the command lines of all processes; --redact leaves out what may be secret in them.\n\nRecorded processes have two extra variables in their environment, LD_PRELOAD and TIDEMARK_RING, even where a program gives its children a different environment. The command also gets NVTX_INJECTION64_PATH and INTEL_LIBITTNOTIFY64, and OPENCL_LAYERS where OpenCL is installed, unless they are set: through them, programs that annotate themselves and OpenCL's loader find the library.\n\nEvery allocation on a device (CUDA, HIP, Level Zero, Ascend, OpenCL) is recorded with its stack, in either mode; 'tidemark report FILE spaces' shows it.\n\nWith --ops and --accesses a few lines of Python from the library run inside programs that import PyTorch: they switch on PyTorch's own ITT ranges for operators, and make it report what operators read and write. The program needs no import and sees no module. While a program profiles itself with torch.profiler it is left alone, and no operator is recorded. If something prevents this, the questions ops and inefficient say what. --accesses works for OpenCL as well.",
    .examples = "tidemark record -o app.tide ./app\n    sampled: cheap enough to leave on\n"
                "tidemark record --exact make -j4\n    every allocation of every process\n"
                "tidemark record --html app.html ./app\n    and a page that shows it in a browser\n"
                "tidemark record --live ./app\n    and watch it in a browser meanwhile\n"
                "tidemark report app.tide peak\n    who held memory at the peak\n",
    .options = options,
    .exits = exits,
    .run = run,
};
