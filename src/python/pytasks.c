/* pytasks - see pytasks.h. From the globals of a loop's function to the module asyncio.tasks, to
 * the WeakSet of all tasks, to a task's coroutine, and from each coroutine to the one that it
 * awaits. Of trio, from the runner, a variable of trio.run, to the set of its tasks.
 */
#include "python/pytasks.h"

#include "python/pyobjects.h"

#define MISSED_MOST 8u      /* times that it is looked for in vain: that may be long */
#define SET_MOST (1u << 16) /* entries of a set, used or not */
#define TASK_WORDS 40u      /* of a task: its coroutine is among them */
#define SET_PART 8u         /* entries that are read at once: the smallest set has as many */
#define SET_USED 24
#define SET_MASK 32
#define SET_TABLE 40
#define ITEM_COUNT 16 /* of a tuple and a list */
#define TUPLE_ITEMS 24
#define LIST_ITEMS 24 /* points to them */
#define CELL_CONTENT 16
#define TEXT_MOST 512  /* bytes of a path */
#define STATE_BEFORE 5 /* a coroutine's frame: 3 flags, this byte, 4 of padding */
#define PARTIAL_ARGUMENTS 24
#define METHOD_SELF 24
#define FUTURE_CALLBACK 24 /* the first one, and a list of (callback, context) */
#define FUTURE_CALLBACKS 40
#define CALLBACKS_MOST 4u
#define ATTRIBUTES_MOST 10u /* a TaskGroup has as many */
#define LOCALS 12u          /* of trio.run: its runner is among them */
#define RUNNER_WORDS 32u    /* of trio's, which has slots: a set is among them */
#define NURSERY_WITHIN 5u   /* frames: of a task that waits for others, so far from the innermost */

/* ---- the set of tasks ---- */

static uintptr_t find_set(const struct py_reader *r, uintptr_t globals)
{
    uintptr_t module = py_look_up(r, globals, "tasks");
    uintptr_t names = module ? py_word(r, module + PY_FIRST_FIELD) : 0, weak, set;

    weak = names ? py_look_up(r, names, r->shape->minor >= 12 ? "_scheduled_tasks" : "_all_tasks")
                 : 0;
    if (!weak || !py_is_a(r, weak, "WeakSet"))
        return 0;
    set = py_word(r, py_attributes(r, weak));
    return set && py_is_a(r, set, "set") ? set : 0;
}

/* The first of some words that points to an object of a type; 0: none does. */
static uintptr_t find_a(const struct py_reader *r, uintptr_t at, size_t most, const char *type)
{
    for (size_t i = 0; at && i < most; i++) {
        uintptr_t each = py_word(r, at + i * sizeof(each));

        if (each > 4096 && !(each & 7) && py_is_a(r, each, type))
            return each;
    }
    return 0;
}

static uintptr_t slot_of(const struct py_reader *r, uintptr_t object, size_t most, const char *type)
{
    return object ? find_a(r, object + PY_FIRST_FIELD, most, type) : 0;
}

bool py_loop_find(const struct py_layout *l, const struct py_memory *m, uintptr_t frame,
                  enum py_loop_kind kind, struct py_loop *loop)
{
    struct py_reader r = {l, m, py_shape_of(l)};
    uintptr_t locals;

    if (!r.shape || loop->missed >= MISSED_MOST)
        return false;
    locals = frame + r.shape->locals;
    if (kind == PY_LOOP_TRIO)
        loop->tasks = slot_of(&r, find_a(&r, locals, LOCALS, "Runner"), RUNNER_WORDS, "set");
    else if (!loop->tasks)
        loop->tasks = find_set(&r, py_word(&r, frame + r.shape->globals));
    loop->kind = kind;
    loop->self = kind == PY_LOOP_ASYNCIO ? py_word(&r, locals) : 0;
    loop->missed += !loop->tasks;
    return loop->tasks != 0;
}

/* ---- coroutines ---- */

static bool is_coroutine(const struct py_reader *r, uintptr_t object)
{
    uintptr_t type = py_word(r, object + r->layout->type);

    return py_is_named(r, type, "coroutine") || py_is_named(r, type, "generator") ||
           py_is_named(r, type, "async_generator");
}

/* What a frame that stands at an await has on top of its stack. */
static uintptr_t top_of(const struct py_reader *r, uintptr_t frame)
{
    uintptr_t base = frame + r->shape->locals;
    int32_t depth;

    if (r->shape->minor == 9)
        return py_word(r, py_word(r, frame + r->shape->top) - sizeof(uintptr_t));
    if (r->shape->minor == 10)
        base = py_word(r, frame + 64); /* f_valuestack */
    if (!py_read(r->memory, frame + r->shape->top, &depth, sizeof(depth)) || depth < 1 ||
        depth > 1 << 16)
        return 0;
    return py_word(r, base + ((uintptr_t)depth - 1) * sizeof(uintptr_t));
}

