/* mutate_records - see mutate.h: one record is taken apart into its numbers and its tail, changed,
 * and written again with the right length.
 */
#include "mutate.h"

#include "trace/write.h"

#include <stdbool.h>
#include <string.h>

#define NUMBERS_MOST (1 + TRACE_FIELDS_MOST) /* the time and the fields */
#define TAIL_MOST (256u << 10)
#define VARINTS_MOST 4096u

struct record {
    uint64_t kind;
    uint64_t numbers[NUMBERS_MOST];
    unsigned int count;
    uint8_t tail[TAIL_MOST];
    size_t tail_bytes;
};

static uint64_t dice;

static uint64_t roll(uint64_t sides)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (dice >> 20) % sides;
}

static bool get_varint(const uint8_t *data, size_t size, size_t *at, uint64_t *value)
{
    *value = 0;
    for (unsigned int shift = 0; shift < 70 && *at < size; shift += 7) {
        uint8_t byte = data[(*at)++];

        *value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static size_t put_varint(uint8_t *to, uint64_t value)
{
    size_t n = 0;

    for (; value >= 0x80; value >>= 7)
        to[n++] = (uint8_t)(value | 0x80);
    to[n++] = (uint8_t)value;
    return n;
}

/* A number that something may go wrong with, instead of this one. */
static uint64_t odd_number(uint64_t old)
{
    switch (roll(8)) {
    case 0:
        return roll(4);
    case 1:
        return 1ull << roll(64);
    case 2:
        return (1ull << roll(64)) - 1;
    case 3:
        return UINT64_MAX - roll(3);
    case 4:
        return old + roll(5) - 2;
    case 5:
        return old << roll(16);
    case 6:
        return roll(200);
    default:
        return roll(UINT64_MAX);
    }
}

/* How many numbers a kind has before its tail. */
static unsigned int numbers_of(const struct trace_shape *shape)
{
    return shape ? (unsigned int)shape->timed + shape->fields : 0;
}

/* The record at *at, which moves behind it; false: there is none that is whole. */
static bool take(struct record *r, const uint8_t *raw, size_t size, size_t *at)
{
    uint64_t length;
    size_t end, next = *at;

    if (!get_varint(raw, size, &next, &r->kind) || !get_varint(raw, size, &next, &length) ||
        length > size - next)
        return false;
    end = next + (size_t)length;
    *at = end;
    r->count = 0;
    for (unsigned int most = numbers_of(trace_shape_of(r->kind)); r->count < most; r->count++)
        if (!get_varint(raw, end, &next, &r->numbers[r->count]))
            break;
    r->tail_bytes = end - next < TAIL_MOST ? end - next : TAIL_MOST;
    memcpy(r->tail, raw + next, r->tail_bytes);
    return true;
}

static size_t put(const struct record *r, uint8_t *to)
{
    uint8_t numbers[NUMBERS_MOST * 10] = {0};
    size_t used = 0, at;

    for (unsigned int i = 0; i < r->count; i++)
        used += put_varint(numbers + used, r->numbers[i]);
    at = put_varint(to, r->kind);
    at += put_varint(to + at, used + r->tail_bytes + (roll(32) ? 0 : roll(4)));
    memcpy(to + at, numbers, used);
    memcpy(to + at + used, r->tail, r->tail_bytes);
    return at + used + r->tail_bytes;
}

/* Tails. */

static const char *const texts[] = {
    "",
    "\x1b]0;title\x07\x1b[31m",
    "=1+1",
    "@x,\"y\"\r\n-z",
    "\xe2\x80\xae right to left",
    "\xff\xfe\xc3(",
    "%s%n%1000000d",
    "</script><b>&amp;\\u0000",
    "a;b;c 7\nd",
    "/proc/self/environ",
    "../../../../etc/passwd",
};

static void odd_text(struct record *r)
{
    const char *text = texts[roll(sizeof(texts) / sizeof(texts[0]))];
    size_t length = strlen(text);

    if (roll(8) == 0) {
        r->tail_bytes = (size_t)roll(TAIL_MOST);
        memset(r->tail, 'x', r->tail_bytes);
        return;
    }
    memcpy(r->tail, text, length);
    r->tail_bytes = length;
}

/* Tails of STACKS, INFOS and samples are varints, and so are the columns of a BATCH. */
static void odd_varints(struct record *r, size_t from)
{
    static uint64_t list[VARINTS_MOST];
    size_t at = from, count = 0, used = from;

    while (count < VARINTS_MOST && get_varint(r->tail, r->tail_bytes, &at, &list[count]))
        count++;
    if (count == 0)
        return;
    for (uint64_t changes = 1 + roll(3); changes > 0; changes--) {
        uint64_t which = roll(count);

        list[which] = odd_number(list[which]);
    }
    for (size_t i = 0; i < count && used + 10 <= TAIL_MOST; i++)
        used += put_varint(r->tail + used, list[i]);
    r->tail_bytes = used;
}

/* The last bytes again and again: chains of stacks that are very deep, batches that are very full.
 */
static void repeat_tail(struct record *r)
{
    size_t unit = 1 + (size_t)roll(8), room, times;

    if (unit > r->tail_bytes)
        return;
    room = (TAIL_MOST - r->tail_bytes) / unit;
    times = (size_t)roll(1ull << roll(17));
    for (times = times < room ? times : room; times > 0; times--) {
        memcpy(r->tail + r->tail_bytes, r->tail + r->tail_bytes - unit, unit);
        r->tail_bytes += unit;
    }
}

static void change_tail(struct record *r)
{
    switch (roll(4)) {
    case 0:
        odd_text(r);
        break;
    case 1:
        repeat_tail(r);
        break;
    case 2:
        r->tail_bytes -= r->tail_bytes ? (size_t)roll(r->tail_bytes) : 0;
        break;
    default:
        odd_varints(r, r->tail_bytes ? (size_t)roll(r->tail_bytes < 4 ? r->tail_bytes : 4) : 0);
    }
}

/* Any kind that there is, with numbers that mostly refer to something. */
static void make(struct record *r)
{
    const struct trace_shape *shape;

    do
        r->kind = 1 + roll(TRACE_KIND_LAST);
    while (!(shape = trace_shape_of(r->kind)));
    r->count = numbers_of(shape);
    for (unsigned int i = 0; i < r->count; i++)
        r->numbers[i] = roll(4) ? roll(6) : odd_number(i);
    r->tail_bytes = 0;
    if (shape->tail == TRACE_TAIL_NONE)
        return;
    for (uint64_t n = roll(12); n > 0; n--)
        r->tail_bytes += put_varint(r->tail + r->tail_bytes, roll(4) ? roll(9) : odd_number(n));
    if (shape->tail == TRACE_TAIL_BYTES && roll(2))
        odd_text(r);
}

static void change(struct record *r)
{
    const struct trace_shape *shape = trace_shape_of(r->kind);

    if (shape && shape->tail != TRACE_TAIL_NONE && roll(2)) {
        change_tail(r);
    } else if (r->count && roll(16)) {
        uint64_t which = roll(r->count);

        r->numbers[which] = odd_number(r->numbers[which]);
    } else if (roll(2)) {
        r->count = (unsigned int)roll(r->count + 1u); /* absent fields */
    } else {
        r->kind = 1 + roll(TRACE_KIND_LAST + 2);
    }
}

/* Where the record of this number begins. */
static size_t find(const uint8_t *raw, size_t size, uint64_t number)
{
    static struct record skipped;
    size_t at = 0, before = 0;

    do
        before = at;
    while (number-- > 0 && take(&skipped, raw, size, &at));
    return before;
}

static uint32_t count_records(const uint8_t *raw, size_t size)
{
    static struct record skipped;
    uint32_t n = 0;

    for (size_t at = 0; at < size && take(&skipped, raw, size, &at); n++)
        ;
    return n;
}

/* Put the record, or what is to be there instead, between what is before `from` and behind `to`. */
static size_t splice(uint8_t *raw, size_t size, size_t room, size_t from, size_t to,
                     const struct record *r)
{
    static uint8_t bytes[TAIL_MOST + NUMBERS_MOST * 10 + 32];
    size_t length = r ? put(r, bytes) : 0;

    if (size - (to - from) + length > room)
        return size;
    memmove(raw + from + length, raw + to, size - to);
    memcpy(raw + from, bytes, length);
    return size - (to - from) + length;
}

static size_t mutate_one(uint8_t *raw, size_t size, size_t room)
{
    static struct record r;
    uint32_t count = count_records(raw, size);
    size_t from = count ? find(raw, size, roll(count)) : 0, to = from;

    if (count == 0 || roll(6) == 0) {
        make(&r);
        return splice(raw, size, room, from, from, &r);
    }
    if (!take(&r, raw, size, &to))
        return size;
    if (roll(12) == 0) /* it never was */
        return splice(raw, size, room, from, to, NULL);
    if (roll(12) == 0) /* it is told again elsewhere */
        from = to = find(raw, size, roll(count));
    else
        change(&r);
    return splice(raw, size, room, from, to, &r);
}

size_t mutate_records(uint8_t *raw, size_t size, size_t room, uint32_t *count, unsigned int seed)
{
    dice = seed * 0x9e3779b97f4a7c15u + 1;
    for (uint64_t changes = 1 + roll(4); changes > 0; changes--)
        size = mutate_one(raw, size, room);
    *count = count_records(raw, size);
    return size;
}
