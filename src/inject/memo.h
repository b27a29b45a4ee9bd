/* memo - stacks that a thread has met more than once, and what their walks read.
 *
 * A walk is a function of the registers and of the words that it read, from the stack and from the frames
 * of Python. The memo keeps those words; when they are all the same again, so is the stack. Nothing is
 * assumed: equal words make an equal walk. Comparing is a row of independent loads, about a nanosecond
 * per frame. A stack that is met once is not kept, so that those who come again are not driven out.
 */
#ifndef INJECT_MEMO_H
#define INJECT_MEMO_H

#include "inject/state.h"

struct memo_call {
    uint64_t key;
    uintptr_t sp, fp; /* of the second frame */
    uintptr_t python; /* the thread's innermost Python frame; 0: none */
};

/* The first step is always made: allocation wrappers would otherwise share one key. A Python frame that has
 * gone on stands at another instruction.
 */
static inline struct memo_call memo_call(uintptr_t pc, struct caller second, uintptr_t python,
                                         uintptr_t instruction)
{
    uint64_t k = (pc * 0x9e3779b97f4a7c15u) ^ (second.pc * 0xd6e8feb86659fd93u) ^
                 (second.sp * 0xa0761d6478bd642fu) ^
                 ((python ^ instruction << 7) * 0xe7037ed1a0b428dbu);

    return (struct memo_call){(k ^ k >> 32) | 1, second.sp, second.fp, python};
}

/* The number of its stack; 0: not known. */
uint32_t memo_recall(struct thread *t, const struct memo_call *c);

/* The thread's last walk and look at its frames were for this call: of so many frames. */
void memo_remember(struct thread *t, const struct memo_call *c, uint32_t stack, size_t frames);

/* None of its stacks is known any more: their words are taken for overwritten. */
static inline void memo_forget(struct memo *m)
{
    m->top += MEMO_WORDS;
}

#endif