/* From what is awaited to the coroutine that does it; 0: it is none. */
static uintptr_t through(const struct py_reader *r, uintptr_t object)
{
    uintptr_t inner;

    if (!object || is_coroutine(r, object))
        return object;
    inner = py_word(r,
                    object + PY_FIRST_FIELD); /* of what is between a coroutine and its __await__ */
    return inner && is_coroutine(r, inner) ? inner : 0;
}

/* What is left in a coroutine that has ended looks like a frame; its state, a byte ahead of it,
 * says that it is none: below 0 it waits. Before 3.11 an ended one points to no frame.
 */
static bool has_ended(const struct py_reader *r, uintptr_t coroutine)
{
    int8_t state = 0;

    return r->shape->frame_is_inside &&
           (!py_read(r->memory, coroutine + r->shape->coroutine_frame - STATE_BEFORE, &state, 1) ||
            state >= 0);
}

static void read_frames(const struct py_reader *r, uintptr_t coroutine, struct py_task *t)
{
    uintptr_t awaited = 0, frame;
    struct py_link k;

    t->count = 0;
    while (coroutine && t->count < PY_TASK_FRAMES && !has_ended(r, coroutine)) {
        frame = coroutine + r->shape->coroutine_frame;
        frame = r->shape->frame_is_inside ? frame : py_word(r, frame);
        if (!frame || !py_link_read(r->layout, r->memory, frame, &k))
            return;
        t->frames[t->count++] = (struct py_frame){k.code, k.instruction, true};
        awaited = top_of(r, frame);
        coroutine = through(r, awaited);
    }
    t->waits_for = awaited ? py_word(r, awaited + PY_FIRST_FIELD) : 0;
}

/* ---- who hears of the end of a task ---- */

/* Words in a row, or what is in the cells that they point to. */
static void hear_words(const struct py_reader *r, uintptr_t at, uintptr_t count, bool cells,
                       struct py_task *t)
{
    for (uintptr_t i = 0; at && i < count && t->hearer_count < PY_TASK_HEARERS; i++) {
        uintptr_t each = py_word(r, at + i * sizeof(each));

        each = cells && each ? py_word(r, each + CELL_CONTENT) : each;
        if (each)
            t->hearers[t->hearer_count++] = each;
    }
}

static void hear_tuple(const struct py_reader *r, uintptr_t tuple, bool cells, struct py_task *t)
{
    if (tuple)
        hear_words(r, tuple + TUPLE_ITEMS, py_word(r, tuple + ITEM_COUNT), cells, t);
}

/* That of anyio's tasks knows their group, which knows the future of who waits for it. */
static void hear_closure(const struct py_reader *r, uintptr_t cells, struct py_task *t)
{
    size_t heard = t->hearer_count, all;

    hear_tuple(r, cells, true, t);
    for (all = t->hearer_count; heard < all; heard++)
        if (py_is_a(r, t->hearers[heard], "TaskGroup"))
            hear_words(r, py_attributes(r, t->hearers[heard]), ATTRIBUTES_MOST, false, t);
}

/* wait_for has bound its future to one (up to 3.11), gather and wait have theirs in a closure, and
 * that of a TaskGroup is a method of it.
 */
static void hear_callback(const struct py_reader *r, uintptr_t callback, struct py_task *t)
{
    if (!callback)
        return;
    if (py_is_a(r, callback, "functools.partial"))
        hear_tuple(r, py_word(r, callback + PARTIAL_ARGUMENTS), false, t);
    else if (py_is_a(r, callback, "function"))
        hear_closure(r, py_word(r, callback + r->shape->closure), t);
    else if (py_is_a(r, callback, "method"))
        hear_words(r, py_attributes(r, py_word(r, callback + METHOD_SELF)), ATTRIBUTES_MOST, false,
                   t);
}

static void hear_callbacks(const struct py_reader *r, uintptr_t future, struct py_task *t)
{
    uintptr_t list = py_word(r, future + FUTURE_CALLBACKS);
    uintptr_t count = list && py_is_a(r, list, "list") ? py_word(r, list + ITEM_COUNT) : 0;
    uintptr_t items = count ? py_word(r, list + LIST_ITEMS) : 0;

    hear_callback(r, py_word(r, future + FUTURE_CALLBACK), t);
    for (uintptr_t i = 0; items && i < count && i < CALLBACKS_MOST; i++) {
        uintptr_t pair = py_word(r, items + i * sizeof(pair));

        hear_callback(r, pair ? py_word(r, pair + TUPLE_ITEMS) : 0, t);
    }
}

/* What is gathered may be gathered with others. */
static void read_hearers(const struct py_reader *r, struct py_task *t)
{
    hear_callbacks(r, t->task, t);
    for (size_t i = 0; i < t->hearer_count; i++)
        if (py_is_a(r, t->hearers[i], "_GatheringFuture"))
            hear_callbacks(r, t->hearers[i], t);
}

