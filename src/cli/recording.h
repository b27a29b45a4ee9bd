/* recording - what `record` and `attach` share: their options, the library, the trace that is
 * written. */
#ifndef CLI_RECORDING_H
#define CLI_RECORDING_H

#include "base/arena.h"
#include "base/err.h"
#include "base/options.h"
#include "base/rights.h"
#include "cli/watch_names.h"
#include "cli/windows.h"
#include "devices/choice.h"
#include "watch/watch.h"

#include <limits.h>

struct recording_exact {
    bool all;            /* every block */
    uint64_t from_bytes; /* every block of so many bytes and more, the others sampled; 0: not asked
                            for */
};

struct recording {
    struct recording_exact exact;
    bool quiet, no_names, debuginfod, native, paused, no_cpu, cpu_only, copies, reachable, force;
    bool launches; /* are counted */
    bool accesses; /* are told */
    bool ops;      /* of PyTorch: each is told, with its beginning and end */
    bool deferred;
    struct windows windows;
    struct watch_names watch;
    bool no_cache;
    const char *output;
    enum redact redact;
    struct device_choice devices;
    uint64_t sample_mean, depth, interval_ns, cpu_ns; /* 0: as it is when not given */
};

#define RECORDING_INTERVAL_NS 100000000u

/* Rows for a table of options. */
// clang-format off
#define RECORDING_OPTIONS(r, where)                                                                \
    {'o', "output", "FILE", &(r).output, NULL, "Write the trace to FILE " where, NULL, NULL},     \
    {'f', "force", NULL, &(r).force, NULL,                                                         \
     "Overwrite FILE; otherwise a trace that is there is kept, and the next free name is taken",      \
     NULL, NULL},                                                                                  \
    {0, "exact", "[SIZE]", &(r).exact, recording_parse_exact,                                      \
     "Record every allocation and free, not a sample of them; with SIZE (--exact=4KiB) every "     \
     "block of at least SIZE, and sample smaller ones",                                            \
     NULL, NULL},                                                                                  \
    {0, "sample", "SIZE", &(r).sample_mean, recording_parse_sample,                                \
     "Record one allocation per SIZE bytes on average (default: 512KiB, and more for a "           \
     "process that would be sampled over 300 times a second)",                                      \
     NULL, NULL},                                                                               \
    {0, "depth", "N", &(r).depth, recording_parse_depth,                                           \
     "Keep at most N frames of a stack, from both ends (default: 256)", NULL, NULL},          \
    {0, "no-cpu", NULL, &(r).no_cpu, NULL, "Do not sample where CPU time is spent",                \
     "cpu-interval", NULL},                                                                        \
    {0, "cpu-interval", "TIME", &(r).cpu_ns, recording_parse_interval,                             \
     "CPU time of a thread between two samples of it, shorter at first (default: 10 ms)",     \
     "no-cpu", NULL},                                                                              \
    {0, "cpu-only", NULL, &(r).cpu_only, NULL, "Sample CPU time and record no allocations",        \
     "exact sample no-cpu", NULL},                                                                 \
    {0, "copies", NULL, &(r).copies, NULL,                                                         \
     "Sample which lines copy memory with memcpy and memmove, once per MiB on average", NULL,      \
     NULL},                                                                                        \
    {0, "launches", NULL, &(r).launches, NULL,                                                     \
     "Count what each line launches on devices", NULL, NULL},                                      \
    {0, "accesses", NULL, &(r).accesses, NULL,                                                     \
     "Record what operators and kernels read and write, for the question inefficient", NULL, NULL}, \
    {0, "interval", "TIME", &(r).interval_ns, recording_parse_interval,                            \
     "Time between samples of the processes: 100 (ms), 50ms, 0.05s (default: 100 ms)", NULL,  \
     NULL},                                                                                        \
    {0, "start-paused", NULL, &(r).paused, NULL,                                                   \
     "Record no allocation until 'tidemark resume' or the program asks for it", NULL, NULL},       \
    {0, "steps", "LIST", &(r).windows, windows_parse,                                              \
     "Record stacks only in these steps, as in 5-20,40,100-; blocks of other steps are known by "  \
     "size alone, which costs less, and totals of what is alive stay right",                         \
     "start-paused deferred", NULL},                                                               \
    {0, "deferred", NULL, &(r).deferred, NULL,                                                     \
     "Record stacks only between the program's calls of tidemark.start() and tidemark.stop()",   \
     "start-paused steps", NULL},                                                                  \
    {0, "native", NULL, &(r).native, NULL,                                                         \
     "Do not read Python's lines: treat an interpreter like any other program", NULL, NULL},     \
    {0, "no-names", NULL, &(r).no_names, NULL,                                                     \
     "Leave addresses without function names and lines: the recording ends sooner", "debuginfod",  \
     NULL},                                                                                        \
    {0, "no-cache", NULL, &(r).no_cache, NULL,                                                     \
     "Read all files of the program again, and keep nothing for the next recording",               \
     NULL, NULL},                                                                                  \
    {0, "debuginfod", NULL, &(r).debuginfod, NULL,                                                 \
     "Ask the servers of DEBUGINFOD_URLS for debug information that is missing here", "no-names",      \
     NULL},                                                                                        \
    {0, "redact", "[all]", &(r).redact, redact_parse,                                              \
     "Leave what may be secret, such as the values of passwords and tokens, out of the command lines "  \
     "that are recorded; all: every argument",                                                     \
     NULL, NULL},                                                                                  \
    DEVICE_OPTIONS((r).devices),                                                                   \
    {'q', "quiet", NULL, &(r).quiet, NULL, "Print nothing when all goes well", NULL, NULL}
// clang-format on

int recording_parse_exact(const char *text, void *to, struct err *err);
int recording_parse_sample(const char *text, void *to, struct err *err);
int recording_parse_depth(const char *text, void *to, struct err *err);
int recording_parse_interval(const char *text, void *to, struct err *err);

/* Say on standard error which devices that were asked for were not read. */
void recording_say_devices(const struct watch_result *r);

/* Say on standard error that more was recorded than usual, and why. */
void recording_say_tensors(const struct recording *how, const struct watch_result *r);

/* Say on standard error that no window of those that were asked for was ever there. */
void recording_say_windows(const struct recording *how, const struct watch_result *r);

/* Whether anything can be recorded here: -1 with *err, where a system lacks what it takes. */
int recording_possible(struct err *err);

/* Where the library is: beside the tool in a build folder, or where it is installed. */
int recording_library(char out[PATH_MAX], struct err *err);

struct recorded {
    const char *path;     /* of the trace */
    struct rights rights; /* of those that are recorded */
    bool cpu;             /* its time is sampled, as far as is known by then */
    bool state;           /* after a failure: the machine is in the way, not what was asked for */
};

/* Make the trace (called `plain` where nothing else was asked for) and the collector, for `w` to be
 * watched with.
 */
int recording_open(const struct recording *r, struct arena *a, const char *plain,
                   struct recorded *to, struct watch_options *w, struct err *err);

/* Say in the trace that CPU time is sampled: recording_open does, but where `w->on_confined` may
 * yet say that it cannot be.
 */
void recording_samples_cpu(struct trace_store *store);

/* After the watch, which has failed or not: names, the end of the trace. A trace of nothing goes.
 */
int recording_close(const struct recording *r, struct recorded *to, const struct watch_options *w,
                    int failed, struct err *err);

#endif
