/* pixels - a canvas of pixels, in the colours of the day. All that is drawn has upright and level
 * edges, but for letters, which come as pixels (glyphs.h), and a dot.
 */
#ifndef REPORT_PIXELS_H
#define REPORT_PIXELS_H

#include "report/canvas.h"

#include <stddef.h>

#define PIXELS_PER_UNIT (4.0 / 3) /* 1,280 pixels for 960 units */

struct pixels {
    struct canvas canvas;
    unsigned int width, height;
    unsigned char *rgb; /* by row */
    unsigned char *glyphs;
};

void pixels_start(struct pixels *p, double width, double height);
void pixels_free(struct pixels *p);

#endif
