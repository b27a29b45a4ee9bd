/* stackmap - see stackmap.h. */
#include "watch/stackmap.h"

#include "base/memory.h"
#include "trace/batch.h"
#include "trace/ring.h"

#include <stdlib.h>
#include <string.h>

#define PENDING_MOST (64u << 10)

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
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ ((const unsigned char *)text)[i]) * 0x100000001b3u;
    return h ^ h >> 31;
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

void stackmap_module(struct stackmap *m, struct stackmap_process *p, struct trace_store *s,
                     const struct stackmap_module *module, const char *path, size_t path_bytes,
                     const unsigned char *build_id, size_t id_bytes)
{
    uint64_t key = hash_text(hash_text(0xcbf29ce484222325u, path, path_bytes), build_id, id_bytes);
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
    if (p->module_count == p->module_room) {
        p->module_room = p->module_room ? p->module_room * 2 : 8;
        p->modules = memory_resize(p->modules, p->module_room * sizeof(*p->modules));
    }
    mine = &p->modules[p->module_count++];
    *mine = *module;
    mine->number = number;
}

void stackmap_unloaded(struct stackmap_process *p)
{
    p->module_count = 0;
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

void stackmap_code(struct stackmap_process *p, struct trace_store *s, uint32_t number,
                   uint64_t line, const char *text, size_t file_bytes, size_t bytes)
{
    if (p->code_count == p->code_room) {
        p->code_room = p->code_room ? p->code_room * 2 : 64;
        p->codes = memory_resize(p->codes, p->code_room * sizeof(*p->codes));
    }
    intmap_put(&p->code_numbers, number, p->code_count);
    p->codes[p->code_count++] = (struct stackmap_code){
        string(s, text, file_bytes), string(s, text + file_bytes, bytes - file_bytes), line};
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
    struct stackmap_code code = {string(s, text, file_bytes),
                                 string(s, text + file_bytes, bytes - file_bytes), line};

    if (p->seen_count == p->seen_room) {
        p->seen_room = p->seen_room ? p->seen_room * 2 : 64;
        p->seen_codes = memory_resize(p->seen_codes, p->seen_room * sizeof(*p->seen_codes));
    }
    intmap_put(&p->seen, key, p->seen_count);
    return p->seen_codes[p->seen_count++] = code;
}

uint64_t stackmap_python(struct stackmap *m, struct trace_store *s,
                         const struct stackmap_code *code, uint64_t line)
{
    struct trace_frame fields = {0, TRACE_FRAME_PYTHON, 0, code->line};
    struct trace_name name = {0, 0, code->function, code->file, line};
    uint64_t key, number;

    key = hash_text(hash_text(0xcbf29ce484222325u, code, sizeof(*code)), &name.line, 8);
    if (intmap_get(&m->frames, key, &number))
        return number;
    fields.frame = name.frame = ++m->frame_count;
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
    key = ((fields.process << 4 | fields.flavour) * 0x9e3779b97f4a7c15u) ^ fields.address;
    if (intmap_get(&m->frames, key, &number))
        return number;
    fields.frame = ++m->frame_count;
    put(s, TRACE_FRAME, &fields, 4);
    intmap_put(&m->frames, key, fields.frame);
    return fields.frame;
}

uint64_t stackmap_address(struct stackmap *m, const struct stackmap_process *p,
                          struct trace_store *s, uint64_t address)
{
    return frame_number(m, p, s, address & RING_FRAME_ADDRESS);
}

static uint64_t new_stack(struct stackmap *m, uint64_t parent, uint64_t frame)
{
    uint64_t number = ++m->stack_count;

    if (m->pending_used + 20 > m->pending_room) {
        m->pending_room = m->pending_room ? m->pending_room * 2 : 4096;
        m->pending = memory_resize(m->pending, m->pending_room);
    }
    if (!m->pending_used)
        m->pending_first = number;
    m->pending_used += batch_put_stack(m->pending + m->pending_used, number, parent, frame);
    return number;
}

void stackmap_flush(struct stackmap *m, struct trace_store *s)
{
    struct trace_stacks fields = {m->pending_first, m->stack_count + 1 - m->pending_first};

    if (s && m->pending_used)
        trace_store_put(s, TRACE_STACKS, 0, (const uint64_t *)&fields, 2, m->pending,
                        m->pending_used);
    m->pending_used = 0;
}

uint64_t stackmap_push(struct stackmap *m, struct trace_store *s, uint64_t parent, uint64_t frame)
{
    uint64_t key = parent << 32 | frame, number;

    if (intmap_get(&m->stacks, key, &number))
        return number;
    number = new_stack(m, parent, frame);
    intmap_put(&m->stacks, key, number);
    if (m->pending_used > PENDING_MOST)
        stackmap_flush(m, s);
    return number;
}

void stackmap_define(struct stackmap *m, struct stackmap_process *p, struct trace_store *s,
                     uint32_t number, const uint64_t *frames, size_t count)
{
    uint64_t stack = 0, known;

    if (intmap_get(&p->numbers, number, &known))
        return; /* by another thread */
    while (count-- > 0)
        stack = stackmap_push(m, s, stack, frame_number(m, p, s, frames[count]));
    intmap_put(&p->numbers, number, stack);
}

uint32_t stackmap_stack(const struct stackmap_process *p, uint32_t number)
{
    uint64_t stack;

    for (; p; p = p->parent) {
        if (intmap_get(&p->numbers, number, &stack))
            return (uint32_t)stack;
    }
    return 0;
}

void stackmap_process_free(struct stackmap_process *p)
{
    free(p->modules);
    intmap_free(&p->numbers);
    intmap_free(&p->code_numbers);
    free(p->codes);
    intmap_free(&p->seen);
    free(p->seen_codes);
    memset(p, 0, sizeof(*p));
}

void stackmap_free(struct stackmap *m)
{
    intmap_free(&m->frames);
    intmap_free(&m->stacks);
    intmap_free(&m->modules);
    free(m->pending);
}
