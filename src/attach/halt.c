/* halt - see halt.h. */
#include "attach/halt.h"

#include "arch/stopped.h"
#include "attach/borrow.h"
#include "attach/candidates.h"
#include "attach/stops.h"
#include "base/clock.h"
#include "base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 1000 /* of looks for threads that are new, or not to be stopped yet */
#define ROUND_NS 1000000

struct halt_saved { /* how a thread goes on */
    struct user_regs_struct registers;
    uint64_t mask;
    long repeat;
};

struct halt_reach {
    struct loaded process;
    struct remote remote;
};

static bool has_thread(const struct halt *h, int tid)
{
    for (size_t i = h->count; i-- > 0;)
        if (h->threads[i].tid == tid)
            return true;
    return false;
}

static void keep_words(struct halt *h, const void *from, size_t bytes)
{
    memory_fit(h->words, h->word_room, h->word_count + bytes / 8);
    memcpy(h->words + h->word_count, from, bytes & ~(size_t)7);
    h->word_count += bytes / 8;
}

static void keep_thread(struct halt *h, const struct remote *r)
{
    const struct user_regs_struct *x = &r->was.registers;

    memory_fit(h->threads, h->room, h->count + 1);
    memory_fit(h->saved, h->saved_room, h->count + 1);
    h->threads[h->count] = (struct halt_thread){r->tid, arch_stack_pointer(x), arch_thread_data(x)};
    h->saved[h->count++] = (struct halt_saved){*x, r->was.mask, r->repeat};
    keep_words(h, x, sizeof(*x));
    keep_words(h, r->was.state, r->was.state_bytes);
}

/* How many there were that stood not still yet; -1 with *err. */
static int halt_new(struct halt *h, struct remote *r, struct err *err)
{
    char path[64];
    struct dirent *e;
    int moving = 0;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", h->pid);
    dir = opendir(path);
    while (dir && moving >= 0 && (e = readdir(dir)) != NULL) {
        int tid = atoi(e->d_name), stopped;

        if (tid <= 0 || has_thread(h, tid) || candidates_is_over(h->pid, tid))
            continue;
        stopped = borrow_stop(r, tid, err);
        if (stopped > 0)
            keep_thread(h, r);
        moving = stopped < 0 ? -1 : moving + 1;
    }
    if (dir)
        closedir(dir);
    return moving;
}

static void open_reach(struct halt *h)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/mem", h->pid);
    h->reach = memory_zeroed(sizeof(*h->reach));
    h->reach->process = (struct loaded){.pid = h->pid, .memory = open(path, O_RDONLY | O_CLOEXEC)};
    h->reach->remote.process = &h->reach->process;
}

int halt_all(struct halt *h, int pid, struct err *err)
{
    int moving = 1;

    *h = (struct halt){.pid = pid, .since_ns = clock_ns(CLOCK_MONOTONIC)};
    open_reach(h);
    for (int i = 0; i < ROUNDS && moving > 0 && !stops_told_to_end(); i++) {
        moving = halt_new(h, &h->reach->remote, err);
        if (moving > 0 && i)
            stops_nap(ROUND_NS);
    }
    if (moving == 0 && h->count)
        return 0;
    halt_release(h);
    return moving < 0 ? -1 : err_set(err, "the threads of process %d could not be stopped", pid);
}

uint64_t halt_release(struct halt *h)
{
    struct remote *r = &h->reach->remote;
    uint64_t stood_ns;

    for (size_t i = 0; i < h->count; i++) {
        r->tid = h->threads[i].tid;
        r->was.registers = h->saved[i].registers;
        r->was.mask = h->saved[i].mask;
        r->repeat = h->saved[i].repeat;
        borrow_go_on(r);
    }
    stood_ns = clock_ns(CLOCK_MONOTONIC) - h->since_ns;
    loaded_close(&h->reach->process);
    free(h->reach);
    free(h->threads);
    free(h->saved);
    free(h->words);
    *h = (struct halt){0};
    return stood_ns;
}
