/* gauge_wire - see gauge_wire.h. */
#include "devices/gauge_wire.h"

#include <string.h>

static void end_text(char *text, size_t room)
{
    text[room - 1] = '\0';
}

static bool understand_found(struct wire_answer *a, size_t left)
{
    if (a->head->uses || left != a->head->devices * sizeof(struct wire_device))
        return false;
    a->devices = (struct wire_device *)(void *)(a->head + 1);
    for (uint32_t i = 0; i < a->head->devices; i++) {
        struct wire_device *d = &a->devices[i];

        end_text(d->index, sizeof(d->index));
        end_text(d->name, sizeof(d->name));
        end_text(d->id, sizeof(d->id));
        end_text(d->bus, sizeof(d->bus));
        end_text(d->way, sizeof(d->way));
        end_text(d->note, sizeof(d->note));
    }
    return true;
}

static bool understand_read(struct wire_answer *a, size_t left)
{
    const struct wire_head *h = a->head;

    if (left != h->devices * sizeof(struct wire_reading) + h->uses * sizeof(struct wire_use))
        return false;
    a->readings = (struct wire_reading *)(void *)(a->head + 1);
    a->uses = (struct wire_use *)(void *)(a->readings + h->devices);
    for (uint32_t i = 0; i < h->uses; i++)
        if (a->uses[i].device >= h->devices)
            return false;
    return true;
}

bool wire_understand(struct wire_answer *a, void *bytes, size_t size)
{
    *a = (struct wire_answer){.head = bytes};
    if (size < sizeof(*a->head) || a->head->devices > WIRE_DEVICES_MOST ||
        a->head->uses > WIRE_USES_MOST)
        return false;
    end_text(a->head->note, sizeof(a->head->note));
    if (a->head->kind == WIRE_FOUND)
        return understand_found(a, size - sizeof(*a->head));
    return a->head->kind == WIRE_READ && understand_read(a, size - sizeof(*a->head));
}

bool wire_understand_ask(const void *bytes, size_t size, struct wire_ask *ask, const int32_t **pids)
{
    if (size < sizeof(*ask))
        return false;
    memcpy(ask, bytes, sizeof(*ask));
    *pids = (const int32_t *)(const void *)((const char *)bytes + sizeof(*ask));
    return ask->pids <= WIRE_PIDS_MOST && size == sizeof(*ask) + ask->pids * sizeof(int32_t);
}
