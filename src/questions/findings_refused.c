/* findings_refused - memory ran out: allocations that failed, processes that were killed for it. */
#include "base/text.h"
#include "questions/finding_rules.h"

#include <inttypes.h>

static bool ended_badly(const struct run *r)
{
    uint64_t status;

    return metrics_get(&r->final, METRIC_EXIT_STATUS, &status) && status;
}

static void find_refused(struct findings *f)
{
    const struct oom *o = &f->oom;
    const struct frames *frames = &f->recorded->frames;
    const struct oom_failure *most = NULL;
    struct finding one = {
        .kind = "refused", .view = "run", .look_at = "oom", .confidence = "certain"};
    struct table_frame site = {0};
    char size[TEXT_SIZE];
    uint64_t times = 0;

    for (size_t i = 0; i < o->count; i++) {
        times += o->list[i].times;
        most = !most || o->list[i].most > most->most ? &o->list[i] : most;
    }
    if (!most)
        return;
    if (most->stack && most->stack <= frames->stack_count)
        site = frames_site(frames, most->stack);
    one.severity = ended_badly(&f->recorded->run) ? FINDING_HIGH : FINDING_MEDIUM;
    one.title = "Memory was refused";
    one.evidence = arena_printf(
        f->answer->arena,
        "%" PRIu64 " allocation%s failed for lack of memory, the largest of %s%s%s", times,
        times == 1 ? "" : "s", text_size(size, most->most), site.function ? " in " : "",
        site.function ? table_site_text(f->answer->arena, &site) : "");
    one.advice =
        "If the program carried on without it, no harm was done; otherwise look at what was held then.";
    one.file = site.file;
    one.line = site.line;
    findings_add(f, &one);
}

static void find_killed(struct findings *f)
{
    const struct run *r = &f->recorded->run;
    struct finding one = {.kind = "killed",
                          .severity = FINDING_HIGH,
                          .view = "run",
                          .look_at = "oom",
                          .confidence = "certain"};

    for (size_t i = 0; i < r->process_count; i++) {
        const struct run_process *p = r->processes[i];

        if (!p->ended || p->end != TRACE_END_OOM)
            continue;
        one.title = "The kernel killed a process for lack of memory";
        one.evidence = arena_printf(f->answer->arena,
                                    "the kernel killed %s (%" PRIu64 ") for lack of memory",
                                    p->name ? p->name : "a process", p->pid);
        one.advice = "Look at what was held then.";
        findings_add(f, &one);
        return;
    }
}

void findings_of_refused(struct findings *f)
{
    find_killed(f);
    find_refused(f);
}
