/* device_arguments - which objects kernels are given, where a library takes arguments one by one
 * (OpenCL's clSetKernelArg): so a launch can say how many bytes its kernel was given, and what of
 * them it may read and write. Kept only where launches are counted, or accesses told.
 */
#ifndef INJECT_DEVICE_ARGUMENTS_H
#define INJECT_DEVICE_ARGUMENTS_H

#include "trace/ring.h"

#include <stdbool.h>
#include <stdint.h>

/* What may be done with it: READ, WRITE, BOTH or SINCE, and */
enum {
    ARGUMENT_READ = RING_ACCESS_READ,
    ARGUMENT_WRITE = RING_ACCESS_WRITE,
    ARGUMENT_BOTH = ARGUMENT_READ | ARGUMENT_WRITE,
    ARGUMENT_TOLD = 4, /* the kernel itself says so: this is not told */
    ARGUMENT_SINCE = RING_ACCESS_SINCE
};

/* Is anybody interested? */
bool arguments_wanted(void);

/* An object came to be, which kernels may use so; or it died. `of`: the object whose memory it has;
 * 0: none that is counted; itself.
 */
void arguments_object(uint64_t object, uint64_t bytes, unsigned int may, uint64_t of);
/* The object whose memory it has; 0: none that is known. */
uint64_t arguments_whole(uint64_t object);
void arguments_object_gone(uint64_t object);

/* A kernel without arguments came to be. */
void arguments_kernel(uint64_t kernel);

/* What argument `index` of a kernel is from now on: an object, or something else, which is none.
 * `may` says what the kernel does with it at most, and is asked once for each argument.
 */
void arguments_set(uint64_t kernel, uint32_t index, uint64_t object,
                   unsigned int (*may)(void *context, uint64_t kernel, uint32_t index),
                   void *context);

struct arguments_sum {
    uint64_t given, read,
        written; /* bytes: of all objects, and of those that it may read, and write */
    uint32_t
        life; /* which one it is of the kernels that had its handle; 0: nothing is known of it */
};

/* Each object that a kernel is given, once. */
void arguments_each(uint64_t kernel, void (*take)(void *context, uint64_t object, unsigned int may),
                    void *context);

/* Are all objects known that it is given? */
bool arguments_known(uint64_t kernel);

/* False: of this kernel nothing is known. */
bool arguments_sum(uint64_t kernel, struct arguments_sum *sum);

#endif
