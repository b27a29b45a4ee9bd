/* x86_64 - see arch.h. */
#ifndef ARCH_X86_64_H
#define ARCH_X86_64_H

#include <sys/syscall.h>

/* Needs a frame pointer in the function that uses it, which these builtins enforce. */
#define ARCH_CALLER()                                                                              \
    ((struct caller){(uintptr_t)__builtin_return_address(0),                                       \
                     (uintptr_t)__builtin_frame_address(0) + ARCH_LINK_BYTES,                      \
                     *(uintptr_t *)__builtin_frame_address(0)})

/* Nothing may stand between the registers and the instruction, a sanitizer's call least of all. */
__attribute__((no_sanitize("thread", "address"))) static inline long arch_system_call(
    long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* Define syscall(): to one of the first three with the number of seccomp(2), execve(2) or
 * execveat(2), else to where the pointer `others` leads; all registers are as the caller left them.
 */
_Static_assert(SYS_seccomp == 317 && SYS_execve == 59 && SYS_execveat == 322, "the numbers below");
#define ARCH_DIVERT_SYSCALL(seccomp, exec, execat, others)                                         \
    __asm__(".text\n"                                                                              \
            ".globl syscall\n"                                                                     \
            ".type syscall, @function\n"                                                           \
            "syscall:\n"                                                                           \
            ".cfi_startproc\n"                                                                     \
            "    cmpq $317, %rdi\n"                                                                \
            "    je " #seccomp "\n"                                                                \
            "    cmpq $59, %rdi\n"                                                                 \
            "    je " #exec "\n"                                                                   \
            "    cmpq $322, %rdi\n"                                                                \
            "    je " #execat "\n"                                                                 \
            "    jmp *" #others "(%rip)\n"                                                         \
            ".cfi_endproc\n"                                                                       \
            ".size syscall, .-syscall\n")

#define ARCH_DWARF_SP 7u
#define ARCH_DWARF_FP 6u
#define ARCH_DWARF_RA 16u
#define ARCH_DWARF_FP_EXPRESSION 0x76u /* DW_OP_breg6 */
#define ARCH_RETURN_OFFSET (-8)
#define ARCH_LINK_BYTES 16u
#define ARCH_SIGNAL_FP 120u /* in the ucontext that begins there */
#define ARCH_SIGNAL_SP 160u
#define ARCH_SIGNAL_PC 168u
#define ARCH_ADDRESS_BITS 47

#define ARCH_SYSTEM_CALL_BYTES 2u
#define ARCH_JUMP_BYTES 6u
#define ARCH_CALL_BYTES 8u
#define ARCH_STUB_BYTES 16u
#define ARCH_SAVED_MOST 5

#define ARCH_PAGE_LEAST 4096u
#define ARCH_PAGE_MOST 4096u

#define ARCH_MACHINE EM_X86_64
#define ARCH_AUDIT AUDIT_ARCH_X86_64
#define ARCH_STRUCT_WORD                                                                           \
    6 /* a struct of more than two words lies with the words of arguments from this one on */
#define ARCH_LOADER "ld-linux-x86-64.so.2"
#define ARCH_LOADER_VERSION "GLIBC_2.4"
#define ARCH_CLOCK "__vdso_clock_gettime"
#define ARCH_LIBC "/lib/x86_64-linux-gnu/libc.so.6"
#define ARCH_RELOCATION_JUMP R_X86_64_JUMP_SLOT
#define ARCH_RELOCATION_DATA R_X86_64_GLOB_DAT
#define ARCH_RELOCATION_WORD R_X86_64_64
#define ARCH_SPAWN_VERSION "GLIBC_2.15"
#define ARCH_PTHREAD_TID 720u /* in all versions since 2.4 */

/* The compiler's own way would fetch for reading, and the line be asked for twice. */
static inline void arch_fetch_to_write(const void *p)
{
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
}

#endif
