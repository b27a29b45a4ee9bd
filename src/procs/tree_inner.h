/* tree_inner - what tree.c, tree_read.c, tree_account.c and tree_claim.c share. */
#ifndef PROCS_TREE_INNER_H
#define PROCS_TREE_INNER_H

#include "base/clock.h"
#include "procs/tree.h"

#define TREE_REUSE_NS CLOCK_SECOND_NS /* a pid does not come back sooner */

/* Bits of tree.sources: who told of an end. */
#define SOURCE_WAIT 1
#define SOURCE_RECORD 2
#define CLAIMED 4 /* no source of ends: its present incarnation records itself */
#define COPIED 8  /* nor this: not known to be more than a copy of its parent */

int tree_index_of(const struct tree *t, int pid); /* the latest entry of a pid; -1: none */
int tree_all_add(struct tree *t, int pid, int parent);
void tree_live_drop(struct tree *t, int at);
/* A process has ended: `used` in all, or as it was read last. at -1: it was never read. */
void tree_note_used(struct tree *t, int at, const struct proc_usage *used);
/* As tree_add. `name`: what it was when it began, should that be another than now; else NULL. */
int tree_add_named(struct tree *t, int pid, int parent, enum trace_born how, const char *name);
/* The process goes on as another program. */
void tree_new_incarnation(struct tree *t, int index);
/* The same if the image differs from the last reading. What it held before, after that, is lost. */
void tree_note_exec(struct tree *t, struct tree_live *l, const struct proc_reading *was);
/* The name of the file that a process runs, as much as there is room for; "": not known. */
void tree_file_name(int pid, char *name, size_t room);
/* Children of one that ignores SIGCHLD end without a trace: only records tell of them. */
void tree_ignores_children(struct tree *t);
void tree_mark(const struct tree *t, struct watch_process *p, uint64_t rss, uint64_t vsz);

static inline uint64_t tree_known(uint64_t n)
{
    return n == ABSENT ? 0 : n;
}

#endif
