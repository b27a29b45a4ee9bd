/* devices - see devices.h: one link per kind of device, and the devices that they have told of. */
#include "devices/devices.h"

#include "base/clock.h"
#include "base/memory.h"
#include "devices/link.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAST_MOST 16u
#define PAST_NS (5u * (uint64_t)CLOCK_SECOND_NS) /* then the pid may be another's */
#define NOTES_MOST (DEVICE_KIND_COUNT + DEVICE_CHOICES_MOST + 1)

struct kind_devices {
    struct device *device[WIRE_DEVICES_MOST]; /* NULL: not wanted */
    uint32_t count;
};

struct devices {
    struct device_choice choice;
    struct devices_sink sink;
    const struct device_kind *gpu; /* that --gpu-id means */
    struct link links[DEVICE_KIND_COUNT];
    struct kind_devices of[DEVICE_KIND_COUNT];
    unsigned int count;
    char *notes[NOTES_MOST + 1];
    size_t note_count;
    bool noted, read_once[DEVICE_KIND_COUNT];
    struct {
        int pid;
        uint64_t ended_ns;
    } past[PAST_MOST]; /* processes of ours whose end may yet be told of */
    unsigned int past_count;
    _Alignas(uint64_t) unsigned char room[WIRE_ANSWER_MOST];
};

static const struct device_kind *first_accelerator(const bool likely[DEVICE_KIND_COUNT])
{
    for (int i = 0; i < DEVICE_KIND_COUNT; i++)
        if (likely[i] && device_kinds[i].accelerator)
            return &device_kinds[i];
    return NULL;
}

/* Those that were asked for are kept even without any sign, so that they can be said to be missing.
 */
struct devices *devices_begin(const struct device_choice *c, const struct devices_sink *sink,
                              uint64_t now_ns)
{
    const struct device_kind *gpu;
    bool likely[DEVICE_KIND_COUNT], any = device_choice_asked(c);
    struct devices *d;

    if (c->none)
        return NULL;
    for (int i = 0; i < DEVICE_KIND_COUNT; i++)
        likely[i] = device_kind_likely(&device_kinds[i]);
    gpu = first_accelerator(likely);
    for (int i = 0; i < DEVICE_KIND_COUNT; i++)
        any |= likely[i];
    if (!any)
        return NULL;
    d = memory_zeroed(sizeof(*d));
    d->choice = *c;
    d->sink = *sink;
    d->gpu = gpu;
    for (int i = 0; i < DEVICE_KIND_COUNT; i++) {
        d->links[i] = (struct link){.kind = &device_kinds[i], .socket = -1};
        if (likely[i] && device_choice_kind(c, &device_kinds[i], gpu))
            link_start(&d->links[i], now_ns);
    }
    return d;
}

/* ---- what is there ---- */

/* NVML and CUDA count alike where that was asked for, and where all are of one model. */
static bool counts_by_bus(const struct wire_answer *a)
{
    const char *order = getenv("CUDA_DEVICE_ORDER");

    if (order && !strcmp(order, "PCI_BUS_ID"))
        return true;
    for (uint32_t i = 1; i < a->head->devices; i++)
        if (strcmp(a->devices[i].name, a->devices[0].name) != 0)
            return false;
    return true;
}

static struct device *make(struct devices *d, const struct device_kind *k,
                           const struct wire_answer *a, uint32_t i)
{
    struct device *one = memory_zeroed(sizeof(*one));

    one->number = ++d->count;
    one->kind = k;
    one->vendor = k->vendor;
    one->told = a->devices[i];
    snprintf(one->label, sizeof(one->label), "%s:%s", k->name, one->told.index);
    one->named = device_choice_asked(&d->choice) && !d->choice.all;
    one->cuda = k == &device_kinds[DEVICE_KIND_nvidia]
                  ? visible_ordinal(getenv("CUDA_VISIBLE_DEVICES"), counts_by_bus(a), one->told.id,
                                    one->told.index)
                  : DEVICE_CUDA_UNKNOWN;
    return one;
}

static void take_found(struct devices *d, int kind, const struct wire_answer *a)
{
    struct kind_devices *of = &d->of[kind];

    if (of->count) { /* it was started again: the same devices, or none of them can be told apart */
        if (of->count != a->head->devices)
            link_off(&d->links[kind], "its devices have changed");
        return;
    }
    of->count = a->head->devices;
    for (uint32_t i = 0; i < of->count; i++) {
        if (!device_choice_device(&d->choice, &device_kinds[kind], d->gpu, a->devices[i].index))
            continue;
        of->device[i] = make(d, &device_kinds[kind], a, i);
        d->sink.found(d->sink.context, of->device[i]);
    }
}

static void take_read(struct devices *d, int kind, const struct wire_answer *a)
{
    struct kind_devices *of = &d->of[kind];

    if (of->count != a->head->devices) {
        link_off(&d->links[kind], "its devices have changed");
        return;
    }
    d->read_once[kind] = true;
    for (uint32_t i = 0; i < of->count; i++)
        if (of->device[i])
            d->sink.read(d->sink.context, of->device[i], &a->readings[i]);
    for (uint32_t i = 0; i < a->head->uses; i++)
        if (of->device[a->uses[i].device])
            d->sink.used(d->sink.context, of->device[a->uses[i].device], &a->uses[i]);
}

/* ---- while it runs ---- */

int devices_descriptors(const struct devices *d, int out[DEVICE_KIND_COUNT])
{
    int count = 0;

    for (int i = 0; d && i < DEVICE_KIND_COUNT; i++)
        if (d->links[i].socket >= 0)
            out[count++] = d->links[i].socket;
    return count;
}