/* Where in a task its coroutine is differs from build to build: it is the only one there. */
static uintptr_t search(const struct py_reader *r, struct py_loop *loop, uintptr_t task)
{
    uintptr_t words[TASK_WORDS];
    size_t n = TASK_WORDS;

    while (n >= 16 && !py_read(r->memory, task, words, n * sizeof(*words)))
        n -= 8; /* it may be at the end of what is mapped */
    for (size_t i = 3; n >= 16 && i < n; i++) {
        if (words[i] <= 4096 || words[i] & 7 || !py_is_a(r, words[i], "coroutine"))
            continue;
        loop->coroutine_at = i;
        loop->coroutine_type = py_word(r, words[i] + r->layout->type);
        return words[i];
    }
    return 0;
}

static uintptr_t coroutine_of(const struct py_reader *r, struct py_loop *loop, uintptr_t task)
{
    uintptr_t found = loop->coroutine_at ? py_word(r, task + loop->coroutine_at * sizeof(uintptr_t))
                                         : 0;

    if (found && py_word(r, found + r->layout->type) == loop->coroutine_type)
        return found;
    return search(r, loop, task);
}

/* ---- tasks of trio ---- */

static bool is_called(const struct py_reader *r, uintptr_t code, const char *name, const char *file)
{
    char text[TEXT_MOST];
    struct py_code c;
    size_t length, ends = strlen(name);

    if (!py_code_read(r->layout, r->memory, code, &c))
        return false;
    length = py_text(r->layout, r->memory, c.name, text, sizeof(text));
    if (length < ends || memcmp(text + length - ends, name, ends) != 0)
        return false;
    ends = strlen(file);
    length = py_text(r->layout, r->memory, c.file, text, sizeof(text));
    return length >= ends && memcmp(text + length - ends, file, ends) == 0;
}

static bool waits_in_nursery(const struct py_reader *r, const struct py_task *t)
{
    for (size_t i = t->count; i > 0 && t->count - i < NURSERY_WITHIN; i--)
        if (is_called(r, t->frames[i - 1].code, "_nested_child_finished", "/trio/_core/_run.py"))
            return true;
    return false;
}

/* A nursery's first attribute is the task that opened it, which waits there for the others at its
 * end. The task that serves the loop itself has nobody's work.
 */
static bool finish_trio(const struct py_reader *r, struct py_task *t)
{
    uintptr_t nursery = slot_of(r, t->task, TASK_WORDS, "Nursery");

    if (is_called(r, t->frames[0].code, "task", "/trio/_core/_entry_queue.py"))
        return false;
    t->waits_for = waits_in_nursery(r, t) ? t->task : 0;
    if (nursery)
        hear_words(r, py_attributes(r, nursery), 1, false, t);
    return true;
}

/* ---- one task ---- */

/* An entry of the set is a weak reference to it; of trio's, the task itself. */
static bool read_task(const struct py_reader *r, struct py_loop *loop, uintptr_t entry,
                      struct py_task *t)
{
    bool trio = loop->kind == PY_LOOP_TRIO;
    uintptr_t task = trio ? entry : py_word(r, entry + PY_FIRST_FIELD);

    if (!task || (loop->self && py_word(r, task + PY_FIRST_FIELD) != loop->self))
        return false;
    *t = (struct py_task){.task = task};
    read_frames(r, coroutine_of(r, loop, task), t);
    if (t->count > 0 && trio)
        return finish_trio(r, t);
    if (t->count > 0)
        read_hearers(r, t);
    return t->count > 0;
}

size_t py_tasks_read(const struct py_layout *l, const struct py_memory *m, struct py_loop *loop,
                     struct py_task *tasks, size_t most)
{
    struct py_reader r = {l, m, py_shape_of(l)};
    uintptr_t used = r.shape ? py_word(&r, loop->tasks + SET_USED) : 0;
    uintptr_t entries = r.shape ? py_word(&r, loop->tasks + SET_MASK) + 1 : 0;
    uintptr_t table = r.shape ? py_word(&r, loop->tasks + SET_TABLE) : 0;
    uintptr_t stride = used > most ? used / most + 1 : 1, part[SET_PART][2];
    size_t count = 0;

    if (!table || entries > SET_MOST || entries % SET_PART)
        return 0;
    for (uintptr_t i = 0, seen = 0; i < entries && count < most; i++) {
        if (i % SET_PART == 0 && !py_read(m, table + i * sizeof(part[0]), part, sizeof(part)))
            return count;
        if (part[i % SET_PART][0] && seen++ % stride == 0)
            count += read_task(&r, loop, part[i % SET_PART][0], &tasks[count]);
    }
    return count;
}
