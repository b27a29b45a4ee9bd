/* guard_calls - see guard_calls.h. All of these take up to six words, so that one function passes
 * them on. */
#include "inject/guard_calls.h"

#include "inject/confine.h"
#include "inject/guard.h"
#include "inject/guard_calls_list.h"
#include "inject/real.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define SOME 65536u /* bytes at least that are opened for what has a size of its own */
#define PIECES_MOST 1024
#define CLONE3 435 /* as older headers do not have */
#define IO_URING_SETUP 425

typedef long call_function(long, long, long, long, long, long);

enum {
#define X(name, ...) CALL_##name,
    CALLS(X)
#undef X
        CALL_COUNT
};
_Static_assert(CALL_COUNT <= GUARD_CALLS_MOST, "room for all in got.c");

static const struct row {
    const char *name;
    enum guard_call kind;
    int first, second, third;
} rows[] = {
#define X(name, ...) {#name, __VA_ARGS__},
    CALLS(X)
#undef X
};

static uintptr_t reals[CALL_COUNT];
static guard_calls_written *told;

/* ---- what one call writes into ---- */

struct pieces { /* of memory, one after the other */
    uint64_t pinned;
    size_t left; /* bytes that the kernel has written, while they are told */
    const char *name;
    struct caller caller;
};

typedef void take_piece(struct pieces *p, const void *at, size_t bytes);

static void open_piece(struct pieces *p, const void *at, size_t bytes)
{
    guard_pin((uintptr_t)at, bytes, &p->pinned);
}

static void tell_piece(struct pieces *p, const void *at, size_t bytes)
{
    size_t written = bytes < p->left ? bytes : p->left;

    p->left -= written;
    if (written)
        told((uintptr_t)at, written, p->name, p->caller);
}

static void for_vector(const struct iovec *v, size_t count, struct pieces *p, take_piece *take)
{
    for (size_t i = 0; v && i < count && i < PIECES_MOST; i++)
        take(p, v[i].iov_base, v[i].iov_len);
}

static void for_message(const struct msghdr *m, struct pieces *p, take_piece *take)
{
    for_vector(m->msg_iov, m->msg_iovlen, p, take);
    if (take != open_piece)
        return;
    open_piece(p, m, sizeof(*m));
    open_piece(p, m->msg_name, m->msg_namelen);
    open_piece(p, m->msg_control, m->msg_controllen);
}

static void for_messages(const struct mmsghdr *m, size_t count, struct pieces *p, take_piece *take)
{
    for (size_t i = 0; m && i < count && i < PIECES_MOST; i++) {
        p->left = take == tell_piece ? m[i].msg_len : 0;
        for_message(&m[i].msg_hdr, p, take);
    }
    if (take == open_piece)
        open_piece(p, m, count * sizeof(*m));
}

static void for_places(const struct row *r, const long *a, struct pieces *p, bool after)
{
    for (int i = 0; i < 6; i++) {
        if (!(r->first >> i & 1) || (unsigned long)a[i] < ARCH_PAGE_LEAST)
            continue;
        if (after)
            told((uintptr_t)a[i], 0, r->name, p->caller);
        else
            open_piece(p, (const void *)a[i], SOME);
    }
}

static void for_all(const struct row *r, const long *a, struct pieces *p, take_piece *take)
{
    const void *at = (const void *)a[r->first < 6 ? r->first : 0];
    size_t second = (size_t)a[r->second];

    if (r->kind == BUFFER)
        take(p, at, r->first == 1 && r->second == 2 ? second + 8 : second); /* msgrcv: its type */
    else if (r->kind == QUIET && take == open_piece)
        take(p, at, second);
    else if (r->kind == ITEMS)
        take(p, at, second * (size_t)a[r->third]);
    else if (r->kind == VECTOR)
        for_vector(at, second, p, take);
    else if (r->kind == MESSAGE && at)
        for_message(at, p, take);
    else if (r->kind == MESSAGES)
        for_messages(at, second < PIECES_MOST ? second : PIECES_MOST, p, take);
    else if (r->kind == PLACES)
        for_places(r, a, p, take == tell_piece);
}

/* How many bytes a call that has gone well has written; what does not say so has written all. */
static size_t written_by(const struct row *r, const long *a, long result)
{
    size_t second = (size_t)a[r->second];

    if (r->kind == ITEMS)
        return second * (size_t)result;
    if (r->kind != BUFFER)
        return (size_t)result;
    return result > 0 && (size_t)result <= second + 8 ? (size_t)result : second;
}

static bool has_failed(const struct row *r, long result)
{
    if (r->kind == ITEMS)
        return !result;
    return r->kind == BUFFER && r->second == 2 ? result <= 0 : (int)result < 0;
}

/* ---- the hooks ---- */

