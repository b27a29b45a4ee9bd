/* layout - see layout.h. */
#include "python/layout.h"

#define COOKIE "xdebugpy" /* how _Py_DebugOffsets begins */

static const struct py_layout tables[] = {
    {
        .version = 0x03090000,
        .lines = PY_LINES_LNOTAB,
        .tstate_frame = 24,
        .cframe_frame = PY_ABSENT,
        .frame_code = 32,
        .frame_previous = 24,
        .frame_instruction = 104,
        .frame_owner = PY_ABSENT,
        .frame_is_entry = PY_ABSENT,
        .frame_bytes = 112,
        .code_file = 104,
        .code_name = 112,
        .code_qualname = PY_ABSENT,
        .code_first_line = 40,
        .code_lines = 120,
        .code_instructions = 48,
        .code_bytes = 128,
        .type = 8,
        .size = 16,
        .bytes_data = 32,
        .text_length = 16,
        .text_state = 32,
        .text_ascii = 48,
        .text_compact = 72,
        .text_legacy = 72,
        .text_kind_shift = 2,
    },
    {
        .version = 0x030a0000,
        .lines = PY_LINES_RANGES,
        .tstate_frame = 24,
        .cframe_frame = PY_ABSENT,
        .frame_code = 32,
        .frame_previous = 24,
        .frame_instruction = 96,
        .frame_owner = PY_ABSENT,
        .frame_is_entry = PY_ABSENT,
        .frame_bytes = 104,
        .code_file = 104,
        .code_name = 112,
        .code_qualname = PY_ABSENT,
        .code_first_line = 40,
        .code_lines = 120,
        .code_instructions = 48,
        .code_bytes = 128,
        .type = 8,
        .size = 16,
        .bytes_data = 32,
        .text_length = 16,
        .text_state = 32,
        .text_ascii = 48,
        .text_compact = 72,
        .text_legacy = 72,
        .text_kind_shift = 2,
    },
    {
        .version = 0x030b0000,
        .lines = PY_LINES_LOCATIONS,
        .tstate_frame = 56,
        .cframe_frame = 8,
        .frame_code = 32,
        .frame_previous = 48,
        .frame_instruction = 56,
        .frame_owner = 69,
        .frame_is_entry = 68,
        .frame_bytes = 72,
        .owner_c = PY_ABSENT,
        .code_file = 112,
        .code_name = 120,
        .code_qualname = 128,
        .code_first_line = 72,
        .code_lines = 136,
        .code_instructions = 184,
        .code_bytes = 184,
        .type = 8,
        .size = 16,
        .bytes_data = 32,
        .text_length = 16,
        .text_state = 32,
        .text_ascii = 48,
        .text_compact = 72,
        .text_legacy = 72,
        .text_kind_shift = 2,
    },
    {
        .version = 0x030c0000,
        .lines = PY_LINES_LOCATIONS,
        .tstate_frame = 56,
        .cframe_frame = 0,
        .frame_code = 0,
        .frame_previous = 8,
        .frame_instruction = 56,
        .frame_owner = 70,
        .frame_is_entry = PY_ABSENT,
        .frame_bytes = 72,
        .owner_c = 3,
        .code_file = 112,
        .code_name = 120,
        .code_qualname = 128,
        .code_first_line = 68,
        .code_lines = 136,
        .code_instructions = 192,
        .code_bytes = 192,
        .type = 8,
        .size = 16,
        .bytes_data = 32,
        .text_length = 16,
        .text_state = 32,
        .text_ascii = 40,
        .text_compact = 56,
        .text_legacy = 56,
        .text_kind_shift = 2,
    },
};

/* The words of _Py_DebugOffsets by number. What 3.14 added lies between some of these. */
enum word { COOKIE_WORD, VERSION, FREE_THREADED };

struct places { /* words where the sections begin that we read */
    unsigned int thread_state, frame, code, object, bytes, text;
};

static const struct places places_313 = {19, 28, 34, 44, 64, 67};

#define WORDS 160

/* An offset that is believable: structures are small. */
static uint16_t offset(const uint64_t *words, unsigned int at, bool *bad)
{
    if (words[at] >= 1024)
        *bad = true;
    return (uint16_t)words[at];
}

static bool from_words(struct py_layout *l, const uint64_t *w, const struct places *p)
{
    bool bad = false;

    *l = (struct py_layout){
        .version = (uint32_t)w[VERSION],
        .lines = PY_LINES_LOCATIONS,
        .tstate_frame = offset(w, p->thread_state + 4, &bad),
        .cframe_frame = PY_ABSENT,
        .frame_previous = offset(w, p->frame + 1, &bad),
        .frame_code = offset(w, p->frame + 2, &bad),
        .frame_instruction = offset(w, p->frame + 3, &bad),
        .frame_owner = offset(w, p->frame + 5, &bad),
        .frame_is_entry = PY_ABSENT,
        .frame_bytes = offset(w, p->frame + 4, &bad),
        .owner_c = 3,
        .code_file = offset(w, p->code + 1, &bad),
        .code_name = offset(w, p->code + 2, &bad),
        .code_qualname = offset(w, p->code + 3, &bad),
        .code_lines = offset(w, p->code + 4, &bad),
        .code_first_line = offset(w, p->code + 5, &bad),
        .code_instructions = offset(w, p->code + 9, &bad),
        .code_bytes = offset(w, p->code + 9, &bad),
        .type = offset(w, p->object + 1, &bad),
        .size = offset(w, p->bytes + 1, &bad),
        .bytes_data = offset(w, p->bytes + 2, &bad),
        .text_state = offset(w, p->text + 1, &bad),
        .text_length = offset(w, p->text + 2, &bad),
        .text_ascii = offset(w, p->text + 3, &bad),
        .text_kind_shift = 2,
    };
    l->text_compact = (uint16_t)(l->text_ascii + 16); /* the UTF-8 form: length and pointer */
    l->text_legacy = l->text_compact;
    return !bad && l->code_bytes <= PY_CODE_MOST &&
           w[p->bytes] == l->bytes_data + 8u /* the sections are where we think they are */;
}

static enum py_layout_found from_runtime(struct py_layout *l, uint32_t version,
                                         const struct py_memory *m, uintptr_t runtime)
{
    uint64_t words[WORDS];

    if (!py_read(m, runtime, words, sizeof(words)) || memcmp(words, COOKIE, 8) ||
        (words[VERSION] ^ version) >> 16)
        return PY_LAYOUT_UNKNOWN;
    if (words[FREE_THREADED])
        return PY_LAYOUT_FREE_THREADED;
    return from_words(l, words, &places_313) ? PY_LAYOUT_FOUND : PY_LAYOUT_UNKNOWN;
}

enum py_layout_found py_layout_find(struct py_layout *l, uint32_t version,
                                    const struct py_memory *m, uintptr_t runtime)
{
    if (version >= 0x030d0000)
        return from_runtime(l, version, m, runtime);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        if (tables[i].version >> 16 == version >> 16) {
            *l = tables[i];
            l->version = version;
            return PY_LAYOUT_FOUND;
        }
    }
    return PY_LAYOUT_UNKNOWN;
}
