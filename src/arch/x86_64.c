/* x86_64 - see arch.h. */
#include "arch/arch.h"

#include <emmintrin.h>
#include <string.h>

#define FAULT_WRITES 2 /* of the page fault's error code */
#define FLAG_TRAP 0x100
#define PUSH_WITHIN 6u    /* bytes of a function until it saves its frame pointer, */
#define MOVE_WITHIN 24    /* from there until it has another, */
#define TAKEN_WITHIN 96   /* and until it has made room below that */
#define NUMBER_WITHIN 36u /* bytes before a system call in which its number is set, mostly */

struct caller arch_interrupted(const ucontext_t *at)
{
    const greg_t *r = at->uc_mcontext.gregs;

    return (struct caller){(uintptr_t)r[REG_RIP], (uintptr_t)r[REG_RSP], (uintptr_t)r[REG_RBP]};
}

long arch_interrupted_result(const ucontext_t *at)
{
    return (long)at->uc_mcontext.gregs[REG_RAX];
}

bool arch_fault_writes(const ucontext_t *at)
{
    return at->uc_mcontext.gregs[REG_ERR] & FAULT_WRITES;
}

bool arch_step(ucontext_t *at, bool on)
{
    greg_t *flags = &at->uc_mcontext.gregs[REG_EFL];

    *flags = on ? *flags | FLAG_TRAP : *flags & ~(greg_t)FLAG_TRAP;
    return true;
}

bool arch_is_system_call(const void *code)
{
    return memcmp(code, "\x0f\x05", ARCH_SYSTEM_CALL_BYTES) == 0;
}

/* mov $number, %eax; mov $number, %rax; push $number, pop %rax */
static bool sets_number_of_exec(const unsigned char *code, size_t bytes)
{
    static const char *const numbers[] = {"\x3b\0\0\0", "\x42\x01\0\0"};

    for (int i = 0; i < 2; i++)
        if ((bytes >= 5 && code[0] == 0xb8 && memcmp(code + 1, numbers[i], 4) == 0) ||
            (bytes >= 7 && memcmp(code, "\x48\xc7\xc0", 3) == 0 &&
             memcmp(code + 3, numbers[i], 4) == 0))
            return true;
    return bytes >= 3 && memcmp(code, "\x6a\x3b\x58", 3) == 0;
}

/* mov from another register, or from the stack, to %rax */
static bool sets_any_number(const unsigned char *code, size_t bytes)
{
    static const unsigned char from[] = {0xc8, 0xd0, 0xd8, 0xf0, 0xf8}; /* rcx rdx rbx rsi rdi */

    if (bytes >= 2 && code[0] == 0x89 && code[1] == 0xf8)
        return true;
    if (bytes >= 4 && code[0] == 0x48 && code[1] == 0x8b && (code[2] == 0x45 || code[2] == 0x44))
        return true;
    if (bytes < 3 || code[1] != 0x89 || (code[2] & 0xc7) != 0xc0)
        return false;
    return code[0] == 0x4c || (code[0] == 0x48 && memchr(from, code[2], sizeof(from)));
}

/* What stands behind a system call and not, mostly, behind two bytes that only look like one. */
static bool takes_result(const unsigned char *code, size_t bytes)
{
    static const unsigned char first[] = {0xc3, 0x89, 0xc9, 0xeb, 0xe9, 0x90, 0x8b};
    static const unsigned char second[] = {0x89, 0x3d, 0x83, 0x85, 0x8b};

    if (bytes >= 2 && code[0] == 0x48)
        return memchr(second, code[1], sizeof(second)) != NULL;
    if (bytes >= 2 && code[0] == 0x41)
        return code[1] >= 0x58 && code[1] <= 0x5f;
    if (bytes >= 2 && code[0] == 0x85)
        return code[1] == 0xc0;
    return bytes && ((code[0] >= 0x58 && code[0] <= 0x5f) || memchr(first, code[0], sizeof(first)));
}

static bool may_exec_at(const unsigned char *code, size_t bytes, size_t at)
{
    size_t from = at < NUMBER_WITHIN ? 0 : at - NUMBER_WITHIN;
    bool real = takes_result(code + at + 2, bytes - at - 2);

    for (size_t i = from; i < at; i++)
        if (sets_number_of_exec(code + i, at - i) || (real && sets_any_number(code + i, at - i)))
            return true;
    return false;
}

/* The first system call in [at, end), or NULL. Programs have many megabytes of code, and almost all
 * of it is looked at in vain: so sixteen places at once.
 */
static const unsigned char *find_call(const unsigned char *at, const unsigned char *end)
{
    const __m128i first = _mm_set1_epi8(0x0f), second = _mm_set1_epi8(0x05);

    for (; end - at > 16; at += 16) {
        __m128i here = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i next = _mm_loadu_si128((const __m128i *)(const void *)(at + 1));
        int both = _mm_movemask_epi8(
            _mm_and_si128(_mm_cmpeq_epi8(here, first), _mm_cmpeq_epi8(next, second)));

        if (both)
            return at + __builtin_ctz((unsigned int)both);
    }
    return memmem(at, (size_t)(end - at), "\x0f\x05", ARCH_SYSTEM_CALL_BYTES);
}

