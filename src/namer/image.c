/* image - see image.h. */
#include "namer/image.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void read_id(struct image *image)
{
    const void *bytes = NULL;
    ssize_t size = dwelf_elf_gnu_build_id(image->elf, &bytes);

    image->id[0] = 0;
    if (size <= 0 || size > IMAGE_ID_MOST || !bytes)
        return;
    for (ssize_t i = 0; i < size; i++) {
        unsigned char byte = ((const unsigned char *)bytes)[i];

        image->id[2 * i] = "0123456789abcdef"[byte >> 4];
        image->id[2 * i + 1] = "0123456789abcdef"[byte & 15];
    }
    image->id[2 * size] = 0;
}

static bool is_code(Elf *elf)
{
    GElf_Ehdr header;

    return elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
           (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

bool image_open(struct image *image, const char *path)
{
    struct stat st;
    bool there = stat(path, &st) == 0;
    int fd = -1;

    *image = (struct image){.seen = image->seen,
                            .path = seen_file(image->seen, path, there ? &st : NULL)};
    /* Whatever the path names by now: opening it must not wait for a writer, nor wake a device. */
    if (there && S_ISREG(st.st_mode))
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    image->fd = fd;
    image->seen->uncertain |= there && fd < 0; /* for want of rights, which a date does not show */
    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        image->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (!is_code(image->elf)) {
        elf_end(image->elf);
        image->elf = NULL;
        close(fd);
        return false;
    }
    read_id(image);
    return true;
}

void image_close(struct image *image)
{
    if (!image->elf)
        return;
    elf_end(image->elf);
    image->elf = NULL;
    close(image->fd);
}

/* Of those with contents; NULL when there is none of that name. */
static Elf_Scn *find_section(struct image *image, const char *name, GElf_Shdr *header)
{
    Elf_Scn *section = NULL;
    size_t names;

    if (elf_getshdrstrndx(image->elf, &names) < 0)
        return NULL;
    while ((section = elf_nextscn(image->elf, section))) {
        const char *found;

        if (!gelf_getshdr(section, header) || header->sh_type == SHT_NOBITS)
            continue;
        found = elf_strptr(image->elf, names, header->sh_name);
        if (found && strcmp(found, name) == 0)
            return section;
    }
    return NULL;
}

Elf_Data *image_section_at(struct image *image, const char *name, uint64_t *address)
{
    GElf_Shdr header;
    Elf_Scn *section = find_section(image, name, &header);

    *address = section ? header.sh_addr : 0;
    return section && header.sh_size ? elf_rawdata(section, NULL) : NULL;
}

Elf_Data *image_section(struct image *image, const char *name)
{
    uint64_t address;

    return image_section_at(image, name, &address);
}

uint64_t image_section_bytes(struct image *image, const char *name)
{
    GElf_Shdr header;

    return image->elf && find_section(image, name, &header) ? header.sh_size : 0;
}

bool image_has_dwarf(struct image *image)
{
    return image_section(image, ".debug_info") || image_section(image, ".zdebug_info");
}