static void give(const struct row *r, const long *a)
{
    if (r->kind == GIVEN_ALL)
        guard_release(0, UINTPTR_MAX, RING_WHY_RING);
    else if (r->kind == GIVEN && a[r->first])
        guard_release((uintptr_t)a[r->first], r->second == 1 ? SOME : (size_t)a[r->second],
                      RING_WHY_TAKEN);
}

struct opened { /* for one call */
    struct pieces pieces;
    int kept; /* errno */
};

static void before(struct opened *o, const struct row *r, const long *a)
{
    o->kept = errno;
    give(r, a);
    for_all(r, a, &o->pieces, open_piece);
    errno = o->kept;
}

static void after(struct opened *o, const struct row *r, const long *a, long result)
{
    o->kept = errno;
    guard_unpin(o->pieces.pinned);
    if (o->pieces.pinned && !has_failed(r, result)) {
        o->pieces.left = written_by(r, a, result);
        for_all(r, a, &o->pieces, tell_piece);
    }
    errno = o->kept;
}

static long through(unsigned int call, const long *a, struct caller c)
{
    const struct row *r = &rows[call];
    call_function *real_call = (call_function *)reals[call];
    struct opened o = {.pieces = {.name = r->name, .caller = c}};
    long result;

    if (!guard_any())
        return real_call(a[0], a[1], a[2], a[3], a[4], a[5]);
    before(&o, r, a);
    result = real_call(a[0], a[1], a[2], a[3], a[4], a[5]);
    after(&o, r, a, result);
    return result;
}

#define X(name, ...)                                                                               \
    static long our_##name(long a, long b, long c, long d, long e, long f)                         \
    {                                                                                              \
        const long words[6] = {a, b, c, d, e, f};                                                  \
                                                                                                   \
        return through(CALL_##name, words, CALLER());                                              \
    }
CALLS(X)
#undef X

static const uintptr_t ours[] = {
#define X(name, ...) (uintptr_t) our_##name,
    CALLS(X)
#undef X
};

/* ---- by number ---- */

/* What a number does is what the function of that name does; of others each argument may be a
 * place. */
static const struct row *row_of_number(long number)
{
    static const struct row others = {"syscall", PLACES, 63, 0, 0};
    static const struct {
        long number;
        unsigned int call;
    } known[] = {{SYS_read, CALL_read},
                 {SYS_pread64, CALL_pread64},
                 {SYS_readv, CALL_readv},
                 {SYS_preadv, CALL_preadv},
                 {SYS_recvfrom, CALL_recvfrom},
                 {SYS_recvmsg, CALL_recvmsg},
                 {SYS_recvmmsg, CALL_recvmmsg},
                 {SYS_getrandom, CALL_getrandom},
                 {SYS_process_vm_readv, CALL_process_vm_readv},
                 {SYS_process_vm_writev, CALL_process_vm_writev},
                 {SYS_madvise, CALL_madvise},
                 {SYS_io_submit, CALL_io_submit},
                 {IO_URING_SETUP, CALL_io_uring_setup}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].number == number)
            return &rows[known[i].call];
    return &others;
}

/* Comes back on another stack, or never: no frame of ours may stand below it. */
static bool is_plain(long number)
{
    static const short plain[] = {SYS_clone, SYS_futex, SYS_exit, SYS_exit_group, SYS_gettid,
#ifdef SYS_vfork
                                  SYS_vfork, SYS_fork,
#endif
                                  CLONE3};

    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        if (plain[i] == number)
            return true;
    return false;
}

static OUTLINE long syscall_watched(long number, long a, long b, long c, long d, long e, long f)
{
    const long words[6] = {a, b, c, d, e, f};
    const struct row *r = row_of_number(number);
    struct opened o = {.pieces = {.name = r->name, .caller = CALLER()}};
    long result;

    before(&o, r, words);
    result = real.syscall(number, a, b, c, d, e, f);
    after(&o, r, words, result);
    return result;
}

static long our_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (!guard_any() || is_plain(number))
        return ((system_call_function *)real.syscall)(number, a, b, c, d, e, f);
    return syscall_watched(number, a, b, c, d, e, f);
}

/* ---- start ---- */

void guard_calls_start(guard_calls_written *written)
{
    if (told)
        return;
    real_now();
    for (size_t i = 0; i < CALL_COUNT && real.dlsym; i++)
        reals[i] = (uintptr_t)real.dlsym(RTLD_DEFAULT, rows[i].name);
    told = written;
    confine_next = our_syscall;
}

bool guard_calls_hook(size_t place, struct got_hook *hook, uintptr_t *function)
{
    if (!told || place >= CALL_COUNT)
        return false;
    *hook = (struct got_hook){.name = rows[place].name, .ours = ours[place], .first = true};
    *function = reals[place];
    return true;
}

uintptr_t guard_calls_ours(uintptr_t found)
{
    for (size_t i = 0; found && told && i < CALL_COUNT; i++)
        if (reals[i] == found)
            return ours[i];
    return found;
}
