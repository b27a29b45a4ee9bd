/* python - the interpreter in this process, if there is one, and the frames of its threads.
 *
 * It is found when a module is seen that defines it: at the start, or when its code first stands on
 * a stack, so a library that is loaded late is found, too. Its frames are believed once a first
 * reading of them, with reads that cannot fault, has agreed with the interpreter's own functions.
 */
#ifndef INJECT_PYTHON_H
#define INJECT_PYTHON_H

#include "inject/cfi.h"
#include "inject/parts.h"
#include "inject/state.h"
#include "python/layout.h"

#include <link.h>

enum python_state {
    PYTHON_NONE,  /* none was seen */
    PYTHON_FOUND, /* not yet checked */
    PYTHON_READ,
    PYTHON_REFUSED, /* `refusal` says why */
};

#define EVAL_PARTS 3

struct python {
    _Atomic int state;
    enum ring_python refusal;
    struct py_layout layout;
    uint32_t version;
    struct part eval[EVAL_PARTS];      /* the function that runs bytecode, in one or more parts */
    uintptr_t module_low, module_high; /* the file that it is in */
    uintptr_t runtime, runtime_bytes;
    void *(*tstate)(void);             /* PyGILState_GetThisThreadState: reads a TSS key */
    void *(*current)(void);            /* of who holds the GIL; where it is not known, the same */
    int (*line)(void *code, int at);   /* PyCode_Addr2Line */
    const char *(*version_text)(void); /* Py_GetVersion */
    uintptr_t text_type, bytes_type;
    int (*finalizing)(void); /* _Py_IsFinalizing */
};

extern struct python python __attribute__((visibility("hidden")));

/* All modules of the program, at its start. */
void python_start(void);
/* A module that was not seen before. */
void python_module(const struct link_map *map);
/* Modules have gone: the interpreter, too? */
void python_unloaded(void);
/* After a fork: the new process has to say it anew. */
void python_forked(void);

/* Are this thread's Python frames to be read? Checks the layout and tells the collector of the
 * interpreter where that is still to do. `interrupted`: by a signal whose handler asks.
 */
bool python_ready(struct thread *t, uintptr_t tstate, bool interrupted);

bool python_is_read(void);
/* Tell the collector of the interpreter if it is known to be read, or not and why, unless it was
 * told.
 */
void python_tell(struct thread *t);

/* Tell once that the interpreter has begun to end: what it frees from now on its program has kept.
 * To be asked now and then, on paths that are not hot.
 */
void python_tell_end(struct thread *t);

/* A thread's frames could not be read: it was interrupted between two states. Counted. */
void python_torn(struct thread *t);

/* The calling thread's PyThreadState; 0: it has none. A handler may ask. */
static inline uintptr_t python_tstate(void)
{
    return (uintptr_t)python.tstate();
}

/* The same, if it can be relied on: an interpreter that ends frees those of all other threads. */
uintptr_t python_own_tstate(const struct thread *t);

struct python_place { /* where a thread was interrupted */
    bool python;      /* it runs Python: the stack has frames of it */
    bool in_eval;     /* in the function that runs bytecode */
    bool in_module;   /* in the interpreter's own file */
    bool calling;     /* its innermost frame stands at an instruction that calls something */
};

/* After unwind_interrupted, in the same handler. */
struct python_place python_place(struct thread *t, uintptr_t pc);

static inline bool python_any(void)
{
    int state = atomic_load_explicit(&python.state, memory_order_acquire);

    return unlikely(state == PYTHON_FOUND || state == PYTHON_READ);
}

/* Inside the function that runs bytecode? `pc` is a return address. */
static inline bool python_is_eval(uint64_t pc)
{
    for (unsigned int i = 0; i < EVAL_PARTS; i++)
        if (pc - 1 - python.eval[i].low < python.eval[i].high - python.eval[i].low)
            return true;
    return false;
}

#endif
