/* unsafe - see unsafe.h. */
#include "attach/unsafe.h"

#include "arch/arch.h"
#include "arch/stopped.h"
#include "base/count.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define WORDS_RUNNING 512u
#define WORDS_LOCKED 64u
#define WORDS_NEAR 8u
#define LOOKS_MOST 20u   /* some milliseconds apart */
#define THREAD_TOP 1024u /* bytes below the thread's own data: where it was started */

static void add_range(struct unsafe *u, uint64_t from, uint64_t to)
{
    if (u->count < UNSAFE_RANGES_MOST && from < to)
        u->ranges[u->count++] = (struct unsafe_range){from, to};
}

static void add_calling(struct unsafe *u, const struct loaded_object *o)
{
    if (u->calling_count < UNSAFE_RANGES_MOST)
        u->calling[u->calling_count++] = (struct unsafe_range){o->code_from, o->code_to};
}

static void add_functions(struct unsafe *u, const struct loaded_object *o)
{
    static const char *const names[] = {"malloc",
                                        "free",
                                        "calloc",
                                        "realloc",
                                        "memalign",
                                        "posix_memalign",
                                        "aligned_alloc",
                                        "valloc",
                                        "pvalloc",
                                        "malloc_trim",
                                        "malloc_usable_size",
                                        "mallopt",
                                        "mallinfo",
                                        "mallinfo2",
                                        "malloc_info",
                                        "malloc_stats",
                                        "reallocarray",
                                        "dlopen",
                                        "dlclose",
                                        "dlsym",
                                        "dlvsym",
                                        "dlmopen",
                                        "dlinfo",
                                        "dladdr",
                                        "dladdr1",
                                        "dlerror",
                                        "dl_iterate_phdr",
                                        "_dl_find_object",
                                        "pthread_create",
                                        "pthread_exit",
                                        "pthread_atfork",
                                        "__register_atfork",
                                        "pthread_getattr_np",
                                        "pthread_key_create",
                                        "fork",
                                        "_Fork",
                                        "vfork",
                                        "__libc_freeres",
                                        "exit",
                                        "__cxa_finalize",
                                        "__cxa_thread_atexit_impl",
                                        "__nptl_free_tcb",
                                        "__nptl_deallocate_stack",
                                        "__nptl_stack_list_add"};
    uint64_t from, to;

    for (int i = 0; i < COUNT(names); i++)
        if (loaded_around(o, names[i], &from, &to))
            add_range(u, from, to);
}

/* Functions of our library that wait for the program, and hold nothing meanwhile. */
static void add_waits(struct unsafe *u, const struct loaded_object *o)
{
    static const char *const names[] = {
        "poll",       "__poll_chk", "ppoll",         "__ppoll_chk",   "select", "pselect",
        "nanosleep",  "thrd_sleep", "sleep",         "usleep",        "pause",  "clock_nanosleep",
        "sigsuspend", "msgrcv",     "sem_timedwait", "sem_clockwait", "msgsnd"};

    for (size_t i = 0; i < o->symbol_count; i++) {
        const struct loaded_symbol *f = &o->symbols[i];
        bool waits = false;

        for (int k = 0; k < COUNT(names); k++)
            waits |= strcmp(f->name, names[k]) == 0;
        if (waits && u->waits_count < UNSAFE_RANGES_MOST)
            u->waits[u->waits_count++] = (struct unsafe_range){f->at, f->at + f->bytes};
    }
}

/* The loader, our own library, the allocator and what creates threads and processes in libc, and an
 * allocator that the program has instead.
 */
void unsafe_find(struct unsafe *u, const struct loaded *l)
{
    *u = (struct unsafe){0};
    for (size_t i = 0; i < l->count; i++) {
        const struct loaded_object *o = &l->objects[i];
        size_t before = u->count;

        if (loaded_symbol(o, "gnu_get_libc_version"))
            loaded_around(o, "__libc_start_main", &u->start.from, &u->start.to);
        if (loaded_symbol(o, "__tls_get_addr") || loaded_symbol(o, "tidemark_join"))
            add_range(u, o->code_from, o->code_to);
        else if (loaded_symbol(o, "gnu_get_libc_version") || i == 0)
            add_functions(u, o);
        else if (loaded_symbol(o, "malloc"))
            add_range(u, o->code_from, o->code_to);
        if (loaded_symbol(o, "tidemark_join"))
            add_waits(u, o);
        if (u->count > before)
            add_calling(u, o);
    }
}

