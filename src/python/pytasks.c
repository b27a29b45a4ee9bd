/* pytasks - see pytasks.h. From the globals of a loop's function to the module asyncio.tasks, to the WeakSet of
 * all tasks, to a task's coroutine, and from each coroutine to the one that it awaits.
 */
#include "python/pytasks.h"

#define KEYS_MOST 4096u     /* of a dictionary of a module */
#define MISSED_MOST 8u      /* times that it is looked for in vain: that may be long */
#define SET_MOST (1u << 16) /* entries of a set, used or not */
#define TASK_WORDS 40u      /* of a task: its coroutine is among them */
#define NAME_MOST 24u
#define SET_PART 8u /* entries that are read at once: the smallest set has as many */
#define SET_USED 24
#define SET_MASK 32
#define SET_TABLE 40
#define DICT_KEYS 32
#define DICT_VALUES 40
#define TYPE_NAME 24
#define TYPE_BASIC_SIZE 32
#define ITEM_COUNT 16 /* of a tuple and a list */
#define TUPLE_ITEMS 24
#define LIST_ITEMS 24 /* points to them */
#define CELL_CONTENT 16
#define STATE_BEFORE 5 /* a coroutine's frame: 3 flags, this byte, 4 of padding */
#define PARTIAL_ARGUMENTS 24
#define METHOD_SELF 24
#define FUTURE_CALLBACK 24 /* the first one, and a list of (callback, context) */
#define FUTURE_CALLBACKS 40
#define CALLBACKS_MOST 4u
#define ATTRIBUTES_MOST 10u /* a TaskGroup has as many */
#define FIRST_FIELD                                                                                \
    16 /* of an object: a module's dictionary, a reference's object, a future's loop */

struct shape { /* of what only this file reads */
    unsigned int minor;
    uint16_t globals, locals, top, coroutine_frame;
    bool frame_is_inside; /* of the coroutine; else it points to one */
    uint16_t keys_count, keys_indices;
    uint16_t closure; /* of a function */
};

/* top: of the stack; a pointer (3.9), a number of words above `f_valuestack` (3.10) or above `locals`. */
static const struct shape shapes[] = {
    {9, 48, 360, 72, 16, false, 32, 40, 48}, {10, 48, 352, 80, 16, false, 32, 40, 72},
    {11, 8, 72, 64, 80, true, 24, 32, 72},   {12, 24, 72, 64, 72, true, 24, 32, 72},
    {13, 24, 72, 64, 72, true, 24, 32, 72},
};

static const struct shape *shape_of(const struct py_layout *l)
{
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        if (l->version >> 24 == 3 && shapes[i].minor == py_layout_minor(l))
            return &shapes[i];
    return NULL;
}

struct reader {
    const struct py_layout *layout;
    const struct py_memory *memory;
    const struct shape *shape;
};

static uintptr_t word(const struct reader *r, uintptr_t at)
{
    uintptr_t value = 0;

    return at > 4096 && !(at & 7) && py_read_word(r->memory, at, &value) ? value : 0;
}

static bool is_named(const struct reader *r, uintptr_t type, const char *name)
{
    uintptr_t text = word(r, type + TYPE_NAME);
    char bytes[NAME_MOST];
    size_t length = strlen(name) + 1;

    return type && text && length <= NAME_MOST && py_read(r->memory, text, bytes, length) &&
           memcmp(bytes, name, length) == 0;
}

static bool is_a(const struct reader *r, uintptr_t object, const char *name)
{
    return is_named(r, word(r, object + r->layout->type), name);
}

/* ---- dictionaries and instances ---- */

struct keys {
    uintptr_t entries, count;
    unsigned int entry_bytes;
};

static bool read_keys(const struct reader *r, uintptr_t at, struct keys *k)
{
    uint8_t head[16];
    uintptr_t size;

    k->count = at ? word(r, at + r->shape->keys_count) : 0;
    if (!at || k->count > KEYS_MOST || !py_read(r->memory, at, head, sizeof(head)))
        return false;
    k->entry_bytes = 24;
    if (r->shape->minor >=
        11) { /* log2 of the bytes of its indices, and whether all keys are str */
        if (head[9] > 24)
            return false;
        k->entries = at + r->shape->keys_indices + ((uintptr_t)1 << head[9]);
        k->entry_bytes = head[10] ? 16 : 24;
        return true;
    }
    memcpy(&size, head + 8, sizeof(size));
    if (size > KEYS_MOST * 4)
        return false;
    k->entries = at + r->shape->keys_indices + size * (size <= 0xff ? 1 : 2);
    return true;
}

