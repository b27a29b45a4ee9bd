/* stack_hash - see stack_hash.h. Parents come before their children, so one pass over the stacks
 * does. */
#include "questions/stack_hash.h"

#include "base/count.h"
#include "base/hash.h"
#include "base/intmap.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static void mix(struct stack_hash *h, const void *bytes, size_t size)
{
    const unsigned char *p = bytes;

    h->one = hash_bytes(h->one, bytes, size);
    for (size_t i = 0; i < size; i++) {
        h->two = (h->two ^ p[i]) * HASH_FACTOR;
        h->two ^= h->two >> 29;
    }
}

/* Without what the compiler appended when it cloned or split the function. */
static size_t function_length(const char *function)
{
    static const char *const added[] = {".constprop", ".isra",     ".part",
                                        ".cold",      ".lto_priv", ".llvm"};
    size_t length = strlen(function);

    for (int i = 0; i < COUNT(added); i++) {
        const char *at = strstr(function, added[i]);

        if (at && at != function && (size_t)(at - function) < length)
            length = (size_t)(at - function);
    }
    return length;
}

static void mix_function(struct stack_hash *h, const char *function)
{
    mix(h, function, function_length(function));
}

static void mix_module(struct stack_hash *h, const char *path)
{
    const char *base = text_base(path), *version = strstr(base, ".so");

    if (version)
        mix(h, base, (size_t)(version - base)); /* of the program, nothing */
}

struct text_hashes { /* of texts by their place: each is looked at once, in however many frames it
                        is */
    struct intmap places;
    struct stack_hash *list;
    size_t count, room;
};

static void mix_text(struct stack_hash *h, struct text_hashes *t, const char *text,
                     void (*hash)(struct stack_hash *h, const char *text))
{
    uint64_t place;

    if (!text)
        return;
    if (!intmap_get(&t->places, (uintptr_t)text, &place)) {
        place = t->count;
        intmap_put(&t->places, (uintptr_t)text, place);
        memory_fit(t->list, t->room, t->count + 1);
        t->list[t->count] = (struct stack_hash){HASH_START, HASH_START};
        hash(&t->list[t->count++], text);
    }
    memory_is_there(t->list); /* what is known is in it */
    if (t->list[place].one != HASH_START)
        mix(h, &t->list[place], sizeof(t->list[place]));
}

struct all_hashes { /* a text may be a function's name and a module's */
    struct text_hashes functions, modules;
};

static void mix_frame(struct stack_hash *h, struct all_hashes *t, const struct table_frame *f,
                      bool addresses)
{
    unsigned int no_frame = f->flags & (TABLE_FRAME_ELIDED | TABLE_FRAME_CUT);

    mix(h, &no_frame, sizeof(no_frame));
    mix_text(h, &t->functions, f->function, mix_function);
    mix(h, "", 1);
    mix_text(h, &t->modules, f->module, mix_module);
    mix(h, "", 1);
    if (addresses && !f->function)
        mix(h, &f->address, sizeof(f->address));
}

static void free_texts(struct text_hashes *t)
{
    intmap_free(&t->places);
    free(t->list);
}

struct stack_hash *stack_hashes(const struct frames *f, bool addresses)
{
    struct stack_hash *all = memory_zeroed((f->stack_count + 1) * sizeof(*all));
    struct table_frame names[FRAMES_INLINED_MOST];
    struct all_hashes texts = {0};

    all[0] = (struct stack_hash){HASH_START, 0x84222325cbf29ce4u};
    for (size_t i = 1; i <= f->stack_count; i++) {
        const struct frames_stack *s = &f->stacks[i];
        size_t n = frames_expand(f, s->frame, names, FRAMES_INLINED_MOST);

        all[i] = all[s->parent];
        while (n--)
            mix_frame(&all[i], &texts, &names[n], addresses);
    }
    free_texts(&texts.functions);
    free_texts(&texts.modules);
    return all;
}
