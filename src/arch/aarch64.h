/* aarch64 - see arch.h. Enough to keep the rest of the tree honest: it compiles, and `run` needs no
 * more than this. A recording needs what is missing: frames whose return address is in a register.
 */
#ifndef ARCH_AARCH64_H
#define ARCH_AARCH64_H

#include <sys/syscall.h>

#define ARCH_CALLER()                                                                              \
    ((struct caller){(uintptr_t)__builtin_return_address(0),                                       \
                     (uintptr_t)__builtin_frame_address(0) + ARCH_LINK_BYTES,                      \
                     *(uintptr_t *)__builtin_frame_address(0)})

static inline long arch_system_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;

    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}

_Static_assert(SYS_seccomp == 277 && SYS_execve == 221 && SYS_execveat == 281, "the numbers below");
#define ARCH_DIVERT_SYSCALL(seccomp, exec, execat, others)                                         \
    __asm__(".text\n"                                                                              \
            ".globl syscall\n"                                                                     \
            ".type syscall, %function\n"                                                           \
            "syscall:\n"                                                                           \
            ".cfi_startproc\n"                                                                     \
            "    cmp x0, #277\n"                                                                   \
            "    b.eq " #seccomp "\n"                                                              \
            "    cmp x0, #221\n"                                                                   \
            "    b.eq " #exec "\n"                                                                 \
            "    cmp x0, #281\n"                                                                   \
            "    b.eq " #execat "\n"                                                               \
            "    adrp x16, " #others "\n"                                                          \
            "    ldr x16, [x16, :lo12:" #others "]\n"                                              \
            "    br x16\n"                                                                         \
            ".cfi_endproc\n"                                                                       \
            ".size syscall, .-syscall\n")

#define ARCH_DWARF_SP 31u
#define ARCH_DWARF_FP 29u
#define ARCH_DWARF_RA 30u
#define ARCH_DWARF_FP_EXPRESSION 0x8du /* DW_OP_breg29 */
#define ARCH_RETURN_OFFSET (-8)
#define ARCH_LINK_BYTES 16u
#define ARCH_SIGNAL_FP 544u /* behind a siginfo_t, in the ucontext that follows it */
#define ARCH_SIGNAL_SP 560u
#define ARCH_SIGNAL_PC 568u
#define ARCH_ADDRESS_BITS 48

#define ARCH_SYSTEM_CALL_BYTES 4u
#define ARCH_JUMP_BYTES 4u
#define ARCH_CALL_BYTES 4u
#define ARCH_STUB_BYTES 16u
#define ARCH_SAVED_MOST 10

#define ARCH_PAGE_LEAST 4096u
#define ARCH_PAGE_MOST 65536u

#define ARCH_MACHINE EM_AARCH64
#define ARCH_AUDIT AUDIT_ARCH_AARCH64
#define ARCH_STRUCT_WORD 0 /* a struct of more than two words is handed over by its address */
#define ARCH_LOADER "ld-linux-aarch64.so.1"
#define ARCH_LOADER_VERSION "GLIBC_2.17"
#define ARCH_CLOCK "__kernel_clock_gettime"
#define ARCH_LIBC "/lib/aarch64-linux-gnu/libc.so.6"
#define ARCH_RELOCATION_JUMP R_AARCH64_JUMP_SLOT
#define ARCH_RELOCATION_DATA R_AARCH64_GLOB_DAT
#define ARCH_RELOCATION_WORD R_AARCH64_ABS64
#define ARCH_SPAWN_VERSION "GLIBC_2.17"
#define ARCH_PTHREAD_TID 208u

/* Calls that this kernel has under newer names alone: numbers that never occur. */
enum {
    SYS_epoll_wait = -1001,
    SYS_lstat = -1002,
    SYS_open = -1003,
    SYS_poll = -1004,
    SYS_rename = -1005,
    SYS_select = -1006,
    SYS_stat = -1007,
    SYS_unlink = -1008,
    SYS_vfork = -1009,
};

static inline void arch_fetch_to_write(const void *p)
{
    __builtin_prefetch(p, 1);
}

#endif
