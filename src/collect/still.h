/* still - a process whose threads are all stopped, as it is handed to those who look into it. */
#ifndef COLLECT_STILL_H
#define COLLECT_STILL_H

#include <stddef.h>
#include <stdint.h>

/* Where its threads stand, and what is in their registers. */
struct collect_still {
    struct collect_thread {
        uint32_t tid;
        uint64_t stack, data; /* its stack pointer; where libc keeps the thread's own */
    } * threads;
    const uint64_t *words;
    size_t count, word_count;
};

#endif
