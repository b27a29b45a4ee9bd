/* pyframes - see pyframes.h. */
#include "python/pyframes.h"

#include "arch/arch.h"
#include "python/linetable.h"

#define FRAME_MOST 128         /* bytes of a frame that we read */
#define C_FRAMES_MOST 4        /* in a row: marks of calls from C */
#define TAGS ((uintptr_t)7)    /* low bits of a pointer that say how it is counted, since 3.14 */
#define LINES_MOST (64u << 20) /* bytes of a line table */
#define TEXT_MOST (1u << 20)   /* characters of a name */
#define WINDOW 256

static uintptr_t word_at(const char *bytes, uint16_t offset)
{
    uintptr_t word;

    memcpy(&word, bytes + offset, sizeof(word));
    return word;
}

static bool believable(uintptr_t at)
{
    return at >= ARCH_PAGE_LEAST && !(at & 7) && !(at >> ARCH_ADDRESS_BITS);
}

bool py_walk_start(struct py_walk *w, const struct py_layout *l, const struct py_memory *m,
                   uintptr_t tstate)
{
    *w = (struct py_walk){l, m, 0};
    if (!py_read_word(m, tstate + l->tstate_frame, &w->at))
        return false;
    if (l->cframe_frame == PY_ABSENT || !w->at)
        return true;
    return believable(w->at) && py_read_word(m, w->at + l->cframe_frame, &w->at);
}

static void parse(const struct py_layout *l, const char *frame, struct py_link *k)
{
    k->code = word_at(frame, l->frame_code) & ~TAGS;
    k->instruction = word_at(frame, l->frame_instruction);
    if (l->lines != PY_LINES_LOCATIONS)
        k->instruction = (uint32_t)k->instruction;
    k->previous = word_at(frame, l->frame_previous);
    k->is_entry = l->frame_is_entry != PY_ABSENT && frame[l->frame_is_entry];
    k->is_c = l->frame_owner != PY_ABSENT && (uint8_t)frame[l->frame_owner] >= l->owner_c;
}

bool py_link_read(const struct py_layout *l, const struct py_memory *m, uintptr_t at,
                  struct py_link *k)
{
    char copy[FRAME_MOST];

    if (!believable(at) || (m->read && !m->read(m->context, at, copy, l->frame_bytes)))
        return false;
    parse(l, m->read ? copy : (const char *)at, k);
    return k->is_c || believable(k->code);
}

enum py_step py_link_next(const struct py_layout *l, const struct py_memory *m, uintptr_t *at,
                          struct py_link *k)
{
    for (unsigned int i = 0; i < C_FRAMES_MOST; i++) {
        if (!*at)
            return PY_END;
        if (!py_link_read(l, m, *at, k))
            return PY_BAD;
        if (!k->is_c)
            return PY_FRAME;
        *at = k->previous;
    }
    return PY_BAD;
}

bool py_link_is_entry(const struct py_layout *l, const struct py_memory *m, const struct py_link *k)
{
    struct py_link next;

    if (l->frame_owner == PY_ABSENT)
        return true; /* before 3.11, every frame is a call of its own */
    if (l->frame_is_entry != PY_ABSENT)
        return k->is_entry;
    return !k->previous || (py_link_read(l, m, k->previous, &next) && next.is_c);
}

enum py_step py_walk_next(struct py_walk *w, struct py_frame *f)
{
    struct py_link k;
    enum py_step step = py_link_next(w->layout, w->memory, &w->at, &k);

    if (step != PY_FRAME)
        return step;
    *f = (struct py_frame){k.code, k.instruction, py_link_is_entry(w->layout, w->memory, &k)};
    w->at = k.previous;
    return PY_FRAME;
}

bool py_code_read(const struct py_layout *l, const struct py_memory *m, uintptr_t code,
                  struct py_code *c)
{
    char bytes[PY_CODE_MOST];

