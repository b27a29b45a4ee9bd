/* allowed - what one trace may cost its reader: a floor that every trace may, and so much more for
 * each byte of its file. Floors and factors are above what recorders write, so that no recording is
 * cut; whatever is above them was made to cost something, and is left out and counted.
 * docs/FORMAT.md lists them.
 */
#ifndef MODEL_ALLOWED_H
#define MODEL_ALLOWED_H

#include <stdint.h>

/* Numbers that nothing defines, as a chunk that is lost would have: a definition takes two bytes of
 * the file and more.
 */
#define ALLOWED_GAPS(file_bytes) (((uint64_t)1 << 14) + (file_bytes) / 4)

/* Whatever records define one by one: stacks, frames, processes, threads, blocks, spans. In
 * recordings each takes two bytes and more; but a deep recursion is next to nothing.
 */
#define ALLOWED_THINGS(file_bytes) (((uint64_t)1 << 18) + 4 * (uint64_t)(file_bytes))

/* Bytes of texts, and of source. */
#define ALLOWED_TEXT(file_bytes) (((uint64_t)32 << 20) + 64 * (uint64_t)(file_bytes))

/* Frames of all stacks together: what walking each of them once costs. Recordings of deep programs
 * have 3 to 7 for each byte, and a parser's recursion a hundred: stacks that differ in their last
 * frame take two bytes, however deep they are.
 */
#define ALLOWED_DEPTHS(file_bytes) (((uint64_t)1 << 26) + 1024 * (uint64_t)(file_bytes))

/* Bytes of an answer, as they are counted by questions/answer_limit.h: about what JSON takes. Of
 * recordings, all stacks of a peak take up to 1,250 times their file.
 */
#define ALLOWED_ANSWER(file_bytes) (((uint64_t)256 << 20) + 2048 * (uint64_t)(file_bytes))

#endif
