/* arch - the processor, behind one door: what the rest of the tree asks of it, and the only place
 * that names a register, an instruction, a relocation or a symbol version. Each processor is a
 * header of what must be inlined and a .c file; this one lists what both must give.
 *
 * Everything here stands on libc alone and allocates nothing: it runs inside somebody's program.
 * What enters other processes is apart, in stopped.h.
 *
 * Calls
 *   ARCH_CALLER()              who called the function that asks: pc, sp and fp after its return
 *   arch_system_call()         a system call without libc
 *   ARCH_DIVERT_SYSCALL(...)   syscall(2) of our own without a frame, see inject/confine.c
 *   ARCH_LACKS_*               system calls that only older processors have
 * Frames
 *   ARCH_DWARF_SP, _FP, _RA    numbers of registers in unwind data
 *   ARCH_DWARF_FP_EXPRESSION   the operation "frame pointer plus offset"
 *   ARCH_RETURN_OFFSET         from the canonical frame address to where a call left its return
 *   ARCH_LINK_BYTES            what a saved frame pointer and return address take
 *   ARCH_SIGNAL_PC, _SP, _FP   from the stack pointer of a signal's frame to what it saved
 *   ARCH_ADDRESS_BITS          of an address that a program may use
 * An interrupted thread
 *   arch_interrupted()         where a signal has met it
 *   arch_interrupted_result()  what the system call just left has returned, if it has left one
 *   arch_fault_writes()        whether it wanted to write where it was not allowed to
 *   arch_step()                let it trap after one instruction, or no longer
 * Code
 *   ARCH_SYSTEM_CALL_BYTES, arch_is_system_call()   the instruction
 *   arch_may_exec()            code that may start a program by itself
 *   ARCH_JUMP_BYTES, arch_jump_target()   a conditional jump that can leave its function
 *   ARCH_CALL_BYTES, arch_call()          the call before a return address, and where it leads
 *   ARCH_STUB_BYTES, arch_stub_slot()     a stub that jumps to where a word leads
 *   ARCH_SAVED_MOST, arch_frame_bytes()   what a function keeps below where its frame pointer is
 * Files and memory
 *   ARCH_PAGE_LEAST, _MOST     the sizes that a page may have
 *   ARCH_MACHINE, ARCH_LOADER  of programs that can be recorded
 *   ARCH_LOADER_VERSION        that every loader of glibc has, and no other
 *   ARCH_LIBC                  where libc is if it is not beside the loader
 *   ARCH_CLOCK                 clock_gettime of the object that the kernel puts into a process
 *   ARCH_AUDIT                 the same to filters of system calls
 *   ARCH_RELOCATION_*          those that hold the address of a function
 *   ARCH_SPAWN_VERSION         of the posix_spawn that programs are linked with
 *   ARCH_PTHREAD_TID           where glibc keeps a thread's number, from its pthread_t
 *   arch_fetch_to_write()      a line of the cache that will be written soon
 */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

struct caller { /* of a function, at the moment after its return */
    uintptr_t pc, sp, fp;
};

/* Where a signal's handler has interrupted its thread. */
struct caller arch_interrupted(const ucontext_t *at);

/* What is where a system call leaves its result. */
long arch_interrupted_result(const ucontext_t *at);

/* Of a fault's handler: was it a write? */
bool arch_fault_writes(const ucontext_t *at);

/* From a handler: the thread traps after its next instruction, or no longer. False: it cannot. */
bool arch_step(ucontext_t *at, bool on);

/* Is the instruction here a system call? ARCH_SYSTEM_CALL_BYTES are read. */
bool arch_is_system_call(const void *code);

/* Is there a system call in this code that may start a program: with the number of execve or
 * execveat, or with one that is not known there?
 */
bool arch_may_exec(const unsigned char *code, size_t bytes);

/* Where a jump at this place leads to; 0: there is none. ARCH_JUMP_BYTES are read. */
uintptr_t arch_jump_target(uintptr_t at);

enum arch_call { ARCH_CALL_NONE, ARCH_CALL_INDIRECT, ARCH_CALL_DIRECT };

/* The call that ends where a return address is, from the ARCH_CALL_BYTES before it. *target: where
 * a direct one leads.
 */
enum arch_call arch_call(const unsigned char code[], uintptr_t end, uintptr_t *target);

/* Where the word is from which a stub of the procedure linkage table takes its target; 0: it is no
 * stub. ARCH_STUB_BYTES are read.
 */
uintptr_t arch_stub_slot(const unsigned char code[], uintptr_t at);

/* What a function that begins with this code takes of the stack below its frame pointer, besides
 * the registers that it saves there, at most ARCH_SAVED_MOST; -1: not known, also where it takes
 * more as it goes on.
 */
intptr_t arch_frame_bytes(const unsigned char *code, size_t bytes);

#if defined(__x86_64__)
#include "arch/x86_64.h"
#elif defined(__aarch64__)
#include "arch/aarch64.h"
#else
#error "no file in src/arch is for this processor"
#endif

#endif
