/* words - a command as one text. */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include "base/arena.h"

/* The words, joined by one space; lives in the arena. */
const char *words_joined(struct arena *a, char *const *words);
/* How a process that already runs is called: its command line. */
const char *words_of(struct arena *a, int pid);

#endif