void devices_hear(struct devices *d, uint64_t now_ns)
{
    struct wire_answer a;

    for (int i = 0; d && i < DEVICE_KIND_COUNT; i++) {
        while (link_hear(&d->links[i], d->room, &a, now_ns)) {
            if (a.head->kind == WIRE_READ)
                take_read(d, i, &a);
            else if (a.head->devices)
                take_found(d, i, &a);
        }
        link_check(&d->links[i], now_ns);
    }
}

void devices_ask(struct devices *d, const int32_t *pids, size_t count, uint64_t now_ns)
{
    for (int i = 0; d && i < DEVICE_KIND_COUNT; i++)
        link_ask(&d->links[i], pids, count, now_ns);
}

static bool is_awaited(const struct devices *d)
{
    for (int i = 0; i < DEVICE_KIND_COUNT; i++)
        if (d->links[i].state == LINK_STARTING ||
            (d->links[i].state != LINK_OFF && d->links[i].state != LINK_RESTING &&
             !d->read_once[i]))
            return true;
    return false;
}

void devices_wait(struct devices *d, uint64_t patience_ns, int woken)
{
    uint64_t end = clock_ns(CLOCK_MONOTONIC) + patience_ns, now;
    struct pollfd fds[DEVICE_KIND_COUNT + 1];
    int sockets[DEVICE_KIND_COUNT];

    while (d && (now = clock_ns(CLOCK_MONOTONIC)) < end) {
        int count;

        devices_hear(d, now);
        if (!is_awaited(d))
            return;
        devices_ask(d, NULL, 0, now);
        count = devices_descriptors(d, sockets);
        for (int i = 0; i < count; i++)
            fds[i] = (struct pollfd){.fd = sockets[i], .events = POLLIN};
        fds[count] = (struct pollfd){.fd = woken, .events = POLLIN};
        poll(fds, (nfds_t)count + 1, 1 + (int)((end - now) / 1000000u));
        if (fds[count].revents)
            return;
    }
}

bool devices_has(const struct devices *d, int pid)
{
    for (int i = 0; d && i < DEVICE_KIND_COUNT; i++)
        if (d->links[i].pid == pid)
            return true;
    for (unsigned int i = 0; d && i < PAST_MOST; i++)
        if (d->past[i].pid == pid)
            return clock_ns(CLOCK_MONOTONIC) - d->past[i].ended_ns < PAST_NS;
    return false;
}

static void forget(struct devices *d, struct link *l)
{
    unsigned int at = d->past_count++ % PAST_MOST;

    d->past[at].pid = l->pid;
    d->past[at].ended_ns = clock_ns(CLOCK_MONOTONIC);
    l->pid = 0;
}

bool devices_ended(struct devices *d, int pid)
{
    for (int i = 0; d && i < DEVICE_KIND_COUNT; i++)
        if (d->links[i].pid == pid)
            return forget(d, &d->links[i]), true;
    return false;
}

/* ---- what is not ---- */

static void note(struct devices *d, const char *label, const char *text)
{
    size_t bytes = strlen(label) + strlen(text) + 3;

    if (d->note_count == NOTES_MOST)
        return;
    d->notes[d->note_count] = memory_zeroed(bytes);
    snprintf(d->notes[d->note_count++], bytes, "%s: %s", label, text);
}

static bool is_found(const struct devices *d, const struct device_kind *k, const char *index)
{
    const struct kind_devices *of = &d->of[k - device_kinds];
    struct device_choice one = {.count = 1, .wishes = {{.kind = k}}};

    memcpy(one.wishes[0].index, index, DEVICE_INDEX);
    for (uint32_t i = 0; i < of->count; i++)
        if (of->device[i] && device_choice_device(&one, k, NULL, of->device[i]->told.index))
            return true;
    return false;
}

static void note_missing(struct devices *d, const struct device_kind *k, const char *index)
{
    char label[DEVICE_LABEL];

    if (is_found(d, k, index) || d->links[k - device_kinds].note[0])
        return;
    snprintf(label, sizeof(label), "%s%s%s", k->name, index[0] ? ":" : "", index);
    note(d, label,
         d->of[k - device_kinds].count ? "there is no such device" : "no such device was found");
}

static void note_all(struct devices *d)
{
    if (d->noted)
        return;
    d->noted = true;
    for (int i = 0; i < DEVICE_KIND_COUNT; i++)
        if (d->links[i].note[0])
            note(d, device_kinds[i].name, d->links[i].note);
    for (size_t i = 0; i < d->choice.count; i++)
        note_missing(d, d->choice.wishes[i].kind, d->choice.wishes[i].index);
    if (d->choice.gpu_asked && d->gpu)
        note_missing(d, d->gpu, d->choice.gpu);
    else if (d->choice.gpu_asked || (d->choice.all && !d->count))
        note(d, "devices", "no accelerator was found");
}

void devices_stop(struct devices *d, uint64_t now_ns)
{
    for (int i = 0; d && i < DEVICE_KIND_COUNT; i++) {
        int pid = d->links[i].pid;

        link_stop(&d->links[i], now_ns);
        d->links[i].pid = pid;
        if (pid)
            forget(d, &d->links[i]);
    }
    if (d)
        note_all(d);
}

const char *devices_note(const struct devices *d, size_t i)
{
    return d && i < d->note_count ? d->notes[i] : NULL;
}

void devices_free(struct devices *d)
{
    if (!d)
        return;
    for (int k = 0; k < DEVICE_KIND_COUNT; k++)
        for (uint32_t i = 0; i < d->of[k].count; i++)
            free(d->of[k].device[i]);
    for (size_t i = 0; i < d->note_count; i++)
        free(d->notes[i]);
    free(d);
}
