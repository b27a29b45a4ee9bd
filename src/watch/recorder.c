/* recorder - see recorder.h. Processes are numbered as the tree numbers them. What is not known is
 * left out of a sample, so that it is never taken for 0.
 */
#include "watch/recorder.h"

#include "base/clock.h"
#include "collect/collect.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PID_UNKNOWN "not known: it is in another pid namespace, or used the pid of another process"
#define WORDS_ROOM 8192
#define FIELDS(s) (const uint64_t *)&(s), sizeof(s) / sizeof(uint64_t)

/* A set of numbers that leaves out what is not known. */
struct pairs {
    struct trace_pair pair[TRACE_METRIC_COUNT];
    size_t count;
};

static void add(struct pairs *p, enum trace_metric metric, uint64_t value)
{
    if (value != ABSENT && p->count < TRACE_METRIC_COUNT)
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

/* Its words, with NULs between them, without what is to be left out. */
static size_t command_of(const struct recorder *r, int pid, char out[WORDS_ROOM])
{
    char words[WORDS_ROOM];
    size_t len = proc_command(pid, words, sizeof(words));

    return redact_words(out, WORDS_ROOM, words, len, r->redact);
}

static void show_process(struct recorder *r, int pid)
{
    if (r->on_process)
        r->on_process(r->seer, pid);
}

static enum coverage_kind kind_of(const struct tree *t, const struct watch_process *p,
                                  enum trace_born how)
{
    if (how != TRACE_BORN_FORKED || tree_is_image(t, p))
        return COVERAGE_IMAGE;
    if (tree_is_copy(t, p))
        return COVERAGE_COPY;
    return p->parent >= 0 && *p->name && strcmp(p->name, t->all[p->parent].name) != 0
             ? COVERAGE_RENAMED
             : COVERAGE_UNSURE;
}

static void born(void *context, const struct tree *t, struct watch_process *p, enum trace_born how)
{
    struct recorder *r = context;
    char words[WORDS_ROOM];
    size_t len = command_of(r, p->pid, words);
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
    if (!t->claiming)
        show_process(r, p->pid);
    trace_store_put(r->store, TRACE_PROCESS,
                    trace_store_time(r->store, how == TRACE_BORN_EXECED ? t->now_ns : p->born_ns),
                    FIELDS(record), NULL, 0);
    if (r->cover)
        coverage_born(&r->coverage, record.process, record.parent, t->claiming ? 0 : p->pid,
                      kind_of(t, p, how));
}

/* The group's counter has grown since the last one that was killed: it was the kernel. */
static enum trace_end end_of(struct recorder *r, enum trace_end how, int status)
{
    uint64_t kills = ABSENT;

    if (r->group && how == TRACE_END_SIGNALED && status == SIGKILL)
        kills = group_kills(r->group);
    if (kills == ABSENT || kills <= r->kills)
        return how;
    r->kills++;
    return TRACE_END_OOM;
}

static void used(void *context, const struct watch_process *p, const struct proc_usage *u)
{
    struct recorder *r = context;
    struct pairs all = {.count = 0};

    add(&all, METRIC_CPU_NS, u->cpu_ns);
    add(&all, METRIC_USER_NS, u->user_ns);
    add(&all, METRIC_SYSTEM_NS, u->system_ns);
    add(&all, METRIC_MINOR_FAULTS, u->minor_faults);
    add(&all, METRIC_MAJOR_FAULTS, u->major_faults);
    add(&all, METRIC_SWITCHES_WAITED, u->waited);
    add(&all, METRIC_SWITCHES_FORCED, u->forced);
    if (p->process)
        put_sample(r, trace_store_now(r->store), TRACE_OF_PROCESS, (uint64_t)p->process, all.pair,
                   all.count);
}

static void ended(void *context, const struct watch_process *p, enum trace_end how, int status)
{
    struct recorder *r = context;
    struct trace_process_end record = {(uint64_t)p->process,
                                       p->process ? end_of(r, how, status) : how, (uint64_t)status};
    uint64_t now = trace_store_now(r->store), end_ns = now;
    struct pairs final = {.count = 0};

    if (!p->process)
        return;
    add(&final, METRIC_RSS_PEAK, p->image_rss);
    put_sample(r, now, TRACE_OF_PROCESS, record.process, final.pair, final.count);
    if (r->collect) /* which looks more often */
        end_ns = collect_ended_ns(r->collect, record.process, now);
    trace_store_put(r->store, TRACE_PROCESS_END, end_ns, FIELDS(record), NULL, 0);
}

static void claimed(void *context, const struct watch_process *p, const char *file,
                    const char *renamed)
{
    struct recorder *r = context;

    if (renamed)
        trace_store_fact(r->store, TRACE_OF_PROCESS, (uint64_t)p->process, FACT_RAN, renamed,
                         strlen(renamed));
    if (!p->pid)
        trace_store_fact(r->store, TRACE_OF_PROCESS, (uint64_t)p->process, FACT_PID, PID_UNKNOWN,
                         strlen(PID_UNKNOWN));
    show_process(r, p->pid);
    coverage_claimed(&r->coverage, (uint64_t)p->process, file);
}

const struct tree_events recorder_events = {born, used, ended, claimed};

void recorder_ending(struct recorder *r, int pid)
{
    show_process(r, pid);
}

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

void recorder_pids(struct recorder *r, const int *pids, size_t count)
{
    char text[1024];
    size_t used = 0;

    for (size_t i = 0; i < count && used + 16 < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d", i ? "," : "", pids[i]);
    if (used)
        recorder_fact(r, FACT_WATCHED, text);
}

/* The command as words and as a line, which is how reports call it. */
static void put_command(struct recorder *r, char *const *argv, int pid)
{
    char given[WORDS_ROOM], words[WORDS_ROOM];
    size_t len = 0;

    for (char *const *word = argv; word && *word && len + strlen(*word) + 1 < sizeof(given);
         word++) {
        memcpy(given + len, *word, strlen(*word) + 1);
        len += strlen(*word) + 1;
    }
    len = len ? redact_words(words, sizeof(words), given, len - 1, r->redact)
              : command_of(r, pid, words);
    if (argv && len)
        trace_store_fact(r->store, TRACE_OF_RUN, 0, FACT_ARGV, words, len);
    for (size_t i = 0; i < len; i++)
        words[i] = words[i] ? words[i] : ' ';
    if (!len)
        len = (size_t)snprintf(words, sizeof(words), "process %d", pid);
    trace_store_fact(r->store, TRACE_OF_RUN, 0, FACT_COMMAND, words, len);
}

void recorder_begin(struct recorder *r, char *const *argv, int pid, uint64_t interval_ns,
                    const char *method)
{
    char folder[PATH_MAX];
    struct utsname system;

    if (!r->store)
        return;
    probing_begin(&r->probing, probes, r->store);
    trace_store_fact(r->store, TRACE_OF_RUN, 0, FACT_VERSION, TIDEMARK_VERSION,
                     strlen(TIDEMARK_VERSION));
    put_command(r, argv, pid);
    recorder_fact(r, FACT_MODE, method);
    put_number(r, TRACE_OF_RUN, FACT_INTERVAL, interval_ns);
    put_number(r, TRACE_OF_RUN, FACT_RECORDER_PID, (uint64_t)getpid());
    if (getcwd(folder, sizeof(folder)))
        recorder_fact(r, FACT_CWD, folder);
    put_number(r, TRACE_OF_MACHINE, FACT_CPUS, (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    put_number(r, TRACE_OF_MACHINE, FACT_PAGE, (uint64_t)sysconf(_SC_PAGESIZE));
    put_number(r, TRACE_OF_MACHINE, FACT_CLOCK_TICKS, (uint64_t)sysconf(_SC_CLK_TCK));
    put_number(r, TRACE_OF_MACHINE, FACT_MEMORY_TOTAL,
               (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
    if (!uname(&system)) {
        trace_store_fact(r->store, TRACE_OF_MACHINE, 0, FACT_KERNEL, system.release,
                         strlen(system.release));
        trace_store_fact(r->store, TRACE_OF_MACHINE, 0, FACT_HOSTNAME, system.nodename,
                         strlen(system.nodename));
    }
}

static void put_process(struct recorder *r, uint64_t time_ns, uint64_t tick_ns, uint64_t process,
                        const struct tree_live *l)
{
    const struct proc_reading *now = &l->now;
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
    probing_process(&r->probing, time_ns, &l->proc, process, p.pair, p.count);
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
    uint64_t tick_ns = CLOCK_SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK), now;
    struct pairs p = {.count = 0};

    if (!r->store)
        return;
    now = trace_store_time(r->store, t->now_ns); /* one moment for the whole tick */
    for (int i = 0; i < t->live_count; i++)
        if (!t->live[i].zombie)
            put_process(r, now, tick_ns, (uint64_t)t->all[t->live[i].index].process, &t->live[i]);
    add(&p, METRIC_RSS, t->rss);
    add(&p, METRIC_VSZ, t->vsz);
    add(&p, METRIC_PSS, t->pss);
    add(&p, METRIC_PROCESSES, (uint64_t)t->alive);
    if (t->resided)
        add_residence(&p, &t->residence);
    put_sample(r, now, TRACE_OF_RUN, 0, p.pair, p.count);
    if (m) {
        put_sample(r, now, TRACE_OF_MACHINE, 0, m->pairs, m->count);
        probing_tick(&r->probing, now);
    }
    if (now - r->flushed_ns > CLOCK_SECOND_NS) { /* a killed tool leaves all but the last second */
        if (r->collect)
            collect_flush(r->collect);
        for (int i = 0; i < t->live_count; i++) /* they may have given some up */
            show_process(r, t->live[i].proc.pid);
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
        coverage_end(&r->coverage, r->store, r->processes, &r->account);
    add(&p, METRIC_PEAK_LOWER, result->peak_at_most ? ABSENT : result->peak_lower);
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
    put_number(r, TRACE_OF_RUN, FACT_DURATION, result->duration_ns);
    put_number(r, TRACE_OF_RUN, FACT_SAMPLE_COST, result->sample_cost_ns);
    recorder_fact(r, FACT_PEAK_BASIS, result->peak_basis);
    recorder_fact(r, FACT_OUTCOME, outcome);
}
