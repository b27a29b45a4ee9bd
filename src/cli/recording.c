/* recording - see recording.h. */
#include "cli/recording.h"

#include "base/clock.h"
#include "base/count.h"
#include "base/kept.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/tracefile.h"
#include "collect/collect.h"
#include "finish/frame_names.h"
#include "finish/source_text.h"
#include "platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define LIBRARY "libtidemark.so"
#define DEPTH_LEAST 8
#define SAMPLE_LEAST 1024
#define EXACT_LEAST 1024 /* bytes: a Python interpreter keeps half of that in pools of its own */

int recording_parse_exact(const char *text, void *to, struct err *err)
{
    struct recording_exact *exact = to;

    *exact = (struct recording_exact){.all = !*text};
    if (!*text)
        return 0;
    if (text_parse_size(text, &exact->from_bytes, err) < 0)
        return -1;
    if (exact->from_bytes < EXACT_LEAST)
        return err_code(err, EXIT_USAGE,
                        "'%s' is too small; write --exact=1KiB or more, or --exact alone for every "
                        "block",
                        text);
    return 0;
}

int recording_parse_sample(const char *text, void *to, struct err *err)
{
    if (text_parse_size(text, to, err) < 0)
        return -1;
    if (*(uint64_t *)to < SAMPLE_LEAST)
        return err_code(err, EXIT_USAGE, "'%s' is too small; write 1KiB or more", text);
    return 0;
}

int recording_parse_depth(const char *text, void *to, struct err *err)
{
    if (!text_parse_number(text, to) || *(uint64_t *)to < DEPTH_LEAST ||
        *(uint64_t *)to > RING_DEPTH_MOST)
        return err_code(err, EXIT_USAGE, "'%s' is not a depth; write a number from %d to %u", text,
                        DEPTH_LEAST, RING_DEPTH_MOST);
    return 0;
}

int recording_parse_interval(const char *text, void *to, struct err *err)
{
    return text_parse_interval(text, to, err);
}

void recording_say_devices(const struct watch_result *r)
{
    for (size_t i = 0; r->devices_asked && i < r->device_note_count; i++)
        fprintf(stderr, "tidemark: not read: %s\n", r->device_notes[i]);
}

void recording_say_tensors(const struct recording *how, const struct watch_result *r)
{
    char size[TEXT_SIZE];

    if (!how->quiet && r->tensors_from)
        fprintf(stderr,
                "tidemark: blocks of %s and more were recorded exactly since %s was loaded, others "
                "sampled; --sample or --exact chooses otherwise\n",
                text_size(size, r->tensors_from), r->framework);
}

void recording_say_windows(const struct recording *how, const struct watch_result *r)
{
    windows_say(&how->windows, how->deferred, r);
}

int recording_possible(struct err *err)
{
    char tool[PATH_MAX];

    if (self_file(tool, sizeof(tool)))
        return 0;
    return err_code(err, EXIT_OWN,
                    "a recording must see the processes of the system, but cannot see even its "
                    "own: mount /proc");
}

