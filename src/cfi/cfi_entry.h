/* cfi_entry - an entry of .eh_frame, which is one function, and the one before it that many share.
 */
#ifndef CFI_CFI_ENTRY_H
#define CFI_CFI_ENTRY_H

#include "cfi/cfi_rules.h"

#define CFI_ENTRY_HEAD 8u /* bytes: its length, and where the shared one is */

/* Open the entry of a function; *back: so far before its first byte the shared one begins. */
bool cfi_entry_fde(struct bytes *b, uint32_t *back);

/* How long an entry is with its head; 0: it is none. */
uint32_t cfi_entry_bytes(const uint8_t head[CFI_ENTRY_HEAD]);

/* What the shared one says, and then what the function's own does, after cfi_entry_fde. */
bool cfi_entry_cie(struct bytes b, struct cfi_program *p);
bool cfi_entry_function(struct bytes b, struct cfi_program *p);

#endif
