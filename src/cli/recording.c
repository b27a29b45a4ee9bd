/* recording - see recording.h. */
#include "cli/recording.h"

#include "base/text.h"
#include "cli/command.h"
#include "cli/frame_names.h"
#include "cli/source_text.h"
#include "watch/collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define LIBRARY "libtidemark.so"
#define DEPTH_LEAST 8
#define SAMPLE_LEAST 1024

int recording_parse_sample(const char *text, void *to, struct err *err)
{
    if (text_parse_size(text, to, err) < 0)
        return -1;
    if (*(uint64_t *)to < SAMPLE_LEAST)
        return err_code(err, EXIT_USAGE,
                        "a sample every %s bytes is out of range; it must be 1KiB or more", text);
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

int recording_library(char out[PATH_MAX], struct err *err)
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

const char *recording_default(struct arena *a, const char *name, int pid)
{
    const char *base = strrchr(name, '/');

    return arena_printf(a, "%s.%d.tide", base && base[1] ? base + 1 : name, pid);
}

static uint64_t origin_of(const struct trace_store *s)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - trace_store_now(s);
}

/* From 5.9 on, a timer on a CPU clock is looked at when a thread returns from the kernel. Before that,
 * its signal comes into the midst of waits, reads and writes, and ends them.
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
        fprintf(stderr,
                "tidemark: CPU time is not sampled: before Linux 5.9 a sample can end a wait "
                "of the program; --cpu-interval 10ms takes samples all the same\n");
    return false;
}

int recording_open(const struct recording *r, const char *path, struct watch_options *w,
                   struct err *err)
{
    bool cpu = wants_cpu(r);
    struct collect_options how = {.mode = r->cpu_only ? RING_NO_HEAP
                                        : r->exact    ? RING_EXACT
                                                      : RING_SAMPLED,
                                  .sample_mean = r->sample_mean,
                                  .depth = (uint32_t)r->depth,
                                  .wants = (r->native ? 0u : RING_WANTS_PYTHON) |
                                           (cpu ? RING_WANTS_CPU : 0u) | RING_WANTS_WAITS |
                                           (r->copies ? RING_WANTS_COPIES : 0u),
                                  .cpu_ns = r->cpu_ns};
    const char *mode = r->cpu_only ? "no" : r->exact ? "exact" : "sampled";
    struct err later;

    w->interval_ns = r->interval_ns ? r->interval_ns : RECORDING_INTERVAL_NS;
    w->store = trace_store_create(path, err);
    if (!w->store)
        return err->code = EXIT_OWN, -1;
    how.origin_ns = origin_of(w->store);
    w->collect = collect_create(&how, w->store, err);
    if (!w->collect) {
        trace_store_close(w->store, &later);
        unlink(path);
        return err->code = EXIT_OWN, -1;
    }
    trace_store_fact(w->store, TRACE_OF_RUN, 0, "recorded", mode, strlen(mode));
    if (cpu)
        trace_store_fact(w->store, TRACE_OF_RUN, 0, "cpu", "sampled", 7);
    if (r->copies)
        trace_store_fact(w->store, TRACE_OF_RUN, 0, "copies", "sampled", 7);
    if (r->paused)
        collect_pause(w->collect, true);
    return 0;
}

int recording_close(const struct recording *r, const char *path, const struct watch_options *w,
                    int failed, struct err *err)
{
    struct err later = {0};

    if (!failed && !r->no_names && frame_names_add(path, w->store, r->debuginfod, &later) < 0)
        fprintf(stderr, "tidemark: addresses stay without names: %s\n", later.text);
    if (!failed && source_text_add(path, w->store, w->command, &later) < 0)
        fprintf(stderr, "tidemark: the trace stays without source: %s\n", later.text);
    if (trace_store_close(w->store, failed ? &later : err) < 0 && !failed)
        return err->code = EXIT_OWN, -1;
    if (failed)
        unlink(path); /* nothing was ever recorded */
    return failed;
}
