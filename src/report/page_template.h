/* page_template - the report page without its data: web/, bundled when the tool was built
 * (tools/embed). */
#ifndef REPORT_PAGE_TEMPLATE_H
#define REPORT_PAGE_TEMPLATE_H

#include <stddef.h>

extern const unsigned char page_template[]; /* not NUL-terminated */
extern const size_t page_template_bytes;
extern const char *const page_template_missing; /* why there is none, in half a sentence; or NULL */

#endif
