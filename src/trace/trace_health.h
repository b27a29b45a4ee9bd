/* trace_health - what of a trace could not be read. */
#ifndef TRACE_TRACE_HEALTH_H
#define TRACE_TRACE_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

struct trace_health {
    bool complete;          /* END was seen: it was closed in good order */
    bool cut;               /* the last chunk is not whole */
    uint64_t damaged;       /* chunks that could not be read or are missing */
    uint64_t damaged_bytes; /* bytes of the file that were stepped over */
};

#endif
