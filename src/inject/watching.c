/* watching - see watching.h. */
#include "inject/watching.h"

#include "inject/faults.h"
#include "inject/got.h"
#include "inject/guard_calls.h"
#include "inject/process.h"
#include "inject/real.h"
#include "inject/sample.h"
#include "inject/watch_tell.h"
#include "tidemark.h"

#include <errno.h>
#include <string.h>

/* writes after which one to the next page by the same instruction has no stack */
#define ALIKE 16u

static size_t (*usable)(void *);
static _Atomic bool started;

static void tell(void *context, enum ring_watch kind, uint64_t number, const struct watched *w)
{
    const struct watch_told told = {.kind = kind,
                                    .number = number,
                                    .address = w->address,
                                    .text = w->name,
                                    .stacked = kind == RING_WATCH_CHANGED};

    watch_put(&told, *(const struct caller *)context);
}

/* ---- writes ---- */

/* Of a loop that goes on from page to page only the last one stays open. */
static bool is_next(const struct thread *t, const struct guard_hit *hit, struct caller at)
{
    return at.sp == t->wrote.sp && hit->place == t->wrote.place &&
           (hit->page == t->wrote.page + ARCH_PAGE_MOST ||
            hit->page + ARCH_PAGE_MOST == t->wrote.page);
}

/* Is its stack that of the write before, which was told? */
static bool goes_on(struct thread *t, const struct guard_hit *hit, struct caller at)
{
    bool next = is_next(t, hit, at);
    bool alike = next && hit->page > t->wrote.page && at.pc == t->wrote.pc && hit->since >= ALIKE;

    if (next)
        guard_close_page(&(struct guard_hit){t->wrote.place, t->wrote.page, 0});
    t->wrote.page = hit->page;
    t->wrote.pc = at.pc;
    t->wrote.sp = at.sp;
    t->wrote.place = hit->place;
    return alike;
}

static void on_fault(const struct guard_hit *hit, uintptr_t address, struct caller at)
{
    struct watch_told w = {RING_WATCH_WRITTEN, 0, address, NULL, true, true};

    if (local.thread)
        w.stacked = !goes_on(local.thread, hit, at);
    if (watched_count(hit->place))
        watch_put(&w, at);
}

static void on_call(uintptr_t address, size_t bytes, const char *name, struct caller c)
{
    size_t part = watched_part(&address, bytes ? bytes : 1);
    const struct watch_told w = {RING_WATCH_WRITTEN, bytes ? part : 0, address, name, true, false};

    if (part && watched_count(watched_place(address)))
        watch_put(&w, c);
}

/* ---- begin and end ---- */

/* Frees of what is watched take the long way, see event.h. */
static void start(void)
{
    if (atomic_exchange(&started, true))
        return;
    guard_calls_start(on_call);
    if (real.dlsym)
        usable = (size_t(*)(void *))real.dlsym(RTLD_DEFAULT, "malloc_usable_size");
    got_anew();
}

void watching_begin(const void *block, size_t bytes, const char *name, unsigned int how,
                    struct caller c)
{
    int kept = errno;
    bool guarded = !(how & TIDEMARK_WATCH_LOOKS) && process_recorded();

    if (guarded) {
        start();
        guarded = faults_start(on_fault);
    }
    if (watched_add(block, bytes, name, guarded, tell, &c))
        sample_watch(block);
    errno = kept;
}

void watching_end(const void *block, struct caller c)
{
    int kept = errno;

    watching_look(c);
    watched_remove(block, tell, &c);
    errno = kept;
}

void watching_look_now(struct caller c)
{
    watched_look(tell, &c);
}

void watching_freed_now(const void *block, size_t bytes, struct caller c)
{
    int kept = errno;

    if (!bytes && block)
        bytes = usable ? usable((void *)block) : 1;
    watched_freed(block, bytes, tell, &c);
    errno = kept;
}

void watching_leave(void)
{
    if (!atomic_load(&started))
        return;
    guard_end_all();
    faults_stop();
}
