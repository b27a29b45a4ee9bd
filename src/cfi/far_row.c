/* far_row - see far_row.h. Each read is bounded by the image, and of a size that is known before.
 */
#include "cfi/far_row.h"

#include "cfi/cfi_entry.h"

#include <string.h>

#define HEAD_MOST 24u     /* bytes of the table before its rows */
#define NEAR 256u         /* rows of it that are read at once */
#define ENTRY_MOST 32768u /* bytes of a function's entry; compilers write few above a hundred */
#define SHARED_MOST 512u

struct entry { /* of the table, from its beginning on */
    int32_t function, data;
};

struct table {
    uintptr_t at; /* its rows */
    uint64_t count;
};

static bool open_table(const struct far *f, const struct far_image *i, struct table *t)
{
    uint8_t head[HEAD_MOST];
    struct bytes b = {.at = head + 4, .end = head + sizeof(head)};

    if (!i->table || i->end - i->table < sizeof(head) ||
        !far_read(f, i->table, head, sizeof(head)) || head[0] != 1 || head[3] != 0x3b)
        return false;
    b.moved = i->table - (uintptr_t)head;
    bytes_pointer(&b, head[1], i->table);
    t->count = bytes_pointer(&b, head[2], i->table);
    t->at = (uintptr_t)b.at + b.moved;
    return !b.bad && t->count && t->count <= (i->end - t->at) / sizeof(struct entry);
}

/* Which of its rows are before an address: down to as many as are read at once. */
static bool narrow(const struct far *f, const struct table *t, int64_t want, uint64_t *low,
                   uint64_t *high)
{
    while (*high - *low > NEAR) {
        uint64_t middle = (*low + *high) / 2;
        struct entry e;

        if (!far_read(f, t->at + middle * sizeof(e), &e, sizeof(e)))
            return false;
        *(e.function <= want ? low : high) = middle;
    }
    return true;
}

/* The entry of the last function that begins before an address; 0: there is none. */
static uintptr_t search(const struct far *f, const struct far_image *i, uintptr_t pc)
{
    int64_t want = (int64_t)(pc - i->table);
    struct entry near[NEAR];
    struct table t;
    uint64_t low = 0, high, found = 0;

    if (!open_table(f, i, &t))
        return 0;
    high = t.count;
    if (!narrow(f, &t, want, &low, &high) ||
        !far_read(f, t.at + low * sizeof(*near), near, (high - low) * sizeof(*near)))
        return 0;
    while (found < high - low && near[found].function <= want)
        found++;
    return found ? i->table + (uintptr_t)(intptr_t)near[found - 1].data : 0;
}

/* Bytes of an image, up to its end. */
static bool open_bytes(const struct far *f, const struct far_image *i, uintptr_t at, void *to,
                       size_t most, struct bytes *b)
{
    if (at - i->start >= i->end - i->start)
        return false;
    if (most > i->end - at)
        most = i->end - at;
    *b = (struct bytes){.at = to, .end = (uint8_t *)to + far_read_some(f, at, to, most)};
    b->moved = at - (uintptr_t)to;
    return true;
}

struct far_row far_row_find(const struct far *f, const struct far_image *i, uintptr_t pc)
{
    uint8_t own[ENTRY_MOST], shared[SHARED_MOST], head[CFI_ENTRY_HEAD];
    struct cfi_program p = {0};
    struct far_row none = {CFI_GAP, 0};
    uintptr_t at = search(f, i, pc);
    struct bytes b, cie;
    uint32_t back, bytes;

    if (!at || at - i->start >= i->end - i->start || !far_read(f, at, head, sizeof(head)))
        return none;
    bytes = cfi_entry_bytes(head);
    if (!bytes || bytes > sizeof(own) || !open_bytes(f, i, at, own, bytes, &b) ||
        !cfi_entry_fde(&b, &back) || !open_bytes(f, i, at - back, shared, sizeof(shared), &cie) ||
        !cfi_entry_cie(cie, &p) || !cfi_entry_function(b, &p) || pc - p.start >= p.size)
        return none;
    return (struct far_row){cfi_rules_run(&p, pc), p.start};
}
