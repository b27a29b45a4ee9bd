/* pickle - see pickle.h. The opcodes are those of protocols 2 to 5 that plain data need; the
 * documentation of Python's pickletools describes each.
 */
#include "import/pickle.h"

#include "base/count.h"
#include "import/pickle_stack.h"

#include <stdlib.h>
#include <string.h>

#define SIZE_MOST 0xfffffff0u
/* What values may take, beside the file: those of a snapshot take five times its size. */
#define COST_MOST(size) (((uint64_t)64 << 20) + 24 * (uint64_t)(size))

/* ---- the bytes ---- */

static bool take(struct pickle *p, size_t count, const unsigned char **bytes)
{
    if (p->size - p->at < count)
        return false;
    *bytes = p->bytes + p->at;
    p->at += count;
    return true;
}

/* Little-endian, of up to eight bytes. */
static bool take_number(struct pickle *p, size_t count, uint64_t *number)
{
    const unsigned char *b;

    if (!take(p, count, &b))
        return false;
    *number = 0;
    for (size_t i = count; i--;)
        *number = *number << 8 | b[i];
    return true;
}

static bool push_text(struct pickle *p, size_t of_length)
{
    uint64_t length;
    const unsigned char *b;

    if (!take_number(p, of_length, &length) || length > UINT32_MAX || !take(p, length, &b))
        return false;
    pickle_push(p, pickle_add(p, (struct pickle_node){.type = PICKLE_TEXT,
                                                      .length = (uint32_t)length,
                                                      .text = (size_t)(b - p->bytes)}));
    return true;
}

/* An integer of any length, of which the low eight bytes are kept: the sign is that of the last. */
static bool push_long(struct pickle *p, size_t of_length)
{
    uint64_t length, value = 0;
    const unsigned char *b;

    if (!take_number(p, of_length, &length) || !take(p, length, &b))
        return false;
    if (length && b[length - 1] & 0x80)
        value = UINT64_MAX;
    for (size_t i = length < 8 ? length : 8; i--;)
        value = value << 8 | b[i];
    pickle_push_integer(p, PICKLE_INTEGER, (int64_t)value);
    return true;
}

static bool push_fixed(struct pickle *p, size_t count)
{
    uint64_t n;

    if (!take_number(p, count, &n))
        return false;
    pickle_push_integer(p, PICKLE_INTEGER, count == 4 ? (int32_t)(uint32_t)n : (int64_t)n);
    return true;
}

/* Big-endian, unlike all others. */
static bool push_real(struct pickle *p)
{
    const unsigned char *b;
    uint64_t bits = 0;
    double real;

    if (!take(p, 8, &b))
        return false;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | b[i];
    memcpy(&real, &bits, sizeof(real));
    pickle_push(p, pickle_add(p, (struct pickle_node){.type = PICKLE_REAL, .real = real}));
    return true;
}

static bool with_slot(struct pickle *p, size_t count, bool (*what)(struct pickle *, uint64_t))
{
    uint64_t slot;

    return take_number(p, count, &slot) && what(p, slot);
}

static bool skip(struct pickle *p, size_t count)
{
    const unsigned char *b;

    return take(p, count, &b);
}

/* ---- opcodes ---- */

enum { CARRIED_ON, STOPPED, UNKNOWN, BROKEN, COSTLY };

static int done(bool good)
{
    return good ? CARRIED_ON : BROKEN;
}

static int push_constant(struct pickle *p, unsigned char op)
{
    switch (op) {
    case 'N':
        pickle_push_integer(p, PICKLE_NONE, 0);
        return CARRIED_ON;
    case 0x88:
    case 0x89:
        pickle_push_integer(p, PICKLE_BOOL, op == 0x88);
        return CARRIED_ON;
    case '(':
        pickle_push(p, PICKLE_MARKER);
        return CARRIED_ON;
    case ']':
    case ')':
        pickle_push_container(p, PICKLE_LIST);
        return CARRIED_ON;
    case '}':
        pickle_push_container(p, PICKLE_DICT);
        return CARRIED_ON;
    default:
        return UNKNOWN;
    }
}