/* What a dictionary whose keys are str has under a name; 0: nothing. */
static uintptr_t look_up(const struct reader *r, uintptr_t dict, const char *name)
{
    struct keys k;
    char text[NAME_MOST];
    size_t length = strlen(name);

    if (!read_keys(r, word(r, dict + DICT_KEYS), &k))
        return 0;
    for (uintptr_t i = 0; i < k.count; i++) {
        uintptr_t entry = k.entries + i * k.entry_bytes + (k.entry_bytes == 24 ? 8 : 0);
        uintptr_t key = word(r, entry);

        if (key && word(r, key + r->layout->text_length) == length &&
            py_text(r->layout, r->memory, key, text, sizeof(text)) == length &&
            memcmp(text, name, length) == 0)
            return word(r, entry + 8);
    }
    return 0;
}

/* The attributes of an object, in the order in which its __init__ has set them; 0: not known. */
static uintptr_t attributes_of(const struct reader *r, uintptr_t object)
{
    uintptr_t values = 0, before = word(r, object - 24), dict = before;

    if (r->shape->minor <= 10)
        dict = word(r, object + FIRST_FIELD);
    else if (r->shape->minor == 11)
        values = word(r, object - 32);
    else if (r->shape->minor == 12)
        values = before & 1 ? before + 1 : 0;
    else if (!before)
        values = object + word(r, word(r, object + r->layout->type) + TYPE_BASIC_SIZE) + 8;
    if (!values && dict) {
        values = word(r, dict + DICT_VALUES);
        values += values && r->shape->minor >= 13 ? 8 : 0;
    }
    return values;
}

/* ---- the set of tasks ---- */

static uintptr_t find_set(const struct reader *r, uintptr_t globals)
{
    uintptr_t module = look_up(r, globals, "tasks");
    uintptr_t names = module ? word(r, module + FIRST_FIELD) : 0, weak, set;

    weak = names ? look_up(r, names, r->shape->minor >= 12 ? "_scheduled_tasks" : "_all_tasks") : 0;
    if (!weak || !is_a(r, weak, "WeakSet"))
        return 0;
    set = word(r, attributes_of(r, weak));
    return set && is_a(r, set, "set") ? set : 0;
}

bool py_loop_find(const struct py_layout *l, const struct py_memory *m, uintptr_t frame,
                  bool runs_once, struct py_loop *loop)
{
    struct reader r = {l, m, shape_of(l)};

    if (!r.shape || loop->missed >= MISSED_MOST)
        return false;
    if (!loop->tasks)
        loop->tasks = find_set(&r, word(&r, frame + r.shape->globals));
    loop->self = runs_once ? word(&r, frame + r.shape->locals) : 0;
    loop->missed += !loop->tasks;
    return loop->tasks != 0;
}

/* ---- coroutines ---- */

static bool is_coroutine(const struct reader *r, uintptr_t object)
{
    uintptr_t type = word(r, object + r->layout->type);

    return is_named(r, type, "coroutine") || is_named(r, type, "generator") ||
           is_named(r, type, "async_generator");
}

/* What a frame that stands at an await has on top of its stack. */
static uintptr_t top_of(const struct reader *r, uintptr_t frame)
{
    uintptr_t base = frame + r->shape->locals;
    int32_t depth;

    if (r->shape->minor == 9)
        return word(r, word(r, frame + r->shape->top) - sizeof(uintptr_t));
    if (r->shape->minor == 10)
        base = word(r, frame + 64); /* f_valuestack */
    if (!py_read(r->memory, frame + r->shape->top, &depth, sizeof(depth)) || depth < 1 ||
        depth > 1 << 16)
        return 0;
    return word(r, base + ((uintptr_t)depth - 1) * sizeof(uintptr_t));
}

/* From what is awaited to the coroutine that does it; 0: it is none. */
static uintptr_t through(const struct reader *r, uintptr_t object)
{
    uintptr_t inner;

    if (!object || is_coroutine(r, object))
        return object;
    inner = word(r, object + FIRST_FIELD); /* of what is between a coroutine and its __await__ */
    return inner && is_coroutine(r, inner) ? inner : 0;
}

/* What is left in a coroutine that has ended looks like a frame; its state, a byte ahead of it,
 * says that it is none: below 0 it waits. Before 3.11 an ended one points to no frame.
 */
static bool has_ended(const struct reader *r, uintptr_t coroutine)
{
    int8_t state = 0;

    return r->shape->frame_is_inside &&
           (!py_read(r->memory, coroutine + r->shape->coroutine_frame - STATE_BEFORE, &state, 1) ||
            state >= 0);
}

static void read_frames(const struct reader *r, uintptr_t coroutine, struct py_task *t)
{
    uintptr_t awaited = 0, frame;
    struct py_link k;

    t->count = 0;
    while (coroutine && t->count < PY_TASK_FRAMES && !has_ended(r, coroutine)) {
        frame = coroutine + r->shape->coroutine_frame;
        frame = r->shape->frame_is_inside ? frame : word(r, frame);
        if (!frame || !py_link_read(r->layout, r->memory, frame, &k))
            return;
        t->frames[t->count++] = (struct py_frame){k.code, k.instruction, true};
        awaited = top_of(r, frame);
        coroutine = through(r, awaited);
    }
    t->waits_for = awaited ? word(r, awaited + FIRST_FIELD) : 0;
}

