/* stackmap - see stackmap.h. */
#include "collect/stackmap.h"

#include "base/hash.h"
#include "base/memory.h"
#include "collect/typed_name.h"
#include "trace/batch.h"
#include "trace/ring.h"

#include <stdlib.h>
#include <string.h>

#define PENDING_MOST (64u << 10)
#define NUMBERS_EACH (1u << 11) /* of a page: most processes have few stacks */
#define MODULES_MOST 8192u      /* at once, of a process: each frame is looked for among them */

static void put(struct trace_store *s, enum trace_kind kind, const void *fields, size_t count)
{
    if (s)
        trace_store_put(s, kind, 0, fields, count, NULL, 0);
}

static uint64_t string(struct trace_store *s, const char *text, size_t bytes)
{
    return s && bytes ? trace_store_string(s, text, bytes) : 0;
}

static uint64_t hash_text(uint64_t h, const void *text, size_t bytes)
{
    return hash_number(hash_bytes(h, text, bytes));
}

static uint64_t define_module(struct stackmap *m, struct trace_store *s, const char *path,
                              size_t path_bytes, const unsigned char *id, size_t id_bytes)
{
    static const char digits[] = "0123456789abcdef";
    struct trace_module fields = {++m->module_count, string(s, path, path_bytes), 0};
    char hex[64];

    for (size_t i = 0; i < id_bytes; i++) {
        hex[2 * i] = digits[id[i] >> 4];
        hex[2 * i + 1] = digits[id[i] & 15];
    }
    fields.build_id = string(s, hex, 2 * id_bytes);
    put(s, TRACE_MODULE, &fields, 3);
    return fields.module;
}

/* What lies where has changed. */
static void forget_near(struct stackmap_process *p)
{
    if (p->near)
        memset(p->near, 0, p->near_count * sizeof(*p->near));
}

void stackmap_module(struct stackmap *m, struct stackmap_process *p, struct trace_store *s,
                     const struct stackmap_module *module, const char *path, size_t path_bytes,
                     const unsigned char *build_id, size_t id_bytes)
{
    uint64_t key = hash_text(hash_text(HASH_START, path, path_bytes), build_id, id_bytes);
    struct stackmap_module *mine;
    uint64_t number;

    if (!intmap_get(&m->modules, key, &number)) {
        number = define_module(m, s, path, path_bytes, build_id, id_bytes);
        intmap_put(&m->modules, key, number);
    }
    for (size_t i = 0; i < p->module_count; i++) {
        if (p->modules[i].start == module->start && p->modules[i].length == module->length &&
            p->modules[i].number == number)
            return; /* told again, by another thread */
    }
    if (p->module_count == MODULES_MOST)
        return; /* frames in it stay addresses */
    memory_fit(p->modules, p->module_room, p->module_count + 1);
    mine = &p->modules[p->module_count++];
    *mine = *module;
    mine->number = number;
    forget_near(p);
}

void stackmap_unloaded(struct stackmap_process *p)
{
    forget_near(p);
    p->module_count = 0;
    p->unloaded++;
}

static const struct stackmap_module *module_at(const struct stackmap_process *p, uint64_t address)
{
    for (; p; p = p->parent) {
        for (size_t i = p->module_count; i-- > 0;) {
            if (address - p->modules[i].start < p->modules[i].length)
                return &p->modules[i];
        }
    }
    return NULL;
}

bool stackmap_is_known(const struct stackmap_process *p, uint64_t address)
{
    return module_at(p, address) != NULL;
}

void stackmap_code(struct stackmap_process *p, struct trace_store *s, uint32_t number,
                   uint64_t line, const char *text, size_t file_bytes, size_t bytes)
{
    memory_fit(p->codes, p->code_room, p->code_count + 1);
    intmap_put(&p->code_numbers, number, p->code_count);
    p->codes[p->code_count++] = (struct stackmap_code){
        typed_name_file(p->typed, s, text, file_bytes),
        string(s, text + file_bytes, bytes - file_bytes), line};
}

static struct stackmap_code code_of(const struct stackmap_process *p, uint64_t number)
{
    uint64_t place;

    for (; p; p = p->parent) {
        if (intmap_get(&p->code_numbers, number, &place))
            return p->codes[place];
    }
    return (struct stackmap_code){0};
}

