/* known_leaks - see known_leaks.h. */
#include "model/known_leaks.h"

#include "base/count.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/suppress.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MOST 1024
#define LOADERS_LISTS "the loader: its lists of objects"
#define EXCEPTIONS "C++: the reserve for exceptions"

/* Where in a stack a rule's frame is looked for. */
enum where {
    /* Among the innermost frames, as long as they are in libraries of the system: the program
     * called them, and they allocated for themselves.
     */
    IN_LIBRARY,
    ANYWHERE,    /* all that is allocated below it */
    PYTHON_FILE, /* the file of the innermost line of Python */
};

/* Patterns as in suppress.h. The order is that of the search: the first that fits is named. */
static const struct rule {
    enum where where;
    const char *pattern, *what;
} rules[] = {
    {ANYWHERE, "^Py_InitializeFromConfig$", "Python: the start of the interpreter"},
    {ANYWHERE, "^Py_InitializeEx$", "Python: the start of the interpreter"},
    {ANYWHERE, "^pymain_init$", "Python: the start of the interpreter"},
    {ANYWHERE, "^_PyRuntime_Initialize$", "Python: the start of the interpreter"},
    {PYTHON_FILE, "^<frozen importlib._bootstrap", "Python: the code of imported modules"},
    {PYTHON_FILE, "^importlib._bootstrap", "Python: the code of imported modules"},
    {IN_LIBRARY, "^_IO_file_doallocate$", "stdio: buffers of files"},
    {IN_LIBRARY, "^_IO_wfile_doallocate$", "stdio: buffers of files"},
    {IN_LIBRARY, "^_IO_doallocbuf$", "stdio: buffers of files"},
    {IN_LIBRARY, "^_IO_wdoallocbuf$", "stdio: buffers of files"},
    {IN_LIBRARY, "^setlocale$", "libc: locales"},
    {IN_LIBRARY, "^_nl_", "libc: locales"},
    {IN_LIBRARY, "^__wcsmbs_load_conv$", "libc: locales"},
    {IN_LIBRARY, "^textdomain$", "libc: message catalogues"},
    {IN_LIBRARY, "^bindtextdomain$", "libc: message catalogues"},
    {IN_LIBRARY, "^dcgettext$", "libc: message catalogues"},
    {IN_LIBRARY, "^__dcigettext$", "libc: message catalogues"},
    {IN_LIBRARY, "^__gconv_lookup_cache$", "libc: modules of iconv"},
    {IN_LIBRARY, "^__gconv_find_shlib$", "libc: modules of iconv"},
    {IN_LIBRARY, "^__gconv_find_transform$", "libc: modules of iconv"},
    {IN_LIBRARY, "^__gconv_read_conf$", "libc: modules of iconv"},
    {IN_LIBRARY, "^__gconv_load_conf$", "libc: modules of iconv"},
    {IN_LIBRARY, "^_dl_allocate_tls", "the loader: data of threads"},
    {IN_LIBRARY, "^__tls_get_addr$", "the loader: data of threads"},
    {IN_LIBRARY, "^_dl_", "the loader: its lists of objects"},
    {IN_LIBRARY, "^dl_open_worker", "the loader: its lists of objects"},
    {IN_LIBRARY, "^dlopen$", "the loader: its lists of objects"},
    {IN_LIBRARY, "^__libc_dlopen_mode$", "the loader: its lists of objects"},
    {IN_LIBRARY, "^dlerror$", "the loader: the last error"},
    {IN_LIBRARY, "^_dlerror_run$", "the loader: the last error"},
    {IN_LIBRARY, "^pthread_create$", "the loader: data of threads"},
    {IN_LIBRARY, "^setenv$", "libc: the environment"},
    {IN_LIBRARY, "^putenv$", "libc: the environment"},
    {IN_LIBRARY, "^__add_to_environ$", "libc: the environment"},
    {IN_LIBRARY, "^tzset$", "libc: time zones"},
    {IN_LIBRARY, "^tzset_internal$", "libc: time zones"},
    {IN_LIBRARY, "^__tz", "libc: time zones"},
    {IN_LIBRARY, "^localtime$", "libc: time zones"},
    {IN_LIBRARY, "^localtime_r$", "libc: time zones"},
    {IN_LIBRARY, "^mktime$", "libc: time zones"},
    {IN_LIBRARY, "^__nss_", "libc: lookups of users, hosts and the like"},
    {IN_LIBRARY, "^nss_database_", "libc: lookups of users, hosts and the like"},
    {IN_LIBRARY, "^__resolv_c", "libc: lookups of users, hosts and the like"},
    {IN_LIBRARY, "^__res_", "libc: lookups of users, hosts and the like"},
    {IN_LIBRARY, "^__check_pf$", "libc: lookups of users, hosts and the like"},
    {IN_LIBRARY, "^getpw", "libc: lookups of users, hosts and the like"},
    {IN_LIBRARY, "^getgr", "libc: lookups of users, hosts and the like"},
    {IN_LIBRARY, "^gethostby", "libc: lookups of users, hosts and the like"},
    {IN_LIBRARY, "^getproto", "libc: lookups of users, hosts and the like"},
    {IN_LIBRARY, "^getserv", "libc: lookups of users, hosts and the like"},
    {IN_LIBRARY, "^__new_exitfn$", "libc: functions to be called at the exit"},
    {IN_LIBRARY, "^__cxa_atexit$", "libc: functions to be called at the exit"},
    {IN_LIBRARY, "^__cxa_thread_atexit_impl$", "libc: functions to be called at the exit"},
    {IN_LIBRARY, "^__emutls_get_address$", "the compiler's runtime"},
    {IN_LIBRARY, "^__register_frame", "the compiler's runtime"},
    {IN_LIBRARY, "^gomp_", "OpenMP: its threads"},
    {IN_LIBRARY, "^GOMP_", "OpenMP: its threads"},
    {IN_LIBRARY, "^g_quark_", "GLib: names and types"},
    {IN_LIBRARY, "^g_intern_", "GLib: names and types"},
    {IN_LIBRARY, "^g_type_", "GLib: names and types"},
    {IN_LIBRARY, "^g_private_", "GLib: names and types"},
    {IN_LIBRARY, "^OPENSSL_init_", "OpenSSL: its start"},
    {ANYWHERE, "^std::io::stdio::", "Rust: buffers of standard output"},
};

