/* native_code - see native_code.h. */
#include "collect/native_code.h"

#include "arch/arch.h"
#include "base/clock.h"
#include "base/memory.h"
#include "collect/peek.h"

#include <stdlib.h>

#define IMAGES_MOST 4096u
#define PLACES_MOST 65536u /* return addresses, until all are forgotten */
#define PAUSE_NS 20000000u /* between two looks at the maps, at least, */
#define PER_BYTE_NS 1000u  /* and this for each byte that was read: about 1 % of a CPU; */
#define PAUSE_MOST_NS (10ull * CLOCK_SECOND_NS) /* and longer where they say nothing new */

static size_t read_process(void *context, uintptr_t at, void *to, size_t bytes)
{
    const struct native_code *c = context;

    return peek(c->pid, at, to, bytes);
}

/* ---- what is where ---- */

static const struct native_range *range_at(struct native_code *c, uintptr_t at)
{
    const struct native_range *r = native_maps_at(&c->maps, at);

    if (r || (c->read_ns && c->now_ns - c->read_ns < c->pause_ns))
        return r;
    native_maps_read(&c->maps, c->pid);
    c->read_ns = c->now_ns;
    r = native_maps_at(&c->maps, at);
    c->pause_ns = r ? 0 : c->pause_ns * 2;
    if (c->pause_ns < PAUSE_NS + c->maps.bytes * PER_BYTE_NS)
        c->pause_ns = PAUSE_NS + c->maps.bytes * PER_BYTE_NS;
    if (c->pause_ns > PAUSE_MOST_NS)
        c->pause_ns = PAUSE_MOST_NS;
    return r;
}

static const struct far_image *open_image(struct native_code *c, uintptr_t header)
{
    struct native_image *i;

    if (c->image_count == IMAGES_MOST)
        return NULL;
    memory_fit(c->images, c->image_room, c->image_count + 1);
    i = &c->images[c->image_count++];
    i->header = header;
    if (!far_image_read(&c->far.memory, header, &i->image))
        i->image = (struct far_image){0};
    return &i->image;
}

/* Code that a program has moved onto larger pages is still where its file says. */
static const struct far_image *image_of(struct native_code *c, const struct native_range *r,
                                        uintptr_t at)
{
    for (size_t i = 0; i < c->image_count; i++) {
        const struct far_image *image = &c->images[i].image;

        if (r->header ? c->images[i].header == r->header
                      : at - image->start < image->end - image->start)
            return image;
    }
    return r->header ? open_image(c, r->header) : NULL;
}

const struct far_image *native_code_image(struct native_code *c, uintptr_t address,
                                          const struct native_range **range)
{
    const struct far_image *image;

    *range = range_at(c, address);
    image = *range ? image_of(c, *range, address) : NULL;
    return image && address - image->start < image->end - image->start ? image : NULL;
}

static bool is_code(void *context, uintptr_t at)
{
    const struct native_code *c = context;

    return native_maps_at(&c->maps, at) != NULL;
}

/* ---- what is known of a return address ---- */

#define PLACE_CODE 1u
#define PLACE_CALLED 2u
#define PLACE_INTO_MOST (1u << 30) /* bytes from a function's beginning: above it is not known */

static uint64_t pack(const struct far_place *p, uintptr_t pc)
{
    uint64_t into = p->row.start && pc - p->row.start < PLACE_INTO_MOST ? pc - p->row.start : 0;

    return (uint64_t)p->row.row << 32 | into << 2 | (p->called ? PLACE_CALLED : 0u) |
           (p->code ? PLACE_CODE : 0u);
}

static struct far_place unpack(uint64_t packed, uintptr_t pc)
{
    uintptr_t into = (uint32_t)packed >> 2;

    return (struct far_place){.row = {(uint32_t)(packed >> 32), into ? pc - into : 0},
                              .code = packed & PLACE_CODE,
                              .called = packed & PLACE_CALLED};
}

/* What has no file may be written anew at any time, and is looked at each time. */
static void keep(struct native_code *c, uintptr_t pc, const struct far_place *p)
{
    if (c->place_count++ == PLACES_MOST) {
        intmap_free(&c->places);
        c->place_count = 1;
    }
    intmap_put(&c->places, pc, pack(p, pc));
}

static struct far_place place_of(void *context, uintptr_t pc)
{
    struct native_code *c = context;
    const struct far_image *image;
    const struct native_range *range;
    unsigned char call[ARCH_CALL_BYTES];
    struct far_place p = {0};
    uintptr_t target;
    uint64_t known;

    if (intmap_get(&c->places, pc, &known))
        return unpack(known, pc);
    if (pc < ARCH_PAGE_LEAST || pc >> ARCH_ADDRESS_BITS)
        return p;
    image = native_code_image(c, pc - 1, &range);
    p.code = range != NULL;
    p.called = p.code && far_read(&c->far.memory, pc - sizeof(call), call, sizeof(call)) &&
               arch_call(call, pc, &target) != ARCH_CALL_NONE;
    if (!image)
        return p;
    p.row = far_row_find(&c->far.memory, image, pc - 1);
    keep(c, pc, &p);
    return p;
}

/* ---- from beginning to end ---- */

struct native_code *native_code_new(uint32_t pid)
{
    struct native_code *c = memory_zeroed(sizeof(*c));

    c->pid = pid;
    c->far = (struct far_code){{read_process, c}, is_code, place_of, c};
    return c;
}

void native_code_forget(struct native_code *c)
{
    intmap_free(&c->places);
    c->places = (struct intmap){0};
    c->place_count = c->image_count = 0;
    c->maps.count = 0;
    c->read_ns = c->pause_ns = 0;
}

void native_code_free(struct native_code *c)
{
    if (!c)
        return;
    native_maps_free(&c->maps);
    intmap_free(&c->places);
    free(c->images);
    free(c);
}
