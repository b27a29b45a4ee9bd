/* ringcopy - see ringcopy.h. The program could write anything there, at any time: so lengths are
 * read once, from the copy, and whoever uses the record uses the copy alone.
 */
#include "collect/ringcopy.h"

#include <string.h>

/* Words before the part whose length varies; 0: no such kind. */
static const unsigned char heads[RING_KIND_END] = {
    [RING_SAMPLE] = 4,     [RING_STACK] = 2,   [RING_PROCESS] = 5,  [RING_THREAD] = 4,
    [RING_THREAD_END] = 1, [RING_MODULE] = 8,  [RING_UNLOADED] = 1, [RING_MAP] = 5,
    [RING_UNMAP] = 3,      [RING_UNUNMAP] = 3, [RING_MARK] = 3,     [RING_CODE] = 4,
    [RING_CPU] = 3,        [RING_COPY] = 4,    [RING_PYTHON] = 6,   [RING_SPACE] = 7,
    [RING_OP] = 1,         [RING_OP_NAME] = 2,
};

/* More than RING_RECORD_MOST where it is too much. */
static uint64_t text_words(uint64_t bytes)
{
    return bytes <= RING_TEXT_MOST ? (bytes + 7) / 8 : RING_RECORD_MOST;
}

/* Words of the part whose length varies. */
static uint64_t rest(const uint64_t *head)
{
    uint64_t frames = head[0] >> 5 & 0x7ffffff;

    switch (head[0] & 31) {
    case RING_STACK:
        return frames <= RING_DEPTH_MOST + 8 ? frames : RING_RECORD_MOST;
    case RING_PROCESS:
        return text_words(head[3]);
    case RING_MODULE:
    case RING_CODE:
        return text_words(head[3] >> 32);
    case RING_MARK:
        return text_words(head[2] >> 32);
    case RING_OP_NAME:
        return text_words(head[1] >> 32);
    case RING_SPACE:
        return text_words(head[6] >> 32);
    default:
        return 0;
    }
}

uint64_t ringcopy(uint64_t *to, const uint64_t *w, uint64_t first, uint64_t left)
{
    uint64_t head = (first & 31) < RING_KIND_END ? heads[first & 31] : 0, words;

    if (!head || head > left)
        return 0;
    to[0] = first;
    memcpy(to + 1, w + 1, (head - 1) * 8);
    atomic_signal_fence(memory_order_seq_cst); /* and not read again from the ring */
    words = head + rest(to);
    if (words > RING_RECORD_MOST || words > left)
        return 0;
    memcpy(to + head, w + head, (words - head) * 8);
    return words;
}