bool arch_may_exec(const unsigned char *code, size_t bytes)
{
    const unsigned char *end = code + bytes, *at = code;

    while ((at = find_call(at, end)) != NULL) {
        if (may_exec_at(code, bytes, (size_t)(at - code)))
            return true;
        at += ARCH_SYSTEM_CALL_BYTES;
    }
    return false;
}

/* 0f 80 to 0f 8f, and a distance in four bytes. */
uintptr_t arch_jump_target(uintptr_t at)
{
    const uint8_t *code = (const uint8_t *)at;
    int32_t distance;

    if (code[0] != 0x0f || (code[1] & 0xf0) != 0x80)
        return 0;
    memcpy(&distance, code + 2, sizeof(distance));
    return at + ARCH_JUMP_BYTES + (uintptr_t)(intptr_t)distance;
}

/* The bytes of an operand that a ModRM byte begins, in 64-bit code; 0: `room` is not enough. */
static size_t operand_bytes(const unsigned char *modrm, size_t room)
{
    unsigned int mode = *modrm >> 6, base = *modrm & 7;
    size_t bytes = 1 + (mode == 1 ? 1 : mode == 2 ? 4 : 0);

    if (mode == 3)
        return 1;
    if (base == 4) {
        if (room < 2)
            return 0;
        bytes += 1 + (mode == 0 && (modrm[1] & 7) == 5 ? 4 : 0);
    } else if (mode == 0 && base == 5) {
        bytes += 4;
    }
    return bytes <= room ? bytes : 0;
}

/* e8 and a distance; or ff /2, perhaps after one prefix, of as many bytes as are before the end. */
enum arch_call arch_call(const unsigned char code[], uintptr_t end, uintptr_t *target)
{
    int32_t distance;

    if (code[ARCH_CALL_BYTES - 5] == 0xe8) {
        memcpy(&distance, code + ARCH_CALL_BYTES - 4, sizeof(distance));
        *target = end + (uintptr_t)(intptr_t)distance;
        return ARCH_CALL_DIRECT;
    }
    for (size_t at = 0; at + 2 <= ARCH_CALL_BYTES; at++) {
        size_t room = ARCH_CALL_BYTES - at - 1;

        if (code[at] == 0xff && (code[at + 1] >> 3 & 7) == 2 &&
            operand_bytes(code + at + 1, room) == room)
            return ARCH_CALL_INDIRECT;
    }
    return ARCH_CALL_NONE;
}

/* endbr64, if at all; bnd, if at all; jmp *distance(%rip) */
uintptr_t arch_stub_slot(const unsigned char code[], uintptr_t at)
{
    size_t i = memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0;
    int32_t distance;

    i += code[i] == 0xf2;
    if (code[i] != 0xff || code[i + 1] != 0x25)
        return 0;
    memcpy(&distance, code + i + 2, sizeof(distance));
    return at + i + 6 + (uintptr_t)(intptr_t)distance;
}

/* sub %register, %rsp */
static bool takes_more(const unsigned char *code, size_t bytes)
{
    for (size_t i = 0; i + 3 <= bytes; i++)
        if ((code[i] & 0xfb) == 0x48 && code[i + 1] == 0x29 && (code[i + 2] & 0xc7) == 0xc4)
            return true;
    return false;
}

/* sub $bytes, %rsp; add $-128, %rsp is shorter than sub $128, %rsp. */
static intptr_t taken_at(const unsigned char *code)
{
    int32_t size;

    if (memcmp(code, "\x48\x83\xc4\x80", 4) == 0)
        return 128;
    if (memcmp(code, "\x48\x83\xec", 3) == 0)
        return (signed char)code[3];
    if (memcmp(code, "\x48\x81\xec", 3) != 0)
        return 0;
    memcpy(&size, code + 3, sizeof(size));
    return size;
}

/* push %rbp; mov %rsp, %rbp; sub $bytes, %rsp, if it needs any: in this order, among others. */
intptr_t arch_frame_bytes(const unsigned char *code, size_t bytes)
{
    const unsigned char *push = memchr(code, 0x55, bytes < PUSH_WITHIN ? bytes : PUSH_WITHIN);
    const unsigned char *end = code + bytes, *move;
    intptr_t taken = 0;

    if (!push || takes_more(code, bytes))
        return -1;
    move = memmem(push, (size_t)(end - push), "\x48\x89\xe5", 3);
    if (!move || move - push > MOVE_WITHIN)
        return -1;
    for (; !taken && end - move >= 7 && move - push < TAKEN_WITHIN; move++)
        taken = taken_at(move);
    return taken < 0 ? -1 : taken;
}
