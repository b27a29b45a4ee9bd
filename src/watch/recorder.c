#include "watch/recorder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define SECOND_NS 1000000000u
#define FIELDS(s) (const uint64_t *)&(s), sizeof(s) / sizeof(uint64_t)

/* A set of numbers that leaves out what is not known. */
struct pairs {
    struct trace_pair pair[32];
    size_t count;
};

static void add(struct pairs *p, enum trace_metric metric, uint64_t value)
{
    if (value != ABSENT && p->count < sizeof(p->pair) / sizeof(p->pair[0]))
        p->pair[p->count++] = (struct trace_pair){metric, value};
}

static void put_sample(struct recorder *r, uint64_t time_ns, enum trace_subject subject,
                       uint64_t id, const struct trace_pair *pairs, size_t count)
{
    struct trace_sample s = {subject, id};

    if (count)
        trace_store_put(r->store, TRACE_SAMPLE, time_ns, FIELDS(s), pairs, count);
}

static uint64_t string_of(struct recorder *r, const char *text)
{
    return trace_store_string(r->store, text, strlen(text));
}

static void born(void *context, const struct tree *t, struct watch_process *p, enum trace_born how)
{
    struct recorder *r = context;
    char words[4096];
    size_t len = proc_command(p->pid, words, sizeof(words));
    struct trace_process record = {
        .process = ++r->processes,
        .parent = (uint64_t)(how == TRACE_BORN_EXECED ? p->process
                             : p->parent >= 0         ? t->all[p->parent].process
                                                      : 0),
        .pid = (uint64_t)p->pid,
        .start_ticks = p->start_ticks,
        .born = how,
        .name = string_of(r, p->name),
        .command = len ? trace_store_string(r->store, words, len) : 0,
    };

    p->process = (int)r->processes;
    trace_store_put(r->store, TRACE_PROCESS,
                    trace_store_time(r->store, how == TRACE_BORN_EXECED ? t->now_ns : p->born_ns),
                    FIELDS(record), NULL, 0);
    if (r->cover)
        coverage_born(&r->coverage, record.process, p->pid,
                      how != TRACE_BORN_FORKED || tree_is_image(t, p));
}

static void ended(void *context, const struct watch_process *p, enum trace_end how, int status)
{
    struct recorder *r = context;
    struct trace_process_end record = {(uint64_t)p->process, how, (uint64_t)status};
    uint64_t now = trace_store_now(r->store);
    struct pairs final = {.count = 0};

    if (!p->process)
        return;
    add(&final, METRIC_RSS_PEAK, p->image_rss);
    put_sample(r, now, TRACE_OF_PROCESS, record.process, final.pair, final.count);
    trace_store_put(r->store, TRACE_PROCESS_END, now, FIELDS(record), NULL, 0);
}

static void claimed(void *context, const struct watch_process *p, const char *file,
                    const char *renamed)
{
    struct recorder *r = context;

    if (renamed)
        trace_store_fact(r->store, TRACE_OF_PROCESS, (uint64_t)p->process, "ran", renamed,
                         strlen(renamed));
    coverage_claimed(&r->coverage, (uint64_t)p->process, file);
}

const struct tree_events recorder_events = {born, ended, claimed};

void recorder_fact(struct recorder *r, const char *key, const char *text)
{
    if (r->store)
        trace_store_fact(r->store, TRACE_OF_RUN, 0, key, text, strlen(text));
}

static void put_number(struct recorder *r, enum trace_subject subject, const char *key,
                       uint64_t value)
{
    char text[24];
    int n = snprintf(text, sizeof(text), "%" PRIu64, value);

    trace_store_fact(r->store, subject, 0, key, text, (size_t)n);
}

