/* filter - see filter.h. The machine is that of the kernel's seccomp_check_filter: jumps lead
 * forward alone, so that every way through a program ends.
 */
#include "base/filter.h"

#include <linux/seccomp.h>
#include <stdbool.h>

#define STEPS_MOST 200000u /* of all ways together; who needs more is not believed */
#define DEPTH_MOST 64u     /* of jumps that may go either way */
#define ERROR_MOST 4095u

struct value {
    uint32_t word;
    bool known;
};

struct machine {
    struct value a, x, memory[BPF_MEMWORDS];
};

struct walk {
    const struct sock_filter *program;
    size_t count;
    const struct filter_call *call;
    unsigned int steps;
};

static const struct value unknown = {0, false};

static struct value just(uint32_t word)
{
    return (struct value){word, true};
}

/* A word of struct seccomp_data. */
static struct value load(const struct filter_call *c, uint32_t offset)
{
    uint32_t argument = (offset - (uint32_t)offsetof(struct seccomp_data, args)) / 8;

    if (offset == offsetof(struct seccomp_data, nr))
        return just((uint32_t)c->number);
    if (offset == offsetof(struct seccomp_data, arch))
        return just(c->machine);
    if (offset < offsetof(struct seccomp_data, args) || argument >= 6 ||
        !(c->known >> argument & 1))
        return unknown;
    return just((uint32_t)(c->arguments[argument] >> (offset % 8 ? 32 : 0)));
}

static struct value calculate(uint16_t operation, struct value left, struct value right)
{
    uint32_t l = left.word, r = right.word;

    if (operation == BPF_NEG)
        return left.known ? just(-l) : unknown;
    if (!left.known || !right.known)
        return unknown;
    switch (operation) {
    case BPF_ADD:
        return just(l + r);
    case BPF_SUB:
        return just(l - r);
    case BPF_MUL:
        return just(l * r);
    case BPF_DIV:
        return r ? just(l / r) : unknown;
    case BPF_AND:
        return just(l & r);
    case BPF_OR:
        return just(l | r);
    case BPF_XOR:
        return just(l ^ r);
    case BPF_LSH:
        return r < 32 ? just(l << r) : unknown;
    case BPF_RSH:
        return r < 32 ? just(l >> r) : unknown;
    default:
        return unknown;
    }
}

static bool compare(uint16_t operation, uint32_t l, uint32_t r)
{
    switch (operation) {
    case BPF_JEQ:
        return l == r;
    case BPF_JGT:
        return l > r;
    case BPF_JGE:
        return l >= r;
    default:
        return l & r; /* BPF_JSET */
    }
}

static struct value loaded(const struct walk *w, const struct machine *m,
                           const struct sock_filter *i)
{
    switch (BPF_MODE(i->code)) {
    case BPF_IMM:
        return just(i->k);
    case BPF_ABS:
        return load(w->call, i->k);
    case BPF_LEN:
        return just(sizeof(struct seccomp_data));
    case BPF_MEM:
        return i->k < BPF_MEMWORDS ? m->memory[i->k] : unknown;
    default:
        return unknown;
    }
}

static void store(struct machine *m, uint32_t to, struct value v)
{
    if (to < BPF_MEMWORDS)
        m->memory[to] = v;
}

/* All but jumps and returns. */
static void take_step(const struct walk *w, struct machine *m, const struct sock_filter *i)
{
    switch (BPF_CLASS(i->code)) {
    case BPF_LD:
        m->a = loaded(w, m, i);
        break;
    case BPF_LDX:
        m->x = loaded(w, m, i);
        break;
    case BPF_ST:
        store(m, i->k, m->a);
        break;
    case BPF_STX:
        store(m, i->k, m->x);
        break;
    case BPF_ALU:
        m->a = calculate(BPF_OP(i->code), m->a, BPF_SRC(i->code) == BPF_X ? m->x : just(i->k));
        break;
    default: /* BPF_MISC */
        if (BPF_MISCOP(i->code) == BPF_TAX)
            m->x = m->a;
        else
            m->a = m->x;
    }
}

/* An error of 0 pretends that the call was made. Without a tracer that wants it, BPF's TRACE fails.
 */
static enum filter_fate fate_of(struct value result)
{
    uint32_t data = result.word & SECCOMP_RET_DATA;

    if (!result.known)
        return FILTER_HARMS;
    switch (result.word & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
    case SECCOMP_RET_LOG:
        return FILTER_LETS;
    case SECCOMP_RET_ERRNO:
        return data && data <= ERROR_MOST ? FILTER_FAILS : FILTER_HARMS;
    case SECCOMP_RET_TRACE:
        return FILTER_FAILS;
    default:
        return FILTER_HARMS;
    }
}

/* How far a jump leads; -1: that is not known. */
static long distance(const struct sock_filter *i, const struct machine *m)
{
    struct value right = BPF_SRC(i->code) == BPF_X ? m->x : just(i->k);

    if (BPF_OP(i->code) == BPF_JA)
        return (long)i->k;
    if (!m->a.known || !right.known)
        return -1;
    return compare(BPF_OP(i->code), m->a.word, right.word) ? i->jt : i->jf;
}

/* Where it is not known which way a jump goes, both are gone. */
static enum filter_fate follow(struct walk *w, size_t at, struct machine m, unsigned int depth)
{
    enum filter_fate fate, worst = FILTER_LETS;

    for (; at < w->count && w->steps < STEPS_MOST && depth < DEPTH_MOST; at++) {
        const struct sock_filter *i = &w->program[at];
        long skip;

        w->steps++;
        if (BPF_CLASS(i->code) == BPF_RET) {
            fate = fate_of(BPF_RVAL(i->code) == BPF_A ? m.a : just(i->k));
            return fate > worst ? fate : worst;
        }
        if (BPF_CLASS(i->code) != BPF_JMP) {
            take_step(w, &m, i);
            continue;
        }
        skip = distance(i, &m);
        if (skip < 0) {
            fate = follow(w, at + 1 + i->jt, m, depth + 1);
            if (fate == FILTER_HARMS)
                return fate;
            worst = fate > worst ? fate : worst;
            skip = i->jf;
        }
        at += (size_t)skip;
    }
    return FILTER_HARMS;
}

enum filter_fate filter_fate(const struct sock_filter *program, size_t count,
                             const struct filter_call *call)
{
    struct walk w = {program, count, call, 0};

    return follow(&w, 0, (struct machine){.a = just(0), .x = just(0)}, 0);
}