/* ---- who hears of the end of a task ---- */

/* Words in a row, or what is in the cells that they point to. */
static void hear_words(const struct reader *r, uintptr_t at, uintptr_t count, bool cells,
                       struct py_task *t)
{
    for (uintptr_t i = 0; at && i < count && t->hearer_count < PY_TASK_HEARERS; i++) {
        uintptr_t each = word(r, at + i * sizeof(each));

        each = cells && each ? word(r, each + CELL_CONTENT) : each;
        if (each)
            t->hearers[t->hearer_count++] = each;
    }
}

static void hear_tuple(const struct reader *r, uintptr_t tuple, bool cells, struct py_task *t)
{
    if (tuple)
        hear_words(r, tuple + TUPLE_ITEMS, word(r, tuple + ITEM_COUNT), cells, t);
}

/* wait_for has bound its future to one (up to 3.11), gather and wait have theirs in a closure, and that of a
 * TaskGroup is a method of it.
 */
static void hear_callback(const struct reader *r, uintptr_t callback, struct py_task *t)
{
    if (!callback)
        return;
    if (is_a(r, callback, "functools.partial"))
        hear_tuple(r, word(r, callback + PARTIAL_ARGUMENTS), false, t);
    else if (is_a(r, callback, "function"))
        hear_tuple(r, word(r, callback + r->shape->closure), true, t);
    else if (is_a(r, callback, "method"))
        hear_words(r, attributes_of(r, word(r, callback + METHOD_SELF)), ATTRIBUTES_MOST, false, t);
}

static void hear_callbacks(const struct reader *r, uintptr_t future, struct py_task *t)
{
    uintptr_t list = word(r, future + FUTURE_CALLBACKS);
    uintptr_t count = list && is_a(r, list, "list") ? word(r, list + ITEM_COUNT) : 0;
    uintptr_t items = count ? word(r, list + LIST_ITEMS) : 0;

    hear_callback(r, word(r, future + FUTURE_CALLBACK), t);
    for (uintptr_t i = 0; items && i < count && i < CALLBACKS_MOST; i++) {
        uintptr_t pair = word(r, items + i * sizeof(pair));

        hear_callback(r, pair ? word(r, pair + TUPLE_ITEMS) : 0, t);
    }
}

/* What is gathered may be gathered with others. */
static void read_hearers(const struct reader *r, struct py_task *t)
{
    hear_callbacks(r, t->task, t);
    for (size_t i = 0; i < t->hearer_count; i++)
        if (is_a(r, t->hearers[i], "_GatheringFuture"))
            hear_callbacks(r, t->hearers[i], t);
}

/* Where in a task its coroutine is differs from build to build: it is the only one there. */
static uintptr_t search(const struct reader *r, struct py_loop *loop, uintptr_t task)
{
    uintptr_t words[TASK_WORDS];
    size_t n = TASK_WORDS;

    while (n >= 16 && !py_read(r->memory, task, words, n * sizeof(*words)))
        n -= 8; /* it may be at the end of what is mapped */
    for (size_t i = 3; n >= 16 && i < n; i++) {
        if (words[i] <= 4096 || words[i] & 7 || !is_a(r, words[i], "coroutine"))
            continue;
        loop->coroutine_at = i;
        loop->coroutine_type = word(r, words[i] + r->layout->type);
        return words[i];
    }
    return 0;
}

static uintptr_t coroutine_of(const struct reader *r, struct py_loop *loop, uintptr_t task)
{
    uintptr_t found = loop->coroutine_at ? word(r, task + loop->coroutine_at * sizeof(uintptr_t))
                                         : 0;

    if (found && word(r, found + r->layout->type) == loop->coroutine_type)
        return found;
    return search(r, loop, task);
}

static bool read_task(const struct reader *r, struct py_loop *loop, uintptr_t reference,
                      struct py_task *t)
{
    uintptr_t task = word(r, reference + FIRST_FIELD);

    if (!task || (loop->self && word(r, task + FIRST_FIELD) != loop->self))
        return false;
    *t = (struct py_task){.task = task};
    read_frames(r, coroutine_of(r, loop, task), t);
    if (t->count > 0)
        read_hearers(r, t);
    return t->count > 0;
}

size_t py_tasks_read(const struct py_layout *l, const struct py_memory *m, struct py_loop *loop,
                     struct py_task *tasks, size_t most)
{
    struct reader r = {l, m, shape_of(l)};
    uintptr_t used = r.shape ? word(&r, loop->tasks + SET_USED) : 0;
    uintptr_t entries = r.shape ? word(&r, loop->tasks + SET_MASK) + 1 : 0;
    uintptr_t table = r.shape ? word(&r, loop->tasks + SET_TABLE) : 0;
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
