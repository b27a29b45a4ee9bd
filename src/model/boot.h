/* boot - what the interpreter runs before it comes to the program: code of .pth files and of
 * sitecustomize. It may have no file, as what was typed in (-c) has none; but it is not the
 * program's.
 */
#ifndef MODEL_BOOT_H
#define MODEL_BOOT_H

#include "model/frames.h"

enum boot { BOOT_NOT, BOOT_BEGINS, BOOT_WITHOUT_FILE };

/* By frame of Python: from it inward all is such code; or it has no file. To be freed by the
 * caller. */
uint8_t *boot_frames(const struct frames *f);

#endif
