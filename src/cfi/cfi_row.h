/* cfi_row - where the caller's frame is, at one instruction. Rows pack into 32 bits so that callers
 * can cache them. The return address is always at CFA + ARCH_RETURN_OFFSET.
 */
#ifndef CFI_CFI_ROW_H
#define CFI_CFI_ROW_H

#include <stdint.h>

enum cfi_type {
    CFI_GAP = 0,   /* no unwind data here */
    CFI_END = 1,   /* outermost frame */
    CFI_SP = 2,    /* CFA = sp + offset */
    CFI_FP = 3,    /* CFA = fp + offset */
    CFI_DEREF = 4, /* CFA = *(fp + offset): a realigned stack */
    CFI_SIGNAL = 5,
    CFI_BAD = 6, /* unwind data that this file does not express */
};

#define CFI_FP_KEPT (-2048) /* fp is the caller's already */
#define CFI_FP_AT_FP 2047   /* the caller's is at *fp */

/* A row: type in 3 bits, CFA offset / 8 in 17, offset of the saved fp from the CFA / 8 in 12. */
static inline enum cfi_type cfi_type(uint32_t row)
{
    return (enum cfi_type)(row & 7);
}

static inline intptr_t cfi_offset(uint32_t row)
{
    return (intptr_t)((int32_t)(row << 12) >> 15) * 8;
}

static inline int cfi_fp(uint32_t row)
{
    return (int32_t)row >> 20;
}

static inline uint32_t cfi_row(enum cfi_type type, int64_t cfa, int64_t fp)
{
    return (uint32_t)type | ((uint32_t)(cfa & 0x1ffff) << 3) | ((uint32_t)(fp & 0xfff) << 20);
}

#endif