    if (!py_read(m, code, bytes, l->code_bytes) || word_at(bytes, l->type) != l->code_type)
        return false;
    c->file = word_at(bytes, l->code_file);
    c->name = word_at(bytes, l->code_qualname == PY_ABSENT ? l->code_name : l->code_qualname);
    c->lines = word_at(bytes, l->code_lines);
    c->instructions = l->lines == PY_LINES_LOCATIONS ? code + l->code_instructions
                                                     : word_at(bytes, l->code_instructions);
    memcpy(&c->first_line, bytes + l->code_first_line, sizeof(c->first_line));
    return believable(c->file) && believable(c->name) && believable(c->lines);
}

uint32_t py_code_at(const struct py_layout *l, const struct py_code *c, uintptr_t instruction)
{
    int32_t number = (int32_t)instruction;

    if (l->lines == PY_LINES_LNOTAB)
        return (uint32_t)number;
    if (l->lines == PY_LINES_RANGES)
        return number < 0 ? UINT32_MAX : (uint32_t)number * 2;
    if (instruction < c->instructions || instruction - c->instructions > INT32_MAX)
        return UINT32_MAX;
    return (uint32_t)(instruction - c->instructions);
}

uint32_t py_code_line(const struct py_layout *l, const struct py_memory *m, const struct py_code *c,
                      uintptr_t instruction, struct py_line_place *place)
{
    uint32_t at = py_code_at(l, c, instruction);
    uintptr_t bytes;

    if (at == UINT32_MAX)
        return c->first_line > 0 && c->first_line <= PY_LINE_MOST ? (uint32_t)c->first_line : 0;
    if (!py_read_word(m, c->lines + l->size, &bytes) || bytes > LINES_MOST)
        return 0;
    return py_line(l->lines, m, c->lines + l->bytes_data, bytes, c->first_line, at, place);
}

static size_t put_utf8(char out[4], uint32_t c)
{
    if (c >= 0xd800 && c < 0xe000)
        c = 0xfffd; /* half a character, or a byte of a name that is no text */
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    if (c > 0x10ffff)
        return put_utf8(out, 0xfffd);
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

static uint32_t character(const uint8_t *at, unsigned int width)
{
    return width == 1 ? at[0]
         : width == 2
             ? (uint32_t)(at[0] | at[1] << 8)
             : at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static size_t put_text(const struct py_memory *m, uintptr_t at, size_t length, unsigned int width,
                       char *out, size_t room)
{
    uint8_t window[WINDOW];
    size_t used = 0;

    while (length) {
        size_t count = length < WINDOW / width ? length : WINDOW / width;

        if (!py_read(m, at, window, count * width))
            return used;
        for (size_t i = 0; i < count; i++) {
            char one[4];
            size_t bytes = put_utf8(one, character(window + i * width, width));

            if (bytes > room - used)
                return used;
            memcpy(out + used, one, bytes);
            used += bytes;
        }
        at += count * width;
        length -= count;
    }
    return used;
}

static bool is_width(uint32_t width)
{
    return width == 1 || width == 2 || width == 4;
}

/* The bits before it say how the str is shared, a small number: read wrongly, there is no width. */
bool py_text_learn(struct py_layout *l, const struct py_memory *m, uintptr_t text)
{
    static const uint8_t places[] = {2, 8, 16};
    uint32_t state;

    if (!py_read(m, text + l->text_state, &state, sizeof(state)))
        return false;
    for (size_t i = 0; i < sizeof(places); i++) {
        if (is_width(state >> places[i] & 7)) {
            l->text_kind_shift = places[i];
            return true;
        }
    }
    return false;
}

/* The state's bits: the width of a character in three, then "compact", then "ASCII". */
size_t py_text(const struct py_layout *l, const struct py_memory *m, uintptr_t text, char *out,
               size_t room)
{
    uintptr_t length, at;
    uint32_t state;
    unsigned int width;

    if (!py_read_word(m, text + l->text_length, &length) || length > TEXT_MOST ||
        !py_read(m, text + l->text_state, &state, sizeof(state)))
        return 0;
    state >>= l->text_kind_shift;
    width = state & 7;
    if (!is_width(width))
        return 0;
    if (state & 8)
        at = text + (state & 16 ? l->text_ascii : l->text_compact);
    else if (!py_read_word(m, text + l->text_legacy, &at) || !at)
        return 0;
    return put_text(m, at, length, width, out, room);
}
