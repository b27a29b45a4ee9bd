/* frames - the stacks of a trace and what their frames are called.
 *
 * A stack is a frame and the stack that called it, so walking to the parent goes outward. A frame
 * has several names where calls were inlined: depth 0 is the innermost, each other is what the one
 * before it was inlined into. A frame without a name is shown as module+0xoffset, then as its
 * address.
 */
#ifndef ANALYZE_FRAMES_H
#define ANALYZE_FRAMES_H

#include "analyze/names.h"
#include "analyze/table.h"

#define FRAMES_INLINED_MOST 32 /* names of one frame */

struct frames_name {
    uint64_t depth, line;
    const char *function, *file; /* may be NULL */
    struct frames_name *next;    /* depth 0, the innermost, first */
};

struct frames_frame {
    uint64_t flavour, owner, address; /* owner: the process, or the MODULE */
    struct frames_name *names;
};

struct frames_stack {
    uint32_t parent, frame;
};

struct frames { /* zeroed but for its names' arena: empty */
    struct names names;
    struct frames_frame *frames;
    struct frames_stack *stacks;
    size_t frame_count, frame_room, stack_count, stack_room; /* numbers 1 .. count */
    const char **modules;
    size_t module_count, module_room;
    const char **profiled; /* functions that the program asks to show: FILE:LINE:FUNCTION */
    size_t profiled_count;
    size_t gaps;       /* numbers that were passed over */
    uint64_t left_out; /* above the limits of this reader */
};

/* Take a STRING, FRAME, NAME, STACK, STACKS, MODULE or MARK; others are left alone. */
void frames_take(struct frames *f, const struct trace_event *ev);
void frames_free(struct frames *f);

/* The whole stack, innermost first, in the arena; NULL for stack 0. */
const struct table_stack *frames_stack(const struct frames *f, struct arena *a, uint64_t stack);

/* Is it a line of Python? */
bool frames_is_python(const struct frames *f, uint64_t frame);

/* The line of code to blame for what a stack allocated: its innermost frame that is not an
 * allocator's own or a wrapper of it. Where all of them are, the innermost. What an interpreter does
 * for a line of Python is that line's.
 */
struct table_frame frames_site(const struct frames *f, uint64_t stack);
/* A number for frames that read the same: texts are kept once each, so their place stands for them. */
uint64_t frames_key(const struct table_frame *f);

/* The names of one frame, innermost first; how many of `room` were filled (at least 1). */
size_t frames_expand(const struct frames *f, uint64_t frame, struct table_frame *out, size_t room);

/* Is it malloc, operator new, or a wrapper such as xmalloc? */
bool frames_is_allocator(const char *function);

#endif
