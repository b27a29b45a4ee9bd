/* recording - what `record` and `attach` share: their options, the library, the trace that is written. */
#ifndef CLI_RECORDING_H
#define CLI_RECORDING_H

#include "base/arena.h"
#include "base/err.h"
#include "base/options.h"
#include "watch/watch.h"

#include <limits.h>

struct recording {
    bool exact, quiet, no_names, debuginfod, native, paused, no_cpu, cpu_only, copies;
    const char *output;
    uint64_t sample_mean, depth, interval_ns, cpu_ns; /* 0: as it is when not given */
};

#define RECORDING_INTERVAL_NS 100000000u

/* Rows for a table of options. */
// clang-format off
#define RECORDING_OPTIONS(r, where)                                                                \
    {'o', "output", "FILE", &(r).output, NULL, "Write the trace to FILE; " where, NULL, NULL},     \
    {0, "exact", NULL, &(r).exact, NULL,                                                           \
     "Record every allocation and free, not a sample of them", "sample", NULL},                    \
    {0, "sample", "SIZE", &(r).sample_mean, recording_parse_sample,                                \
     "Record one allocation per SIZE bytes on average; when not given 512KiB, and more for a "     \
     "process that would be sampled over 300 times a second",                                      \
     "exact", NULL},                                                                               \
    {0, "depth", "N", &(r).depth, recording_parse_depth,                                           \
     "Keep at most N frames of a stack, from both ends; 256 when not given", NULL, NULL},          \
    {0, "no-cpu", NULL, &(r).no_cpu, NULL, "Do not sample where CPU time is spent",                \
     "cpu-interval", NULL},                                                                        \
    {0, "cpu-interval", "TIME", &(r).cpu_ns, recording_parse_interval,                             \
     "CPU time of a thread between two samples of it, shorter at first; 10 ms when not given",     \
     "no-cpu", NULL},                                                                              \
    {0, "cpu-only", NULL, &(r).cpu_only, NULL, "Sample CPU time and record no allocations",        \
     "exact sample no-cpu", NULL},                                                                 \
    {0, "copies", NULL, &(r).copies, NULL,                                                         \
     "Sample which lines copy memory with memcpy and memmove, once per MiB on average", NULL,      \
     NULL},                                                                                        \
    {0, "interval", "TIME", &(r).interval_ns, recording_parse_interval,                            \
     "Time between samples of the processes: 100 (ms), 50ms, 0.05s; 100 ms when not given", NULL,  \
     NULL},                                                                                        \
    {0, "start-paused", NULL, &(r).paused, NULL,                                                   \
     "Record no allocation until 'tidemark resume' or the program asks for it", NULL, NULL},       \
    {0, "native", NULL, &(r).native, NULL,                                                         \
     "Leave out the lines of Python: an interpreter is a program like any other", NULL, NULL},     \
    {0, "no-names", NULL, &(r).no_names, NULL,                                                     \
     "Leave addresses without function names and lines: the recording ends sooner", "debuginfod",  \
     NULL},                                                                                        \
    {0, "debuginfod", NULL, &(r).debuginfod, NULL,                                                 \
     "Ask the servers of DEBUGINFOD_URLS for debug information that is not here", "no-names",      \
     NULL},                                                                                        \
    {'q', "quiet", NULL, &(r).quiet, NULL, "Say nothing when all went well", NULL, NULL}
// clang-format on

int recording_parse_sample(const char *text, void *to, struct err *err);
int recording_parse_depth(const char *text, void *to, struct err *err);
int recording_parse_interval(const char *text, void *to, struct err *err);

/* Where the library is: beside the tool in a build folder, or where it is installed. */
int recording_library(char out[PATH_MAX], struct err *err);

/* NAME.PID.tide in this folder; a path counts by its last part. */
const char *recording_default(struct arena *a, const char *name, int pid);

/* Make the trace and the collector, for `w` to be watched with. */
int recording_open(const struct recording *r, const char *path, struct watch_options *w,
                   struct err *err);

/* After the watch, which has failed or not: names, the end of the trace. A trace of nothing goes. */
int recording_close(const struct recording *r, const char *path, const struct watch_options *w,
                    int failed, struct err *err);

#endif
