/* device_arrays - see device_arrays.h. */
#include "inject/device_arrays.h"

/* CUarray_format, hipArray_Format. Others (textures' blocks) are taken for a byte: less than it is,
 * rather than more. */
static uint64_t format_bytes(uint32_t format)
{
    switch (format) {
    case 0x02: /* 16 bits, with and without a sign, and half */
    case 0x09:
    case 0x10:
        return 2;
    case 0x03: /* 32 bits, and float */
    case 0x0a:
    case 0x20:
        return 4;
    default:
        return 1;
    }
}

static uint64_t at_least_one(uint64_t n)
{
    return n ? n : 1;
}

uint64_t device_array_bytes(const uintptr_t *a, bool done)
{
    const struct {
        size_t width, height;
        uint32_t format, channels;
    } *d = (const void *)a[1];

    (void)done;
    return d->width * at_least_one(d->height) * format_bytes(d->format) * d->channels;
}

struct array3 {
    size_t width, height, depth;
    uint32_t format, channels, flags;
};

uint64_t device_array3_bytes(const uintptr_t *a, bool done)
{
    const struct array3 *d = (const void *)a[1];

    (void)done;
    return d->width * at_least_one(d->height) * at_least_one(d->depth) * format_bytes(d->format) *
           d->channels;
}

uint64_t device_mipmap_bytes(const uintptr_t *a, bool done)
{
    struct array3 d = *(const struct array3 *)a[1];
    const uintptr_t level[] = {0, (uintptr_t)&d};
    uint64_t sum = 0;

    for (unsigned int i = 0; i < (unsigned int)a[2] && i < 32; i++) {
        sum += device_array3_bytes(level, done);
        d.width = at_least_one(d.width / 2);
        d.height /= 2;
        d.depth /= 2;
    }
    return sum;
}

bool device_of_pointer(uintptr_t ask, uint64_t handle, uint32_t *device)
{
    int (*attribute)(void *, int, uint64_t) = (int (*)(void *, int, uint64_t))ask;
    int number = -1;

    if (!attribute || attribute(&number, 9, handle) != 0 || number < 0)
        return false;
    *device = (uint32_t)number;
    return true;
}

static char *put_digits(char *to, uint32_t number, int digits)
{
    while (digits--)
        *to++ = "0123456789abcdef"[number >> 4 * digits & 15];
    return to;
}

void device_bus_text(char *to, const uint32_t at[4])
{
    to = put_digits(to, at[0], 4);
    *to++ = ':';
    to = put_digits(to, at[1], 2);
    *to++ = ':';
    to = put_digits(to, at[2], 2);
    *to++ = '.';
    to = put_digits(to, at[3], 1);
    *to = '\0';
}
