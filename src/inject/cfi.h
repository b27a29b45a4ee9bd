/* cfi - how to step from a frame to its caller, out of .eh_frame, one program counter at a time.
 *
 * Nothing is prepared: a lookup finds the module (_dl_find_object: no lock, safe in a signal
 * handler), searches its .eh_frame_hdr and runs the one FDE up to the address. Rows pack into 32
 * bits so that callers can cache them. x86-64: the return address is always at CFA - 8.
 */
#ifndef INJECT_CFI_H
#define INJECT_CFI_H

#include <stdbool.h>
#include <stdint.h>

enum cfi_type {
    CFI_GAP = 0,   /* no unwind data here */
    CFI_END = 1,   /* outermost frame */
    CFI_RSP = 2,   /* CFA = rsp + offset */
    CFI_RBP = 3,   /* CFA = rbp + offset */
    CFI_DEREF = 4, /* CFA = *(rbp + offset): a realigned stack */
    CFI_SIGNAL = 5,
    CFI_BAD = 6, /* unwind data that this file does not express */
};

#define CFI_RBP_KEPT (-2048) /* rbp is the caller's already */
#define CFI_RBP_AT_RBP 2047  /* the caller's is at *rbp */

/* A row: type in 3 bits, CFA offset / 8 in 17, offset of the saved rbp from the CFA / 8 in 12. */
static inline enum cfi_type cfi_type(uint32_t row)
{
    return (enum cfi_type)(row & 7);
}

static inline intptr_t cfi_offset(uint32_t row)
{
    return (intptr_t)((int32_t)(row << 12) >> 15) * 8;
}

static inline int cfi_rbp(uint32_t row)
{
    return (int32_t)row >> 20;
}

struct cfi_module {
    const void *start, *end, *map; /* map: struct link_map */
};

/* The row for an address inside an instruction. *module is set where *known says so. */
uint32_t cfi_find(uintptr_t pc, struct cfi_module *module, bool *known);

/* From where to where the function goes that holds an address; false: not known. */
bool cfi_extent(uintptr_t pc, uintptr_t *start, uintptr_t *end);

#endif
