/* cfi - see cfi.h. Every read of unwind data is bounded by the module that holds it. */
#include "inject/cfi.h"

#include "inject/bytes.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define REMEMBER_MOST 16

enum saved { SAVED_SAME, SAVED_AT, SAVED_AT_RBP, SAVED_BAD };

struct rules { /* of one instruction */
    uint64_t cfa_register;
    int64_t cfa_offset;
    bool cfa_deref, cfa_bad;
    enum saved rbp;
    int64_t rbp_offset;
    bool ra_undefined, ra_bad;
};

struct program {
    uint64_t code_align;
    int64_t data_align;
    bool signal;
    uint8_t encoding;
    struct bytes initial, rest; /* of the CIE; of the FDE, from its augmentation on */
    uintptr_t start, size;      /* of the function */
};

static uint32_t pack(enum cfi_type type, int64_t cfa, int64_t rbp)
{
    return (uint32_t)type | ((uint32_t)(cfa & 0x1ffff) << 3) | ((uint32_t)(rbp & 0xfff) << 20);
}

static uint32_t row_of(const struct rules *r, bool signal)
{
    int64_t rbp = CFI_RBP_KEPT;

    if (signal)
        return pack(CFI_SIGNAL, 0, CFI_RBP_KEPT);
    if (r->ra_undefined)
        return pack(CFI_END, 0, 0);
    if (r->ra_bad || r->cfa_bad || r->rbp == SAVED_BAD)
        return pack(CFI_BAD, 0, 0);
    if (r->rbp == SAVED_AT_RBP)
        rbp = CFI_RBP_AT_RBP;
    if (r->rbp == SAVED_AT) {
        rbp = r->rbp_offset / 8;
        if (r->rbp_offset % 8 || rbp <= CFI_RBP_KEPT || rbp >= CFI_RBP_AT_RBP)
            return pack(CFI_BAD, 0, 0);
    }
    if (r->cfa_offset % 8 || r->cfa_offset / 8 > 65535 || r->cfa_offset / 8 < -65535)
        return pack(CFI_BAD, 0, 0);
    if (r->cfa_deref)
        return pack(CFI_DEREF, r->cfa_offset / 8, rbp);
    if (r->cfa_register == 7)
        return pack(CFI_RSP, r->cfa_offset / 8, rbp);
    if (r->cfa_register == 6)
        return pack(CFI_RBP, r->cfa_offset / 8, rbp);
    return pack(CFI_BAD, 0, 0);
}

static void set_saved(struct rules *r, uint64_t reg, enum saved how, int64_t offset)
{
    if (reg == 6) {
        r->rbp = how;
        r->rbp_offset = offset;
    } else if (reg == 16) {
        r->ra_undefined = false;
        r->ra_bad = how != SAVED_AT || offset != -8;
    }
}

static void restore(struct rules *r, uint64_t reg, const struct rules *initial)
{
    if (reg == 6) {
        r->rbp = initial->rbp;
        r->rbp_offset = initial->rbp_offset;
    } else if (reg == 16) {
        r->ra_undefined = initial->ra_undefined;
        r->ra_bad = initial->ra_bad;
    }
}

static void undefine(struct rules *r, uint64_t reg)
{
    if (reg == 16)
        r->ra_undefined = true;
    else if (reg == 6)
        r->rbp = SAVED_SAME;
}

static void define_cfa(struct rules *r, uint64_t reg, int64_t offset)
{
    r->cfa_register = reg;
    r->cfa_offset = offset;
    r->cfa_deref = r->cfa_bad = false;
}

/* The only expressions that compilers write for C and C++: *(rbp + n), and rbp saved at *rbp. */
static void cfa_expression(struct rules *r, struct bytes *b)
{
    uint64_t size = bytes_uleb(b);
    struct bytes e = {b->at, b->at, false};

    bytes_skip(b, size);
    e.end = b->at;
    r->cfa_bad = true;
    if (bytes_take(&e, 1) != 0x76)
        return;
    r->cfa_offset = bytes_sleb(&e);
    r->cfa_deref = bytes_take(&e, 1) == 0x06 && !e.bad && e.at == e.end;
    r->cfa_bad = !r->cfa_deref;
}

static void expression(struct rules *r, struct bytes *b)
{
    uint64_t reg = bytes_uleb(b), size = bytes_uleb(b);
    const uint8_t *e = b->at;

    bytes_skip(b, size);
    if (reg == 6 && size == 2 && !b->bad && e[0] == 0x76 && e[1] == 0)
        r->rbp = SAVED_AT_RBP;
    else
        set_saved(r, reg, SAVED_BAD, 0);
}

