/* no_record - what a system has in the place of collect and attach where `record` is not known:
 * watch calls none of it, as nobody can give it a collector.
 */
#include "attach/attach.h"
#include "attach/control.h"
#include "attach/halt.h"
#include "attach/obstacle.h"
#include "collect/collect.h"

int attach_enter(int pid, const char *library, const char *ring, bool *no_cpu, struct err *err)
{
    (void)pid, (void)library, (void)ring, (void)no_cpu;
    return err_set(err, "this system has no way into a process that runs");
}

int attach_leave(int pid, struct err *err)
{
    (void)pid;
    return err_set(err, "this system has no way into a process that runs");
}

int control_listen(void)
{
    return -1;
}

int control_accept(int listener, char said[CONTROL_TEXT])
{
    (void)listener, (void)said;
    return -1;
}

void control_answer(int fd, const char *text)
{
    (void)fd, (void)text;
}

const struct obstacle *obstacle_of(int pid)
{
    (void)pid;
    return NULL;
}

bool obstacle_is_programs(const struct obstacle *o)
{
    (void)o;
    return false;
}

const struct obstacle *obstacle_in_file(const char *file)
{
    (void)file;
    return NULL;
}

const struct obstacle *obstacle_in_command(const char *command)
{
    (void)command;
    return NULL;
}

void collect_numbered_by(struct collect *c,
                         uint64_t (*number)(void *context, const struct claimant *who),
                         void *context)
{
    (void)c, (void)number, (void)context;
}

void collect_launched(struct collect *c)
{
    (void)c;
}

void collect_account(const struct collect *c, struct collect_account *out)
{
    (void)c, (void)out;
}

void collect_mode(struct collect *c, enum ring_mode mode)
{
    (void)c, (void)mode;
}

void collect_pause(struct collect *c, bool paused)
{
    (void)c, (void)paused;
}

uint64_t collect_snapshots(const struct collect *c)
{
    (void)c;
    return 0;
}

uint64_t collect_snapshot(struct collect *c, const char *name)
{
    (void)c, (void)name;
    return 0;
}

const char *collect_ring(const struct collect *c)
{
    (void)c;
    return "";
}

void collect_expect(struct collect *c, int pid)
{
    (void)c, (void)pid;
}

void collect_each(const struct collect *c, void (*visit)(void *context, int pid), void *context)
{
    (void)c, (void)visit, (void)context;
}

size_t collect_stacks(const struct collect *c, int pid, struct residence_stack *out, size_t most)
{
    (void)c, (void)pid, (void)out, (void)most;
    return 0;
}

bool collect_resident(struct collect *c, int pid, uint64_t mono_ns)
{
    (void)c, (void)pid, (void)mono_ns;
    return false;
}

int collect_door(const struct collect *c)
{
    (void)c;
    return -1;
}

void collect_answer_door(struct collect *c)
{
    (void)c;
}

void collect_look(struct collect *c)
{
    (void)c;
}

unsigned int collect_pass(struct collect *c)
{
    (void)c;
    return 0;
}

bool collect_has_heap(const struct collect *c)
{
    (void)c;
    return false;
}

void collect_flush(struct collect *c)
{
    (void)c;
}

uint64_t collect_ended_ns(const struct collect *c, uint64_t number, uint64_t now)
{
    (void)c;
    (void)number;
    return now;
}

void collect_finish(struct collect *c, struct absorb_counts *totals)
{
    (void)c, (void)totals;
}

int halt_all(struct halt *h, int pid, struct err *err)
{
    (void)h, (void)pid;
    return err_set(err, "this system cannot stop the threads of a process");
}

uint64_t halt_release(struct halt *h)
{
    (void)h;
    return 0;
}

bool collect_wants_reach(const struct collect *c)
{
    (void)c;
    return false;
}

bool collect_reach(struct collect *c, int pid, const struct collect_still *still, uint64_t at_ns)
{
    (void)c, (void)pid, (void)still, (void)at_ns;
    return false;
}
