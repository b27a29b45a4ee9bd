/* posix - platform.h for a system of which nothing is known but POSIX: every number that wait4 does
 * not bring is ABSENT. It shows what another system has to answer, and that `run` needs nothing
 * else.
 */
#include "platform/platform.h"
#include "platform/probe.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

const char platform_name[] = "posix", records_method[] = "records", stops_method[] = "stops";
const struct probe *const probes[] = {NULL};

/* ---- processes: nobody can be looked at ---- */

int proc_open(struct proc *p, int pid, bool keep)
{
    (void)keep;
    *p = (struct proc){.pid = pid};
    return -1;
}

void proc_close(struct proc *p)
{
    *p = (struct proc){0};
}

bool proc_may_be_another(const struct proc *p)
{
    (void)p;
    return true;
}

int proc_read_stat(struct proc *p, struct proc_reading *r)
{
    (void)p, (void)r;
    return -1;
}

int proc_read_status(struct proc *p, struct proc_reading *r)
{
    (void)p, (void)r;
    return -1;
}

bool proc_is_still(struct proc *p)
{
    (void)p;
    return false;
}

void proc_read_details(struct proc *p, struct proc_reading *r)
{
    (void)p, (void)r;
}

void proc_read_pss(struct proc *p, struct proc_reading *r)
{
    (void)p;
    r->pss = ABSENT;
}

void proc_children(struct proc *p, uint64_t threads, void (*visit)(int pid, void *context),
                   void *context)
{
    (void)p, (void)threads, (void)visit, (void)context;
}

bool proc_has_children_lists(void)
{
    return false;
}

void proc_all(void (*visit)(int pid, void *context), void *context)
{
    (void)visit, (void)context;
}

size_t proc_command(int pid, char *out, size_t room)
{
    (void)pid, (void)out, (void)room;
    return 0;
}

void proc_file(int pid, char *out, size_t room)
{
    (void)pid, (void)room;
    out[0] = '\0';
}

uint64_t proc_most_resident(const struct rusage *usage)
{
    return (uint64_t)usage->ru_maxrss * 1024;
}

bool proc_is_kernel(int pid)
{
    (void)pid;
    return false;
}

uint64_t proc_newest(void)
{
    return 0;
}

bool residence_add(struct residence *sum, int pid, const struct proc_reading *now,
                   const struct residence_stack *stacks, size_t count)
{
    (void)sum, (void)pid, (void)now, (void)stacks, (void)count;
    return false;
}

bool residence_ranges(int pid, struct residence_range *ranges, size_t count)
{
    (void)pid, (void)ranges, (void)count;
    return false;
}

/* ---- the machine and the group ---- */

void machine_read(struct machine *m, bool details, struct machine_sample *out)
{
    (void)m, (void)details;
    out->count = 0;
    out->used = ABSENT;
}

uint64_t machine_oom_kills(struct machine *m)
{
    (void)m;
    return ABSENT;
}

void machine_close(struct machine *m)
{
    (void)m;
}

void group_open(struct group *g, const int pids[2])
{
    (void)g, (void)pids;
}

uint64_t group_peak(const struct group *g)
{
    (void)g;
    return ABSENT;
}

uint64_t group_kills(const struct group *g)
{
    (void)g;
    return ABSENT;
}

void group_close(struct group *g)
{
    (void)g;
}

/* ---- exact ends: none of the two ways ---- */

int records_open(struct records *r, struct err *err)
{
    r->fd = -1;
    return err_set(err, "this system keeps no exit records");
}

bool records_drain(struct records *r, void (*take)(const struct proc_end *end, void *context),
                   void *context)
{
    (void)r, (void)take, (void)context;
    return true;
}

void records_close(struct records *r)
{
    (void)r;
}

int stops_begin(int pid, struct err *err)
{
    (void)pid;
    return err_code(err, 125, "--exact is not known on this system; leave it out");
}

bool stops_next(struct stop *s)
{
    (void)s;
    return false;
}

void stops_resume(const struct stop *s)
{
    (void)s;
}

/* ---- ourselves ---- */

uint64_t self_shrink(void)
{
    return 0;
}

void self_adopt(bool on)
{
    (void)on;
}

bool self_file(char *out, size_t room)
{
    (void)room;
    out[0] = '\0';
    return false;
}

bool self_descriptor(int fd, char out[SELF_PATH])
{
    (void)fd, (void)out;
    return false;
}

static int told[2];

/* All signals are blocked: this thread waits for each, and hands it on. */
static void *wait_for_signals(void *unused)
{
    siginfo_t info;
    sigset_t all;

    sigfillset(&all);
    for (;;) {
        if (sigwaitinfo(&all, &info) > 0) {
            struct signal_told one = {info.si_signo, info.si_pid, info.si_code <= 0};

            (void)!write(told[1], &one, sizeof(one));
        }
    }
    return unused;
}

int signals_open(void)
{
    pthread_t thread;

    if (pipe(told) < 0)
        return -1;
    return pthread_create(&thread, NULL, wait_for_signals, NULL) ? -1 : told[0];
}

int signals_read(int fd, struct signal_told *out, int most)
{
    (void)most;
    return read(fd, out, sizeof(*out)) == sizeof(*out);
}
