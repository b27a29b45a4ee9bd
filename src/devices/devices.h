/* devices - memory of accelerators beside that of processes: what is there, and what it holds now.
 *
 * Nothing here waits for a device: answers are heard when they have come, and what has not come is
 * absent. Where no sign of a device is found nothing is started and nothing is kept.
 */
#ifndef DEVICES_DEVICES_H
#define DEVICES_DEVICES_H

#include "devices/choice.h"
#include "devices/gauge_wire.h"
#include "devices/visible.h"

#define DEVICE_LABEL 40

struct device {
    unsigned int number; /* from 1, in the order in which they were found */
    const struct device_kind *kind;
    const char *vendor;
    char label[DEVICE_LABEL]; /* as --device takes it: "nvidia:0" */
    struct wire_device told;
    int cuda;   /* its number among those that CUDA shows a program; or DEVICE_CUDA_... */
    bool named; /* somebody asked for it by its name */
};

struct devices_sink {
    void *context;
    void (*found)(void *context, const struct device *d);
    void (*read)(void *context, const struct device *d, const struct wire_reading *r);
    void (*used)(void *context, const struct device *d, const struct wire_use *u);
};

struct devices;

/* NULL: none is wanted, or there is no sign of any. `sink` is kept. */
struct devices *devices_begin(const struct device_choice *c, const struct devices_sink *sink,
                              uint64_t now_ns);

/* Descriptors that have something to say, for poll: how many of DEVICE_KIND_COUNT. */
int devices_descriptors(const struct devices *d, int out[DEVICE_KIND_COUNT]);
/* Take what has come; give up what has not come in time. */
void devices_hear(struct devices *d, uint64_t now_ns);
/* Ask what these processes and everybody hold now; those that are still busy are not asked. */
void devices_ask(struct devices *d, const int32_t *pids, size_t count, uint64_t now_ns);
/* Wait until all are found or given up and were read once, but no longer than this, nor beyond the
 * moment when `woken` (-1: none) can be read.
 */
void devices_wait(struct devices *d, uint64_t patience_ns, int woken);

/* A child of ours ended and was waited for: was it one of these? */
bool devices_ended(struct devices *d, int pid);
/* Is it a process of ours, and none of those that are watched? NULL knows none. */
bool devices_has(const struct devices *d, int pid);

/* The process that reads a kind ends; what it could not do is in its note. May be called twice. */
void devices_stop(struct devices *d, uint64_t now_ns);
/* Why a kind, or a device that was asked for, is not there or no longer read: sentences, one after
 * the other up to NULL. They live as long as `d`.
 */
const char *devices_note(const struct devices *d, size_t i);
void devices_free(struct devices *d);

#endif
