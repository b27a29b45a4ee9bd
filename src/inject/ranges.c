/* ranges - see ranges.h.
 *
 * A range is a step if its name has the word step or iteration in it: "step 12", "train_step",
 * "ProfilerStep#3". What stands behind it is its number, and steps are told when they end.
 */
#include "inject/ranges.h"

#include "inject/lookup.h"
#include "inject/state.h"
#include "inject/sys.h"
#include "tidemark.h"

#include <stdatomic.h>
#include <string.h>

extern const struct tidemark_api marks_api __attribute__((visibility("hidden"))); /* marks.c */

#define STEPS 256
#define NAME_MOST 64
#define NAMELESS "(no name)"

static struct step { /* one that is open */
    _Atomic uint64_t key;
    uint64_t number;
    char name[NAME_MOST];
} steps[STEPS];
static _Atomic unsigned int open_steps;

/* ---- is it a step? ---- */

static bool is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A word begins there, also within "ProfilerStep", and it is this one. */
static bool has_word(const char *name, size_t at, const char *word)
{
    size_t bytes = strlen(word);

    if (at && is_letter(name[at - 1]) && !(is_lower(name[at - 1]) && !is_lower(name[at])))
        return false;
    for (size_t i = 0; i < bytes; i++)
        if ((name[at + i] | 32) != word[i])
            return false;
    return !is_letter(name[at + bytes]);
}

static bool is_step(const char *name, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (has_word(name, i, "step") || has_word(name, i, "iteration"))
            return true;
    return false;
}

bool ranges_is_step(const char *name)
{
    return is_step(name, strnlen(name, NAME_MOST - 1));
}

/* "step 12" is step 12 of "step"; without a number it is its how manieth. */
static uint64_t split(const char *name, size_t *bytes)
{
    static _Atomic uint64_t counted;
    size_t end = *bytes, at = end;
    uint64_t number = 0;

    while (at && is_digit(name[at - 1]) && end - at < 18)
        at--;
    if (at == end)
        return atomic_fetch_add(&counted, 1) + 1;
    for (size_t i = at; i < end; i++)
        number = number * 10 + (uint64_t)(name[i] - '0');
    while (at && !is_letter(name[at - 1]))
        at--;
    *bytes = at;
    return number;
}

/* What a range is called, and which step it is. */
struct said {
    bool step;
    uint64_t number;
    char name[NAME_MOST];
};

static struct said said_of(const char *name)
{
    const char *text = name ? name : NAMELESS;
    size_t bytes = strnlen(text, NAME_MOST - 1);
    struct said s = {.step = is_step(text, bytes)};

    if (s.step)
        s.number = split(text, &bytes);
    memcpy(s.name, text, bytes);
    return s;
}

/* ---- those that are open ---- */

static void remember(uint64_t key, const struct said *s)
{
    for (size_t i = 0; s->step && i < STEPS; i++) {
        uint64_t none = 0;

        if (!atomic_compare_exchange_strong(&steps[i].key, &none, key))
            continue;
        steps[i].number = s->number;
        memcpy(steps[i].name, s->name, NAME_MOST);
        atomic_fetch_add(&open_steps, 1);
        return;
    }
}

static void tell_step(uint64_t key)
{
    for (size_t i = 0; i < STEPS && atomic_load(&open_steps); i++) {
        if (atomic_load(&steps[i].key) != key)
            continue;
        marks_api.step(steps[i].name, steps[i].number);
        atomic_fetch_sub(&open_steps, 1);
        atomic_store(&steps[i].key, 0);
        return;
    }
}

/* ---- ranges ---- */

/* Where a thread's own variables are tells it apart from all others. */
static uint64_t key_of_depth(void)
{
    return (uint64_t)(uintptr_t)&local << 8 | local.ranges;
}

void ranges_push(const char *name)
{
    struct said s = said_of(name);

    if (local.ranges < UINT8_MAX)
        local.ranges++;
    marks_api.begin(s.step || !name ? s.name : name);
    remember(key_of_depth(), &s);
}

void ranges_pop(void)
{
    marks_api.finish();
    tell_step(key_of_depth());
    if (local.ranges)
        local.ranges--;
}

void ranges_start(uint64_t number, const char *name)
{
    struct said s = said_of(name);

    marks_open(number, s.step || !name ? s.name : name);
    remember(number, &s);
}

void ranges_stop(uint64_t number)
{
    marks_api.close(number);
    tell_step(number);
}

void ranges_mark(const char *name, uint64_t value)
{
    if (!name || !memscope_said(name))
        marks_api.mark(name ? name : NAMELESS, value);
}

/* ---- names that last ---- */

#define NAMES_BYTES ((size_t)8 << 20)

/* Room that is never given back. */
static void *take_room(size_t bytes)
{
    static _Atomic(char *) names;
    static _Atomic size_t used;
    char *room = atomic_load(&names), *none = NULL;
    size_t at;

    if (!room && (room = sys_memory(NAMES_BYTES)) &&
        !atomic_compare_exchange_strong(&names, &none, room)) {
        sys_unmap(room, NAMES_BYTES);
        room = none;
    }
    bytes = (bytes + 7) & ~(size_t)7;
    at = room ? atomic_fetch_add(&used, bytes) : NAMES_BYTES;
    return at + bytes <= NAMES_BYTES ? room + at : NULL;
}

static uint64_t hash_of(const char *text, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return hash > 1 ? hash : 2;
}

const struct ranges_name *ranges_name(const char *text)
{
    static struct lookup known;
    size_t bytes = text ? strnlen(text, RING_TEXT_MOST) : 0;
    uint64_t hash = hash_of(text, bytes), there;
    struct ranges_name *n;

    if (lookup_get(&known, hash, &there))
        return (const struct ranges_name *)(uintptr_t)there;
    n = take_room(sizeof(*n) + bytes + 1);
    if (!n)
        return NULL;
    n->text = memcpy(n + 1, text ? text : "", bytes);
    lookup_put(&known, hash, (uintptr_t)n);
    return n;
}
