/* boot - see boot.h. */
#include "model/boot.h"

#include "base/count.h"
#include "base/memory.h"
#include "base/text.h"

#include <string.h>

static bool begins(const struct frames_name *name)
{
    static const char *const functions[] = {"addpackage", "execsitecustomize", "execusercustomize"};

    if (!name->function ||
        (strcmp(name->file, "<frozen site>") != 0 && strcmp(text_base(name->file), "site.py") != 0))
        return false;
    for (int i = 0; i < COUNT(functions); i++)
        if (strcmp(name->function, functions[i]) == 0)
            return true;
    return false;
}

uint8_t *boot_frames(const struct frames *f)
{
    uint8_t *out = memory_zeroed(f->frame_count + 1);

    for (size_t i = 1; i <= f->frame_count; i++) {
        const struct frames_name *name = f->frames[i].names;

        if (!frames_is_python(f, i) || !name || !name->file)
            continue;
        if (begins(name))
            out[i] = BOOT_BEGINS;
        else if (name->file[0] == '<')
            out[i] = BOOT_WITHOUT_FILE;
    }
    return out;
}
