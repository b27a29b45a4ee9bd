/* gauge - see gauge.h: what all gauges share. */
#include "gauges/gauge.h"

#include "devices/kinds.h"
#include "gauges/once.h"
#include "gauges/sysfs.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIRST_NAMESPACE "pid:[4026531836]" /* PROC_PID_INIT_INO */

struct wire_device *gauge_add(struct gauge_found *f)
{
    return f->count < WIRE_DEVICES_MOST ? &f->device[f->count++] : NULL;
}

bool gauge_is_asked(const struct gauge_asked *asked, int32_t pid)
{
    uint32_t low = 0, high = asked->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (asked->pids[middle] == pid)
            return true;
        if (asked->pids[middle] < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

struct wire_use *gauge_use(struct gauge_answer *a, uint32_t device, int32_t pid)
{
    static struct once met;
    uint32_t *place;
    bool fresh;

    if (!a->uses)
        once_forget(&met);
    if (a->uses == WIRE_USES_MOST)
        return NULL;
    place = once_meet(&met, (uint64_t)device << 32 | (uint32_t)pid, &fresh);
    if (!place)
        return NULL;
    if (fresh) {
        *place = a->uses;
        a->use[a->uses++] = (struct wire_use){device, pid, ABSENT, ABSENT, ABSENT};
    }
    return &a->use[*place];
}

uint64_t gauge_ours(const struct gauge_answer *a, uint32_t device, bool sure)
{
    uint64_t sum = 0;
    bool any = false;

    for (uint32_t i = 0; i < a->uses; i++) {
        if (a->use[i].device != device)
            continue;
        if (a->use[i].used == ABSENT)
            return ABSENT;
        sum += a->use[i].used;
        any = true;
    }
    return any || sure ? sum : ABSENT;
}

bool gauge_is_nested(void)
{
    char name[64], path[4096];
    ssize_t n = gauge_path(path, sizeof(path), "proc/self/ns/pid")
                  ? readlink(path, name, sizeof(name) - 1)
                  : -1;

    if (n <= 0)
        return false;
    name[n] = '\0';
    return strcmp(name, FIRST_NAMESPACE) != 0;
}

/* ---- files ---- */

static bool format_path(char *out, size_t room, const char *format, va_list args)
{
    int n = snprintf(out, room, "%s/", device_root());

    if (n < 0 || (size_t)n >= room)
        return false;
    room -= (size_t)n;
    return (size_t)vsnprintf(out + n, room, format, args) < room;
}

bool gauge_path(char *out, size_t room, const char *format, ...)
{
    va_list args;
    bool fits;

    va_start(args, format);
    fits = format_path(out, room, format, args);
    va_end(args);
    return fits;
}

static bool slurp(const char *path, char *out, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, out, room - 1);

    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

bool gauge_read(char *out, size_t room, const char *format, ...)
{
    char path[4096];
    va_list args;
    bool fits;

    va_start(args, format);
    fits = format_path(path, sizeof(path), format, args);
    va_end(args);
    return fits && slurp(path, out, room);
}

uint64_t gauge_number(const char *format, ...)
{
    char path[4096], text[64];
    va_list args;
    bool fits;

    va_start(args, format);
    fits = format_path(path, sizeof(path), format, args);
    va_end(args);
    return fits && slurp(path, text, sizeof(text)) ? sysfs_number(text) : ABSENT;
}
