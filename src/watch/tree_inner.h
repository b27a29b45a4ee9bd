/* tree_inner - what tree.c and tree_account.c share. */
#ifndef WATCH_TREE_INNER_H
#define WATCH_TREE_INNER_H

#include "watch/tree.h"

/* Bits of tree.sources: who told of an end. */
#define SOURCE_WAIT 1
#define SOURCE_RECORD 2
#define CLAIMED 4 /* no source of ends: its present incarnation records itself */
#define COPIED 8  /* nor this: not known to be more than a copy of its parent */

int tree_index_of(const struct tree *t, int pid); /* the latest entry of a pid; -1: none */
int tree_all_add(struct tree *t, int pid, int parent);
void tree_live_drop(struct tree *t, int at);
/* Children of one that ignores SIGCHLD end without a trace: only records tell of them. */
void tree_ignores_children(struct tree *t);
void tree_mark(const struct tree *t, struct watch_process *p, uint64_t rss, uint64_t vsz);

static inline uint64_t tree_known(uint64_t n)
{
    return n == ABSENT ? 0 : n;
}

#endif
