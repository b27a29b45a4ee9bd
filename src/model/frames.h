/* frames - the stacks of a trace and what their frames are called.
 *
 * A stack is a frame and the stack that called it, so walking to the parent goes outward. A frame
 * has several names where calls were inlined: depth 0 is the innermost, each other is what the one
 * before it was inlined into. A frame without a name is shown as module+0xoffset, then as its
 * address.
 */
#ifndef MODEL_FRAMES_H
#define MODEL_FRAMES_H

#include "base/intmap.h"
#include "model/generated.h"
#include "model/names.h"
#include "model/scope.h"
#include "model/values.h"

#define FRAMES_SHARED 4
#define FRAMES_INLINED_MOST 32 /* names of one frame */

struct frames_name {
    uint64_t depth, line;
    const char *function, *file; /* may be NULL */
    struct frames_name *next;    /* depth 0, the innermost, first */
    enum scope_kind scope;       /* of a line of Python, as far as its path tells */
};

struct frames_frame {
    uint64_t owner, address; /* owner: the process, or the MODULE */
    struct frames_name *names;
    uint32_t flavour;
    bool reserves; /* a name of it is that of an allocator which reserves memory */
};

struct frames_stack {
    uint32_t parent, frame;
    uint16_t depth; /* with itself; 0: it was never defined */
    bool python;    /* it, or one that called it, is a line of Python */
    bool cut;       /* who called it is left out, for there are too many frames */
};

struct frames { /* zeroed but for its names: empty */
    struct names *names;
    struct frames_frame *frames;
    struct frames_stack *stacks;
    size_t frame_count, frame_room, stack_count, stack_room; /* numbers 1 .. count */
    const char **modules;
    const char **unnamed; /* by module: why some of its functions have no name; NULL: not said */
    size_t unnamed_room;
    size_t module_count, module_room;
    struct intmap scopes; /* by file of Python */
    struct generated generated;
    const char **profiled; /* functions that the program asks to show: FILE:LINE:FUNCTION */
    size_t profiled_count, profiled_room;
    struct intmap profiled_known; /* a set of these texts */
    uint64_t gaps;                /* numbers that were passed over */
    uint64_t depths;              /* of all stacks together: what walking each of them once costs */
    uint64_t left_out; /* records that name what is not there, or what is above the limits */
    uint64_t cut;      /* stacks without those who called them */
    bool of_device;    /* what is allocated is memory of a device, or of a pool on one */
    bool imported;     /* it is a file of another tool */
    const struct table_stack **shared[FRAMES_SHARED]; /* by stack; NULL: nobody has asked yet */
    uint32_t *costs;                                  /* by frame: bytes that its names take */
};

/* Take a FRAME, NAME, STACK, STACKS, MODULE, MARK or SOURCE; others are left alone. */
void frames_take(struct frames *f, const struct trace_event *ev);
/* All was taken: stacks can be shared, until they are no more. */
void frames_share(struct frames *f);
void frames_unshare(struct frames *f);
void frames_free(struct frames *f);

/* The whole stack, innermost first, in the arena; NULL for stack 0. One that is cut ends in a frame
 * that says so.
 */
const struct table_stack *frames_stack(const struct frames *f, struct arena *a, uint64_t stack);
/* The same for a table, in the arena of the names: made once, and those who called it are their
 * own.
 */
const struct table_stack *frames_shared(const struct frames *f, uint64_t stack);

/* Is it a line of Python? */
bool frames_is_python(const struct frames *f, uint64_t frame);
/* Is it native code that was made at run time? */
bool frames_is_generated(const struct frames *f, uint64_t frame);
/* Is it the stack of blocks that were allocated outside of the windows? */
bool frames_is_outside(const struct frames *f, uint64_t stack);

/* The line of code to blame for what a stack allocated: its innermost line of Python that is the
 * program's own, else its innermost line of Python at all. In a stack without any, the innermost
 * frame that is no plumbing; where all of them are, the innermost that is no allocator.
 */
struct table_frame frames_site(const struct frames *f, uint64_t stack);
/* "(arena of libarrow)", where that is what the stack has mapped; NULL: it is not. */
const char *frames_arena(const struct frames *f, uint64_t stack);
/* A number for frames that read the same: texts are kept once each, so their place stands for them.
 */
uint64_t frames_key(const struct table_frame *f);
/* One number for all stacks whose frames have the same `key`, though they may be at different
 * addresses: by the number of a stack, from 1 on; to be freed by the caller.
 */
uint64_t *frames_stack_keys(const struct frames *f, uint64_t (*key)(const struct table_frame *f));

/* The names of one frame, innermost first; how many of `room` were filled (at least 1). */
size_t frames_expand(const struct frames *f, uint64_t frame, struct table_frame *out, size_t room);

#endif
