/* pylayout: offsets that an interpreter tells of itself are found, whatever stands between them. */
#include "check.h"
#include "python/opcodes.h"
#include "python/pyframes.h"

#define WORDS 200

struct teller {
    uint64_t words[WORDS];
    unsigned int count;
};

static void tell(struct teller *t, const uint64_t *words, unsigned int count)
{
    memcpy(t->words + t->count, words, count * sizeof(*words));
    t->count += count;
}

#define TELL(t, ...)                                                                               \
    tell(t, (const uint64_t[]){__VA_ARGS__},                                                       \
         sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* As 3.13.0 has it, and as 3.14 does, which has more words in many sections. */
static void make(struct teller *t, uint64_t version, uint64_t free_threaded, bool later)
{
    memset(t, 0, sizeof(*t));
    memcpy(t->words, "xdebugpy", 8);
    t->count = 1;
    TELL(t, version, free_threaded);
    TELL(t, 283320, 600, 632); /* runtime */
    TELL(t, 264000, 7080, 7072, 7248, 7320, 8088, 7920, 7936, 7256, 24, 0, 48, 40);
    if (later)
        TELL(t, 7400, 0, 0);
    TELL(t, 272, 0, 8, 16, 72, 152, 160, 264, 36); /* thread */
    if (later) {
        TELL(t, 88, 8, 0, 56, 80, 74, 64, 0);                      /* frame */
        TELL(t, 216, 112, 120, 128, 136, 68, 52, 96, 104, 208, 0); /* code */
    } else {
        TELL(t, 80, 8, 0, 56, 72, 70);
        TELL(t, 208, 112, 120, 128, 136, 68, 52, 96, 104, 200);
    }
    TELL(t, 16, 8);                  /* object */
    TELL(t, 416, 24, 88, 168);       /* type */
    TELL(t, 32, 24, 16, 40, 24, 16); /* tuple, list */
    if (later)
        TELL(t, 200, 24, 40, 32);            /* set */
    TELL(t, 48, 32, 40, 24, 16, 32, 16, 24); /* dict, float, int */
    TELL(t, 40, 16, 32);                     /* bytes */
    TELL(t, 64, 32, 16, 40);                 /* str */
    TELL(t, 248, 240);
}

static enum py_layout_found find(struct py_layout *l, struct teller *t, uint32_t version)
{
    const struct py_memory plain = {NULL, NULL};

    return py_layout_find(l, version, &plain, (uintptr_t)t->words);
}

static void test_offsets_that_are_told(void)
{
    struct teller t;
    struct py_layout l;

    make(&t, 0x030d00f0, 0, false);
    CHECK_EQ(find(&l, &t, 0x030d00f0), PY_LAYOUT_FOUND);
    CHECK_EQ(l.tstate_frame, 72);
    CHECK_EQ(l.tstate_thread_id, 152);
    CHECK_EQ(l.tstate_native_id, 160);
    CHECK_EQ(l.frame_owner, 70);
    CHECK_EQ(l.frame_instruction, 56);
    CHECK_EQ(l.code_instructions, 200);
    CHECK_EQ(l.code_first_line, 68);
    CHECK_EQ(l.bytes_data, 32);
    CHECK_EQ(l.text_compact, 56);
    make(&t, 0x030e00f0, 0, true);
    CHECK_EQ(find(&l, &t, 0x030e00f0), PY_LAYOUT_FOUND);
    CHECK_EQ(l.frame_owner, 74);
    CHECK_EQ(l.frame_bytes, 80);
    CHECK_EQ(l.code_instructions, 208);
    CHECK_EQ(l.text_state, 32);
}

/* The words of 3.14.10 and 3.15.2, as they are. */
static void test_real_ones(void)
{
    static const uint64_t told_14[] = {
        51251952, 0,    316616, 784,  808,  225864, 7280, 7272, 7344, 7360, 7408, 7688, 7672, 7680,
        16,       7784, 0,      7800, 7792, 7992,   0,    832,  0,    8,    16,   72,   152,  160,
        232,      32,   88,     8,    0,    56,     80,   74,   64,   0,    216,  112,  120,  128,
        136,      68,   52,     96,   104,  208,    0,    16,   8,    416,  24,   88,   168,  40,
        32,       16,   40,     24,   16,   200,    24,   40,   32,   48,   32,   40,   24,   16,
        32,       16,   24,     40,   16,   32,     64,   32,   16,   40};
    static const uint64_t told_15[] = {
        51315440, 0,    346568, 912,  936,  226240, 7272, 7264, 7336, 7352, 7400, 7592, 7576, 7584,
        16,       7736, 0,      7752, 7744, 7944,   0,    888,  0,    8,    16,   72,   80,   88,
        96,       176,  184,    256,  32,   36,     40,   136,  288,  0,    88,   8,    0,    56,
        80,       74,   64,     0,    216,  112,    120,  128,  136,  68,   52,   96,   104,  208,
        0,        16,   8,      424,  24,   88,     168,  32,   288,  944,  888,  40,   32,   16,
        40,       24,   16,     200,  24,   40,     32,   48,   32,   40,   24,   16,   32,   16,
        24,       40,   16,     32,   64,   32,     16,   40};
    struct teller t = {.count = 1};
    struct py_layout l;

    memcpy(t.words, "xdebugpy", 8);
    tell(&t, told_14, sizeof(told_14) / sizeof(told_14[0]));
    CHECK_EQ(find(&l, &t, 51251952), PY_LAYOUT_FOUND);
    CHECK_EQ(l.tstate_thread_id, 152);
    CHECK_EQ(l.tstate_native_id, 160);
    CHECK_EQ(l.interp_threads, 7344);
    t.count = 1;
    tell(&t, told_15, sizeof(told_15) / sizeof(told_15[0]));
    CHECK_EQ(find(&l, &t, 51315440), PY_LAYOUT_FOUND);
    CHECK_EQ(l.tstate_thread_id, 176);
    CHECK_EQ(l.tstate_native_id, 184);
    CHECK_EQ(l.interp_threads, 7336);
    CHECK_EQ(l.frame_bytes, 80);
    CHECK_EQ(l.code_instructions, 208);
}

static void test_what_is_refused(void)
{
    struct teller t;
    struct py_layout l;

    make(&t, 0x030d00f0, 1, false);
    CHECK_EQ(find(&l, &t, 0x030d00f0), PY_LAYOUT_FREE_THREADED);
    make(&t, 0x030d00f0, 0, false);
    CHECK_EQ(find(&l, &t, 0x030e00f0), PY_LAYOUT_UNKNOWN); /* not what it says of itself */
    t.words[0]++;
    CHECK_EQ(find(&l, &t, 0x030d00f0), PY_LAYOUT_UNKNOWN);
    CHECK_EQ(find(&l, &t, 0x03080000), PY_LAYOUT_UNKNOWN);
}

static size_t text_of(struct py_layout *l, uint32_t state, const void *data, size_t at,
                      uint64_t length, char *out, size_t room)
{
    const struct py_memory plain = {NULL, NULL};
    _Alignas(8) char object[128] = {0};

    memcpy(object + l->text_length, &length, 8);
    memcpy(object + l->text_state, &state, 4);
    memcpy(object + at, data, 32);
    return py_text_learn(l, &plain, (uintptr_t)object)
             ? py_text(l, &plain, (uintptr_t)object, out, room)
             : 0;
}

static void test_texts(void)
{
    static const char ascii[32] = "name";
    static const uint8_t latin[32] = {'a', 0xe9};
    static const uint16_t wide[16] = {0x20ac, 0xdc80};
    static const uint32_t widest[8] = {0x1f40d, 'x'};
    struct teller t;
    struct py_layout l;
    char out[32];

    make(&t, 0x030d00f0, 0, false);
    CHECK_EQ(find(&l, &t, 0x030d00f0), PY_LAYOUT_FOUND);
    CHECK_EQ(text_of(&l, 1u << 2 | 3u << 5 | 1, ascii, l.text_ascii, 4, out, 32), 4);
    CHECK_EQ(memcmp(out, "name", 4), 0);
    CHECK_EQ(text_of(&l, 1u << 16 | 3u << 19 | 3, ascii, l.text_ascii, 4, out, 32), 4); /* 3.14 */
    CHECK_EQ(text_of(&l, 1u << 2 | 1u << 5, latin, l.text_compact, 2, out, 32), 3);
    CHECK_EQ(memcmp(out, "a\xc3\xa9", 3), 0);
    CHECK_EQ(text_of(&l, 2u << 2 | 1u << 5, wide, l.text_compact, 2, out, 32), 6);
    CHECK_EQ(memcmp(out, "\xe2\x82\xac\xef\xbf\xbd", 6), 0);
    CHECK_EQ(text_of(&l, 4u << 2 | 1u << 5, widest, l.text_compact, 2, out, 32), 5);
    CHECK_EQ(memcmp(out, "\xf0\x9f\x90\x8dx", 5), 0);
    CHECK_EQ(text_of(&l, 4u << 2 | 1u << 5, widest, l.text_compact, 2, out, 3),
             0); /* no half one */
    CHECK_EQ(text_of(&l, 0, ascii, l.text_ascii, 4, out, 32), 0);
}

/* CALL, or what was it, and its neighbour, an instruction that calls nothing of the program. */
static void test_calls(void)
{
    static const uint8_t call[] = {131, 131, 171, 171, 53, 52, 50};
    static const uint8_t other[] = {130, 130, 172, 173, 55, 53, 51};

    for (uint32_t i = 0; i < sizeof(call); i++) {
        uint32_t version = 0x030900f0 + (i << 16);

        CHECK(py_opcode_calls(version, call[i]));
        CHECK(!py_opcode_calls(version, other[i]));
    }
    CHECK(!py_opcode_calls(0x031000f0, 50));
}

int main(void)
{
    static const struct check_test tests[] = {
        {"offsets that are told", test_offsets_that_are_told},
        {"offsets of real interpreters", test_real_ones},
        {"what is refused", test_what_is_refused},
        {"texts", test_texts},
        {"instructions that call", test_calls},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
