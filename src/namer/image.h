/* image - an open file of code: an ELF program, library or separate debug file. */
#ifndef NAMER_IMAGE_H
#define NAMER_IMAGE_H

#include "namer/seen.h"

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

#define IMAGE_ID_MOST 64 /* bytes of a build-id that are believed; SHA-1 has 20 */

struct image {
    int fd;
    Elf *elf;                       /* NULL: not open */
    char id[2 * IMAGE_ID_MOST + 1]; /* the build-id in hex; "": none */
    const char *path;
    struct seen *seen; /* which is told what is opened */
};

/* False when there is no such file or it is not an ELF program, library or debug file. Only `seen`
 * of the image counts before.
 */
bool image_open(struct image *image, const char *path);
/* Closes; closing twice or what was never opened (zeroed) is fine. */
void image_close(struct image *image);

/* The section's bytes as they are in the file, NULL when it is absent or empty there. */
Elf_Data *image_section(struct image *image, const char *name);
/* The same, and the address that it has in memory. */
Elf_Data *image_section_at(struct image *image, const char *name, uint64_t *address);
bool image_has_dwarf(struct image *image);
/* How long it is when it is unpacked, once libdw has done that; 0 when it is absent. */
uint64_t image_section_bytes(struct image *image, const char *name);

#endif
