/* far_row - the row of unwind data (see cfi_row.h) for an address in a file of code that lies in
 * memory that is not ours.
 */
#ifndef CFI_FAR_ROW_H
#define CFI_FAR_ROW_H

#include "cfi/cfi_row.h"
#include "cfi/far_image.h"

struct far_row {
    uint32_t row;
    uintptr_t start; /* of the function; 0: not known */
};

/* For an address inside an instruction. */
struct far_row far_row_find(const struct far *f, const struct far_image *i, uintptr_t pc);

#endif
