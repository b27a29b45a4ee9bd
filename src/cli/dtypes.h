/* dtypes - the option --dtype: tensors of a kind in another type, as KIND=PERCENT of their bytes.
 */
#ifndef CLI_DTYPES_H
#define CLI_DTYPES_H

#include "base/err.h"

/* Adds to a struct selection_types; an option may be given several times. */
int dtypes_parse(const char *text, void *types, struct err *err);

#endif
