/* line_devices - what each line of source cost on devices: how long they were busy for it, what it
 * launched, and what it held of their memory.
 *
 * How busy a device was is read from outside, for all lines together. From one reading to the next
 * it is shared out: by launches, where some were counted in between; or else by the CPU time of
 * lines; or else by what main threads waited for. So it is an estimate, and its sum is measured.
 * Launches and memory are exact.
 */
#ifndef MODEL_LINE_DEVICES_H
#define MODEL_LINE_DEVICES_H

#include "base/intmap.h"
#include "model/blame.h"
#include "model/recorded.h"
#include "model/space_lens.h"

#define LINE_DEVICES_MOST 64
#define LINE_DEVICES_WAYS 3 /* to share out: launches, CPU time, waits */

struct line_device {
    double busy_ns;
    uint64_t launches;
    uint64_t allocated, live, most;   /* bytes in spaces of devices; most: at one moment */
    double weight[LINE_DEVICES_WAYS]; /* since the last reading; line_devices' own */
};

struct line_devices { /* zeroed: nothing is known */
    const struct blame *blame;
    struct recorded *recorded;
    struct space_list spaces;
    struct line_device *lines, sum;                      /* by line of blame */
    bool time_known, ours, launches_known, memory_known; /* ours: of the recorded processes alone */
    double shared_ns[LINE_DEVICES_WAYS], left_ns;        /* how it was shared out; or not at all */

    struct line_busy { /* of a device, since its last reading */
        uint64_t last_ns, span_ns;
        double all, ours; /* shares of that time */
        bool known, ours_known;
    } devices[LINE_DEVICES_MOST];
    bool any;     /* something is there to be read */
    bool pending; /* readings that were not shared out yet */
    uint32_t *touched;
    size_t touched_count, touched_room; /* lines with a weight */
    struct intmap blocks;               /* -> place in born */
    struct line_block {
        uint32_t line;
        uint64_t bytes;
    } * born;
    size_t born_count, born_room;
};

/* Before the trace is read: is there anything of devices in it? Only then it is read again for
 * them. */
void line_devices_look(struct line_devices *d, struct recorded *r);
/* Have the records taken again, the lines being known. Call the second when they were. */
void line_devices_want(struct line_devices *d, struct recorded *r, const struct blame *b);
void line_devices_read(struct line_devices *d);
void line_devices_free(struct line_devices *d);

bool line_device_is_empty(const struct line_device *l);
/* Lines together: what they held at once is not known. */
void line_device_add(struct line_device *to, const struct line_device *from);
/* What decides its place: its largest share of anything, 0 to 1. */
double line_devices_weight(const struct line_devices *d, const struct line_device *l);

#endif
