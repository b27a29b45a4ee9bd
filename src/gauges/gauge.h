/* gauge - reads one kind of device, in a process of its own: one file each. Its row of DEVICE_KINDS
 * says which program that is (tidemark-devices for vendors' libraries, the tool for files of the
 * kernel).
 *
 * A gauge may take as long as it takes, crash or print: nobody waits for it.
 */
#ifndef GAUGES_GAUGE_H
#define GAUGES_GAUGE_H

#include "devices/gauge_wire.h"
#include "devices/kinds.h"

struct gauge_found {
    struct wire_device device[WIRE_DEVICES_MOST];
    uint32_t count;
    char note[WIRE_NOTE]; /* why there is none; or what holds for all of them */
};

struct gauge_asked {
    const int32_t *pids; /* in ascending order */
    uint32_t count;
    uint64_t now_ns;
};

struct gauge_answer {
    uint32_t devices;
    struct wire_reading reading[WIRE_DEVICES_MOST]; /* all ABSENT at first */
    struct wire_use use[WIRE_USES_MOST];
    uint32_t uses;
    char note[WIRE_NOTE]; /* what could not be read, and why; "": nothing is amiss */
};

struct gauge {
    const char *name; /* of its kind */
    void (*open)(struct gauge_found *out);
    void (*read)(const struct gauge_asked *asked, struct gauge_answer *out);
};

#define X(name, ...) extern const struct gauge gauge_##name;
DEVICE_KINDS(X)
#undef X

/* Another device; NULL: there are too many. */
struct wire_device *gauge_add(struct gauge_found *f);
bool gauge_is_asked(const struct gauge_asked *asked, int32_t pid);
/* The use of a device by a process: the one that is there, or a new one, all ABSENT; NULL: too
 * many. */
struct wire_use *gauge_use(struct gauge_answer *a, uint32_t device, int32_t pid);
/* The sum of what the uses say: ABSENT where one of them does not know, or where none is there and
 * `sure` is false.
 */
uint64_t gauge_ours(const struct gauge_answer *a, uint32_t device, bool sure);
/* We are in a pid namespace of our own, so a driver may call our processes by other numbers. */
bool gauge_is_nested(void);

/* Answer what comes through standard input, until that ends, by the gauge of this name. An exit
 * code. */
int gauge_serve(const struct gauge *const *list, const char *name);

/* ---- small files below the root that the kernel's files are in ---- */

/* A whole file as text; false: it is not there, or empty. */
bool gauge_read(char *out, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The number that it begins with; ABSENT: there is none. */
uint64_t gauge_number(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A path below the root; false: it is too long. */
bool gauge_path(char *out, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
