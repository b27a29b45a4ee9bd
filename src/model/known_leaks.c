/* known_leaks - see known_leaks.h. */
#include "model/known_leaks.h"

#include "base/count.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/suppress.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MOST 1024

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

/* The library of C++ keeps memory for exceptions that are thrown when there is none; it asks for it
 * while the loader initializes it, by a function that has no name.
 */
static const char *known_start(const struct table_stack *s)
{
    int i = 0;

    if (is_loader(&s->frames[0]))
        return "the loader: its lists of objects";
    while (i < s->count && (begins(base_of(s->frames[i].module), "libstdc++") ||
                            begins(base_of(s->frames[i].module), "libc++")))
        i++;
    if (i > 0 && i < s->count && is_loader(&s->frames[i]))
        return "C++: the reserve for exceptions";
    return has(s->frames[0].function, "eh_alloc") || has(s->frames[0].file, "eh_alloc")
             ? "C++: the reserve for exceptions"
             : NULL;
}

static bool matches(const struct rule *r, const struct table_stack *s)
{
    for (int i = 0; i < s->count; i++) {
        const struct table_frame *f = &s->frames[i];

        if (r->where == PYTHON_FILE) {
            if (f->flags & TABLE_FRAME_PYTHON)
                return suppress_matches(r->pattern, f->file);
            continue;
        }
        if (r->where == IN_LIBRARY && !is_library(f))
            return false;
        if (suppress_matches(r->pattern, f->function))
            return true;
    }
    return false;
}

const char *known_leak(const struct table_stack *stack)
{
    const char *start = stack && stack->count ? known_start(stack) : NULL;

    if (start || !stack || !stack->count)
        return start;
    for (int i = 0; i < COUNT(rules); i++)
        if (rules[i].what && matches(&rules[i], stack))
            return rules[i].what;
    return NULL;
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

/* ---- which stacks are worth a look: what frames say of them is asked once for each frame ---- */

enum {
    ANY_RULE = 1,      /* a rule for frames anywhere fits, */
    LIBRARY_RULE = 2,  /* or one for those in libraries; */
    PYTHON_RULE = 4,   /* one for the first file of Python; */
    START = 8,         /* known_start may say something of who is called last */
    ALL_LIBRARY = 16,  /* of a frame: what called it counts as well, */
    PYTHON_FRAME = 32, /* or does not, for files */
    ALL_RULES = ANY_RULE | LIBRARY_RULE | PYTHON_RULE
};

static bool fits(enum where where, const char *text)
{
    for (int i = 0; i < COUNT(rules); i++)
        if (rules[i].where == where && suppress_matches(rules[i].pattern, text))
            return true;
    return false;
}

static bool may_start(const struct table_frame *f)
{
    return is_loader(f) || begins(base_of(f->module), "libstdc++") ||
           begins(base_of(f->module), "libc++") || has(f->function, "eh_alloc") ||
           has(f->file, "eh_alloc");
}

static unsigned char look_at_frame(const struct frames *f, uint64_t frame)
{
    struct table_frame names[FRAMES_INLINED_MOST];
    size_t n = frames_expand(f, frame, names, FRAMES_INLINED_MOST);
    int found = ALL_LIBRARY;

    if (!n || n == FRAMES_INLINED_MOST)
        return ALL_RULES | START | ALL_LIBRARY;
    found |= may_start(&names[0]) ? START : 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_library(&names[i]))
            found &= ~ALL_LIBRARY;
        found |= fits(ANYWHERE, names[i].function) ? ANY_RULE : 0;
        found |= fits(IN_LIBRARY, names[i].function) ? LIBRARY_RULE : 0;
        if (!(names[i].flags & TABLE_FRAME_PYTHON) || found & PYTHON_FRAME)
            continue;
        found |= PYTHON_FRAME | (fits(PYTHON_FILE, names[i].file) ? PYTHON_RULE : 0);
    }
    return (unsigned char)found;
}

/* Of a stack that ends in such a frame, by what is known of its caller's. */
static unsigned char add_caller(unsigned char frame, unsigned char caller)
{
    int found = frame & (ALL_RULES | START);

    found |= caller & ANY_RULE;
    found |= frame & ALL_LIBRARY ? caller & LIBRARY_RULE : 0;
    found |= frame & PYTHON_FRAME ? 0 : caller & PYTHON_RULE;
    return (unsigned char)found;
}

/* By stack: 0 where it can be no known leak. A parent comes before its children. */
static unsigned char *look_at_stacks(const struct frames *f)
{
    unsigned char *stacks = memory_zeroed(f->stack_count + 1);
    unsigned char *frames = memory_zeroed(f->frame_count + 1);

    for (size_t i = 0; i <= f->frame_count; i++)
        frames[i] = look_at_frame(f, i);
    for (size_t i = 1; i <= f->stack_count; i++) {
        uint64_t frame = f->stacks[i].frame;

        stacks[i] = add_caller(frames[frame <= f->frame_count ? frame : 0],
                               stacks[f->stacks[i].parent]);
    }
    free(frames);
    return stacks;
}

void known_leaks_apply(struct known_leaks *k, struct heap *h)
{
    unsigned char *may = look_at_stacks(h->frames);
    struct arena scratch = {0};

    for (size_t i = 0; i < h->stack_count; i++) {
        struct heap_stack *stack = &h->stacks[i];
        const char *what = NULL;

        if (stack->at.bytes && stack->number <= h->frames->stack_count && may[stack->number])
            what = known_leak(frames_stack(h->frames, &scratch, stack->number));
        if (what)
            leave_out(k, what, h, stack);
        if (i % 4096 == 4095) /* not all stacks at once */
            arena_free(&scratch);
    }
    arena_free(&scratch);
    free(may);
    if (k->count)
        heap_at_forget(h);
}