/* One instruction other than the three that are packed into a byte; false: not known. */
static bool extended(uint8_t op, struct bytes *b, const struct program *p, struct rules *r,
                     const struct rules *initial)
{
    uint64_t reg;

    switch (op) {
    case 0x00:
    case 0x2d:
        break; /* nop; window save */
    case 0x05:
        reg = bytes_uleb(b);
        set_saved(r, reg, SAVED_AT, (int64_t)bytes_uleb(b) * p->data_align);
        break;
    case 0x06:
        restore(r, bytes_uleb(b), initial);
        break;
    case 0x07:
        undefine(r, bytes_uleb(b));
        break;
    case 0x08:
        if (bytes_uleb(b) == 6)
            r->rbp = SAVED_SAME;
        break;
    case 0x09:
        reg = bytes_uleb(b);
        bytes_uleb(b);
        set_saved(r, reg, SAVED_BAD, 0);
        break;
    case 0x0c:
        reg = bytes_uleb(b);
        define_cfa(r, reg, (int64_t)bytes_uleb(b));
        break;
    case 0x0d:
        define_cfa(r, bytes_uleb(b), r->cfa_offset);
        break;
    case 0x0e:
        r->cfa_offset = (int64_t)bytes_uleb(b);
        break;
    case 0x0f:
        cfa_expression(r, b);
        break;
    case 0x10:
        expression(r, b);
        break;
    case 0x11:
        reg = bytes_uleb(b);
        set_saved(r, reg, SAVED_AT, bytes_sleb(b) * p->data_align);
        break;
    case 0x12:
        reg = bytes_uleb(b);
        define_cfa(r, reg, bytes_sleb(b) * p->data_align);
        break;
    case 0x13:
        r->cfa_offset = bytes_sleb(b) * p->data_align;
        break;
    case 0x14:
        reg = bytes_uleb(b);
        bytes_uleb(b);
        set_saved(r, reg, SAVED_BAD, 0);
        break;
    case 0x15:
        reg = bytes_uleb(b);
        bytes_sleb(b);
        set_saved(r, reg, SAVED_BAD, 0);
        break;
    case 0x16:
        reg = bytes_uleb(b);
        bytes_skip(b, bytes_uleb(b));
        set_saved(r, reg, SAVED_BAD, 0);
        break;
    case 0x2e:
        bytes_uleb(b);
        break; /* GNU args size */
    case 0x2f:
        reg = bytes_uleb(b);
        set_saved(r, reg, SAVED_AT, -(int64_t)bytes_uleb(b) * p->data_align);
        break;
    default:
        return false;
    }
    return true;
}

static bool advance(uint8_t op, struct bytes *b, uint64_t align, uintptr_t *pc)
{
    if ((op & 0xc0) == 0x40)
        *pc += (op & 0x3f) * align;
    else if (op == 0x01)
        *pc = bytes_take(b, 8);
    else if (op == 0x02)
        *pc += bytes_take(b, 1) * align;
    else if (op == 0x03)
        *pc += bytes_take(b, 2) * align;
    else if (op == 0x04)
        *pc += bytes_take(b, 4) * align;
    else
        return false;
    return true;
}

/* Run instructions while they apply to `target` or to something before it. */
static void run(const struct program *p, struct bytes b, uintptr_t pc, uintptr_t target,
                struct rules *r, const struct rules *initial)
{
    struct rules remembered[REMEMBER_MOST];
    int depth = 0;

    while (b.at < b.end && !b.bad) {
        uint8_t op = (uint8_t)bytes_take(&b, 1);

        if (advance(op, &b, p->code_align, &pc)) {
            if (pc > target)
                return;
        } else if ((op & 0xc0) == 0x80) {
            set_saved(r, op & 0x3f, SAVED_AT, (int64_t)bytes_uleb(&b) * p->data_align);
        } else if ((op & 0xc0) == 0xc0) {
            restore(r, op & 0x3f, initial);
        } else if (op == 0x0a) {
            if (depth < REMEMBER_MOST)
                remembered[depth] = *r;
            depth++;
        } else if (op == 0x0b) {
            if (depth > 0 && --depth < REMEMBER_MOST)
                *r = remembered[depth];
        } else if (!extended(op, &b, p, r, initial)) {
            r->cfa_bad = true;
            return;
        }
    }
    r->cfa_bad |= b.bad;
}

