/* frames_arena - memory that an allocator inside of a library has reserved, for whatever it will be
 * asked for. Who asked first is in the stack, and no more than one of many: memory of such stacks
 * is of no line.
 */
#include "model/frames.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define DEPTH_MOST 16 /* frames of an allocator, from the system call outward */
#define NAME_MOST 128

/* One text for each library: texts are compared by where they are. */
static const char *arena_of(const struct frames *f, const struct frames_frame *frame)
{
    const char *module = frame->owner <= f->module_count ? f->modules[frame->owner] : NULL;
    const char *whole = NULL;
    char text[NAME_MOST];

    if ((frame->flavour & 7) == TRACE_FRAME_MODULE && module) {
        module = text_base(module);
        snprintf(text, sizeof(text), "(arena of %.*s)", (int)strcspn(module, ".-"), module);
        whole = names_once(f->names, text, strlen(text));
    }
    return whole ? whole : "(arena of an allocator)";
}

const char *frames_arena(const struct frames *f, uint64_t stack)
{
    for (int i = 0; i < DEPTH_MOST && stack && stack <= f->stack_count; i++) {
        uint64_t number = f->stacks[stack].frame;
        const struct frames_frame *frame = number <= f->frame_count ? &f->frames[number] : NULL;

        if (!frame || frames_is_python(f, number))
            return NULL;
        if (frame->reserves)
            return arena_of(f, frame);
        stack = f->stacks[stack].parent;
    }
    return NULL;
}
