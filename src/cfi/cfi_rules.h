/* cfi_rules - the instructions of unwind data, run up to an address: where the frame of the caller
 * is there. cfi.c finds them.
 */
#ifndef CFI_CFI_RULES_H
#define CFI_CFI_RULES_H

#include "cfi/bytes.h"

#include <stdbool.h>
#include <stdint.h>

struct cfi_program {
    uint64_t code_align;
    int64_t data_align;
    bool signal;
    uint8_t encoding;
    struct bytes initial, rest; /* of the CIE; of the FDE, from its augmentation on */
    uintptr_t start, size;      /* of the function */
};

/* The row (see cfi_row.h) that holds at pc, an address in the function. */
uint32_t cfi_rules_run(const struct cfi_program *p, uintptr_t pc);

#endif
