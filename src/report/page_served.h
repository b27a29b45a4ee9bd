/* page_served - the report page as it is served over HTTP: instead of data it holds where to ask
 * for it, and its policy lets it ask there.
 */
#ifndef REPORT_PAGE_SERVED_H
#define REPORT_PAGE_SERVED_H

#include "base/arena.h"

#include <stdbool.h>

struct page_served {
    char *html; /* of malloc */
    size_t bytes;
    const char *policy; /* in the arena */
};

/* Of one recording, or of two that are compared. False: there is no page in this tool
 * (format_html.missing).
 */
bool page_served(struct page_served *p, unsigned int runs, struct arena *a);

#endif
