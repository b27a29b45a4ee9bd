/* fuzz_python - an interpreter's memory that holds anything: nothing is read outside of it, no walk
 * goes on for ever, no text leaves its room.
 */
#include "python/linetable.h"
#include "python/pytasks.h"
#include "replay.h"

#include <stdlib.h>
#include <string.h>

#define BASE ((uintptr_t)0x10000)
#define STEPS 100
#define ROOM 64
#define TASKS 4

struct image {
    const uint8_t *bytes;
    size_t size;
};

static bool read_image(void *context, uintptr_t at, void *to, size_t bytes)
{
    const struct image *i = context;

    if (at < BASE || at - BASE > i->size || bytes > i->size - (at - BASE))
        return false;
    memcpy(to, i->bytes + (at - BASE), bytes);
    return true;
}

static void look_at(const struct py_layout *l, const struct py_memory *m, const struct py_frame *f)
{
    struct py_code c;
    char text[ROOM];

    if (!py_code_read(l, m, f->code, &c))
        return;
    if (py_code_line(l, m, &c, f->instruction, NULL) > 0xffffff ||
        py_text(l, m, c.file, text, ROOM) > ROOM)
        abort();
    py_text(l, m, c.name, text, ROOM);
}

/* As if the whole of it were a loop's frame, and then as if it were the set of all tasks. */
static void look_at_tasks(const struct py_layout *l, const struct py_memory *m)
{
    struct py_loop loop = {0};
    struct py_task tasks[TASKS];

    for (int kind = PY_LOOP_ASYNCIO; kind < PY_LOOP_KINDS; kind++) {
        py_loop_find(l, m, BASE, (enum py_loop_kind)kind, &loop);
        loop.tasks = BASE;
        for (loop.self = 0; loop.self <= BASE; loop.self += BASE)
            if (py_tasks_read(l, m, &loop, tasks, TASKS) > TASKS)
                abort();
    }
}

/* What a table says does not depend on how far it was read before. */
static void look_for_lines(enum py_lines format, const struct py_memory *m, size_t size)
{
    struct py_line_place place = {0};

    for (uint32_t at = 0; at < 512; at += 2 + (uint32_t)size % 64)
        if (py_line(format, m, BASE, size, (int32_t)size, at, &place) !=
            py_line(format, m, BASE, size, (int32_t)size, at, NULL))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct image image = {data, size};
    struct py_memory m = {read_image, &image};
    struct py_layout l;
    struct py_walk w;
    struct py_frame f;

    for (uint32_t minor = 9; minor <= 14; minor++) {
        for (int format = 0; format < 3; format++)
            look_for_lines((enum py_lines)format, &m, size);
        if (py_layout_find(&l, 0x03000000u | minor << 16, &m, BASE) != PY_LAYOUT_FOUND)
            continue;
        l.code_type = BASE;
        look_at_tasks(&l, &m);
        if (!py_walk_start(&w, &l, &m, BASE))
            continue;
        for (int i = 0; i < STEPS && py_walk_next(&w, &f) == PY_FRAME; i++)
            look_at(&l, &m, &f);
    }
    return 0;
}
