/* marks - what a program says of itself: see include/tidemark.h, whose functions come here. */
#include "inject/buffer.h"
#include "inject/context.h"
#include "inject/device_watch.h"
#include "inject/event.h"
#include "inject/process.h"
#include "inject/ranges.h"
#include "inject/rank_said.h"
#include "inject/record.h"
#include "inject/sys.h"
#include "inject/watching.h"
#include "inject/window.h"
#include "tidemark.h"

#include <errno.h>
#include <string.h>

/* What a label is from now on: also where the thread has no room to say it. */
static void note_label(struct thread *t, uint64_t set, const char *text, size_t first, size_t bytes)
{
    struct thread *mine = t ? t : local.thread ? local.thread : local.parked;

    if (!mine)
        return;
    context_label(mine, text, first, bytes, set);
    mine->labels_untold |= !t;
}

struct said { /* a mark */
    enum ring_mark mark;
    uint64_t value, address;
    const char *text;
    size_t first, bytes; /* of the text: its first part, and all of it */
};

static void put_said(const struct said *s, struct caller c)
{
    int kept = errno;
    struct thread *t;
    uint64_t words[2] = {s->value, (uint64_t)s->bytes << 32 | s->first};
    bool step = s->mark == RING_MARK_STEP;
    uint64_t ended = 0;

    local.quiet = 1;
    t = process_recorded() ? record_enter(c.sp) : NULL;
    if (t) {
        if (t->labels_untold)
            context_tell(t);
        buffer_moment(t);
        ended = step ? context_step() : 0;
        buffer_put(t, buffer_word(RING_MARK, s->mark, step ? ended : s->address), words, 2, s->text,
                   s->bytes);
        if (step)
            window_step(t, ended);
        if (step)
            buffer_after(t);
        record_leave();
    }
    if (s->mark == RING_MARK_LABEL)
        note_label(t, s->value, s->text, s->first, s->bytes);
    local.quiet = 0;
    errno = kept;
}

static void put_text(enum ring_mark mark, uint64_t value, const char *text, size_t first,
                     size_t bytes, struct caller c)
{
    const struct said s = {mark, value, 0, text, first, bytes};

    put_said(&s, c);
}

/* ---- memory that is watched ---- */

static void on_watch(const void *block, size_t bytes, const char *name)
{
    watching_begin(block, bytes, name, 0, CALLER());
}

static void on_watch_how(const void *block, size_t bytes, const char *name, unsigned int how)
{
    if (how & TIDEMARK_WATCH_OPENCL)
        device_watch_begin((uintptr_t)block, name, CALLER());
    else
        watching_begin(block, bytes, name, how, CALLER());
}

static void on_unwatch(const void *block)
{
    if (!device_watch_end((uintptr_t)block, CALLER()))
        watching_end(block, CALLER());
}

/* ---- what is said ---- */

static void put(enum ring_mark mark, uint64_t value, const char *name, struct caller c)
{
    size_t bytes = name ? strnlen(name, RING_TEXT_MOST) : 0;

    watching_look(c);
    put_text(mark, value, name, bytes, bytes, c);
}

static void on_mark(const char *name, uint64_t value)
{
    put(RING_MARK_MOMENT, value, name, CALLER());
}

static void on_step(const char *name, uint64_t number)
{
    put(RING_MARK_STEP, number, name, CALLER());
}

static void on_begin(const char *name)
{
    put(RING_MARK_BEGIN, 0, name, CALLER());
}

static void on_finish(void)
{
    put(RING_MARK_FINISH, 0, NULL, CALLER());
}

void marks_open(uint64_t region, const char *name)
{
    put(RING_MARK_BEGIN, region, name, CALLER());
}

static uint64_t on_open(const char *name)
{
    static _Atomic uint64_t opened;
    uint64_t region = atomic_fetch_add(&opened, 1) + 1;

    put(RING_MARK_BEGIN, region, name, CALLER());
    return region;
}

static void on_close(uint64_t region)
{
    put(RING_MARK_FINISH, region, NULL, CALLER());
}

static void on_profiled(const char *file, uint64_t line, const char *function)
{
    char both[RING_TEXT_MOST];
    size_t first = strnlen(file, RING_TEXT_MOST / 2);
    size_t second = strnlen(function, RING_TEXT_MOST / 2);

    memcpy(both, file, first);
    memcpy(both + first, function, second);
    put_text(RING_MARK_PROFILED, line, both, first, first + second, CALLER());
}