static int push_value(struct pickle *p, unsigned char op)
{
    switch (op) {
    case 'K':
        return done(push_fixed(p, 1));
    case 'M':
        return done(push_fixed(p, 2));
    case 'J':
        return done(push_fixed(p, 4));
    case 0x8a:
        return done(push_long(p, 1));
    case 0x8b:
        return done(push_long(p, 4));
    case 'G':
        return done(push_real(p));
    case 0x8c: /* texts and bytes of three lengths */
    case 'U':
    case 'C':
        return done(push_text(p, 1));
    case 'X':
    case 'T':
    case 'B':
        return done(push_text(p, 4));
    case 0x8d:
    case 0x8e:
        return done(push_text(p, 8));
    default:
        return push_constant(p, op);
    }
}

static int put_together(struct pickle *p, unsigned char op)
{
    switch (op) {
    case 'a':
        return done(pickle_fill_last(p, 1, PICKLE_LIST));
    case 'e':
        return done(pickle_fill_marked(p, PICKLE_LIST));
    case 's':
        return done(pickle_fill_last(p, 2, PICKLE_DICT));
    case 'u':
        return done(pickle_fill_marked(p, PICKLE_DICT));
    case 0x85:
    case 0x86:
    case 0x87:
        return done(pickle_gather_last(p, op - 0x84u));
    case 't':
        return done(pickle_gather_marked(p));
    case '0':
        p->depth -= p->depth > 0;
        return CARRIED_ON;
    case '1':
        return done(pickle_pop_marked(p));
    default:
        return push_value(p, op);
    }
}

static int step(struct pickle *p, unsigned char op)
{
    switch (op) {
    case '.':
        return STOPPED;
    case 0x80:
        return done(skip(p, 1)); /* the protocol */
    case 0x95:
        return done(skip(p, 8)); /* the length of a frame, which says nothing new */
    case 0x94:
        return done(pickle_remember(p, p->memo_count));
    case 'q':
        return done(with_slot(p, 1, pickle_remember));
    case 'r':
        return done(with_slot(p, 4, pickle_remember));
    case 'h':
        return done(with_slot(p, 1, pickle_recall));
    case 'j':
        return done(with_slot(p, 4, pickle_recall));
    default:
        return put_together(p, op);
    }
}

/* What would call code, or fetch what could. */
static const char *calling(unsigned char op)
{
    static const struct {
        unsigned char op;
        const char *name;
    } all[] = {
        {'c', "GLOBAL"},    {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},
        {'b', "BUILD"},     {'i', "INST"},          {'o', "OBJ"},
        {0x81, "NEWOBJ"},   {0x92, "NEWOBJ_EX"},    {'P', "PERSID"},
        {'Q', "BINPERSID"}, {0x82, "EXT1"},         {0x83, "EXT2"},
        {0x84, "EXT4"},     {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"},
    };

    for (size_t i = 0; i < COUNT(all); i++)
        if (all[i].op == op)
            return all[i].name;
    return NULL;
}

static pickle_value refuse(const struct pickle *p, unsigned char op, size_t at, int what,
                           struct err *err)
{
    const char *name = calling(op);

    if (at >= p->size)
        err_set(err, "the pickle is cut: it ends at byte %zu without a value", at);
    else if (name)
        err_set(err,
                "the pickle would call code (%s at byte %zu), which is never done: import a memory "
                "snapshot, which is plain data",
                name, at);
    else if (what == COSTLY)
        err_set(err, "the pickle would take more memory than a snapshot of its size can");
    else if (what != UNKNOWN)
        err_set(err, "the pickle is damaged or cut at byte %zu (opcode 0x%02x)", at, op);
    else
        err_set(err,
                "the pickle has an opcode at byte %zu (0x%02x) that memory snapshots do not use",
                at, op);
    return 0;
}

pickle_value pickle_read(struct pickle *p, const void *bytes, size_t size, struct err *err)
{
    unsigned char op = 0;
    size_t at = 0;
    int what = CARRIED_ON;

    p->bytes = bytes;
    p->size = size;
    if (size > SIZE_MOST) {
        err_set(err, "the pickle is larger than 4 GiB, which is more than is read");
        return 0;
    }
    while (what == CARRIED_ON && p->at < p->size) {
        at = p->at;
        op = p->bytes[p->at++];
        what = p->cost > COST_MOST(size) ? COSTLY : step(p, op);
    }
    if (what == CARRIED_ON)
        return refuse(p, 0, p->size, what, err);
    if (what != STOPPED || !pickle_top(p) || pickle_type(p, pickle_top(p)) == PICKLE_MARK)
        return refuse(p, op, at, what, err);
    return pickle_top(p);
}
