/* snapshots - moments of a run that a program or its user has named, each with what was measured of
 * its process and of devices nearest to it: marks, snapshots, and where regions begin and end.
 */
#ifndef MODEL_SNAPSHOTS_H
#define MODEL_SNAPSHOTS_H

#include "model/metrics.h"
#include "model/moments.h"
#include "model/space_lens.h"

enum { SNAPSHOT_REGION = 100, SNAPSHOT_REGION_END }; /* after enum trace_mark_kind */

struct snapshot_spaces { /* what a process had, as its own calls say */
    bool known, pools;
    uint64_t device, reserved, used; /* reserved, used: of its pools */
};

struct snapshot {
    struct metrics process; /* of the sample nearest to it */
    uint64_t measured_ns;   /* when; UINT64_MAX: never */
    struct snapshot_spaces spaces;
    bool device_known, device_ours_known;
    uint64_t device_used,
        device_ours; /* of all devices: by everybody, and by those that are recorded */
};

struct snapshots { /* zeroed: empty */
    const struct names *names;
    struct threads *threads;
    struct moments moments; /* its list alone: [i] is of rows[i] */
    struct snapshot *rows;
    size_t room;
    uint64_t left_out;       /* above the limit */
    uint64_t from_ns, to_ns; /* the stretch that is asked about */
    struct intmap samples;   /* process -> 1 + place in `last` */
    struct snapshots_last *last;
    size_t last_count, last_room;
    struct intmap blocks; /* of spaces -> 1 + place in `living` */
    struct snapshots_block *living;
    size_t living_count, living_room,
        dead;              /* dead: 1 + place of the first that may be used again */
    bool full;             /* there were more than are kept */
    struct intmap regions; /* name of a region by number */
    struct metrics devices[SPACES_MOST];
    uint64_t kinds[SPACES_MOST]; /* of spaces, by number */
};

void snapshots_start(struct snapshots *s, const struct names *names, struct threads *threads,
                     uint64_t from_ns, uint64_t to_ns);
/* Take a record, after names and threads did; the context is a struct snapshots. */
void snapshots_take(void *context, const struct trace_event *ev);
void snapshots_free(struct snapshots *s);

#endif