static void on_label(const char *key, const char *value)
{
    char both[2 * LABEL_PART_MOST];
    size_t first = strnlen(key, LABEL_PART_MOST);
    size_t second = value ? strnlen(value, LABEL_PART_MOST) : 0;

    memcpy(both, key, first);
    if (second)
        memcpy(both + first, value, second);
    put_text(RING_MARK_LABEL, value != NULL, both, first, first + second, CALLER());
}

static void on_alloc(const void *p, size_t size)
{
    if (p && !event_skip_alloc(size))
        event_alloc(p, size, RING_BY_POOL, CALLER());
}

static void on_free(const void *p)
{
    if (p && !event_skip_free(p))
        event_free(p, RING_BY_POOL, CALLER().sp);
}

static void on_pause(void)
{
    put(RING_MARK_PAUSE, 0, "pause", CALLER());
    process_pause(true);
}

static void on_resume(void)
{
    process_pause(false);
    put(RING_MARK_RESUME, 0, "resume", CALLER());
}

static void window(bool inside, struct caller c)
{
    int kept = errno;
    struct thread *t = process_recorded() ? record_enter(c.sp) : NULL;

    if (t) {
        buffer_moment(t);
        window_move(t, inside);
        buffer_after(t);
        record_leave();
    }
    errno = kept;
}

static void on_start(void)
{
    struct caller c = CALLER();

    window(true, c);
    if (process_paused()) {
        process_pause(false);
        put(RING_MARK_RESUME, 0, "resume", c);
    }
}

static void on_stop(void)
{
    window(false, CALLER());
}

static void on_snapshot(const char *name)
{
    put(RING_MARK_SNAPSHOT, 0, name ? name : "snapshot", CALLER());
}

static void on_describe(const void *block, const char *what, const char *name)
{
    char both[2 * LABEL_PART_MOST];
    size_t first = strnlen(what, LABEL_PART_MOST);
    size_t second = name ? strnlen(name, LABEL_PART_MOST) : 0;
    const struct said s = {.mark = RING_MARK_DESCRIBED,
                           .address = (uintptr_t)block,
                           .text = both,
                           .first = first,
                           .bytes = first + second};

    memcpy(both, what, first);
    if (second)
        memcpy(both + first, name, second);
    put_said(&s, CALLER());
}

#define SAME(told, ring) _Static_assert((int)(told) == (int)(ring), #told " is told as it is")
SAME(TIDEMARK_READ, RING_ACCESS_READ);
SAME(TIDEMARK_WRITE, RING_ACCESS_WRITE);
SAME(TIDEMARK_ACCESS_ALL, RING_ACCESS_ALL);
SAME(TIDEMARK_ACCESS_SOME, RING_ACCESS_SOME);

static void on_access(const void *block, size_t size, unsigned int kind, const char *by)
{
    size_t bytes = by ? strnlen(by, RING_TEXT_MOST) : 0;
    const struct said s = {.mark = RING_MARK_ACCESS,
                           .value = (uint64_t)size << 4 | (kind & 15),
                           .address = (uintptr_t)block,
                           .text = by,
                           .first = bytes,
                           .bytes = bytes};

    put_said(&s, CALLER());
}

static void on_rank(uint64_t rank, uint64_t world)
{
    ranks_said(rank, world, CALLER());
}

EXPORT const struct tidemark_api tidemark_api = {
    .version = TIDEMARK_API,
    .mark = on_mark,
    .step = on_step,
    .begin = on_begin,
    .finish = on_finish,
    .label = on_label,
    .alloc = on_alloc,
    .free = on_free,
    .open = on_open,
    .close = on_close,
    .profiled = on_profiled,
    .pause = on_pause,
    .resume = on_resume,
    .snapshot = on_snapshot,
    .describe = on_describe,
    .access = on_access,
    .watch = on_watch,
    .unwatch = on_unwatch,
    .start = on_start,
    .stop = on_stop,
    .watch_how = on_watch_how,
    .rank = on_rank,
};

/* The same for ourselves: no name to be looked up when the library is loaded. */
extern const struct tidemark_api marks_api
    __attribute__((alias("tidemark_api"), visibility("hidden")));
