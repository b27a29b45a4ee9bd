/* process_tree - the processes of a run in the order of their tree, and how each is told. */
#ifndef MODEL_PROCESS_TREE_H
#define MODEL_PROCESS_TREE_H

#include "model/run.h"

/* The next process, children under their parents; NULL: the end. Begin with run.roots. */
struct run_process *process_tree_next(const struct run_process *p);

/* Mark as `shown` those with the largest peaks and all their ancestors, `most` in all. */
void process_tree_choose(struct run *r, size_t most);

/* The largest resident memory: the kernel's own mark or a sample, whichever is more. */
bool process_tree_peak(const struct run_process *p, uint64_t *bytes);

/* "exited with 0", "killed by signal 9 (SIGKILL)", "still running" ... in the arena. */
const char *process_tree_end(struct arena *a, const struct run_process *p);

#endif
