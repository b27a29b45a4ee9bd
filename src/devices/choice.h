/* choice - which devices somebody wants to see: --device and --gpu-id. */
#ifndef DEVICES_CHOICE_H
#define DEVICES_CHOICE_H

#include "base/err.h"
#include "devices/kinds.h"

#define DEVICE_CHOICES_MOST 32
#define DEVICE_INDEX 16

struct device_wish {
    const struct device_kind *kind;
    char index[DEVICE_INDEX]; /* "": all of the kind */
};

struct device_choice { /* zeroed: all that are there, and no word of those that are not */
    bool none, all;
    struct device_wish wishes[DEVICE_CHOICES_MOST];
    size_t count;
    bool gpu_asked;
    char gpu[DEVICE_INDEX]; /* --gpu-id: of the first kind that is there */
};

/* For a table of options: "all", "none", "nvidia", "nvidia:1", "drm:0,nvidia:0.2"; and a number. */
int device_choice_parse(const char *text, void *choice, struct err *err);
int device_choice_parse_gpu(const char *text, void *choice, struct err *err);

/* The words that it understands, separated by spaces: all, none and the kinds; as long as the tool
 * runs. */
const char *device_choices(void);

/* Was any named? They are then waited for, and said to be missing. */
bool device_choice_asked(const struct device_choice *c);
/* Is a kind wanted, whether or not there are signs of it? `gpu`: the first that --gpu-id may mean.
 */
bool device_choice_kind(const struct device_choice *c, const struct device_kind *k,
                        const struct device_kind *gpu);
/* Is this device of such a kind wanted? One that is part of another is, where that is. */
bool device_choice_device(const struct device_choice *c, const struct device_kind *k,
                          const struct device_kind *gpu, const char *index);

/* Rows for a table of options. */
// clang-format off
#define DEVICE_OPTIONS(choice)                                                                     \
    {0, "device", "WHICH...", &(choice), device_choice_parse,                                      \
     "Also read the memory of these accelerators: all (the default), none, a kind, or one "       \
     "of a kind, such as nvidia:1; 'tidemark devices' lists them", NULL, NULL,                      \
     .choices_of = device_choices, .or_more = true},                                               \
    {0, "gpu-id", "N", &(choice), device_choice_parse_gpu,                                         \
     "Read only accelerator N, of the first kind that is there", NULL, NULL}
// clang-format on

#endif
