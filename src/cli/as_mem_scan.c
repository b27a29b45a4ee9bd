/* as_mem_scan - the tool under the name mem-scan: its options, units, report and exit codes. Unlike
 * there, options after the command's first word are the command's.
 */
#include "cli/command.h"
#include "cli/script.h"
#include "cli/words.h"
#include "devices/choice.h"
#include "report/devices_report.h"
#include "report/run_mem_scan.h"
#include "watch/watch.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct device_choice devices;
static uint64_t interval_ns = 100000000u;
static const char *output;
static bool quiet;

static int parse_seconds(const char *text, void *to, struct err *err)
{
    char *end;
    double seconds = strtod(text, &end);

    if (end == text || *end || !isfinite(seconds) || seconds < 0.001 || seconds > 1e6)
        return err_code(err, EXIT_USAGE, "'%s' is not an interval in seconds, such as 0.05", text);
    *(uint64_t *)to = (uint64_t)(seconds * 1e9);
    return 0;
}

static const struct option options[] = {
    {0, "gpu-id", "N", &devices, device_choice_parse_gpu, "The GPU to watch (default: 0)", NULL,
     NULL},
    {0, "interval", "SECONDS", &interval_ns, parse_seconds, "Time between samples (default: 0.1)",
     NULL, NULL},
    {0, "output", "FILE", &output, NULL, "Write the report as JSON to FILE as well", NULL, NULL},
    {0, "quiet", NULL, &quiet, NULL, "Discard what the command writes", NULL, NULL},
    {0},
};

/* It could not be written: everything else is there. */
static int save(const struct watch_result *r, struct err *err)
{
    FILE *file = output ? fopen(output, "we") : NULL;
    bool failed;

    if (!output)
        return 0;
    if (file)
        run_mem_scan_json(r, file);
    failed = !file || ferror(file);
    if ((file && fclose(file)) || failed)
        return err_set(err, "cannot write '%s': %s", output, strerror(errno));
    printf("\nReport saved to: %s\n", output);
    return 0;
}

static void warn(const struct watch_result *r)
{
    if (devices_report_first(r))
        return;
    fputs("Warning: no GPU memory is monitored", stderr);
    for (size_t i = 0; i < r->device_note_count; i++)
        fprintf(stderr, "%s%s", i ? "; " : ": ", r->device_notes[i]);
    fputc('\n', stderr);
}

static int watch_it(struct arena *a, char *const *argv, struct err *err)
{
    struct watch_options w = {.argv = argv,
                              .command = words_joined(a, argv),
                              .interval_ns = interval_ns,
                              .children = true,
                              .mute = quiet,
                              .threshold = ABSENT,
                              .devices = &devices};
    struct watch_result result;

    run_mem_scan_begin(w.command, devices.gpu, interval_ns, stdout);
    fflush(stdout);
    if (watch(&w, a, &result, err) < 0) {
        printf("Error executing command: %s\n", err->text);
        return EXIT_NO;
    }
    warn(&result);
    run_mem_scan_text(&result, stdout);
    if (save(&result, err) < 0)
        return -1;
    return result.signal ? 256 - result.signal : result.exit_code;
}

static int run(int argc, char **argv, struct err *err)
{
    struct arena arena = {0};
    int operands = options_parse(options, argc, argv, false, err), status;

    if (operands < 0)
        return -1;
    if (!operands)
        return err_code(err, EXIT_USAGE, "give a command to run");
    if (!devices.gpu_asked)
        device_choice_parse_gpu("0", &devices, err);
    status = watch_it(&arena, script_words(&arena, argv + 1, quiet), err);
    arena_free(&arena);
    return status;
}

static const struct command_exit exits[] = {
    {"N", "the command's own exit code"},
    {"256-N", "the command was killed by signal N"},
    {"1", "the command could not be run, or the report not be written"},
    {"2", "the options are wrong"},
    {NULL, NULL},
};

const struct command as_mem_scan = {
    .name = "mem-scan",
    .operands = "[--] COMMAND [ARGS...]",
    .summary = "Run a command and report memory of the whole host and of one GPU meanwhile",
    .description = "What tidemark is under the name mem-scan. 'tidemark run' says more.",
    .options = options,
    .exits = exits,
    .run = run,
};