void recorder_begin(struct recorder *r, char *const *argv, const char *command,
                    uint64_t interval_ns, const char *method)
{
    char words[8192];
    struct utsname system;
    size_t len = 0;

    if (!r->store)
        return;
    for (; argv && *argv && len + strlen(*argv) + 1 < sizeof(words); argv++) {
        memcpy(words + len, *argv, strlen(*argv) + 1);
        len += strlen(*argv) + 1;
    }
    trace_store_fact(r->store, TRACE_OF_RUN, 0, "version", TIDEMARK_VERSION,
                     strlen(TIDEMARK_VERSION));
    if (len)
        trace_store_fact(r->store, TRACE_OF_RUN, 0, "argv", words, len - 1);
    recorder_fact(r, "command", command);
    recorder_fact(r, "mode", method);
    put_number(r, TRACE_OF_RUN, "interval_ns", interval_ns);
    put_number(r, TRACE_OF_RUN, "recorder_pid", (uint64_t)getpid());
    if (getcwd(words, sizeof(words)))
        recorder_fact(r, "cwd", words);
    put_number(r, TRACE_OF_MACHINE, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    put_number(r, TRACE_OF_MACHINE, "page_bytes", (uint64_t)sysconf(_SC_PAGESIZE));
    put_number(r, TRACE_OF_MACHINE, "clock_ticks", (uint64_t)sysconf(_SC_CLK_TCK));
    put_number(r, TRACE_OF_MACHINE, "memory_total_bytes",
               (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
    if (!uname(&system)) {
        trace_store_fact(r->store, TRACE_OF_MACHINE, 0, "kernel", system.release,
                         strlen(system.release));
        trace_store_fact(r->store, TRACE_OF_MACHINE, 0, "hostname", system.nodename,
                         strlen(system.nodename));
    }
}

static void put_process(struct recorder *r, uint64_t time_ns, uint64_t tick_ns, uint64_t process,
                        const struct proc_reading *now)
{
    struct pairs p = {.count = 0};

    add(&p, METRIC_RSS, now->rss);
    add(&p, METRIC_RSS_PEAK, now->rss_peak);
    add(&p, METRIC_VSZ, now->vsz);
    add(&p, METRIC_VSZ_PEAK, now->vsz_peak);
    add(&p, METRIC_SWAP, now->swap);
    add(&p, METRIC_PSS, now->pss ? now->pss : ABSENT);
    add(&p, METRIC_RSS_ANON, now->rss_anon);
    add(&p, METRIC_RSS_FILE, now->rss_file);
    add(&p, METRIC_RSS_SHMEM, now->rss_shmem);
    add(&p, METRIC_CPU_NS, now->cpu_ns);
    add(&p, METRIC_USER_NS, now->user_ticks * tick_ns);
    add(&p, METRIC_SYSTEM_NS, now->system_ticks * tick_ns);
    add(&p, METRIC_MINOR_FAULTS, now->minor_faults);
    add(&p, METRIC_MAJOR_FAULTS, now->major_faults);
    add(&p, METRIC_THREADS, now->threads);
    add(&p, METRIC_SWITCHES_WAITED, now->waited);
    add(&p, METRIC_SWITCHES_FORCED, now->forced);
    add(&p, METRIC_READ_CALLS, now->read_calls);
    add(&p, METRIC_WRITE_CALLS, now->write_calls);
    add(&p, METRIC_READ_BYTES, now->read_bytes);
    add(&p, METRIC_WRITE_BYTES, now->write_bytes);
    add(&p, METRIC_READ_CHARS, now->read_chars);
    add(&p, METRIC_WRITE_CHARS, now->write_chars);
    put_sample(r, time_ns, TRACE_OF_PROCESS, process, p.pair, p.count);
}

static void add_residence(struct pairs *p, const struct residence *r)
{
    add(p, METRIC_RESIDENT_HEAP, r->heap);
    add(p, METRIC_RESIDENT_STACK, r->stack);
    add(p, METRIC_RESIDENT_DATA, r->data);
    add(p, METRIC_RESIDENT_FILE, r->file);
    add(p, METRIC_RESIDENT_SHARED, r->shared);
    add(p, METRIC_RESIDENT_ANON, r->anon);
}

void recorder_tick(struct recorder *r, const struct tree *t, const struct machine_sample *m)
{
    uint64_t tick_ns = SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK), now;
    struct pairs p = {.count = 0};

    if (!r->store)
        return;
    now = trace_store_time(r->store, t->now_ns); /* one moment for the whole tick */
    for (int i = 0; i < t->live_count; i++)
        if (!t->live[i].zombie)
            put_process(r, now, tick_ns, (uint64_t)t->all[t->live[i].index].process,
                        &t->live[i].now);
    add(&p, METRIC_RSS, t->rss);
    add(&p, METRIC_VSZ, t->vsz);
    add(&p, METRIC_PSS, t->pss);
    add(&p, METRIC_PROCESSES, (uint64_t)t->alive);
    if (t->resided)
        add_residence(&p, &t->residence);
    put_sample(r, now, TRACE_OF_RUN, 0, p.pair, p.count);
    put_sample(r, now, TRACE_OF_MACHINE, 0, m->pairs, m->count);
    if (now - r->flushed_ns > SECOND_NS) {
        trace_store_flush(r->store);
        r->flushed_ns = now;
    }
}

void recorder_alert(struct recorder *r, const struct tree *t, const struct watch_alert *a)
{
    uint64_t index;
    struct trace_alert record = {0, METRIC_RSS, a->limit, a->total};

    if (!r->store)
        return;
    if (intmap_get(&t->by_pid, (uint64_t)a->pid, &index))
        record.process = (uint64_t)t->all[index].process;
    trace_store_put(r->store, TRACE_ALERT, trace_store_now(r->store), FIELDS(record), NULL, 0);
}

void recorder_loss(struct recorder *r, uint64_t count, const char *reason)
{
    struct trace_loss record = {0, TRACE_LOST_TICKS, count, 0};

    if (r->store && count)
        trace_store_put(r->store, TRACE_LOSS, trace_store_now(r->store), FIELDS(record), reason,
                        strlen(reason));
}

void recorder_end(struct recorder *r, const struct tree *t, const struct watch_result *result,
                  const char *outcome)
{
    struct pairs p = {.count = 0};
    uint64_t now;

    if (!r->store)
        return;
    now = trace_store_now(r->store);
    for (int i = 0; i < t->live_count; i++)
        ended(r, &t->all[t->live[i].index], TRACE_END_OUTLIVED, 0);
    if (r->cover)
        coverage_end(&r->coverage, r->store, r->processes);
    add(&p, METRIC_PEAK_LOWER, result->peak_lower);
    add(&p, METRIC_PEAK_UPPER, result->peak_upper);
    add(&p, METRIC_PEAK_PSS, result->peak_pss);
    add(&p, METRIC_VSZ_PEAK, result->peak_vsz);
    add(&p, METRIC_USER_NS, result->user_ns);
    add(&p, METRIC_SYSTEM_NS, result->system_ns);
    add(&p, METRIC_MINOR_FAULTS, result->minor_faults);
    add(&p, METRIC_MAJOR_FAULTS, result->major_faults);
    add(&p, METRIC_PROCESSES, result->process_count);
    if (result->ended)
        add(&p, METRIC_EXIT_STATUS,
            (uint64_t)(result->signal ? 128 + result->signal : result->exit_code));
    put_sample(r, now, TRACE_OF_RUN, 0, p.pair, p.count);
    p.count = 0;
    add(&p, METRIC_CGROUP_PEAK, result->cgroup_peak);
    put_sample(r, now, TRACE_OF_CGROUP, 0, p.pair, p.count);
    put_number(r, TRACE_OF_RUN, "duration_ns", result->duration_ns);
    put_number(r, TRACE_OF_RUN, "sample_cost_ns", result->sample_cost_ns);
    recorder_fact(r, "peak_basis", result->peak_basis);
    recorder_fact(r, "outcome", outcome);
}
