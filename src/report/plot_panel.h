/* plot_panel - one chart of a picture: its scale, its axis, its curves. Several share a width and a
 * range of time.
 */
#ifndef REPORT_PLOT_PANEL_H
#define REPORT_PLOT_PANEL_H

#include "questions/table.h"
#include "report/canvas.h"

#define PANEL_POINTS 2400 /* at most, of one curve */

struct panel {
    struct canvas *canvas;
    double left, right, top, bottom;
    double from_ns, to_ns;
    double most; /* of its values: its upper side */
    enum table_unit unit;
};

/* Of a timeline's column, the largest; 0: none is there. */
double panel_most(const struct table *t, const char *column);
/* How fast a counter grows: its largest step, per second. */
double panel_most_rate(const struct table *t, const char *column);

double panel_x(const struct panel *p, double ns);
double panel_y(const struct panel *p, double value);

/* Lines across with their values; below the chart, times. */
void panel_scale(const struct panel *p, const char *name);
void panel_times(const struct panel *p);

enum panel_curve {
    PANEL_AREA,
    PANEL_SINCE, /* the same; a value is of the time since the row before */
    PANEL_RATE,  /* a line: how fast a counter grows */
};

void panel_draw(const struct panel *p, enum ink ink, enum panel_curve how, const struct table *t,
                const char *column);

/* The names of what is drawn, from the right; each moves *x to the left. */
void panel_legend(const struct panel *p, enum ink ink, const char *name, double *x);

/* About how wide a text is. */
double panel_text_width(const char *text, double size);
/* As much of it as fits, with an ellipsis; in the arena. */
const char *panel_fit(struct arena *a, const char *text, double size, double width);

#endif
