/* x86_64 - see arch.h. */
#include "arch/arch.h"

#include <emmintrin.h>
#include <string.h>

#define FAULT_WRITES 2 /* of the page fault's error code */
#define FLAG_TRAP 0x100
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
