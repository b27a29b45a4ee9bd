/* watch_looks - what looks at memory of devices have found, as changes: see watches.h. A look is
 * made after each command that may write there, and what differs from the look before was changed
 * by that command: where both were made, and nothing ran beside them.
 */
#ifndef MODEL_WATCH_LOOKS_H
#define MODEL_WATCH_LOOKS_H

#include "model/watches.h"

/* Once, when all records were taken. */
void watch_looks_join(struct watches *w);

#endif
