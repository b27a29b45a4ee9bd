/* pythreads - the threads that an interpreter knows, read from outside. */
#ifndef PYTHON_PYTHREADS_H
#define PYTHON_PYTHREADS_H

#include "python/layout.h"

/* The PyThreadState of the thread with this kernel number; 0: none, or not to be read. */
uintptr_t py_thread_find(const struct py_layout *l, const struct py_memory *m, uintptr_t runtime,
                         uint32_t tid);

/* Does a PyThreadState still belong to the thread? */
bool py_thread_is(const struct py_layout *l, const struct py_memory *m, uintptr_t tstate,
                  uint32_t tid);

#endif
