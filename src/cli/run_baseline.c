/* run_baseline - see run_baseline.h. */
#include "cli/run_baseline.h"

#include "base/text.h"
#include "platform/platform.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

int run_baseline_prepare(struct run_baseline *k, struct arena *a, struct err *err)
{
    const char *directory = baseline_directory(a, k->directory);
    const char *name = k->save ? k->save : k->compare;

    if (!name)
        return 0;
    k->path = baseline_path(a, directory, name, err);
    if (!k->path)
        return -1;
    return k->compare ? baseline_load(a, k->path, name, &k->was, err)
                      : baseline_prepare(directory, err);
}

int run_baseline_keep(const struct run_baseline *k, struct arena *a, const struct watch_result *r,
                      struct err *err)
{
    char stamp[TEXT_STAMP];
    struct utsname system = {.machine = "unknown"};
    struct baseline b = {
        .version = TIDEMARK_VERSION,
        .created_at = text_stamp(stamp, r->end_real_ns),
        .command = r->command,
        .peak_rss = r->peak_lower,
        .peak_vsz = r->peak_vsz,
        .duration_ms = r->duration_ns / 1000000u,
        .platform = platform_name,
        .main_pid = r->main_pid,
    };

    uname(&system);
    b.arch = arena_printf(a, "%s", system.machine);
    if (baseline_save(k->path, &b, err) < 0)
        return -1;
    fprintf(stderr, "Baseline '%s' saved to: %s\n", k->save, k->path);
    return 0;
}

void run_baseline_list(const struct run_baseline *k, struct arena *a)
{
    const char **names;
    size_t count = baseline_list(a, baseline_directory(a, k->directory), &names);

    puts(count ? "Saved baselines:" : "No baselines found.");
    for (size_t i = 0; i < count; i++)
        printf("  %s\n", names[i]);
}

int run_baseline_delete(const struct run_baseline *k, struct arena *a, const char *name,
                        struct err *err)
{
    const char *path = baseline_path(a, baseline_directory(a, k->directory), name, err);

    if (!path)
        return -1;
    if (unlink(path) < 0)
        return err_set(err, "cannot delete the baseline '%s' (%s): %s", name, path,
                       strerror(errno));
    printf("Baseline '%s' deleted.\n", name);
    return 0;
}