bool stackmap_known(const struct stackmap_process *p, uint64_t key, struct stackmap_code *code)
{
    uint64_t at;

    if (!intmap_get(&p->seen, key, &at))
        return false;
    *code = p->seen_codes[at];
    return true;
}

struct stackmap_code stackmap_know(struct stackmap_process *p, struct trace_store *s, uint64_t key,
                                   uint64_t line, const char *text, size_t file_bytes, size_t bytes)
{
    struct stackmap_code code = {typed_name_file(p->typed, s, text, file_bytes),
                                 string(s, text + file_bytes, bytes - file_bytes), line};

    memory_fit(p->seen_codes, p->seen_room, p->seen_count + 1);
    intmap_put(&p->seen, key, p->seen_count);
    return p->seen_codes[p->seen_count++] = code;
}

uint64_t stackmap_python(struct stackmap *m, struct trace_store *s,
                         const struct stackmap_code *code, uint64_t line)
{
    struct trace_frame fields = {0, TRACE_FRAME_PYTHON, 0, code->line};
    struct trace_name name = {0, 0, code->function, code->file, line};
    uint64_t key, number;

    key = hash_text(hash_text(HASH_START, code, sizeof(*code)), &name.line, 8);
    if (intmap_get(&m->frames, key, &number))
        return number;
    fields.frame = name.frame = ++m->frame_count;
    put(s, TRACE_FRAME, &fields, 4);
    put(s, TRACE_NAME, &name, 5);
    intmap_put(&m->frames, key, fields.frame);
    return fields.frame;
}

/* What has no stack, as it was allocated outside of the windows. */
static uint64_t outside(struct stackmap *m, struct trace_store *s, uint64_t later)
{
    static const char *const names[] = {"(before the window)", "(outside of the windows)"};
    struct trace_frame fields = {0, TRACE_FRAME_OUTSIDE, 0, later};
    struct trace_name name = {0};
    uint64_t key = hash_mix(TRACE_FRAME_OUTSIDE, later), number;

    if (intmap_get(&m->frames, key, &number))
        return number;
    fields.frame = name.frame = ++m->frame_count;
    name.function = string(s, names[later], strlen(names[later]));
    put(s, TRACE_FRAME, &fields, 4);
    put(s, TRACE_NAME, &name, 5);
    intmap_put(&m->frames, key, fields.frame);
    return fields.frame;
}

static uint64_t frame_number(struct stackmap *m, const struct stackmap_process *p,
                             struct trace_store *s, uint64_t frame)
{
    struct trace_frame fields = {0, TRACE_FRAME_ADDRESS, p->process, frame & RING_FRAME_ADDRESS};
    const struct stackmap_module *module = module_at(p, fields.address - 1);
    struct stackmap_code code;
    uint64_t key, number;

    if (frame & RING_FRAME_PYTHON) {
        code = code_of(p, (frame & RING_FRAME_ADDRESS) >> 24);
        return stackmap_python(m, s, &code, frame & 0xffffff);
    }
    if (frame & RING_FRAME_OUTSIDE)
        return outside(m, s, frame & 1);
    if (frame & (RING_FRAME_ELIDED | RING_FRAME_CUT)) {
        fields.flavour = frame & RING_FRAME_ELIDED ? TRACE_FRAME_ELIDED : TRACE_FRAME_CUT;
        fields.process = fields.address = 0;
    } else if (module) {
        fields.flavour = TRACE_FRAME_MODULE;
        fields.process = module->number;
        fields.address -= module->bias;
    }
    if (frame & RING_FRAME_GUESSED)
        fields.flavour |= TRACE_FRAME_GUESSED;
    key = hash_mix(fields.process << 4 | fields.flavour, fields.address);
    if (intmap_get(&m->frames, key, &number))
        return number;
    fields.frame = ++m->frame_count;
    put(s, TRACE_FRAME, &fields, 4);
    intmap_put(&m->frames, key, fields.frame);
    return fields.frame;
}

static struct stackmap_near *near_place(const struct stackmap_process *p, uint64_t frame)
{
    return &p->near[hash_number(frame) & (p->near_count - 1)];
}

/* One that was not among them: where that is often so, there are to be more of them. */
static void keep_near(struct stackmap_process *p, uint64_t frame, uint64_t number)
{
    if (p->near_missed++ >= p->near_count && p->near_count < STACKMAP_NEAR_MOST) {
        free(p->near);
        p->near_count = p->near_count ? p->near_count * 4 : STACKMAP_NEAR_FIRST;
        p->near = memory_zeroed(p->near_count * sizeof(*p->near));
        p->near_missed = 0;
    }
    *near_place(p, frame) = (struct stackmap_near){frame, number};
}

