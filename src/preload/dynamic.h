/* dynamic - what the headers and the dynamic section of an ELF file say: where it is loaded, by
 * which loader, what it needs, and which names and versions it has for others.
 *
 * As program.h: keeps nothing, allocates nothing and uses little stack.
 */
#ifndef PRELOAD_DYNAMIC_H
#define PRELOAD_DYNAMIC_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DYNAMIC_LOADS 12
#define DYNAMIC_NAME 64

/* As pread: the bytes read, less at the end of the file, below 0 on failure. */
typedef long dynamic_read(int fd, void *to, size_t bytes, uint64_t offset);

struct dynamic { /* zeroed but for the first two: not read yet */
    int fd;
    dynamic_read *read;
    struct {
        uint64_t address, bytes, offset;
    } loads[DYNAMIC_LOADS];
    unsigned int load_count;
    uint64_t dynamic, dynamic_count;           /* offset, entries */
    uint64_t strings, symbols, hash, versions; /* addresses; 0: there are none */
    uint32_t hash_head[4];                     /* counts, and the index of the first symbol */
    uint64_t loader_at, loader_bytes;          /* its path; 0 bytes: there is none */
};

/* Exactly so many bytes. */
bool dynamic_get(const struct dynamic *f, void *to, size_t bytes, uint64_t offset);

/* Its program headers; and with its own header before them, of a file for 64 bits. */
bool dynamic_headers(struct dynamic *f, const Elf64_Ehdr *e);
bool dynamic_open(struct dynamic *f);

/* Where names are, once the headers are read; then the others may be asked. */
void dynamic_find(struct dynamic *f);

/* Whether it has this name, or a version, for others. */
bool dynamic_defines(const struct dynamic *f, const char *name);
bool dynamic_has_version(const struct dynamic *f, const char *version);

/* Call `take` for each entry; many are read at once, since each read is a system call. */
void dynamic_each(struct dynamic *f,
                  void (*take)(struct dynamic *f, const Elf64_Dyn *d, void *context),
                  void *context);
/* The text at an address, cut where it is too long; its length. */
size_t dynamic_text(const struct dynamic *f, char out[DYNAMIC_NAME], uint64_t address);

#endif