/* Libraries that allocate for themselves: how their files begin. */
static const char *const libraries[] = {
    "libc.so",   "libc-",        "ld-linux", "ld-2",      "ld-musl", "libpthread",     "libdl.",
    "libdl-",    "libresolv",    "libnss_",  "libstdc++", "libc++",  "libgcc_s",       "libgomp",
    "libglib-2", "libgobject-2", "libgio-2", "libcrypto", "libssl",  "libtidemark.so",
};

static const char *base_of(const char *module)
{
    return module ? text_base(module) : "";
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Among its first bytes: no name that is meant here is longer. */
static bool has(const char *text, const char *part)
{
    return text && memmem(text, strnlen(text, NAME_MOST), part, strlen(part));
}

static bool is_library(const struct table_frame *f)
{
    const char *base = base_of(f->module);

    for (int i = 0; i < COUNT(libraries); i++)
        if (begins(base, libraries[i]))
            return true;
    return has(f->module, "/gconv/");
}

static bool is_loader(const struct table_frame *f)
{
    const char *base = base_of(f->module);

    return begins(base, "ld-linux") || begins(base, "ld-2") || begins(base, "ld-musl");
}

/* ---- of millions of stacks: what a frame says of them is found out once, and handed on ---- */

#define NO_RULE UINT8_MAX
_Static_assert(COUNT(rules) < NO_RULE, "places of rules fit into a byte");

enum {
    ALL_LIBRARY = 1,      /* of a frame: all of its names are in libraries, so its caller counts, */
    PYTHON_FRAME = 2,     /* or it is a line of Python, so that its caller does not */
    ALL_CPP = 4,          /* all of its names are in the library of C++ */
    IN_CPP = 8,           /* the innermost one is, */
    IN_LOADER = 16,       /* or is in the loader, */
    IN_RESERVE = 32,      /* or is of the reserve for exceptions */
    CALLED_BY_LOADER = 64 /* what comes after names in the library of C++ is in the loader */
};

struct known_look {                    /* of a frame, or of a stack that ends in it */
    uint8_t anywhere, library, python; /* the first rule that fits, by where it looks; NO_RULE */
    uint8_t found;
};

static const struct known_look nobody = {NO_RULE, NO_RULE, NO_RULE, 0};

static uint8_t first_rule(enum where where, const char *text)
{
    for (int i = 0; i < COUNT(rules); i++)
        if (rules[i].where == where && suppress_matches(rules[i].pattern, text))
            return (uint8_t)i;
    return NO_RULE;
}

static uint8_t least(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

static bool is_cpp(const struct table_frame *f)
{
    return begins(base_of(f->module), "libstdc++") || begins(base_of(f->module), "libc++");
}

/* The library of C++ keeps memory for exceptions that are thrown when there is none; it asks for it
 * while the loader initializes it, by a function that has no name.
 */
static unsigned int look_at_start(const struct table_frame *names, size_t count)
{
    unsigned int found = ALL_CPP;
    size_t i = 0;

    found |= is_loader(&names[0]) ? IN_LOADER : 0;
    found |= is_cpp(&names[0]) ? IN_CPP : 0;
    found |= has(names[0].function, "eh_alloc") || has(names[0].file, "eh_alloc") ? IN_RESERVE : 0;
    while (i < count && is_cpp(&names[i]))
        i++;
    if (i < count)
        found = (found & ~(unsigned int)ALL_CPP) | (is_loader(&names[i]) ? CALLED_BY_LOADER : 0);
    return found;
}

static struct known_look look_at(const struct table_frame *names, size_t n)
{
    struct known_look out = {NO_RULE, NO_RULE, NO_RULE, 0};
    unsigned int found = ALL_LIBRARY | look_at_start(names, n);

    for (size_t i = 0; i < n; i++) {
        if (!is_library(&names[i]))
            found &= ~(unsigned int)ALL_LIBRARY;
        out.anywhere = least(out.anywhere, first_rule(ANYWHERE, names[i].function));
        if (found & ALL_LIBRARY)
            out.library = least(out.library, first_rule(IN_LIBRARY, names[i].function));
        if (!(names[i].flags & TABLE_FRAME_PYTHON) || found & PYTHON_FRAME)
            continue;
        found |= PYTHON_FRAME;
        out.python = first_rule(PYTHON_FILE, names[i].file);
    }
    out.found = (uint8_t)found;
    return out;
}

/* Of a stack that ends in such a frame, by what is known of its caller's. */
static struct known_look add_caller(struct known_look frame, struct known_look caller)
{
    struct known_look out = frame;

    out.anywhere = least(frame.anywhere, caller.anywhere);
    if (frame.found & ALL_LIBRARY)
        out.library = least(frame.library, caller.library);
    if (!(frame.found & PYTHON_FRAME))
        out.python = caller.python;
    if (frame.found & ALL_CPP)
        out.found |= caller.found & CALLED_BY_LOADER;
    return out;
}

static const char *known_by(const struct known_look *l)
{
    uint8_t rule = least(least(l->anywhere, l->library), l->python);

    if (l->found & IN_LOADER)
        return LOADERS_LISTS;
    if ((l->found & IN_CPP && l->found & CALLED_BY_LOADER) || l->found & IN_RESERVE)
        return EXCEPTIONS;
    return rule == NO_RULE ? NULL : rules[rule].what;
}

const char *known_leak(const struct table_stack *stack)
{
    struct known_look look = nobody;

    for (int i = stack ? stack->count : 0; i > 0; i--)
        look = add_caller(look_at(&stack->frames[i - 1], 1), look);
    return known_by(&look);
}

/* By stack. A parent comes before its children; stack 0 is nobody. */
static struct known_look *look_at_stacks(const struct frames *f)
{
    struct known_look *stacks = memory_zeroed((f->stack_count + 1) * sizeof(*stacks));
    struct known_look *frames = memory_zeroed((f->frame_count + 1) * sizeof(*frames));
    struct table_frame names[FRAMES_INLINED_MOST];

    for (size_t i = 0; i <= f->frame_count; i++)
        frames[i] = look_at(names, frames_expand(f, i, names, FRAMES_INLINED_MOST));
    stacks[0] = nobody;
    for (size_t i = 1; i <= f->stack_count; i++) {
        const struct frames_stack *s = &f->stacks[i];

        stacks[i] = add_caller(frames[s->frame <= f->frame_count ? s->frame : 0],
                               s->cut ? nobody : stacks[s->parent]);
    }
    free(frames);
    return stacks;
}

static void leave_out(struct known_leaks *k, const char *what, struct heap *h,
                      struct heap_stack *stack)
{
    struct heap_amount at = heap_stack_at(h, stack);
    size_t i = 0;

    while (i < k->count && strcmp(k->left[i].what, what) != 0)
        i++;
    if (i == COUNT(k->left))
        return;
    if (i == k->count)
        k->left[k->count++].what = what;
    k->left[i].stacks++;
    heap_add(&k->left[i].amount, &at);
    heap_add(&k->sum, &at);
    heap_stack_at_set(h, stack, &(struct heap_amount){0});
}

void known_leaks_apply(struct known_leaks *k, struct heap *h)
{
    struct known_look *looks = look_at_stacks(h->frames);

    for (size_t i = 0; i < h->stack_count; i++) {
        struct heap_stack *stack = &h->stacks[i];
        const char *what = NULL;

        if (stack->at.bytes && stack->number <= h->frames->stack_count)
            what = known_by(&looks[stack->number]);
        if (what)
            leave_out(k, what, h, stack);
    }
    free(looks);
    if (k->count)
        heap_at_forget(h);
}
