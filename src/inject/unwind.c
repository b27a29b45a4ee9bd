/* unwind - see unwind.h: the memo of walks, and the walk when it does not know.
 *
 * A walk is a function of the registers and of the words it read from the stack. The memo keeps
 * those words; when they are all the same again, so is the stack. Nothing is assumed: equal words
 * make an equal walk. Comparing is a row of independent loads, about a nanosecond per frame.
 * The first step is always made: allocation wrappers would otherwise share one key.
 */
#include "inject/unwind.h"

#include "inject/cfi.h"
#include "inject/mixed.h"
#include "inject/python.h"
#include "inject/stacks.h"
#include "inject/thread.h"
#include "inject/walk.h"

#include <string.h>

static inline uint64_t key_of(uintptr_t first, uintptr_t second, uintptr_t sp)
{
    uint64_t k = (first * 0x9e3779b97f4a7c15u) ^ (second * 0xd6e8feb86659fd93u) ^
                 (sp * 0xa0761d6478bd642fu);

    return (k ^ k >> 32) | 1;
}

static inline struct memo_entry *set_of(struct memo *m, uint64_t key)
{
    return &m->entries[((key >> 20) % MEMO_SETS) * MEMO_WAYS];
}

static inline bool same_words(const struct memo *m, const struct memo_entry *e, uintptr_t sp)
{
    const uint32_t *at = &m->offsets[e->start % MEMO_WORDS];
    const uint64_t *value = &m->values[e->start % MEMO_WORDS];
    unsigned int n = e->words, i = 0;
    uint64_t differ = 0;

#define WORD(i) (*(const volatile uint64_t *)(sp + at[i]) ^ value[i])
    for (; i + 4 <= n && !differ; i += 4)
        differ = WORD(i) | WORD(i + 1) | WORD(i + 2) | WORD(i + 3);
    for (; i < n && !differ; i++)
        differ = WORD(i);
#undef WORD
    return !differ;
}

static inline struct memo_entry *recall(struct memo *m, uint64_t key, uintptr_t sp, uintptr_t rbp)
{
    struct memo_entry *e = set_of(m, key);

    for (unsigned int i = 0; i < MEMO_WAYS; i++, e++) {
        if (e->key != key || e->sp != sp || (e->needs_rbp && e->rbp != rbp))
            continue;
        if (e->start + MEMO_WORDS >= m->top + MEMO_WORDS_EACH && same_words(m, e, sp))
            return e;
    }
    return NULL;
}

/* Room for the words of one walk, in one run. Entries whose words are overwritten are void by age. */
static void make_room(struct memo *m)
{
    if (m->top % MEMO_WORDS + MEMO_WORDS_EACH > MEMO_WORDS)
        m->top += MEMO_WORDS - m->top % MEMO_WORDS;
}

static void remember(struct memo *m, uint64_t key, const struct caller *at, const struct walk *w,
                     uint32_t stack)
{
    struct memo_entry *set = set_of(m, key), *e = NULL;

    for (unsigned int i = 0; i < MEMO_WAYS && !e; i++) {
        if (!set[i].key || set[i].start + MEMO_WORDS < m->top + MEMO_WORDS_EACH)
            e = &set[i];
    }
    if (!e)
        e = &set[m->turn[(size_t)(set - m->entries) / MEMO_WAYS]++ % MEMO_WAYS];
    *e = (struct memo_entry){.key = key,
                             .sp = at->sp,
                             .rbp = at->rbp,
                             .start = m->top,
                             .stack = stack,
                             .words = (uint16_t)w->words,
                             .needs_rbp = w->needs_rbp};
    m->top += w->words;
}

/* The number of the frames just walked. A thread with Python frames joins them to it afterwards. */
static uint32_t number_of(struct thread *t, size_t count)
{
    t->walked = count;
    return unlikely(t->python) ? stacks_part(t, t->frames, count)
                               : stacks_number(t, t->frames, count);
}

/* Walk on from the second frame, with the memo's own room for the words. */
static uint32_t walk_and_remember(struct thread *t, struct walk *w, size_t count, uint64_t key)
{
    struct memo *m = &t->memo;
    struct caller at = w->at;
    uint32_t stack;

    make_room(m);
    w->offsets = &m->offsets[m->top % MEMO_WORDS];
    w->values = &m->values[m->top % MEMO_WORDS];
    w->most = MEMO_WORDS_EACH;
    w->words = 0;
    w->base = at.sp;
    w->rbp_from = 0;
    w->rbp_noted = w->needs_rbp = false;
    count = walk_frames(w, count, process.depth);
    stack = number_of(t, count);
    if (w->kept && stack && process_mode() == RING_EXACT)
        remember(m, key, &at, w, stack);
    return stack;
}

static OUTLINE uint32_t walk_all(struct thread *t, struct caller c)
{
    struct walk w = {.most = 0};
    enum walk_step step;
    bool own;

    if (unlikely(!t->stack_high && !local.quiet && !local.asks))
        thread_find_stack(t);
    walk_start(&w, t, c);
    own = w.kept;
    t->frames[0] = c.pc;
    step = walk_step(&w);
    if (step == WALK_END || step == WALK_CUT) {
        t->frames[1] = RING_FRAME_CUT;
        return number_of(t, step == WALK_CUT ? 2 : 1);
    }
    /* The memo is for a plain first step on our own stack: see unwind_stack. */
    w.kept = own && step == WALK_CALLER && w.bias == 0 && w.at.sp >= c.sp;
    t->frames[1] = w.at.pc | (step == WALK_GUESSED ? RING_FRAME_GUESSED : 0);
    return walk_and_remember(t, &w, 2, key_of(c.pc, w.at.pc, w.at.sp));
}

