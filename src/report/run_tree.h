/* run_tree - the processes of a run as a tree: each one's children, the largest peak first. */
#ifndef REPORT_RUN_TREE_H
#define REPORT_RUN_TREE_H

#include "procs/result.h"

struct run_tree {
    int *first; /* first[i + 1]: the first child of process i; first[0]: the first without a parent
                 */
    int *next;  /* its next sibling; -1: none */
};

void run_tree_make(struct run_tree *t, const struct watch_result *r);
void run_tree_free(struct run_tree *t);

#endif
