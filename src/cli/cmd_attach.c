/* attach - record what a process allocates that already runs, until it ends or we are told to. */
#include "base/text.h"
#include "cli/command.h"
#include "cli/recording.h"
#include "cli/words.h"
#include "watch/attach.h"
#include "watch/collect.h"

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
    RECORDING_OPTIONS(how, "NAME.PID.tide in this folder when not given"),
    {0, "duration", "TIME", &duration_ns, parse_duration,
     "Detach after TIME: 10 (s), 500ms, 2m; else when the process ends, at Ctrl-C or 'tidemark "
     "detach'",
     NULL, NULL},
    {0, "self-loading", NULL, &self_loading, NULL,
     "Do not enter the process: print the ring and the library, which it loads itself (see "
     "tidemark.h)",
     NULL, NULL},
    {0},
};

struct attached {
    const char *library;
    const struct collect *collect;
    int pid;
};

static void say_begun(void *context)
{
    const struct attached *a = context;

    if (self_loading) {
        printf("%s %s\n", collect_ring(a->collect), a->library);
        fflush(stdout);
    } else if (!how.quiet) {
        fprintf(stderr,
                "tidemark: recording process %d; Ctrl-C or 'tidemark detach %d' ends that\n",
                a->pid, a->pid);
    }
}

static const char *name_of(struct arena *a, int pid)
{
    const char *path = arena_printf(a, "/proc/%d/comm", pid);
    char name[64] = "process";
    FILE *f = fopen(path, "re");

    if (f) {
        (void)!fgets(name, sizeof(name), f);
        fclose(f);
    }
    name[strcspn(name, "\n/")] = '\0';
    return arena_printf(a, "%s", name);
}

static int attach(struct arena *a, int pid, const char *path, struct err *err)
{
    const char *number = arena_printf(a, "%d", pid);
    char library[PATH_MAX], size[TEXT_SIZE];
    struct attached who = {library, NULL, pid};
    struct watch_options w = {.pids = &pid,
                              .pid_count = 1,
                              .command = words_of(a, pid),
                              .children = true,
                              .threshold = ABSENT,
                              .library = library,
                              .self_loading = self_loading,
                              .duration_ns = duration_ns,
                              .context = &who,
                              .on_begun = say_begun};
    struct watch_result result;
    int failed;

    if (recording_library(library, err) < 0 || recording_open(&how, path, &w, err) < 0)
        return -1;
    who.collect = w.collect;
    trace_store_fact(w.store, TRACE_OF_RUN, 0, "attached", number, strlen(number));
    failed = watch(&w, a, &result, err);
    if (recording_close(&how, path, &w, failed, err) < 0)
        return -1;
    if (!how.quiet)
        fprintf(stderr, "tidemark: peak RSS %s; recorded to %s; see 'tidemark report %s'\n",
                text_size(size, result.peak_lower), path, path);
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
    if (attach_check((int)pid, self_loading, err) < 0)
        return -1;
    status = attach(&arena, (int)pid,
                    how.output ? how.output
                               : recording_default(&arena, name_of(&arena, (int)pid), (int)pid),
                    err);
    arena_free(&arena);
    return status;
}

static const struct command_exit exits[] = {
    {"0", "it was recorded, and detached from or has ended"},
    {"2", "the options are wrong"},
    {"125", "tidemark itself failed"},
    {"126", "the process cannot be recorded; the sentence says why"},
    {"127", "there is no such process"},
    {NULL, NULL},
};

const struct command cmd_attach = {
    .name = "attach",
    .operands = "PID",
    .summary = "record a process that already runs",
    .description =
        "Brings the library of 'tidemark record' into a process that runs, and records what it and "
        "the processes that it forks allocate from then on. What it allocated before is not known: "
        "a free of that is counted, no more.\n\n"
        "One thread of the process is borrowed for some milliseconds, at a point where it holds no "
        "lock of the allocator or the loader; the others run on, and a system call that it waited "
        "in goes on. At the end all that was changed is put back; the library stays in the "
        "process, idle, and is used again the next time.\n\n"
        "A program that it starts by exec is watched from outside only.",
    .examples =
        "tidemark attach --duration 30 -o server.tide 4711\n    thirty seconds of a server\n"
        "tidemark attach --exact 4711 &\n    every allocation, until ...\n"
        "tidemark detach 4711\n    ... this ends it\n",
    .options = options,
    .exits = exits,
    .run = run,
};