/* The first step is made by hand here, then the memo is asked. */
static inline __attribute__((always_inline)) uint32_t native_stack(struct thread *t, uintptr_t pc,
                                                                   uintptr_t sp, uintptr_t rbp)
{
    const struct caller c = {pc, sp, rbp};
    const struct pc_row *near = walk_near(t, pc);
    uint32_t row = (uint32_t)near->row;
    intptr_t saved = cfi_rbp(row) * 8;
    uintptr_t cfa, caller;
    struct memo_entry *e;

    if (unlikely(t->generation != atomic_load_explicit(&process.generation, memory_order_relaxed)))
        unwind_forget(t);
    if (unlikely(near->pc != pc || sp < t->stack_low || (cfi_type(row) | 1) != CFI_RBP))
        return walk_all(t, c);
    cfa = (cfi_type(row) == CFI_RSP ? sp : rbp) + (uintptr_t)cfi_offset(row);
    if (unlikely(cfa <= sp || cfa > t->stack_high || (cfa & 7)))
        return walk_all(t, c);
    caller = *(const volatile uintptr_t *)(cfa - 8);
    if (saved != CFI_RBP_KEPT * 8) {
        if (unlikely(saved >= 0 || cfa + (uintptr_t)saved < sp))
            return walk_all(t, c);
        rbp = *(const volatile uintptr_t *)(cfa + (uintptr_t)saved);
    }
    e = recall(&t->memo, key_of(pc, caller, cfa), cfa, rbp);
    return likely(e) ? e->stack : walk_all(t, c);
}

/* The native frames once more, when the memo has only given their number. */
static size_t walk_again(struct thread *t, struct caller c)
{
    struct walk w = {.most = 0};

    walk_start(&w, t, c);
    w.kept = false;
    t->frames[0] = c.pc;
    return walk_frames(&w, 1, process.depth);
}

/* The native part and what runs in Python are each recognised by a number; what both are together is
 * put together when the pair is new.
 */
static uint32_t join(struct thread *t, struct caller c, uint32_t native, const struct py_memory *m,
                     uintptr_t tstate)
{
    struct mixed_sight sight = tstate ? mixed_look(t, m, tstate) : (struct mixed_sight){0};
    uint64_t key = (sight.hash ^ (uint64_t)native << 32 ^ native) * 0x9e3779b97f4a7c15u | 1;
    struct numbered *near = &t->joined[(key >> 20) % NUMBERED];
    size_t count = t->walked;
    uint32_t stack;

    if (sight.bad) {
        python_torn(t);
        return join(t, c, native, m, 0);
    }
    if (near->hash == key)
        return (uint32_t)near->number;
    if (!count)
        count = walk_again(t, c);
    if (sight.count) {
        count = mixed_merge(t, m, tstate, count);
        stack = stacks_number(t, t->mixed, count);
    } else {
        stack = stacks_number(t, t->frames, count);
    }
    if (!local.parked && stack && native)
        *near = (struct numbered){key, stack};
    return stack;
}

/* Does the thread run Python? From the first time on, its memo has numbers of native parts. */
static bool runs_python(struct thread *t, uintptr_t *tstate, bool interrupted)
{
    *tstate = python_own_tstate(t);
    if (likely(t->python)) {
        if (*tstate && !python_ready(t, *tstate, interrupted))
            *tstate = 0;
        return true;
    }
    if (!*tstate || !python_ready(t, *tstate, interrupted))
        return false;
    t->python = true;
    memset(t->memo.entries, 0, sizeof(t->memo.entries));
    return true;
}

static OUTLINE uint32_t python_stack(struct thread *t, struct caller c)
{
    const struct py_memory plain = {NULL, NULL};
    uintptr_t tstate;
    bool mixed = runs_python(t, &tstate, false);
    uint32_t native;

    t->walked = 0;
    native = native_stack(t, c.pc, c.sp, c.rbp);
    return mixed ? join(t, c, native, &plain, tstate) : native;
}

uint32_t unwind_stack(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t rbp)
{
    if (python_any())
        return python_stack(t, (struct caller){pc, sp, rbp});
    return native_stack(t, pc, sp, rbp);
}

/* The interpreter may have been in the middle of making or clearing a frame. */
static OUTLINE uint32_t interrupted_python(struct thread *t, struct caller c)
{
    struct py_memory m = glimpse_begin(&t->glimpse);
    uintptr_t tstate;
    bool mixed = runs_python(t, &tstate, true);
    uint32_t native;

    t->walked = 0;
    t->python_code = 0;
    native = native_stack(t, c.pc, c.sp, c.rbp);
    return mixed ? join(t, c, native, &m, glimpse_allowed() ? tstate : 0) : native;
}

/* An address is taken as one after a call, which is looked up one byte before. */
uint32_t unwind_interrupted(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t rbp)
{
    if (python_any())
        return interrupted_python(t, (struct caller){pc + 1, sp, rbp});
    return native_stack(t, pc + 1, sp, rbp);
}

void unwind_forget(struct thread *t)
{
    t->generation = atomic_load(&process.generation);
    memset(t->pcs, 0, sizeof(t->pcs));
    memset(t->stacks, 0, sizeof(t->stacks));
    memset(t->joined, 0, sizeof(t->joined));
    memset(t->codes, 0, sizeof(t->codes));
    memset(t->lines, 0, sizeof(t->lines));
    memset(t->memo.entries, 0, sizeof(t->memo.entries));
}
