/* heap_infos - what the blocks of an exact recording share, by number.
 *
 * Infos that differ in their context alone are one here: in a program of many steps there are many
 * of them, and nobody asks for each. Where only blocks of some contexts are asked about, the others
 * are left out.
 */
#include "model/heap_pass.h"

#include "base/hash.h"
#include "base/memory.h"
#include "model/allowed.h"

#include <stdlib.h>

#define INFOS_MOST ((size_t)1 << 24)
#define WITHIN_MOST ((size_t)1 << 22)

/* Numbers that nothing has defined: a lost chunk may have. */
static bool admit_gap(const struct heap *h, uint64_t gap)
{
    if (gap > ALLOWED_GAPS(h->frames->names->file_bytes) - h->pass->gaps)
        return false;
    h->pass->gaps += gap;
    return true;
}

/* So many more; all but one of them are a gap. */
static bool admit(const struct heap *h, uint64_t more)
{
    struct heap_pass *s = h->pass;

    if (more > INFOS_MOST - s->infos || !admit_gap(h, more - 1) ||
        s->infos >= ALLOWED_THINGS(h->frames->names->file_bytes) + s->gaps)
        return false;
    s->infos += (size_t)more;
    return true;
}

#define LINE 64 /* bytes: of the cache, and of an info */

void heap_infos_fit(struct heap_state *s, size_t count)
{
    size_t before = s->infos ? s->info_count + 1 : 0, was, is;

    _Static_assert(sizeof(struct heap_info) == LINE, "an event changes one line of the cache");
    if (count > s->info_room) {
        was = s->infos ? (size_t)((char *)s->infos - (char *)s->info_memory) : 0;
        s->info_room = memory_room(s->info_room, count, LINE, 128);
        s->info_memory = memory_resize(s->info_memory, s->info_room * LINE + LINE - 1);
        is = -(uintptr_t)s->info_memory % LINE;
        if (is != was)
            memmove((char *)s->info_memory + is, (char *)s->info_memory + was, before * LINE);
        s->infos = (struct heap_info *)(void *)((char *)s->info_memory + is);
    }
    if (s->infos && count > before)
        memset(s->infos + before, 0, (count - before) * LINE);
}

/* That of number 0 is there as well, and not defined. */
static bool make_room(struct heap *h, struct heap_state *s, uint64_t number)
{
    if (!number || (number > s->info_count && !admit(h, number - s->info_count)))
        return false;
    heap_infos_fit(s, (size_t)number + 1);
    if (number > s->info_count)
        s->info_count = (size_t)number;
    return true;
}

/* ---- places of their own, for infos with contexts ---- */

static uint64_t key_of(const struct heap_info *i)
{
    return hash_mix(hash_mix(intmap_hash(i->bytes), i->stack), i->python);
}

/* From here on the numbers of the trace are not those of `infos`. */
static void begin_places(struct heap_state *s)
{
    s->places_room = s->info_count + 1;
    s->places = memory_zeroed(s->places_room * sizeof(*s->places));
    s->place_count = s->info_count;
    for (size_t i = 1; i <= s->info_count; i++) {
        s->places[i] = s->infos[i].defined ? (uint32_t)i : 0;
        if (s->infos[i].defined)
            intmap_put(&s->same, key_of(&s->infos[i]), i);
    }
}

static bool make_place(const struct heap *h, struct heap_state *s, uint64_t number)
{
    if (!number || number > UINT32_MAX / 4 ||
        (number > s->place_count && !admit_gap(h, number - s->place_count - 1)))
        return false;
    memory_fit_zeroed(s->places, s->places_room, (size_t)number + 1);
    if (number > s->place_count)
        s->place_count = (size_t)number;
    return true;
}

/* One that is the same but for its context; 0: none. */
static uint64_t find_same(const struct heap_state *s, const struct heap_info *like, uint64_t *key)
{
    uint64_t place;

    for (*key = key_of(like); intmap_get(&s->same, *key, &place); ++*key)
        if (s->infos[place].bytes == like->bytes && s->infos[place].stack == like->stack &&
            s->infos[place].python == like->python)
            return place;
    return 0;
}