static bool is_in(const struct unsafe_range *ranges, size_t count, uint64_t pc)
{
    for (size_t i = 0; i < count; i++)
        if (pc >= ranges[i].from && pc < ranges[i].to)
            return true;
    return false;
}

/* The system call that a thread was waiting in when it was stopped; -1: it was running. */
static long waited_in(const struct user_regs_struct *x)
{
    static const int left_by[] = {EINTR, 512, 513, 514, 516}; /* ERESTARTSYS and its kin */

    for (int i = 0; i < COUNT(left_by); i++)
        if (arch_call_result(x) == -left_by[i])
            return arch_call_number(x);
    return -1;
}

/* Code of the program itself that is running, called by nobody whom we know. */
static bool is_program(const struct unsafe *u, const struct user_regs_struct *x)
{
    return waited_in(x) < 0 && !is_in(u->calling, u->calling_count, arch_program_counter(x));
}

static bool is_unsafe(const struct unsafe *u, uint64_t pc)
{
    return is_in(u->ranges, u->count, pc) && !is_in(u->waits, u->waits_count, pc);
}

static bool follows_a_call(const struct loaded *l, uint64_t pc)
{
    unsigned char before[ARCH_CALL_BYTES];
    uintptr_t target;

    return loaded_read(l, pc - sizeof(before), before, sizeof(before)) &&
           arch_call(before, pc, &target) != ARCH_CALL_NONE;
}

static bool is_file(int pid, uint64_t fd)
{
    struct stat s;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, (int)fd);
    return stat(path, &s) < 0 || S_ISREG(s.st_mode);
}

/* How much of its stack must be free of unsafe code. Allocators and loaders wait for locks and for
 * files, never for anything else; their way into a lock is short. A thread that was running may be
 * in a function of the same object that they call: that is not far, either. Of other code the
 * loader calls what resolves a symbol, directly; what it calls else may load a library. Looking
 * further would find what is left over from calls long ago.
 */
static size_t words_to_check(const struct unsafe *u, int pid, const struct user_regs_struct *x)
{
    switch (waited_in(x)) {
    case -1:
        return is_program(u, x) ? WORDS_NEAR : WORDS_RUNNING;
    case SYS_read:
        return is_file(pid, arch_first_argument(x)) ? WORDS_LOCKED : 1;
    case SYS_futex:
    case SYS_open:
    case SYS_openat:
        return WORDS_LOCKED;
    default:
        return 1;
    }
}

/* Is the word the end of the stack, beyond which the loader has left what it did before main? */
static bool is_outermost(const struct unsafe *u, const struct loaded *l,
                         const struct user_regs_struct *x, size_t i, uint64_t word)
{
    uint64_t at = arch_stack_pointer(x) + i * 8, own = arch_thread_data(x);

    if (word >= u->start.from && word < u->start.to && follows_a_call(l, word))
        return true;
    return i >= WORDS_NEAR && at < own && at + THREAD_TOP > own;
}

/* Has the word stood there for so long that what is running can be nothing that the loader calls to
 * resolve a symbol? Then it is left over from an earlier call.
 */
static bool is_left_over(struct unsafe *u, uint64_t at, uint64_t word)
{
    struct unsafe_word *w = &u->words[at / 8 % UNSAFE_WORDS];

    if (w->at != at || w->word != word)
        *w = (struct unsafe_word){.at = at, .word = word};
    return ++w->seen > LOOKS_MOST;
}

/* Anything there that looks like a return into unsafe code counts, even if it is an old one. */
bool unsafe_is_elsewhere(struct unsafe *u, const struct loaded *l, const struct user_regs_struct *x)
{
    uint64_t words[WORDS_RUNNING], sp = arch_stack_pointer(x);
    size_t count = words_to_check(u, l->pid, x);
    bool program = is_program(u, x);

    if (is_unsafe(u, arch_program_counter(x)))
        return false;
    while (count && !loaded_read(l, sp, words, count * 8))
        count /= 2; /* the stack ends earlier */
    for (size_t i = 0; i < count && !is_outermost(u, l, x, i, words[i]); i++)
        if (is_unsafe(u, words[i]) && follows_a_call(l, words[i]) &&
            !(program && is_left_over(u, sp + i * 8, words[i])))
            return false;
    return true;
}
