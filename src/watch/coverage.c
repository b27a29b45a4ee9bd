/* coverage - see coverage.h. */
#include "watch/coverage.h"

#include "base/memory.h"
#include "watch/untold.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_LOADED                                                                                    \
    "the library was not loaded into it: what started it was not recorded itself, was only attached " \
    "to, was confined, or could not see the library's file"
#define NOT_KNOWN                                                                                     \
    "it is not known why: another user, root or namespace may keep the shared memory from it, or it " \
    "ended as it began"

/* What kept the library out, by what was said of a program beforehand. */
static const char *const prospects[RING_START_END] = {
    [RING_START_PLAIN] = NOT_KNOWN,
    [RING_START_MACHINE] = OBSTACLE_MACHINE,
    [RING_START_STATIC] = OBSTACLE_STATIC,
    [RING_START_LIBC] = OBSTACLE_LIBC,
    [RING_START_OLD_LIBC] = OBSTACLE_OLD_LIBC,
    [RING_START_SANITIZED] = OBSTACLE_SANITIZED,
    [RING_START_RIGHTS] = OBSTACLE_USER,
    [RING_START_USER] = OBSTACLE_USER,
    [RING_START_ATTACHED] = NOT_LOADED,
    [RING_START_CONFINED] = NOT_LOADED,
    [RING_START_ROOT] = OBSTACLE_ROOT,
    [RING_START_UNSEEN] = NOT_LOADED,
};

#define FILES_MOST 1000

struct coverage_process {
    const struct obstacle *obstacle; /* NULL: none could be seen */
    enum coverage_kind kind;
    bool claimed;
};

static struct coverage_process *process_of(struct coverage *c, uint64_t number)
{
    memory_fit_zeroed(c->of, c->room, (size_t)number + 1);
    return &c->of[number];
}

/* A copy runs the program of its parent: what is found now is of one that it has become since. */
void coverage_born(struct coverage *c, uint64_t number, uint64_t parent, int pid,
                   enum coverage_kind kind)
{
    const struct obstacle *inherited = process_of(c, parent)->obstacle;
    struct coverage_process *p = process_of(c, number);

    p->obstacle = pid ? obstacle_of(pid) : NULL;
    if (kind == COVERAGE_COPY && obstacle_is_programs(p->obstacle))
        p->obstacle = inherited;
    p->kind = kind;
}

void coverage_launched(struct coverage *c, uint64_t number, const char *command)
{
    struct coverage_process *p = process_of(c, number);

    if (!p->obstacle)
        p->obstacle = obstacle_in_command(command);
}

static void keep_file(struct coverage *c, const char *file)
{
    size_t bytes = strlen(file) + 1;

    for (size_t i = 0; i < c->file_count; i++)
        if (strcmp(c->files[i], file) == 0)
            return;
    if (c->file_count == FILES_MOST)
        return;
    memory_fit(c->files, c->file_room, c->file_count + 1);
    c->files[c->file_count++] = memcpy(memory_resize(NULL, bytes), file, bytes);
}

void coverage_claimed(struct coverage *c, uint64_t number, const char *file)
{
    struct coverage_process *p = process_of(c, number);

    if (*file)
        keep_file(c, file);
    p->claimed = true;
    p->obstacle = obstacle_in_file(file); /* what it was then, not what it has become by exec */
}

/* What was found to keep it out, or to keep something from it. */
static const char *reason(const struct coverage_process *p)
{
    if (p->claimed)
        return p->obstacle && p->obstacle->partly ? p->obstacle->text : NULL;
    if (p->obstacle && !p->obstacle->partly)
        return p->obstacle->text;
    return NULL;
}

/* ---- the account: whatever was started and did not come was not recorded ---- */

struct seen { /* programs that were found to be without the library */
    uint64_t all, by[RING_START_END];
};

static void note_seen(struct seen *s, const char *text)
{
    s->all++;
    for (unsigned int i = RING_START_PLAIN + 1; i < RING_START_END; i++) {
        if (strcmp(prospects[i], text) == 0) {
            s->by[i]++;
            return;
        }
    }
}

/* Nothing was found that kept the library out: there may be nothing, or it ended before we looked.
 */
static bool is_unclear(const struct coverage_process *p)
{
    return !p->claimed && p->kind >= COVERAGE_RENAMED && (!p->obstacle || p->obstacle->partly);
}