static bool add_placed(struct heap *h, struct heap_state *s, uint64_t number,
                       const struct heap_info *info)
{
    uint64_t key, place;

    if (!make_place(h, s, number))
        return false;
    if (s->places[number])
        return true;
    place = find_same(s, info, &key);
    if (!place) {
        place = s->info_count + 1;
        if (!make_room(h, s, place))
            return false;
        s->infos[place] = *info;
        intmap_put(&s->same, key, place);
    }
    s->places[number] = (uint32_t)place;
    return true;
}

/* ---- contexts ---- */

void heap_take_context(struct heap *h, const struct trace_event *ev)
{
    if (h->options.born)
        born_take(&h->pass->born, h->options.born, h->frames->names, ev);
}

void heap_take_info_context(struct heap *h, const struct trace_event *ev)
{
    struct heap_process *p = heap_make_process(h, ev->info_context.process);
    struct heap_state *s = p ? p->state : NULL;

    if (!s)
        return;
    if (!s->places)
        begin_places(s);
    if (!h->options.born || s->within_count == WITHIN_MOST)
        return;
    memory_fit(s->within, s->within_room, s->within_count + 1);
    s->within[s->within_count++] = (struct heap_within){
        ev->info_context.first, ev->info_context.count, ev->info_context.context};
}

/* Both are in the order of numbers; *next is where the last one was found. */
static uint64_t context_of(const struct heap_state *s, uint64_t number, size_t *next)
{
    while (*next < s->within_count && number >= s->within[*next].first &&
           number - s->within[*next].first >= s->within[*next].count)
        ++*next;
    return *next < s->within_count && number >= s->within[*next].first ? s->within[*next].context
                                                                       : 0;
}

enum born_answer heap_born(const struct heap *h, uint64_t context, uint64_t process)
{
    return h->options.born ? born_in(&h->pass->born, h->options.born, context, process)
                           : BORN_THERE;
}

/* ---- records ---- */

static bool add(struct heap *h, struct heap_process *p, uint64_t number,
                const struct heap_info *info, uint64_t context)
{
    struct heap_state *s = p->state;
    enum born_answer born = heap_born(h, context, p->number);

    if (h->options.born && !s->places)
        begin_places(s);
    if (born != BORN_THERE) {
        if (!s->places || !make_place(h, s, number))
            return false;
        s->places[number] = born == BORN_UNKNOWN ? HEAP_PLACE_UNKNOWN : HEAP_PLACE_ELSEWHERE;
        return true;
    }
    if (s->places)
        return add_placed(h, s, number, info);
    if (!make_room(h, s, number))
        return false;
    if (!s->infos[number].defined)
        s->infos[number] = *info;
    return true;
}

void heap_take_infos(struct heap *h, const struct trace_event *ev)
{
    struct heap_process *p = heap_make_process(h, ev->infos.process);
    struct batch_info info = {.info = ev->infos.first - 1};
    const unsigned char *tail = ev->tail;
    size_t size = ev->tail_bytes, next = 0;

    while (p && batch_next_info(&tail, &size, &info)) {
        struct heap_info i = {
            .defined = true, .bytes = info.bytes, .python = info.origin == TRACE_BY_PYTHON};

        p->exact = h->exact = true;
        i.stack = info.stack <= h->frames->stack_count ? (uint32_t)info.stack : 0;
        i.native = i.stack && !h->frames->stacks[i.stack].python;
        h->left_out += !add(h, p, info.info, &i, context_of(p->state, info.info, &next));
    }
    if (p)
        p->state->within_count = 0;
}

void heap_times_fit(struct heap_state *s)
{
    memory_extend(s->times, s->times_room, s->times_count, s->info_count + 1);
    s->times_count = s->info_count + 1;
}

void heap_lives_fit(struct heap_state *s)
{
    memory_extend(s->lives, s->lives_room, s->lives_count, s->info_count + 1);
    s->lives_count = s->info_count + 1;
}

void heap_infos_free(struct heap_state *s)
{
    free(s->info_memory);
    free(s->at);
    free(s->unreached);
    free(s->times);
    free(s->lives);
    free(s->places);
    free(s->within);
    intmap_free(&s->same);
}
