/* bytes - a bounded reader of the encodings in .eh_frame. Past the end it reads 0 and is `bad`. */
#ifndef CFI_BYTES_H
#define CFI_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
    const uint8_t *at, *end;
    bool bad;
    uintptr_t moved; /* add to an address of these bytes: where they are in their program */
};

static inline uint64_t bytes_take(struct bytes *b, unsigned int size)
{
    uint64_t value = 0;

    if ((size_t)(b->end - b->at) < size) {
        b->bad = true;
        b->at = b->end;
        return 0;
    }
    memcpy(&value, b->at, size);
    b->at += size;
    return value;
}

static inline void bytes_skip(struct bytes *b, uint64_t size)
{
    if ((uint64_t)(b->end - b->at) < size) {
        b->bad = true;
        size = (uint64_t)(b->end - b->at);
    }
    b->at += size;
}

/* LEB128; *sign: all bits above those that were read, where the last of these is set. */
static inline uint64_t bytes_leb(struct bytes *b, uint64_t *sign)
{
    uint64_t value = 0;
    unsigned int shift = 0;
    uint8_t byte;

    do {
        byte = (uint8_t)bytes_take(b, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) && !b->bad);
    *sign = shift < 64 && (byte & 0x40) ? ~(uint64_t)0 << shift : 0;
    return value;
}

static inline uint64_t bytes_uleb(struct bytes *b)
{
    uint64_t sign;

    return bytes_leb(b, &sign);
}

static inline int64_t bytes_sleb(struct bytes *b)
{
    uint64_t sign, value = bytes_leb(b, &sign);

    return (int64_t)(value | sign);
}

/* A pointer in a DW_EH_PE encoding; indirect ones are not followed (they are personalities). */
static inline uintptr_t bytes_pointer(struct bytes *b, uint8_t encoding, uintptr_t data)
{
    uintptr_t at = (uintptr_t)b->at + b->moved, value;

    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
        value = bytes_take(b, 8);
        break;
    case 0x01:
        value = bytes_uleb(b);
        break;
    case 0x02:
        value = bytes_take(b, 2);
        break;
    case 0x03:
        value = bytes_take(b, 4);
        break;
    case 0x09:
        value = (uintptr_t)bytes_sleb(b);
        break;
    case 0x0a:
        value = (uintptr_t)(intptr_t)(int16_t)bytes_take(b, 2);
        break;
    case 0x0b:
        value = (uintptr_t)(intptr_t)(int32_t)bytes_take(b, 4);
        break;
    default:
        b->bad = true;
        return 0;
    }
    if ((encoding & 0x70) == 0x10)
        value += at;
    else if ((encoding & 0x70) == 0x30)
        value += data;
    return value;
}

#endif