static bool is_unclear_as(const struct coverage_process *p, enum coverage_kind kind)
{
    return p->kind == kind && is_unclear(p);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Of those that did not come, the ones that nobody has a reason for so far: by what was said of
 * them, and for the rest nobody knows.
 */
static uint64_t count_unseen(const struct collect_account *a, const struct seen *s,
                             uint64_t by[RING_START_END])
{
    uint64_t missing = a->started > a->came ? a->started - a->came : 0, left;

    missing -= least(missing, s->all);
    left = missing;
    for (unsigned int i = RING_START_PLAIN + 1; i < RING_START_END; i++) {
        by[i] = least(a->prospects[i] - least(s->by[i], a->prospects[i]), left);
        left -= by[i];
    }
    by[RING_START_PLAIN] = left;
    return missing;
}

/* The one reason that all of these have; NULL: they differ. */
static const char *common_reason(const uint64_t by[RING_START_END])
{
    const char *text = NULL;

    for (unsigned int i = 0; i < RING_START_END; i++) {
        if (by[i] && text && strcmp(text, prospects[i]) != 0)
            return NULL;
        if (by[i])
            text = prospects[i];
    }
    return text;
}

static void put_unseen(struct trace_store *store, uint64_t count, const char *text)
{
    struct trace_loss fields = {0, TRACE_LOST_PROGRAMS, count, 0};

    if (count)
        trace_store_put(store, TRACE_LOSS, trace_store_now(store), (const uint64_t *)&fields, 3,
                        text, strlen(text));
}

static void tell_unseen(struct trace_store *store, const struct collect_account *a,
                        const struct seen *s)
{
    uint64_t by[RING_START_END];

    count_unseen(a, s, by);
    for (unsigned int i = RING_START_PLAIN + 1; i < RING_START_END; i++)
        put_unseen(store, by[i], prospects[i]);
    put_unseen(store, by[RING_START_PLAIN], prospects[RING_START_PLAIN]);
}

static void put_reason(struct trace_store *store, uint64_t process, const char *text)
{
    trace_store_fact(store, TRACE_OF_PROCESS, process, FACT_UNRECORDED, text, strlen(text));
}

static void tell_clear(const struct coverage *c, struct trace_store *store, uint64_t processes,
                       struct seen *seen)
{
    for (uint64_t i = 1; i <= processes && i < c->room; i++) {
        const char *text = is_unclear(&c->of[i]) ? NULL : reason(&c->of[i]);

        if (!text)
            continue;
        put_reason(store, i, text);
        if (!c->of[i].claimed && c->of[i].kind != COVERAGE_COPY)
            note_seen(seen, text);
    }
}

/* Those that ended before they could be looked at have the reason that was said of them beforehand.
 * Where there are several, nobody knows whose is which, and all are told without a name. What is
 * not in the account was started by who has no library; but where all have come, one that we have
 * heard nothing from had nothing to say. Those that were only named by their exit record come last:
 * a copy may have renamed itself.
 */
static void tell_unclear(const struct coverage *c, struct trace_store *store, uint64_t processes,
                         const struct collect_account *a, struct seen *seen)
{
    uint64_t by[RING_START_END], left = count_unseen(a, seen, by);
    const char *common = common_reason(by);

    if (a->whole && !a->untold && a->came >= a->started)
        return;
    for (uint64_t i = 1; i <= processes && i < c->room; i++) {
        if (!is_unclear_as(&c->of[i], COVERAGE_IMAGE) || (left && !common))
            continue;
        put_reason(store, i, left ? common : NOT_LOADED);
        note_seen(seen, left ? common : NOT_LOADED);
        left -= left > 0;
    }
    for (uint64_t i = 1; common && left && i <= processes && i < c->room; i++) {
        if (!is_unclear_as(&c->of[i], COVERAGE_RENAMED))
            continue;
        put_reason(store, i, common);
        note_seen(seen, common);
        left--;
    }
}

static void put_count(struct trace_store *store, const char *key, uint64_t count)
{
    char text[24];
    int bytes = snprintf(text, sizeof(text), "%" PRIu64, count);

    trace_store_fact(store, TRACE_OF_RUN, 0, key, text, (size_t)bytes);
}

/* What may have been started without being counted. */
static void tell_untold(const struct coverage *c, struct trace_store *store,
                        const struct collect_account *a)
{
    char text[PATH_MAX + 64] = "programs appeared that had not been counted";
    bool found = a->untold;

    for (size_t i = 0; i < c->file_count && !found; i++) {
        found = untold_in_file(c->files[i]);
        snprintf(text, sizeof(text), "%s makes system calls of its own", c->files[i]);
    }
    if (found)
        trace_store_fact(store, TRACE_OF_RUN, 0, FACT_PROGRAMS_UNTOLD, text, strlen(text));
}

void coverage_end(struct coverage *c, struct trace_store *store, uint64_t processes,
                  const struct collect_account *a)
{
    struct seen seen = {0};

    tell_clear(c, store, processes, &seen);
    tell_unclear(c, store, processes, a, &seen);
    tell_unseen(store, a, &seen);
    if (a->whole) {
        tell_untold(c, store, a);
        put_count(store, FACT_PROGRAMS_STARTED, a->started);
        put_count(store, FACT_PROGRAMS_REACHED, least(a->came, a->started));
    }
    coverage_free(c);
}

void coverage_free(struct coverage *c)
{
    for (size_t i = 0; i < c->file_count; i++)
        free(c->files[i]);
    free(c->files);
    free(c->of);
    *c = (struct coverage){0};
}
