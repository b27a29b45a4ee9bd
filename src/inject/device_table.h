/* device_table - a vendor is a table: which functions of its library concern memory, and what their
 * arguments mean. Nothing of a vendor's own headers is needed, and no other file of ours knows one.
 *
 * A hook calls the real function with the words that it was called with (see device_stubs.c): so
 * all arguments of a function in a table are integers, pointers or structs by value in memory, no
 * more than DEVICE_WORDS words, and it returns an integer, 0 for success.
 */
#ifndef INJECT_DEVICE_TABLE_H
#define INJECT_DEVICE_TABLE_H

#include "inject/device_arguments.h"
#include "inject/state.h"

#define DEVICE_WORDS 14 /* arguments of a call, at most */
#define DEVICE_HELPERS 12

enum device_does {
    DEVICE_ALLOCATES, /* handle: the argument that points to where it is stored */
    DEVICE_FREES,     /* handle: the argument that is it */
    DEVICE_MAPS,      /* the same; it lives as long as the mapping: `at` with `size` bytes */
    DEVICE_HOLDS,     /* handle: points to where it is stored; it lives until one more free */
    DEVICE_UNMAPS,    /* `at` with `size` bytes */
    DEVICE_ENDS,      /* owner: all that it has dies */
    DEVICE_TELLS,     /* `ended` says whether it has told of an owner's end */
    DEVICE_FINDS,     /* a function: handle is its name, `at` points to where it is stored, and
                         size is the version that is meant; 0: none is */
    DEVICE_LAUNCHES,  /* work; counted, where that is asked for */
    DEVICE_NOTES,     /* `noted` is told of it, where launches are counted or accesses told */
    DEVICE_SAYS,      /* what the program does: see device_ranges.c */
};

struct device_library;

struct device_call {
    const char *name;
    uint8_t does;
    uint8_t class;           /* of its handle; below 1 << RING_SPACE_CLASS_BITS */
    uint8_t kind;            /* of its space: enum ring_space_kind */
    int8_t handle, size, at; /* arguments; size -1: it has none */
    int8_t device;           /* 1 + the argument that is its number; 0: the one that is current */
    int8_t target;           /* 1 + the argument that is the object which a command writes to */
    int8_t owner;            /* 1 + the argument that is its owner; 0: what is current; -1: none */
    uint16_t since;          /* from this version on a finder means this one by its plain name */
    bool returns; /* it returns its handle, and its status where argument `at` points to; -1:
                     nowhere */
    /* Where arguments say too little; each may be NULL. */
    union {
        /* What allocates: how many bytes. */
        uint64_t (*bytes)(const uintptr_t *a, bool done);
        /* What launches: what argument `handle` is called. */
        void (*named)(struct device_library *l, uintptr_t kernel, char *name, size_t room);
        /* What tells: whether an owner has ended, and which. */
        bool (*ended)(struct device_library *l, const uintptr_t *a, uint64_t *owner);
        void (*noted)(struct device_library *l, const uintptr_t *a, uintptr_t result);
        /* What is said of memory: what the program gets where the library returned `result`. */
        uintptr_t (*said)(const uintptr_t *a, uintptr_t result, struct caller c);
    };
    union {
        /* What allocates: in which space, and what the call is said to be (there is room for
         * DEVICE_TEXT). */
        void (*place)(struct device_library *l, const uintptr_t *a, uint8_t *kind, uint32_t *device,
                      char *text);
        /* What launches: what argument `handle` was given, by what was noted; false: that is not
         * known. */
        bool (*given)(uint64_t kernel, struct arguments_sum *sum);
    };
    /* Once it is made: how large it is, where nothing else says so, and false where it is no new
     * memory. */
    bool (*made)(struct device_library *l, const uintptr_t *a, uint64_t handle, uint64_t *bytes);
    /* Once it is made: on which device it is, where that need not be the current one; false: it
     * does not say. */
    bool (*on)(struct device_library *l, uint64_t handle, uint32_t *device);
    /* Does what allocates fill it as well? */
    bool (*filled)(const uintptr_t *a);
};

#define DEVICE_TEXT 96
#define DEVICE_BUS 16 /* "0000:03:00.0" */

struct device_vendor {
    const char *const *files; /* how its libraries are called, up to a version; NULL at the end */
    const char *device, *pinned, *shared; /* how spaces are called: "cuda", "cuda-host", ... */
    const struct device_call *calls;
    size_t count;
    /* Functions that are asked, by name; each may be NULL: the number of the current device, into
     * an int; the current owner, into a pointer; and more, for the functions of its table.
     */
    const char *helpers[DEVICE_HELPERS];
    /* Where on the PCI bus a device is, by which it is known outside of the process, too; false: it
     * does not say. */
    bool (*bus)(struct device_library *l, uint32_t device, char bus[DEVICE_BUS]);
    const struct device_watch_needs *watch; /* NULL: its objects cannot be watched */
    bool by_device;      /* its owner is the device: one ends with all that it has */
    unsigned int number; /* another one for each */
};

enum { DEVICE_CURRENT, DEVICE_OWNER, DEVICE_ASKED }; /* helpers */

struct device_library { /* that is loaded */
    const struct device_vendor *vendor;
    const void *object;
    uintptr_t helpers[DEVICE_HELPERS]; /* 0: it has none */
    bool unnamed;                      /* nobody comes to its functions by name: device_layer.c */
};

extern const struct device_vendor device_cuda, device_hip, device_level_zero, device_ascend,
    device_ascend_runtime, device_opencl, device_roctx, device_mstx;

#endif
