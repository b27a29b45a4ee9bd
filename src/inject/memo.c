/* memo - see memo.h. */
#include "inject/memo.h"

#include "inject/path.h"
#include "inject/sight.h"

static inline const struct memo_entry *set_of(const struct memo *m, uint64_t key)
{
    unsigned int sets = likely(mode_is_exact(local.mode)) ? MEMO_SETS : MEMO_SETS_FEW;

    return &m->entries[((key >> 20) & (sets - 1)) * MEMO_WAYS];
}

static inline bool same_words(const struct memo *m, const struct memo_entry *e)
{
    const uint32_t *at = &m->offsets[e->start % MEMO_WORDS];
    const uint64_t *value = &m->values[e->start % MEMO_WORDS];
    unsigned int n = e->words, i = 0;
    uint64_t differ = 0;

#define WORD(i) (*(const volatile uint64_t *)(e->sp + at[i]) ^ value[i])
    for (; i + 4 <= n && !differ; i += 4)
        differ = WORD(i) | WORD(i + 1) | WORD(i + 2) | WORD(i + 3);
    for (; i < n && !differ; i++)
        differ = WORD(i);
#undef WORD
    return !differ;
}

/* Are its words and frames still there? Others overwrite them in the course of time. */
static inline bool is_whole(const struct memo *m, const struct memo_entry *e)
{
    return e->start + MEMO_WORDS >= m->top + MEMO_WORDS_EACH &&
           e->first + MEMO_FRAMES >= m->top_frame + MEMO_FRAMES_EACH;
}

uint32_t memo_recall(const struct thread *t, const struct memo_call *c)
{
    const struct memo *m = &t->memo;
    const struct memo_entry *e = set_of(m, c->key);

    for (unsigned int i = 0; i < MEMO_WAYS; i++, e++) {
        if (e->key != c->key || e->sp != c->sp || e->python != c->python ||
            (e->needs_fp && e->fp != c->fp))
            continue;
        if (is_whole(m, e) && same_words(m, e) &&
            (!e->frames || sight_same(&m->frames[e->first % MEMO_FRAMES], e->frames)))
            return e->stack;
    }
    return 0;
}

/* Room for the words and frames of one stack, each in one run. */
static void make_room(struct memo *m)
{
    if (m->top % MEMO_WORDS + MEMO_WORDS_EACH > MEMO_WORDS)
        m->top += MEMO_WORDS - m->top % MEMO_WORDS;
    if (m->top_frame % MEMO_FRAMES + MEMO_FRAMES_EACH > MEMO_FRAMES)
        m->top_frame += MEMO_FRAMES - m->top_frame % MEMO_FRAMES;
}

static struct memo_entry *place_for(struct memo *m, uint64_t key)
{
    size_t set = (size_t)(set_of(m, key) - m->entries);
    struct memo_entry *e = &m->entries[set];

    for (unsigned int i = 0; i < MEMO_WAYS; i++)
        if (!e[i].key || !is_whole(m, &e[i]))
            return &e[i];
    return &e[m->turn[set / MEMO_WAYS]++ % MEMO_WAYS];
}

void memo_remember(struct thread *t, const struct memo_call *c, uint32_t stack, size_t frames)
{
    struct memo *m = &t->memo;
    struct path_words w = {.base = c->sp, .most = MEMO_WORDS_EACH};

    if (frames > MEMO_FRAMES_EACH || !frames != !c->python)
        return;
    make_room(m);
    w.offsets = &m->offsets[m->top % MEMO_WORDS];
    w.values = &m->values[m->top % MEMO_WORDS];
    if (!path_read(t, &w) ||
        (frames && !sight_read(t, &m->frames[m->top_frame % MEMO_FRAMES], frames, c->python)))
        return;
    *place_for(m, c->key) = (struct memo_entry){.key = c->key,
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
