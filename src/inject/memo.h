/* memo - stacks that a thread has met more than once, and what their walks read.
 *
 * A walk is a function of the registers and of the words that it read, from the stack and from the
 * frames of Python. The memo keeps those words; when they are all the same again, so is the stack.
 * Nothing is assumed: equal words make an equal walk. Comparing is a row of independent loads,
 * about a nanosecond per frame. A stack that is met once is not kept, so that those who come again
 * are not driven out.
 *
 * Programs repeat themselves: a stack is most often followed by the one that followed it before, so
 * that one is compared at once, by the registers of the call alone. Only where it is another is it
 * looked for.
 */
#ifndef INJECT_MEMO_H
#define INJECT_MEMO_H

#include "inject/sight.h"
#include "inject/state.h"

struct memo_step { /* the first one of a walk: to the caller of who allocates */
    struct caller to;
    uintptr_t fp_at; /* where it read the caller's frame pointer; 0: it is as it was */
    bool by_fp;      /* the frame was found by the frame pointer */
};

struct memo_call {
    uint64_t key;
    uintptr_t pc, sp, fp;
    struct memo_step out;
    uintptr_t python; /* the thread's innermost Python frame; 0: none */
};

/* The first step is part of it: allocation wrappers would otherwise share one key. A Python frame
 * that has gone on stands at another instruction.
 */
static inline uint64_t memo_key(const struct memo_call *c, uintptr_t instruction)
{
    uint64_t k = (c->pc * 0x9e3779b97f4a7c15u) ^ (c->out.to.pc * 0xd6e8feb86659fd93u) ^
                 (c->out.to.sp * 0xa0761d6478bd642fu) ^
                 ((c->python ^ instruction << 7) * 0xe7037ed1a0b428dbu);

    return (k ^ k >> 32) | 1;
}

/* The number of its stack, if it is one that came after the last before; 0: it is another. */
uint32_t memo_recall_other(struct memo *m, uintptr_t pc, uintptr_t sp, uintptr_t fp,
                           uintptr_t frame);

/* Is it worth asking for stacks that were not expected? */
bool memo_is_asked(struct memo *m);

/* The number of its stack, wherever it is; 0: not known. */
uint32_t memo_search(struct memo *m, const struct memo_call *c);

/* The thread's last walk and look at its frames were for this call: of so many frames. */
void memo_remember(struct thread *t, const struct memo_call *c, uint32_t stack, size_t frames);

/* None of its stacks is known any more: their words are taken for overwritten. */
static inline void memo_forget(struct memo *m)
{
    m->top += MEMO_CELLS;
    m->whole_from = m->top + MEMO_CELLS_EACH - MEMO_CELLS;
}

/* ---- on the way of every allocation ---- */

static inline bool memo_same_words(const struct memo_words *w, uintptr_t sp)
{
#define WORD(i) (*(const volatile uint64_t *)(sp + w->offsets[i]) ^ w->values[i])
    return !(WORD(0) | WORD(1) | WORD(2) | WORD(3));
#undef WORD
}

/* Its words and frames must still be there: others overwrite them in the course of time. */
static inline __attribute__((always_inline)) bool memo_is_it(const struct memo *m,
                                                             const struct memo_entry *e,
                                                             uintptr_t pc, uintptr_t sp,
                                                             uintptr_t fp, uintptr_t frame)
{
    const union memo_cell *c = &m->cells[e->start % MEMO_CELLS], *end = c + e->words;

    if ((e->pc ^ pc) | (e->sp ^ sp) | (e->python ^ frame))
        return false;
    if (unlikely((e->needs_fp && e->fp != fp) || e->start < m->whole_from))
        return false;
    for (; c < end; c++)
        if (!memo_same_words(&c->words, sp))
            return false;
    return sight_same(c, e->frames);
}

/* The stack after this one will most often be the one that came after it before: what is compared
 * then is fetched now, and need not wait until it is known who asks.
 */
static inline uint32_t memo_recalled(struct memo *m, unsigned int place)
{
    const struct memo_entry *e = &m->entries[place];

    __builtin_prefetch(&m->entries[e->next]);
    __builtin_prefetch(&m->cells[e->next_start]);
    m->last = (uint16_t)place;
    m->expected = e->next;
    return e->stack;
}

/* The number of the stack if it is the one that is expected; 0: it is another. */
static inline __attribute__((always_inline)) uint32_t memo_recall(struct memo *m, uintptr_t pc,
                                                                  uintptr_t sp, uintptr_t fp,
                                                                  uintptr_t frame)
{
    unsigned int place = m->expected;

    if (unlikely(!memo_is_it(m, &m->entries[place], pc, sp, fp, frame)))
        return 0;
    m->entries[m->last].strayed = false;
    return memo_recalled(m, place);
}

#endif
