/* memo - see memo.h. */
#include "inject/memo.h"

#include "inject/path.h"

/* The first place of a key's set. */
static inline size_t set_of(uint64_t key)
{
    unsigned int sets = likely(mode_is_exact(local.mode)) ? MEMO_SETS : MEMO_SETS_FEW;

    return ((key >> 20) & (sets - 1)) * MEMO_WAYS;
}

/* It came after `before` and was not expected: the second time in a row it will be. A loop that is
 * left goes on with itself the next time.
 */
static uint32_t strayed(struct memo *m, struct memo_entry *before, unsigned int place)
{
    if (!before->strayed) {
        before->other = (uint16_t)place;
    } else {
        before->other = before->next;
        before->next = (uint16_t)place;
        before->next_start = m->entries[place].start % MEMO_CELLS;
    }
    before->strayed = !before->strayed;
    return memo_recalled(m, place);
}

uint32_t memo_recall_other(struct memo *m, uintptr_t pc, uintptr_t sp, uintptr_t fp,
                           uintptr_t frame)
{
    struct memo_entry *before = &m->entries[m->last];
    unsigned int place = before->other;

    return memo_is_it(m, &m->entries[place], pc, sp, fp, frame) ? strayed(m, before, place) : 0;
}

#define VAIN_MOST 512u /* how vain the last searches were: each that was adds one, */
#define VAIN_LOST 8u   /* and one that was not takes so many away */
#define VAIN_MANY 448u /* from here on only the first of so many is made: */
#define VAIN_EACH 8u

/* A search costs a miss of the cache or two for each stack with the same call. Where nearly all are
 * new, as while a program imports, it is in vain: the walk finds out what is known.
 */
bool memo_is_asked(struct memo *m)
{
    return m->vain < VAIN_MANY || ++m->unasked % VAIN_EACH == 0;
}

static uint32_t find(struct memo *m, const struct memo_call *c)
{
    size_t set = set_of(c->key);
    unsigned int at = 0;

    for (unsigned int i = 0; i < MEMO_WAYS; i++)
        at |= (unsigned int)(m->keys[set + i] == c->key) << i;
    for (; at; at &= at - 1) {
        unsigned int place = (unsigned int)set + (unsigned int)__builtin_ctz(at);

        if (memo_is_it(m, &m->entries[place], c->pc, c->sp, c->fp, c->python))
            return strayed(m, &m->entries[m->last], place);
    }
    return 0;
}

uint32_t memo_search(struct memo *m, const struct memo_call *c)
{
    uint32_t stack = find(m, c);

    if (stack)
        m->vain -= m->vain < VAIN_LOST ? m->vain : VAIN_LOST;
    else
        m->vain += m->vain < VAIN_MOST;
    return stack;
}

/* A stack that was walked as it was not asked for may be there: it came after the last one. */
static bool is_there(struct memo *m, const struct memo_call *c, uint32_t stack)
{
    size_t set = set_of(c->key);

    for (size_t i = set; m->vain >= VAIN_MANY && i < set + MEMO_WAYS; i++) {
        const struct memo_entry *e = &m->entries[i];

        if (m->keys[i] == c->key && e->stack == stack && e->sp == c->sp &&
            e->start >= m->whole_from) {
            strayed(m, &m->entries[m->last], (unsigned int)i);
            return true;
        }
    }
    return false;
}

/* Whatever is written there next overwrites no more than one stack may have. */
static void move_on(struct memo *m, size_t cells)
{
    m->top += cells;
    if (m->top + MEMO_CELLS_EACH > MEMO_CELLS)
        m->whole_from = m->top + MEMO_CELLS_EACH - MEMO_CELLS;
}

/* Room for the cells of one stack, in one run. */
static void make_room(struct memo *m)
{
    if (m->top % MEMO_CELLS + MEMO_CELLS_EACH > MEMO_CELLS)
        move_on(m, MEMO_CELLS - m->top % MEMO_CELLS);
}

static size_t place_for(struct memo *m, uint64_t key)
{
    size_t set = set_of(key);

    for (size_t i = set; i < set + MEMO_WAYS; i++)
        if (!m->keys[i] || m->entries[i].start < m->whole_from)
            return i;
    return set + m->turn[set / MEMO_WAYS]++ % MEMO_WAYS;
}

/* The words of the first step, which is none of the walk's, and those of the walk; the last is
 * compared again where others would be.
 */
static bool read_words(const struct thread *t, const struct memo_call *c, struct path_words *w)
{
    if (!path_add(w, c->out.to.sp + (uintptr_t)ARCH_RETURN_OFFSET, c->out.to.pc) ||
        !path_read(t, w))
        return false;
    if (w->needs_fp && c->out.fp_at && !path_add(w, c->out.fp_at, c->out.to.fp))
        return false;
    w->needs_fp = c->out.by_fp || (w->needs_fp && !c->out.fp_at);
    while (w->count % MEMO_FOUR) {
        const struct memo_words *four = &w->cells[w->count / MEMO_FOUR].words;
        size_t last = w->count % MEMO_FOUR - 1;

        path_add(w, w->base + four->offsets[last], four->values[last]);
    }
    return true;
}

void memo_remember(struct thread *t, const struct memo_call *c, uint32_t stack, size_t frames)
{
    struct memo *m = &t->memo;
    struct path_words w = {.base = c->sp, .most = (size_t)MEMO_WORDS_EACH * MEMO_FOUR};
    size_t place, words;

    if (frames > MEMO_FRAMES_EACH || !frames != !c->python || t->stack_high - c->sp > UINT32_MAX ||
        is_there(m, c, stack))
        return;
    make_room(m);
    w.cells = &m->cells[m->top % MEMO_CELLS];
    if (!read_words(t, c, &w))
        return;
    words = w.count / MEMO_FOUR;
    if (frames && !sight_read(t, w.cells + words, frames, c->python))
        return;
    place = place_for(m, c->key);
    m->keys[place] = c->key;
    m->entries[place] = (struct memo_entry){.pc = c->pc,
                                            .sp = c->sp,
                                            .fp = c->fp,
                                            .python = c->python,
                                            .start = m->top,
                                            .stack = stack,
                                            .words = (uint16_t)words,
                                            .frames = (uint16_t)frames,
                                            .needs_fp = w.needs_fp};
    move_on(m, words + frames);
}
