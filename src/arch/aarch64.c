/* aarch64 - see arch.h and aarch64.h. */
#include "arch/arch.h"

#include <string.h>

#define NUMBER_WITHIN 40u /* bytes before a system call in which its number is set, mostly */

struct caller arch_interrupted(const ucontext_t *at)
{
    const mcontext_t *m = &at->uc_mcontext;

    return (struct caller){m->pc, m->sp, m->regs[29]};
}

long arch_interrupted_result(const ucontext_t *at)
{
    return (long)at->uc_mcontext.regs[0];
}

#define ESR_MAGIC 0x45535201u
#define ESR_WRITES 0x40u

/* The kernel says why in one of the records that follow the registers. */
bool arch_fault_writes(const ucontext_t *at)
{
    const unsigned char *reserved = at->uc_mcontext.__reserved;
    uint32_t head[2]; /* what it is, and its bytes */
    uint64_t esr;

    for (size_t i = 0; i + 16 <= sizeof(at->uc_mcontext.__reserved); i += head[1]) {
        memcpy(head, reserved + i, sizeof(head));
        if (head[0] == ESR_MAGIC) {
            memcpy(&esr, reserved + i + sizeof(head), sizeof(esr));
            return esr & ESR_WRITES;
        }
        if (!head[0] || head[1] < sizeof(head))
            break;
    }
    return false;
}

/* Only a debugger can have that here. */
bool arch_step(ucontext_t *at, bool on)
{
    (void)at, (void)on;
    return false;
}

static uint32_t word_at(const void *code)
{
    uint32_t word;

    memcpy(&word, code, sizeof(word));
    return word;
}

bool arch_is_system_call(const void *code)
{
    return word_at(code) == 0xd4000001u;
}

/* mov w8 or x8, #221 or #281; mov x8, from another register; ldr x8, from the stack */
static bool may_set_exec(uint32_t word)
{
    uint32_t number = word >> 5 & 0xffffu;

    if ((word & 0x7fe0001fu) == 0x52800008u)
        return number == 221 || number == 281;
    return (word & 0xffe0ffffu) == 0xaa0003e8u || (word & 0xffc003ffu) == 0xf94003e8u;
}

static bool may_exec_at(const unsigned char *code, size_t at)
{
    for (size_t back = 4; back <= NUMBER_WITHIN && back <= at; back += 4)
        if (may_set_exec(word_at(code + at - back)))
            return true;
    return false;
}

bool arch_may_exec(const unsigned char *code, size_t bytes)
{
    for (size_t at = 0; at + 4 <= bytes; at += 4)
        if (arch_is_system_call(code + at) && may_exec_at(code, at))
            return true;
    return false;
}

/* B.cond: 19 bits of distance in words. */
uintptr_t arch_jump_target(uintptr_t at)
{
    uint32_t word = word_at((const void *)at);

    if ((word & 0xff000010u) != 0x54000000u)
        return 0;
    return at + (uintptr_t)(intptr_t)((int32_t)(word << 8) >> 13) * 4;
}

/* BL; BLR */
enum arch_call arch_call(const unsigned char code[], uintptr_t end, uintptr_t *target)
{
    uint32_t word = word_at(code);

    if ((word & 0xfc000000u) == 0x94000000u) {
        *target = end - ARCH_CALL_BYTES + (uintptr_t)(intptr_t)((int32_t)(word << 6) >> 6) * 4;
        return ARCH_CALL_DIRECT;
    }
    return (word & 0xfffffc1fu) == 0xd63f0000u ? ARCH_CALL_INDIRECT : ARCH_CALL_NONE;
}

/* It takes two instructions to make the address of its word: nobody has asked for it yet. */
uintptr_t arch_stub_slot(const unsigned char code[], uintptr_t at)
{
    (void)code, (void)at;
    return 0;
}

/* Its frame pointer is where the stack pointer was; unwind data hardly need it. */
intptr_t arch_frame_bytes(const unsigned char *code, size_t bytes)
{
    (void)code, (void)bytes;
    return -1;
}
