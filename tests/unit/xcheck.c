/* xcheck - every stack that the library takes, compared with libunwind's, inside the program.
 *
 * Built into a copy of the library whose calls of unwind_stack and unwind_python come here (see the
 * Makefile). Three things must agree: the number that the memo gave, a fresh walk, and libunwind.
 * Frames that were guessed for lack of unwind data are only counted: libunwind guesses there, too.
 * Where there is Python, the number must be that of a fresh walk and a fresh look at its frames, as
 * a signal handler does it.
 */
#define UNW_LOCAL_ONLY
#include "inject/path.h"
#include "inject/python.h"
#include "inject/stacks.h"
#include "inject/unwind.h"
#include "inject/walk.h"

#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST 1024

uint32_t xcheck_stack(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t rbp);
uint32_t xcheck_python(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t rbp);

static _Atomic unsigned long all, bad_memo, bad_walk, guessed, cut, python_all, bad_python;

static void show(const char *what, const uint64_t *ours, size_t n, void **theirs, int m)
{
    dprintf(2, "XCHECK %s: ours", what);
    for (size_t i = 0; i < n; i++)
        dprintf(2, " %lx", (unsigned long)ours[i]);
    dprintf(2, "\n  libunwind");
    for (int i = 0; i < m; i++)
        dprintf(2, " %lx", (unsigned long)(uintptr_t)theirs[i]);
    dprintf(2, "\n");
}

static size_t walk_again(struct thread *t, struct caller c)
{
    struct walk w = {0};

    path_forget(t); /* step by step, without what the last walk knows */
    walk_start(&w, t, c);
    w.kept = false;
    t->frames[0] = c.pc;
    return walk_frames(&w, 1, process.depth);
}

/* We name the instruction after an interrupted one, as for calls; libunwind that one, and some of
 * its versions do so for calls, too.
 */
static bool same_place(uint64_t ours, const void *theirs)
{
    return ours == (uintptr_t)theirs || ours == (uintptr_t)theirs + 1;
}

static bool same(const uint64_t *ours, size_t n, void **theirs, int m)
{
    if (n != (size_t)m)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!same_place(ours[i], theirs[i]))
            return false;
    return true;
}

static void check_python(struct thread *t, uint32_t number, struct caller c)
{
    uint32_t fresh;

    path_forget(t);
    t->sight.count = 0;
    fresh = unwind_interrupted(t, c.pc - 1, c.sp, c.fp);
    python_all++;
    if (fresh != number && bad_python++ < 3)
        show("python", t->mixed, 12, NULL, 0);
}

static uint32_t check(struct thread *t, uint32_t number, uintptr_t pc, uintptr_t sp, uintptr_t rbp)
{
    void *theirs[MOST];
    int m, skip = 0;
    bool guess = false, known;
    size_t n;

    if (python_any()) {
        check_python(t, number, (struct caller){pc, sp, rbp});
        return number;
    }
    n = walk_again(t, (struct caller){pc, sp, rbp});
    m = unw_backtrace(theirs, MOST);
    all++;
    if (stacks_number(t, t->frames, n, &known) != number && bad_memo++ < 3)
        show("memo", t->frames, n, NULL, 0);
    while (skip < m && !same_place(pc, theirs[skip]))
        skip++;
    for (size_t i = 0; i < n; i++)
        guess |= (t->frames[i] & RING_FRAME_GUESSED) != 0;
    if (guess) {
        guessed++;
        return number;
    }
    if (t->frames[n - 1] == RING_FRAME_CUT) {
        cut++;
        n--;
    }
    if (n < 250 && !same(t->frames, n, theirs + skip, m - skip) && bad_walk++ < 3)
        show("walk", t->frames, n, theirs + skip, m - skip);
    return number;
}

uint32_t xcheck_stack(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t rbp)
{
    t->news = 0; /* else a stack may have two numbers, see stacks.c */
    return check(t, unwind_stack(t, pc, sp, rbp), pc, sp, rbp);
}

uint32_t xcheck_python(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t rbp)
{
    t->news = 0;
    return check(t, unwind_python(t, pc, sp, rbp), pc, sp, rbp);
}

__attribute__((destructor)) static void report(void)
{
    if (python_all)
        dprintf(2, "XCHECK pid %d python %lu python-bad %lu\n", getpid(), python_all, bad_python);
    if (all)
        dprintf(2, "XCHECK pid %d all %lu memo-bad %lu walk-bad %lu guessed %lu cut %lu\n",
                getpid(), all, bad_memo, bad_walk, guessed, cut);
}
