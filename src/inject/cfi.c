/* cfi - see cfi.h: where the unwind data of an address are; src/cfi reads them. Every read of
 * unwind data is bounded by the module that holds it.
 */
#include "inject/cfi.h"

#include "cfi/cfi_entry.h"
#include "cfi/cfi_rules.h"
#include "inject/objects.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static bool open_fde(const uint8_t *fde, const uint8_t *low, const uint8_t *end,
                     struct cfi_program *p)
{
    struct bytes b = {.at = fde, .end = end}, cie = {.end = end};
    uint32_t back;

    if (!cfi_entry_fde(&b, &back) || back > (size_t)(fde - low))
        return false;
    cie.at = fde - back;
    return cfi_entry_cie(cie, p) && cfi_entry_function(b, p);
}

/* The FDE that may hold pc, by binary search in the usual table; NULL without one. */
static const uint8_t *search(const uint8_t *hdr, const uint8_t *end, uintptr_t pc)
{
    struct bytes b = {.at = hdr + 4, .end = end};
    int64_t want = (int64_t)(pc - (uintptr_t)hdr);
    uint64_t count, low = 0, high;
    int32_t entry[2];

    if (hdr[0] != 1 || hdr[3] != 0x3b)
        return NULL;
    bytes_pointer(&b, hdr[1], (uintptr_t)hdr);
    count = bytes_pointer(&b, hdr[2], (uintptr_t)hdr);
    if (b.bad || !count || count > (size_t)(end - b.at) / sizeof(entry))
        return NULL;
    for (high = count; high - low > 1;) {
        uint64_t middle = (low + high) / 2, quarter = (high - low) / 4;

        /* What is compared next, whichever half it is: a program of some milliseconds finds none of
         * it near. */
        __builtin_prefetch(b.at + (low + quarter) * sizeof(entry));
        __builtin_prefetch(b.at + (middle + quarter) * sizeof(entry));
        memcpy(entry, b.at + middle * sizeof(entry), sizeof(entry));
        if (entry[0] <= want)
            low = middle;
        else
            high = middle;
    }
    memcpy(entry, b.at + low * sizeof(entry), sizeof(entry));
    return entry[0] <= want ? hdr + entry[1] : NULL;
}

/* The mapping of a module that holds some of its data; false: none does. A module may have several,
 * its code in one and its unwind data in another.
 */
static bool holder(const uint8_t *data, const uint8_t **start, const uint8_t **end)
{
    struct object o;

    if (data >= *start && data < *end)
        return true;
    if (!objects_find((const void *)(uintptr_t)data, &o))
        return false;
    *start = o.start;
    *end = o.end;
    return true;
}

static bool find_program(const struct object *o, uintptr_t pc, struct cfi_program *p)
{
    const uint8_t *hdr = o->eh_frame, *start = o->start, *end = o->end, *fde;

    if (!hdr || !holder(hdr, &start, &end) || end - hdr < 8)
        return false;
    fde = search(hdr, end, pc);
    if (!fde || !holder(fde, &start, &end) || !open_fde(fde, start, end, p))
        return false;
    return pc >= p->start && pc - p->start < p->size;
}

uint32_t cfi_find(uintptr_t pc, struct cfi_module *module, bool *known)
{
    struct cfi_program p = {0};
    struct object o;

    *known = objects_find((const void *)pc, &o);
    if (!*known)
        return CFI_GAP;
    *module = (struct cfi_module){o.start, o.end, o.map};
    return find_program(&o, pc, &p) ? cfi_rules_run(&p, pc) : CFI_GAP;
}

bool cfi_extent(uintptr_t pc, uintptr_t *start, uintptr_t *end)
{
    struct cfi_program p = {0};
    struct object o;

    if (!objects_find((const void *)pc, &o) || !find_program(&o, pc, &p))
        return false;
    *start = p.start;
    *end = p.start + p.size;
    return true;
}