int recording_library(char out[PATH_MAX], struct err *err)
{
    static const char *const places[] = {"%.*s/" LIBRARY, "%.*s/../lib/tidemark/" LIBRARY};
    char tool[PATH_MAX];
    const char *slash = self_file(tool, sizeof(tool)) ? strrchr(tool, '/') : NULL;

    for (int i = 0; slash && i < COUNT(places); i++) {
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

static uint64_t origin_of(const struct trace_store *s)
{
    return clock_ns(CLOCK_MONOTONIC) - trace_store_now(s);
}

static void say_deaf(void *context, int error)
{
    static const char orders[] =
        "'tidemark pause', 'resume', 'snapshot' and 'detach' will not reach";

    (void)context;
    if (error == EADDRINUSE)
        fprintf(stderr,
                "tidemark: another process already listens under this recording's name: %s it\n",
                orders);
    else
        fprintf(stderr, "tidemark: %s this recording: %s\n", orders, strerror(error));
}

static void say_looked(void *context, int pid, uint64_t stood_ns, const char *why)
{
    char time[TEXT_SIZE];

    (void)context;
    if (why)
        fprintf(stderr, "tidemark: what points to blocks of process %d is not known: %s\n", pid,
                why);
    else
        fprintf(stderr,
                "tidemark: process %d was stopped for %s to find what points to its blocks\n", pid,
                text_duration(time, stood_ns));
}

/* From 5.9 on, a timer on a CPU clock is looked at when a thread returns from the kernel. Before
 * that, its signal comes into the midst of waits, reads and writes, and ends them.
 */
static bool samples_end_calls(void)
{
    struct utsname system;
    int major, minor;

    return uname(&system) == 0 && sscanf(system.release, "%d.%d", &major, &minor) == 2 &&
           (major < 5 || (major == 5 && minor < 9));
}

/* Those who name an interval, or want nothing else, get their samples. */
static bool wants_cpu(const struct recording *r)
{
    if (r->no_cpu || r->cpu_ns || r->cpu_only || !samples_end_calls())
        return !r->no_cpu;
    if (!r->quiet)
        fprintf(
            stderr,
            "tidemark: CPU time is not sampled: before Linux 5.9 a sample can cut a wait of the program short; --cpu-interval 10ms samples all the same\n");
    return false;
}

/* It is not the trace that is at fault. */
static bool lacks_descriptors(void)
{
    int fd = open("/", O_PATH | O_CLOEXEC);

    if (fd >= 0)
        close(fd);
    return fd < 0 && (errno == EMFILE || errno == ENFILE);
}

void recording_samples_cpu(struct trace_store *store)
{
    trace_store_fact(store, TRACE_OF_RUN, 0, FACT_CPU, "sampled", 7);
}

/* The files that they name are opened with their rights when the recording ends. */
static void look_at_rights(void *rights, int pid)
{
    rights_look(rights, pid);
}

static void put_number(struct trace_store *s, const char *key, uint64_t number)
{
    char text[24];
    int bytes = snprintf(text, sizeof(text), "%" PRIu64, number);

    trace_store_fact(s, TRACE_OF_RUN, 0, key, text, (size_t)bytes);
}

static void put_sampling(struct trace_store *s, const struct collect_options *how)
{
    put_number(s, FACT_SAMPLE_MEAN, how->sample_mean ? how->sample_mean : COLLECT_SAMPLE_MEAN);
    if (how->whole_from)
        put_number(s, FACT_WHOLE, how->whole_from);
}

/* Options that exclude each other for a reason that is worth a sentence. */
static int check(const struct recording *r, struct err *err)
{
    if (r->exact.all && r->sample_mean)
        return err_code(err, EXIT_USAGE,
                        "--exact records every block, so there is nothing to --sample; write "
                        "--exact=SIZE to sample those that are smaller");
    if (r->ops && (r->exact.all || r->cpu_only))
        return err_code(err, EXIT_USAGE,
                        "--ops needs to know when each block came and went, which --%s does not "
                        "keep; write --exact=4KiB, or neither",
                        r->cpu_only ? "cpu-only" : "exact");
    if (r->reachable && !r->exact.all)
        return err_code(
            err, EXIT_USAGE,
            "--reachable needs --exact: to find what points to a block, every block must be known");
    return 0;
}

static uint32_t wants_of(const struct recording *r, bool cpu)
{
    return (r->native ? 0u : RING_WANTS_PYTHON) | (cpu ? RING_WANTS_CPU : 0u) | RING_WANTS_WAITS |
           (r->copies ? RING_WANTS_COPIES : 0u) | (r->launches ? RING_WANTS_LAUNCHES : 0u) |
           (r->accesses ? RING_WANTS_ACCESSES : 0u) | (r->ops ? RING_WANTS_OPS : 0u) |
           (r->reachable ? RING_WANTS_REACH : 0u) | (r->exact.from_bytes ? RING_WANTS_ROOM : 0u);
}

static struct collect_options collect_how(const struct recording *r, bool cpu, uint64_t origin_ns)
{
    return (struct collect_options){.mode = r->cpu_only  ? RING_NO_HEAP
                                          : r->exact.all ? RING_EXACT
                                                         : RING_SAMPLED,
                                    .sample_mean = r->sample_mean,
                                    .whole_from = r->exact.from_bytes,
                                    .depth = (uint32_t)r->depth,
                                    .wants = wants_of(r, cpu),
                                    .cpu_ns = r->cpu_ns,
                                    .windows = r->windows.list,
                                    .window_count = r->windows.count,
                                    .deferred = r->deferred,
                                    .watch = r->watch.text,
                                    .origin_ns = origin_ns};
}

static void watch_how(const struct recording *r, struct recorded *to, struct watch_options *w)
{
    w->on_deaf = say_deaf;
    w->on_looked = r->quiet ? NULL : say_looked;
    w->on_process = look_at_rights;
    w->seer = &to->rights;
    w->redact = r->redact;
    w->devices = &r->devices;
    w->interval_ns = r->interval_ns ? r->interval_ns : RECORDING_INTERVAL_NS;
}

/* What a reader must know of how it was recorded. */
static void put_facts(const struct recording *r, const struct collect_options *how, bool cpu,
                      struct trace_store *s)
{
    const char *mode = r->cpu_only ? "no" : r->exact.all ? "exact" : "sampled";

    trace_store_fact(s, TRACE_OF_RUN, 0, FACT_RECORDED, mode, strlen(mode));
    if (!r->cpu_only && !r->exact.all)
        put_sampling(s, how);
    windows_put(s, &r->windows, r->deferred);
    watch_names_put(s, &r->watch);
    if (cpu)
        recording_samples_cpu(s);
    if (r->ops)
        put_number(s, FACT_OPS, 1);
    if (r->copies)
        trace_store_fact(s, TRACE_OF_RUN, 0, FACT_COPIES, "sampled", 7);
}

/* The command runs without it where `state` says so. */
static int cannot_open(struct recorded *to, bool state, struct err *err)
{
    to->state = state;
    return err->code = EXIT_OWN, -1;
}

int recording_open(const struct recording *r, struct arena *a, const char *plain,
                   struct recorded *to, struct watch_options *w, struct err *err)
{
    struct tracefile file = {.named = r->output, .plain = plain, .force = r->force};
    struct collect_options how;
    bool cpu = wants_cpu(r);

    if (check(r, err) < 0)
        return -1;
    if (r->no_cache)
        kept_off();
    watch_how(r, to, w);
    w->store = tracefile_create(a, &file, err);
    to->path = file.path;
    if (!w->store)
        return cannot_open(to, file.state || lacks_descriptors(), err);
    how = collect_how(r, cpu, origin_of(w->store));
    w->collect = collect_create(&how, w->store, err);
    if (!w->collect) {
        trace_store_discard(w->store);
        return cannot_open(to, true, err); /* memory and descriptors are all that it needs */
    }
    put_facts(r, &how, cpu && !w->on_confined, w->store);
    to->cpu = cpu;
    if (r->paused)
        collect_pause(w->collect, true);
    return 0;
}

/* Where the trace can be read back while it is written, whatever became of its path. */
static const char *path_again(const struct recorded *to, const struct trace_store *s,
                              char room[SELF_PATH])
{
    int fd = trace_store_descriptor(s);

    return fd >= 0 && self_descriptor(fd, room) ? room : to->path;
}

int recording_close(const struct recording *r, struct recorded *to, const struct watch_options *w,
                    int failed, struct err *err)
{
    struct err later = {0};
    char room[SELF_PATH];
    const char *path;
    bool there;

    if (failed) {
        trace_store_discard(w->store); /* nothing was ever recorded */
        return failed;
    }
    path = path_again(to, w->store, room);
    there = trace_store_check(w->store, &later) == 0; /* if not, that is said when it is closed */
    if (there && !r->no_names &&
        frame_names_add(path, w->store, r->debuginfod, &to->rights, &later) < 0)
        fprintf(stderr, "tidemark: the functions have no names: %s\n", later.text);
    if (there && source_text_add(path, w->store, w->command, &to->rights, &later) < 0)
        fprintf(stderr, "tidemark: the trace has no source lines: %s\n", later.text);
    rights_free(&to->rights);
    if (trace_store_close(w->store, err) < 0)
        return err->code = EXIT_OWN, -1;
    return 0;
}
