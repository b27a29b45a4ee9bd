/* attach - record what a process allocates that already runs, until it ends or we are told to. */
#include "attach/attach.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/recording.h"
#include "cli/tracefile.h"
#include "cli/words.h"
#include "collect/collect.h"
#include "platform/platform.h"
#include "watch/limits.h"

#include <stdio.h>
#include <string.h>

static struct recording how;
static bool self_loading;
static uint64_t duration_ns;

static int parse_duration(const char *text, void *to, struct err *err)
{
    if (text_parse_moment(text, 0, to, err) < 0)
        return -1;
    if (strchr(text, '%') || *(uint64_t *)to == 0)
        return err_code(err, EXIT_USAGE, "'%s' is not a duration; write 10 (s), 500ms or 2m", text);
    return 0;
}

static const struct option options[] = {
    RECORDING_OPTIONS(how, "(default: NAME.PID.tide in this folder)"),
    {0, "reachable", NULL, &how.reachable, NULL,
     "At the end, and at each 'tidemark snapshot', find blocks that nothing points to any more; needs --exact. The process is stopped meanwhile; how long is reported",
     NULL, NULL},
    {0, "duration", "TIME", &duration_ns, parse_duration,
     "Detach after TIME: 10 (s), 500ms, 2m; otherwise when the process ends, at Ctrl-C or at "
     "'tidemark detach'",
     NULL, NULL},
    {0, "self-loading", NULL, &self_loading, NULL,
     "Do not enter the process: print the ring and the library, for a process that loads it "
     "itself (see tidemark.h)",
     NULL, NULL},
    {0},
};

struct attached {
    const char *library;
    const struct collect *collect;
    struct trace_store *store;
    struct recorded *to;
    int pid;
};

static void say_confined(void *context)
{
    const struct attached *a = context;

    if (a->to->cpu && !how.quiet)
        fprintf(stderr,
                "tidemark: CPU time is not sampled: process %d filters its system calls (seccomp), "
                "and could be killed for one that this takes\n",
                a->pid);
    a->to->cpu = false;
}

static void say_begun(void *context)
{
    const struct attached *a = context;

    if (a->to->cpu)
        recording_samples_cpu(a->store);
    if (self_loading) {
        printf("%s %s\n", collect_ring(a->collect), a->library);
        fflush(stdout);
    } else if (!how.quiet) {
        fprintf(stderr, "tidemark: recording process %d; Ctrl-C or 'tidemark detach %d' ends it\n",
                a->pid, a->pid);
    }
}

static const char *name_of(struct arena *a, int pid)
{
    struct proc_reading r = {.name = "process"};
    struct proc p;

    proc_open(&p, pid, false);
    proc_read_stat(&p, &r);
    r.name[strcspn(r.name, "\n/")] = '\0';
    return arena_printf(a, "%s", r.name);
}

static int attach(struct arena *a, int pid, struct err *err)
{
    const char *number = arena_printf(a, "%d", pid);
    char library[PATH_MAX], size[TEXT_SIZE];
    struct recorded to = {0};
    struct attached who = {.library = library, .to = &to, .pid = pid};
    struct watch_options w = {.pids = &pid,
                              .pid_count = 1,
                              .command = words_of(a, pid),
                              .children = true,
                              .threshold = ABSENT,
                              .library = library,
                              .self_loading = self_loading,
                              .duration_ns = duration_ns,
                              .context = &who,
                              .on_confined = say_confined,
                              .on_begun = say_begun};
    struct watch_result result;
    int failed;

    limits_raise();
    if (recording_library(library, err) < 0 ||
        recording_open(&how, a, tracefile_default(a, name_of(a, pid), pid), &to, &w, err) < 0)
        return -1;
    who.collect = w.collect;
    who.store = w.store;
    trace_store_fact(w.store, TRACE_OF_RUN, 0, FACT_ATTACHED, number, strlen(number));
    failed = watch(&w, a, &result, err);
    if (recording_close(&how, &to, &w, failed, err) < 0)
        return -1;
    recording_say_devices(&result);
    recording_say_tensors(&how, &result);
    recording_say_windows(&how, &result);
    if (!how.quiet)
        fprintf(stderr,
                "tidemark: peak RSS since the attach %s%s; recorded to %s; see 'tidemark report "
                "%s'\n",
                result.peak_exact ? "" : "at least ", text_size(size, result.peak_lower), to.path,
                to.path);
    return EXIT_OK;
}

static int run(int argc, char **argv, struct err *err)
{
    struct arena arena = {0};
    int operands = options_parse(options, argc, argv, true, err), status;
    uint64_t pid;

    if (operands < 0)
        return -1;
    if (operands != 1 || !text_parse_number(argv[1], &pid) || !pid || pid > 1 << 30)
        return err_code(err, EXIT_USAGE, "give the pid of one process to record");
    if (recording_possible(err) < 0 || attach_check((int)pid, self_loading, err) < 0)
        return -1;
    status = attach(&arena, (int)pid, err);
    arena_free(&arena);
    return status;
}

static const struct command_exit exits[] = {
    {"0", "the process was recorded until it ended or was detached from"},
    {"2", "the options are wrong"},
    {"125", "tidemark itself failed"},
    {"126", "the process cannot be recorded; the message says why"},
    {"127", "there is no such process"},
    {NULL, NULL},
};

const struct command cmd_attach = {
    .name = "attach",
    .operands = "PID",
    .summary = "Record a process that is already running",
    .description =
        "Loads the library of 'tidemark record' into a running process, and records what it and the processes it forks allocate from then on. What it allocated earlier is not known: frees of such blocks are counted, and nothing more.\n\nOne thread of the process is borrowed for a few milliseconds, at a point where it holds no lock of the allocator or the loader; the others keep running, and a system call that it was waiting in is continued. At the end everything that was changed is put back; the library stays in the process, idle, ready for the next time.\n\nA program that the process starts by exec is only watched from outside.",
    .examples =
        "tidemark attach --duration 30 -o server.tide 4711\n    thirty seconds of a server\n"
        "tidemark attach --exact 4711 &\n    every allocation, until ...\n"
        "tidemark detach 4711\n    ... this ends it\n",
    .options = options,
    .exits = exits,
    .run = run,
};