static bool open_entry(const uint8_t *at, const uint8_t *end, struct bytes *b)
{
    uint32_t size;

    *b = (struct bytes){at, end, false};
    size = (uint32_t)bytes_take(b, 4);
    if (b->bad || !size || size == 0xffffffff || size > (size_t)(end - b->at))
        return false;
    b->end = b->at + size;
    return true;
}

static bool parse_cie(const uint8_t *at, const uint8_t *end, struct program *p)
{
    struct bytes b, a;
    const char *letters;
    uint64_t version, size;

    if (!open_entry(at, end, &b))
        return false;
    bytes_take(&b, 4);
    version = bytes_take(&b, 1);
    letters = (const char *)b.at;
    while (bytes_take(&b, 1))
        ;
    if (version == 4)
        bytes_take(&b, 2);
    p->code_align = bytes_uleb(&b);
    p->data_align = bytes_sleb(&b);
    if (version == 1)
        bytes_take(&b, 1);
    else
        bytes_uleb(&b);
    if (*letters == 'z') {
        size = bytes_uleb(&b);
        a = b;
        bytes_skip(&b, size);
        a.end = b.at;
        while (*++letters) {
            if (*letters == 'R')
                p->encoding = (uint8_t)bytes_take(&a, 1);
            else if (*letters == 'L')
                bytes_take(&a, 1);
            else if (*letters == 'P')
                bytes_pointer(&a, (uint8_t)bytes_take(&a, 1) & 0x7f, 0);
            else if (*letters == 'S')
                p->signal = true;
        }
    }
    p->initial = b;
    return !b.bad;
}

static bool open_fde(const uint8_t *fde, const uint8_t *low, const uint8_t *end, struct program *p)
{
    struct bytes b;
    const uint8_t *id_at;
    uint32_t id;

    if (!open_entry(fde, end, &b))
        return false;
    id_at = b.at;
    id = (uint32_t)bytes_take(&b, 4);
    if (!id || id > (size_t)(id_at - low) || !parse_cie(id_at - id, end, p))
        return false;
    p->start = bytes_pointer(&b, p->encoding, 0);
    p->size = bytes_pointer(&b, p->encoding & 0x0f, 0);
    p->rest = b;
    return !b.bad;
}

static uint32_t run_fde(const struct program *p, uintptr_t pc)
{
    struct rules initial = {0}, r;
    struct bytes b = p->rest;

    bytes_skip(&b, bytes_uleb(&b)); /* augmentation data: compilers always write 'z' */
    run(p, p->initial, 0, UINTPTR_MAX, &initial, &initial);
    r = initial;
    run(p, b, p->start, pc, &r, &initial);
    return row_of(&r, p->signal);
}

/* The FDE that may hold pc, by binary search in the usual table; NULL without one. */
static const uint8_t *search(const uint8_t *hdr, const uint8_t *end, uintptr_t pc)
{
    struct bytes b = {hdr + 4, end, false};
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
        uint64_t middle = (low + high) / 2;

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
    struct dl_find_object o;

    if (data >= *start && data < *end)
        return true;
    if (_dl_find_object((void *)(uintptr_t)data, &o) != 0)
        return false;
    *start = o.dlfo_map_start;
    *end = o.dlfo_map_end;
    return true;
}

static bool find_program(const struct dl_find_object *o, uintptr_t pc, struct program *p)
{
    const uint8_t *hdr = o->dlfo_eh_frame, *start = o->dlfo_map_start, *end = o->dlfo_map_end, *fde;

    if (!hdr || !holder(hdr, &start, &end) || end - hdr < 8)
        return false;
    fde = search(hdr, end, pc);
    if (!fde || !holder(fde, &start, &end) || !open_fde(fde, start, end, p))
        return false;
    return pc >= p->start && pc - p->start < p->size;
}

uint32_t cfi_find(uintptr_t pc, struct cfi_module *module, bool *known)
{
    struct program p = {0};
    struct dl_find_object o;

    *known = _dl_find_object((void *)pc, &o) == 0;
    if (!*known)
        return CFI_GAP;
    *module = (struct cfi_module){o.dlfo_map_start, o.dlfo_map_end, o.dlfo_link_map};
    return find_program(&o, pc, &p) ? run_fde(&p, pc) : CFI_GAP;
}

bool cfi_extent(uintptr_t pc, uintptr_t *start, uintptr_t *end)
{
    struct program p = {0};
    struct dl_find_object o;

    if (_dl_find_object((void *)pc, &o) != 0 || !find_program(&o, pc, &p))
        return false;
    *start = p.start;
    *end = p.start + p.size;
    return true;
}
