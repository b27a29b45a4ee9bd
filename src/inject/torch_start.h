/* torch_start - for --ops, --accesses and --watch: PyTorch tells of its operators if its profiler
 * is switched on, which takes a few lines of Python inside the program. They are part of the
 * library (torch_start.py), and run once, in the main thread of the interpreter, when it next looks
 * for something to do; the program needs no import.
 */
#ifndef INJECT_TORCH_START_H
#define INJECT_TORCH_START_H

/* Objects may have come, or a recording has begun: is PyTorch among them? */
void torch_start_came(void);

/* The script, which ends with a zero byte. */
extern const unsigned char torch_start_text[] __attribute__((visibility("hidden")));
extern const unsigned long torch_start_bytes __attribute__((visibility("hidden")));

#endif
