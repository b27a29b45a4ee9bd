/* memo - see memo.h. */
#include "inject/memo.h"

#include "inject/path.h"
#include "inject/sight.h"

/* The first place of a key's set. */
static inline size_t set_of(uint64_t key)
{
    unsigned int sets = likely(mode_is_exact(local.mode)) ? MEMO_SETS : MEMO_SETS_FEW;

    return ((key >> 20) & (sets - 1)) * MEMO_WAYS;
}

static inline bool same_words(const struct memo *m, const struct memo_entry *e)
{
    const uint32_t *at = &m->offsets[e->start % MEMO_WORDS];
    const uint64_t *value = &m->values[e->start % MEMO_WORDS];
    uint64_t differ = 0;

#define WORD(i) (*(const volatile uint64_t *)(e->sp + at[i]) ^ value[i])
    for (unsigned int i = 0; i < e->words && !differ; i += MEMO_WORDS_STEP)
        differ = WORD(i) | WORD(i + 1) | WORD(i + 2) | WORD(i + 3);
#undef WORD
    return !differ;
}

/* Are its words and frames still there? Others overwrite them in the course of time. */
static inline bool is_whole(const struct memo *m, const struct memo_entry *e)
{
    return e->start + MEMO_WORDS >= m->top + MEMO_WORDS_EACH &&
           e->first + MEMO_FRAMES >= m->top_frame + MEMO_FRAMES_EACH;
}

static inline bool is_it(const struct memo *m, const struct memo_entry *e,
                         const struct memo_call *c)
{
    return e->sp == c->sp && e->python == c->python && (!e->needs_fp || e->fp == c->fp) &&
           is_whole(m, e) && same_words(m, e) &&
           (!e->frames || sight_same(&m->frames[e->first % MEMO_FRAMES], e->frames));
}

/* The stack after this one will most often be the one that came after it before: what is compared then
 * is fetched now, and need not wait until it is known who asks.
 */
static inline uint32_t recalled(struct memo *m, unsigned int place)
{
    const struct memo_entry *e = &m->entries[place];

    __builtin_prefetch(&m->entries[e->next]);
    __builtin_prefetch(&m->values[e->next_start]);
    m->last = (uint16_t)place;
    m->expected = e->next;
    return e->stack;
}

/* Which place of a set it is cannot be guessed: so all are looked at, without a branch for each. */
static OUTLINE uint32_t search(struct memo *m, const struct memo_call *c)
{
    size_t set = set_of(c->key);
    unsigned int at = 0;

    for (unsigned int i = 0; i < MEMO_WAYS; i++)
        at |= (unsigned int)(m->keys[set + i] == c->key) << i;
    for (; at; at &= at - 1) {
        unsigned int place = (unsigned int)set + (unsigned int)__builtin_ctz(at);
        struct memo_entry *before = &m->entries[m->last];

        if (!is_it(m, &m->entries[place], c))
            continue;
        before->next = (uint16_t)place;
        before->next_start = m->entries[place].start % MEMO_WORDS;
        return recalled(m, place);
    }
    return 0;
}

uint32_t memo_recall(struct thread *t, const struct memo_call *c)
{
    struct memo *m = &t->memo;
    const struct memo_entry *e = &m->entries[m->expected];

    if (likely(e->key == c->key && is_it(m, e, c)))
        return recalled(m, m->expected);
    return search(m, c);
}

/* Room for the words and frames of one stack, each in one run. */
static void make_room(struct memo *m)
{
    if (m->top % MEMO_WORDS + MEMO_WORDS_EACH > MEMO_WORDS)
        m->top += MEMO_WORDS - m->top % MEMO_WORDS;
    if (m->top_frame % MEMO_FRAMES + MEMO_FRAMES_EACH > MEMO_FRAMES)
        m->top_frame += MEMO_FRAMES - m->top_frame % MEMO_FRAMES;
}

static size_t place_for(struct memo *m, uint64_t key)
{
    size_t set = set_of(key);

    for (size_t i = set; i < set + MEMO_WAYS; i++)
        if (!m->keys[i] || !is_whole(m, &m->entries[i]))
            return i;
    return set + m->turn[set / MEMO_WAYS]++ % MEMO_WAYS;
}

/* The last is compared again where others would be. */
static void fill_up(struct path_words *w)
{
    for (; w->count % MEMO_WORDS_STEP; w->count++) {
        w->offsets[w->count] = w->offsets[w->count - 1];
        w->values[w->count] = w->values[w->count - 1];
    }
}

void memo_remember(struct thread *t, const struct memo_call *c, uint32_t stack, size_t frames)
{
    struct memo *m = &t->memo;
    struct path_words w = {.base = c->sp, .most = MEMO_WORDS_EACH};
    size_t place;

    if (frames > MEMO_FRAMES_EACH || !frames != !c->python)
        return;
    make_room(m);
    w.offsets = &m->offsets[m->top % MEMO_WORDS];
    w.values = &m->values[m->top % MEMO_WORDS];
    if (!path_read(t, &w) ||
        (frames && !sight_read(t, &m->frames[m->top_frame % MEMO_FRAMES], frames, c->python)))
        return;
    fill_up(&w);
    place = place_for(m, c->key);
    m->keys[place] = c->key;
    m->entries[place] = (struct memo_entry){.key = c->key,
                                            .sp = c->sp,
                                            .fp = c->fp,
                                            .python = c->python,
                                            .start = m->top,
                                            .first = m->top_frame,
                                            .stack = stack,
                                            .words = (uint16_t)w.count,
                                            .frames = (uint16_t)frames,
                                            .needs_fp = w.needs_fp};
    m->top += w.count;
    m->top_frame += frames;
}