/* The same, for those that come again and again. */
static uint64_t near_number(struct stackmap *m, struct stackmap_process *p, struct trace_store *s,
                            uint64_t frame)
{
    const struct stackmap_near *near = p->near ? near_place(p, frame) : NULL;
    uint64_t number;

    if (near && near->frame == frame && near->number)
        return near->number;
    number = frame_number(m, p, s, frame);
    keep_near(p, frame, number);
    return number;
}

uint64_t stackmap_native(struct stackmap *m, const struct stackmap_process *p,
                         struct trace_store *s, uint64_t frame)
{
    return frame_number(m, p, s,
                        frame & (RING_FRAME_ADDRESS | RING_FRAME_GUESSED | RING_FRAME_CUT));
}

static void define_stack(struct stackmap *m, uint64_t number, uint64_t parent, uint64_t frame)
{
    memory_fit(m->pending, m->pending_room, m->pending_used + BATCH_STACK_MOST);
    if (!m->pending_used)
        m->pending_first = number;
    m->pending_used += batch_put_stack(m->pending + m->pending_used, number, parent, frame);
}

void stackmap_flush(struct stackmap *m, struct trace_store *s)
{
    struct trace_stacks fields = {m->pending_first, m->tree.count + 1 - m->pending_first};

    if (s && m->pending_used)
        trace_store_put(s, TRACE_STACKS, 0, (const uint64_t *)&fields, 2, m->pending,
                        m->pending_used);
    m->pending_used = 0;
}

uint64_t stackmap_push(struct stackmap *m, struct trace_store *s, uint64_t parent, uint64_t frame)
{
    bool added;
    uint32_t number = stacktree_child(&m->tree, (uint32_t)parent, (uint32_t)frame, &added);

    if (added)
        define_stack(m, number, parent, frame);
    if (m->pending_used > PENDING_MOST)
        stackmap_flush(m, s);
    return number;
}

/* What the number of a stack of the program leads to; NULL: it is none that is given. */
static uint32_t *place_of(struct stackmap_process *p, uint32_t number)
{
    uint32_t page = number / NUMBERS_EACH;

    if (number >= RING_STACKS_MOST)
        return NULL;
    memory_fit_zeroed(p->numbers, p->number_pages, page + 1);
    if (!p->numbers[page])
        p->numbers[page] = memory_zeroed(NUMBERS_EACH * sizeof(**p->numbers));
    return &p->numbers[page][number % NUMBERS_EACH];
}

void stackmap_define(struct stackmap *m, struct stackmap_process *p, struct trace_store *s,
                     const struct stackmap_told *told)
{
    uint32_t *place = place_of(p, told->number);
    uint64_t stack;

    if (!place || *place)
        return; /* no number that we give, or told by another thread */
    stack = told->from ? stackmap_stack(p, told->from) : 0;
    stack = stacktree_outward(&m->tree, (uint32_t)stack, told->without);
    for (size_t i = told->count; i-- > 0;)
        stack = stackmap_push(m, s, stack, near_number(m, p, s, told->frames[i]));
    *place = (uint32_t)stack;
}

uint32_t stackmap_stack(const struct stackmap_process *p, uint32_t number)
{
    for (; p; p = p->parent) {
        const uint32_t *page = number / NUMBERS_EACH < p->number_pages
                                 ? p->numbers[number / NUMBERS_EACH]
                                 : NULL;

        if (page && page[number % NUMBERS_EACH])
            return page[number % NUMBERS_EACH];
    }
    return 0;
}

void stackmap_process_free(struct stackmap_process *p)
{
    free(p->modules);
    free(p->near);
    for (size_t i = 0; i < p->number_pages; i++)
        free(p->numbers[i]);
    free(p->numbers);
    intmap_free(&p->code_numbers);
    free(p->codes);
    intmap_free(&p->seen);
    free(p->seen_codes);
    memset(p, 0, sizeof(*p));
}

void stackmap_free(struct stackmap *m)
{
    intmap_free(&m->frames);
    intmap_free(&m->typed);
    intmap_free(&m->modules);
    stacktree_free(&m->tree);
    free(m->pending);
}
