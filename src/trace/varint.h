/* varint - the numbers of a trace: unsigned LEB128, of at most 10 bytes, and zigzag for
 * differences. Libc alone, and inline: reading and writing a trace is little else.
 */
#ifndef TRACE_VARINT_H
#define TRACE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VARINT_MOST 10 /* bytes */

static inline size_t varint_size(uint64_t v)
{
    return (size_t)(70 - __builtin_clzll(v | 1)) / 7;
}

/* Where the next is to be put. */
static inline unsigned char *varint_put(unsigned char *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (unsigned char)(v | 0x80);
    *p++ = (unsigned char)v;
    return p;
}

/* False where the bytes end early or hold more than 64 bits; then *at is as it was. */
static inline bool varint_take(const unsigned char **at, const unsigned char *end, uint64_t *value)
{
    const unsigned char *p = *at;
    uint64_t v = 0;

    for (unsigned int shift = 0; p < end && shift < 7 * VARINT_MOST; shift += 7) {
        uint64_t bits = *p & 0x7f;

        if (shift == 7 * (VARINT_MOST - 1) && bits > 1)
            return false;
        v |= bits << shift;
        if (!(*p++ & 0x80)) {
            *at = p;
            *value = v;
            return true;
        }
    }
    return false;
}

/* Wraps like the subtraction that made it: any two numbers have a difference. */
static inline uint64_t varint_zigzag(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

static inline uint64_t varint_unzigzag(uint64_t v)
{
    return v >> 1 ^ (0 - (v & 1));
}

#endif
