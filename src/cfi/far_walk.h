/* far_walk - the stack of a thread that stands still, read from outside.
 *
 * Of such a thread no more is known than where it is and where its stack is. Most rows of unwind
 * data ask for no more. Where one needs the frame pointer, it is what a frame further in has saved;
 * if none has, it is looked for on the stack, where the function must have put it. Every return
 * address must be behind a call: where nothing is proved the stack ends, and is said to be cut.
 */
#ifndef CFI_FAR_WALK_H
#define CFI_FAR_WALK_H

#include "cfi/far_row.h"

#define FAR_FRAME_GUESSED (1ull << 63) /* in a frame: its place is a frame pointer's word alone */

struct far_place { /* what is known of an address of code */
    struct far_row row;
    bool code;   /* what is before it may be executed, */
    bool called; /* and is a call */
};

struct far_code { /* who knows the code of the thread's process */
    struct far memory;
    bool (*is_code)(void *context, uintptr_t at);           /* may it be executed? Asked often */
    struct far_place (*place)(void *context, uintptr_t pc); /* a return address */
    void *context;
};

/* Frames into `out`, innermost first: return addresses but for the first, which is `pc`; `exact`:
 * what runs there is at this address, not before it. *whole: the outermost is among them.
 */
size_t far_walk(const struct far_code *code, uintptr_t pc, uintptr_t sp, bool exact, uint64_t *out,
                size_t most, bool *whole);

#endif
