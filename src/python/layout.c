/* layout - see layout.h. */
#include "python/layout.h"

#define COOKIE "xdebugpy" /* how _Py_DebugOffsets begins */

static const struct py_layout tables[] = {
    {
        .version = 0x03090000,
        .lines = PY_LINES_LNOTAB,
        .runtime_interpreters = 32,
        .interp_next = 0,
        .interp_threads = 8,
        .tstate_next = 8,
        .tstate_native_id = PY_ABSENT,
        .tstate_thread_id = 176,
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
        .runtime_interpreters = 32,
        .interp_next = 0,
        .interp_threads = 8,
        .tstate_next = 8,
        .tstate_native_id = PY_ABSENT,
        .tstate_thread_id = 176,
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
        .runtime_interpreters = 40,
        .interp_next = 0,
        .interp_threads = 16,
        .tstate_next = 8,
        .tstate_native_id = 160,
        .tstate_thread_id = 152,
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
        .runtime_interpreters = 40,
        .interp_next = 0,
        .interp_threads = 72,
        .tstate_next = 8,
        .tstate_native_id = 144,
        .tstate_thread_id = 136,
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

/* ---- 3.13 and later: _Py_DebugOffsets, at the start of _PyRuntime ----
 *
 * A row of words in sections, each a structure's size and offsets in it. Later versions put words
 * in between, so a section is known by what cannot be otherwise: fields that stand side by side.
 */
#define WORDS 160

enum word {
    COOKIE_WORD,
    VERSION,
    FREE_THREADED,
    SECTIONS,
    INTERPRETERS_HEAD = SECTIONS + 2, /* size, finalizing, interpreters_head */
    INTERPRETER_NEXT = SECTIONS + 5,  /* size, id, next, threads_head */
    INTERPRETER_THREADS = SECTIONS + 6,
};

/* size, prev, next, interp, current_frame: PyThreadState begins with these pointers */
static bool is_thread_state(const uint64_t *w)
{
    return w[1] == 0 && w[2] == 8 && w[3] == 16 && w[4] > 16 && w[4] < w[0];
}

/* A thread's two numbers, libc's and the kernel's, come a little later, and alone side by side;
 * 3.15 has frames between, more than two in a row. 0: none are known.
 */
static unsigned int numbers_at(const uint64_t *w)
{
    for (unsigned int i = 5; i < 12; i++)
        if (w[i + 1] == w[i] + 8 && w[i - 1] + 8 != w[i] && w[i + 2] != w[i + 1] + 8)
            return i;
    return 0;
}

/* size, previous, executable, instr_ptr, localsplus, owner: localsplus is the last field */
static bool is_frame(const uint64_t *w)
{
    return w[1] == 8 && w[2] == 0 && w[3] > 8 && w[3] < w[4] && w[5] > w[3] && w[5] < w[4] &&
           w[0] == w[4] + 8 && w[0] <= 128;
}

/* size, filename, name, qualname, linetable, firstlineno, three of locals, co_code_adaptive */
static bool is_code(const uint64_t *w)
{
    return w[1] > 16 && w[2] == w[1] + 8 && w[3] == w[2] + 8 && w[4] == w[3] + 8 && w[5] < w[1] &&
           w[9] > w[4] && w[9] <= w[0] && w[0] <= PY_CODE_MOST;
}

static bool is_object(const uint64_t *w) /* size, ob_type */
{
    return w[0] == 16 && w[1] == 8;
}

/* size, ob_size, ob_sval; the section of strings is the next: size, state, length, size of ASCII */
static bool is_bytes_and_text(const uint64_t *w)
{
    return w[1] == 16 && w[2] > 16 && w[0] == w[2] + 8 && w[5] == 16 && w[4] > 16 && w[6] > w[4] &&
           w[3] > w[6] && w[3] <= 128;
}

/* The first section of this kind from *at on; *at is then beyond its `used` words. NULL: none. */
static const uint64_t *section(const uint64_t *words, unsigned int *at, unsigned int used,
                               bool (*is)(const uint64_t *))
{
    for (unsigned int i = *at; i + used <= WORDS; i++) {
        if (is(words + i)) {
            *at = i + used;
            return words + i;
        }
    }
    return NULL;
}

static bool from_words(struct py_layout *l, const uint64_t *words)
{
    unsigned int at = SECTIONS;
    const uint64_t *thread = section(words, &at, 5, is_thread_state);
    const uint64_t *frame = thread ? section(words, &at, 6, is_frame) : NULL;
    const uint64_t *code = frame ? section(words, &at, 10, is_code) : NULL;
    const uint64_t *object = code ? section(words, &at, 2, is_object) : NULL;
    const uint64_t *bytes = object ? section(words, &at, 7, is_bytes_and_text) : NULL;
    unsigned int numbers = bytes ? numbers_at(thread) : 0;

    if (!bytes || thread[4] >= PY_ABSENT || words[INTERPRETERS_HEAD] >= PY_ABSENT ||
        words[INTERPRETER_NEXT] >= PY_ABSENT || words[INTERPRETER_THREADS] >= PY_ABSENT)
        return false;
    *l = (struct py_layout){
        .version = (uint32_t)words[VERSION],
        .lines = PY_LINES_LOCATIONS,
        .runtime_interpreters = (uint16_t)words[INTERPRETERS_HEAD],
        .interp_next = (uint16_t)words[INTERPRETER_NEXT],
        .interp_threads = (uint16_t)words[INTERPRETER_THREADS],
        .tstate_next = (uint16_t)thread[2],
        .tstate_frame = (uint16_t)thread[4],
        .tstate_thread_id = numbers ? (uint16_t)thread[numbers] : PY_ABSENT,
        .tstate_native_id = numbers ? (uint16_t)thread[numbers + 1] : PY_ABSENT,
        .cframe_frame = PY_ABSENT,
        .frame_previous = (uint16_t)frame[1],
        .frame_code = (uint16_t)frame[2],
        .frame_instruction = (uint16_t)frame[3],
        .frame_owner = (uint16_t)frame[5],
        .frame_is_entry = PY_ABSENT,
        .frame_bytes = (uint16_t)frame[4],
        .owner_c = 3,
        .code_file = (uint16_t)code[1],
        .code_name = (uint16_t)code[2],
        .code_qualname = (uint16_t)code[3],
        .code_lines = (uint16_t)code[4],
        .code_first_line = (uint16_t)code[5],
        .code_instructions = (uint16_t)code[9],
        .code_bytes = (uint16_t)code[9],
        .type = (uint16_t)object[1],
        .size = (uint16_t)bytes[1],
        .bytes_data = (uint16_t)bytes[2],
        .text_state = (uint16_t)bytes[4],
        .text_length = (uint16_t)bytes[5],
        .text_ascii = (uint16_t)bytes[6],
        .text_compact = (uint16_t)(bytes[6] + 16), /* the UTF-8 form: length and pointer */
        .text_legacy = (uint16_t)(bytes[6] + 16),
        .text_kind_shift = 2,
    };
    return true;
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
    return from_words(l, words) ? PY_LAYOUT_FOUND : PY_LAYOUT_UNKNOWN;
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
