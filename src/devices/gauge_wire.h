/* gauge_wire - what the tool and a process that reads devices say to each other: one message asks,
 * one answers.
 *
 * Over a SOCK_SEQPACKET pair, so a message comes whole or not at all; in the machine's own byte
 * order, because both are of one build. All that is not known is ABSENT, never 0.
 */
#ifndef DEVICES_GAUGE_WIRE_H
#define DEVICES_GAUGE_WIRE_H

#include "base/absent.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_DEVICES_MOST 64
#define WIRE_USES_MOST 2048
#define WIRE_PIDS_MOST 4096
#define WIRE_NOTE 256

/* The program that loads vendors' libraries, beside the tool; also the name under which the tool
 * itself reads the kernel's files. Its operand is the name of a kind.
 */
#define WIRE_PROGRAM "tidemark-devices"

struct wire_device {
    char index[16]; /* "0"; "0.1": a part of 0 */
    char name[64], id[64], bus[32];
    char way[64];   /* by what it is read, with versions */
    char note[160]; /* what is not known of it, and why; "": nothing */
};

struct wire_reading {                     /* of a device: bytes, and thousandths of its time */
    uint64_t used, reserved, total, busy; /* by everybody */
    uint64_t ours;                        /* used by the processes that were asked about */
};

struct wire_use { /* of a device by one of the processes that were asked about */
    uint32_t device;
    int32_t pid;
    uint64_t used, shared, busy; /* shared: the part of it that others have, too */
};

enum wire_kind {
    WIRE_FOUND = 1, /* said first: the devices; none: `note` says why */
    WIRE_READ = 2   /* an answer: a reading of each device, then the uses */
};

struct wire_head {
    uint32_t kind, sequence, devices, uses;
    uint64_t cost_ns; /* CPU time that the answer took */
    char note[WIRE_NOTE];
};

struct wire_ask { /* the pids follow */
    uint32_t sequence, pids;
};

#define WIRE_ANSWER_MOST                                                                           \
    (sizeof(struct wire_head) + WIRE_DEVICES_MOST * sizeof(struct wire_device) +                   \
     WIRE_USES_MOST * sizeof(struct wire_use))
#define WIRE_ASK_MOST (sizeof(struct wire_ask) + WIRE_PIDS_MOST * sizeof(int32_t))

/* An answer as it was received, checked: every count fits, every text ends. */
struct wire_answer {
    struct wire_head *head;
    struct wire_device *devices; /* of WIRE_FOUND, else NULL */
    struct wire_reading *readings;
    struct wire_use *uses;
};

/* Understand an answer in memory that is aligned as uint64_t is; false when it is none. Its texts
 * may be cut in place.
 */
bool wire_understand(struct wire_answer *a, void *bytes, size_t size);
/* The same for a question: its pids and how many; false when it is none. */
bool wire_understand_ask(const void *bytes, size_t size, struct wire_ask *ask,
                         const int32_t **pids);

#endif
