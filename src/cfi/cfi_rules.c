/* cfi_rules - see cfi_rules.h. */
#include "cfi/cfi_rules.h"

#include "arch/arch.h"
#include "cfi/cfi_row.h"

#define REMEMBER_MOST 16

enum saved { SAVED_SAME, SAVED_AT, SAVED_AT_FP, SAVED_BAD };

struct rules { /* of one instruction */
    uint64_t cfa_register;
    int64_t cfa_offset;
    bool cfa_deref, cfa_bad;
    enum saved fp;
    int64_t fp_offset;
    bool ra_undefined, ra_bad;
};

static uint32_t row_of(const struct rules *r, bool signal)
{
    int64_t fp = CFI_FP_KEPT;

    if (signal)
        return cfi_row(CFI_SIGNAL, 0, CFI_FP_KEPT);
    if (r->ra_undefined)
        return cfi_row(CFI_END, 0, 0);
    if (r->ra_bad || r->cfa_bad || r->fp == SAVED_BAD)
        return cfi_row(CFI_BAD, 0, 0);
    if (r->fp == SAVED_AT_FP)
        fp = CFI_FP_AT_FP;
    if (r->fp == SAVED_AT) {
        fp = r->fp_offset / 8;
        if (r->fp_offset % 8 || fp <= CFI_FP_KEPT || fp >= CFI_FP_AT_FP)
            return cfi_row(CFI_BAD, 0, 0);
    }
    if (r->cfa_offset % 8 || r->cfa_offset / 8 > 65535 || r->cfa_offset / 8 < -65535)
        return cfi_row(CFI_BAD, 0, 0);
    if (r->cfa_deref)
        return cfi_row(CFI_DEREF, r->cfa_offset / 8, fp);
    if (r->cfa_register == ARCH_DWARF_SP)
        return cfi_row(CFI_SP, r->cfa_offset / 8, fp);
    if (r->cfa_register == ARCH_DWARF_FP)
        return cfi_row(CFI_FP, r->cfa_offset / 8, fp);
    return cfi_row(CFI_BAD, 0, 0);
}

static void set_saved(struct rules *r, uint64_t reg, enum saved how, int64_t offset)
{
    if (reg == ARCH_DWARF_FP) {
        r->fp = how;
        r->fp_offset = offset;
    } else if (reg == ARCH_DWARF_RA) {
        r->ra_undefined = false;
        r->ra_bad = how != SAVED_AT || offset != ARCH_RETURN_OFFSET;
    }
}

static void restore(struct rules *r, uint64_t reg, const struct rules *initial)
{
    if (reg == ARCH_DWARF_FP) {
        r->fp = initial->fp;
        r->fp_offset = initial->fp_offset;
    } else if (reg == ARCH_DWARF_RA) {
        r->ra_undefined = initial->ra_undefined;
        r->ra_bad = initial->ra_bad;
    }
}

static void undefine(struct rules *r, uint64_t reg)
{
    if (reg == ARCH_DWARF_RA)
        r->ra_undefined = true;
    else if (reg == ARCH_DWARF_FP)
        r->fp = SAVED_SAME;
}

static void define_cfa(struct rules *r, uint64_t reg, int64_t offset)
{
    r->cfa_register = reg;
    r->cfa_offset = offset;
    r->cfa_deref = r->cfa_bad = false;
}

/* The only expressions that compilers write for C and C++: *(fp + n), and fp saved at *fp. */
static void cfa_expression(struct rules *r, struct bytes *b)
{
    uint64_t size = bytes_uleb(b);
    struct bytes e = *b;

    bytes_skip(b, size);
    e.end = b->at;
    r->cfa_bad = true;
    if (bytes_take(&e, 1) != ARCH_DWARF_FP_EXPRESSION)
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
    if (reg == ARCH_DWARF_FP && size == 2 && !b->bad && e[0] == ARCH_DWARF_FP_EXPRESSION &&
        e[1] == 0)
        r->fp = SAVED_AT_FP;
    else
        set_saved(r, reg, SAVED_BAD, 0);
}

/* One instruction other than the three that are packed into a byte; false: not known. */
static bool extended(uint8_t op, struct bytes *b, const struct cfi_program *p, struct rules *r,
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
        if (bytes_uleb(b) == ARCH_DWARF_FP)
            r->fp = SAVED_SAME;
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
static void run(const struct cfi_program *p, struct bytes b, uintptr_t pc, uintptr_t target,
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

uint32_t cfi_rules_run(const struct cfi_program *p, uintptr_t pc)
{
    struct rules initial = {0}, r;
    struct bytes b = p->rest;

    bytes_skip(&b, bytes_uleb(&b)); /* augmentation data: compilers always write 'z' */
    run(p, p->initial, 0, UINTPTR_MAX, &initial, &initial);
    r = initial;
    run(p, b, p->start, pc, &r, &initial);
    return row_of(&r, p->signal);
}
