/* memory - the one place where the tool gives up for lack of memory, and sorting. Never linked into
 * a target.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>
#include <string.h>

/* Called instead of the sentence before the tool ends for lack of memory, and again if it lacks
 * memory itself; does not return. NULL: nothing is to be done.
 */
void memory_at_end(void (*last)(void));
/* End the tool with that sentence: for libraries that answer a lack of memory with an error. */
_Noreturn void memory_give_up(void);

/* As realloc and calloc, but never NULL: out of memory ends the tool with one sentence. */
void *memory_resize(void *old, size_t bytes);
void *memory_zeroed(size_t bytes);
/* Make an array long enough for so many items; its room doubles. All three are evaluated twice. The
 * array is of malloc's memory, or NULL with no room.
 */
#define memory_fit(array, room, items)                                                             \
    do {                                                                                           \
        if ((size_t)(items) > (size_t)(room)) {                                                    \
            (room) = (__typeof__(room))memory_room((size_t)(room), (size_t)(items),                \
                                                   sizeof(*(array)), 128);                         \
            (array) = memory_resize(array, (size_t)(room) * sizeof(*(array)));                     \
        }                                                                                          \
        memory_is_there(array);                                                                    \
    } while (0)
/* An analyzer does not know that what has room is not NULL. */
#ifdef __clang_analyzer__
#define memory_is_there(array)                                                                     \
    do {                                                                                           \
        if (!(array))                                                                              \
            __builtin_unreachable();                                                               \
    } while (0)
#else
#define memory_is_there(array) (void)0
#endif
/* The same for an array that is indexed by numbers which come in any order: what is new is zeroed.
 */
#define memory_fit_zeroed(array, room, items)                                                      \
    do {                                                                                           \
        size_t memory_before_ = (size_t)(room);                                                    \
                                                                                                   \
        memory_fit(array, room, items);                                                            \
        if ((size_t)(room) > memory_before_)                                                       \
            memset((array) + memory_before_, 0,                                                    \
                   ((size_t)(room)-memory_before_) * sizeof(*(array)));                            \
    } while (0)
/* The same for one that grows at its end, by `items` - `count`: room beyond them is not touched,
 * which may be as much again. A gap in between is zeroed with the rest.
 */
#define memory_extend(array, room, count, items)                                                   \
    do {                                                                                           \
        memory_fit(array, room, items);                                                            \
        if ((size_t)(items) > (size_t)(count))                                                     \
            memset((array) + (count), 0, ((size_t)(items) - (size_t)(count)) * sizeof(*(array)));  \
    } while (0)
/* The room of an array that must hold so many items of so many bytes: `room` doubled until it does
 * and takes `least` bytes, which is little: there may be an array for each of thousands of
 * processes.
 */
size_t memory_room(size_t room, size_t items, size_t each, size_t least);
/* Zeroed whole pages, present at once: for munmap. */
void *memory_pages(size_t bytes);
/* As qsort, which must not be given NULL, not even for no items; and as qsort_r. */
void memory_sort(void *items, size_t count, size_t bytes,
                 int (*compare)(const void *left, const void *right));
void memory_sort_with(void *items, size_t count, size_t bytes,
                      int (*compare)(const void *left, const void *right, const void *context),
                      const void *context);

#endif
