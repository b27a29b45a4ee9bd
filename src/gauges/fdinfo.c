/* fdinfo - see fdinfo.h. */
#include "gauges/fdinfo.h"

#include "base/absent.h"
#include "base/count.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "drm-"

/* Keys are PREFIX, one of these and the name of a region. The first that fits counts: an engine's
 * clock is no memory, though its key looks like one.
 */
static const struct {
    const char *key;
    size_t at; /* in struct fdinfo_region; NOWHERE: not of memory */
} keys[] = {
#define NOWHERE ((size_t)-1)
    {"total-cycles-", NOWHERE},
    {"resident-", offsetof(struct fdinfo_region, resident)},
    {"memory-", offsetof(struct fdinfo_region, memory)},
    {"total-", offsetof(struct fdinfo_region, total)},
    {"shared-", offsetof(struct fdinfo_region, shared)},
};

/* Where drivers keep what is the device's own. All other regions are memory of the host. */
static const char *const own_regions[] = {"vram", "local", "lmem"};

static uint64_t scale_of(const char *unit)
{
    static const struct {
        const char *name;
        unsigned int shift;
    } units[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}};

    unit += strspn(unit, " \t");
    for (int i = 0; i < COUNT(units); i++)
        if (strncmp(unit, units[i].name, 3) == 0)
            return 1ull << units[i].shift;
    return 1;
}

static uint64_t bytes_of(const char *text)
{
    char *end;
    uint64_t n = strtoull(text, &end, 10), scale = scale_of(end);

    return end == text || text[0] == '-' || n > (ABSENT - 1) / scale ? ABSENT : n * scale;
}

/* A sum of parts that are not all known is what is known of it. */
static void add(uint64_t *sum, uint64_t part)
{
    if (part == ABSENT)
        return;
    if (*sum == ABSENT)
        *sum = 0;
    *sum = part > ABSENT - 1 - *sum ? ABSENT - 1 : *sum + part;
}

static struct fdinfo_region *region_of(struct fdinfo *f, const char *name, size_t length)
{
    struct fdinfo_region *r = f->region;

    if (!length || length >= sizeof(r->name))
        return NULL;
    for (; r < f->region + f->regions; r++)
        if (strlen(r->name) == length && !memcmp(r->name, name, length))
            return r;
    if (f->regions == FDINFO_REGIONS)
        return NULL;
    *r = (struct fdinfo_region){
        .resident = ABSENT, .memory = ABSENT, .total = ABSENT, .shared = ABSENT};
    memcpy(r->name, name, length);
    f->regions++;
    return r;
}

static void take_memory(struct fdinfo *f, const char *key, size_t length, const char *value)
{
    for (int i = 0; i < COUNT(keys); i++) {
        size_t prefix = strlen(keys[i].key);
        struct fdinfo_region *r;

        if (length <= prefix || memcmp(key, keys[i].key, prefix) != 0)
            continue;
        r = keys[i].at == NOWHERE ? NULL : region_of(f, key + prefix, length - prefix);
        if (r)
            memcpy((char *)r + keys[i].at, &(uint64_t){bytes_of(value)}, sizeof(uint64_t));
        return;
    }
}

static bool begins(const char *key, size_t length, const char *with)
{
    return length > strlen(with) && !memcmp(key, with, strlen(with));
}

static void take_work(struct fdinfo *f, const char *key, size_t length, const char *value)
{
    uint64_t n = bytes_of(value);

    if (begins(key, length, "engine-") && !begins(key, length, "engine-capacity-"))
        add(&f->engine_ns, n);
    else if (begins(key, length, "cycles-"))
        add(&f->cycles, n);
    else if (begins(key, length, "total-cycles-") && n != ABSENT &&
             (f->total_cycles == ABSENT || n > f->total_cycles))
        f->total_cycles = n;
}

static void take(struct fdinfo *f, const char *key, size_t length, const char *value)
{
    char *text = length == 6 && !memcmp(key, "driver", 6) ? f->driver
               : length == 4 && !memcmp(key, "pdev", 4)   ? f->pdev
                                                          : NULL;

    if (text) {
        snprintf(text, FDINFO_NAME, "%.*s", (int)strcspn(value, " \t\n"), value);
    } else if (length == 9 && !memcmp(key, "client-id", 9)) {
        f->client = bytes_of(value);
    } else {
        take_work(f, key, length, value);
        take_memory(f, key, length, value);
    }
}

bool fdinfo_parse(struct fdinfo *f, const char *text)
{
    *f = (struct fdinfo){
        .client = ABSENT, .engine_ns = ABSENT, .cycles = ABSENT, .total_cycles = ABSENT};
    for (const char *s = text; *s; s += strcspn(s, "\n"), s += *s == '\n') {
        size_t length = strcspn(s, ":\n");
        const char *value = s + length + 1;

        if (s[length] != ':' || strncmp(s, PREFIX, strlen(PREFIX)) != 0)
            continue;
        value += strspn(value, " \t");
        take(f, s + strlen(PREFIX), length - strlen(PREFIX), value);
    }
    return f->driver[0] != '\0';
}

static bool is_own(const struct fdinfo_region *r)
{
    for (int i = 0; i < COUNT(own_regions); i++)
        if (strncmp(r->name, own_regions[i], strlen(own_regions[i])) == 0)
            return true;
    return false;
}

uint64_t fdinfo_used(const struct fdinfo *f, uint64_t *shared)
{
    uint64_t used = ABSENT;
    bool own = false;

    *shared = ABSENT;
    for (int i = 0; i < f->regions; i++)
        own |= is_own(&f->region[i]);
    for (int i = 0; i < f->regions; i++) {
        const struct fdinfo_region *r = &f->region[i];

        if (own && !is_own(r))
            continue;
        add(&used, r->resident != ABSENT ? r->resident
                   : r->memory != ABSENT ? r->memory
                                         : r->total);
        add(shared, r->shared);
    }
    return used;
}
