#include "resolve/resolve.h"

#include "base/memory.h"
#include "resolve/strings.h"
#include "resolve/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MS 180000 /* the longest wait: for a large file, or for debuginfod */
#define FAILURES_MOST 16 /* of the helper, each on a module of its own */

extern char **environ;

struct resolver {
    struct resolver_options options;
    struct strings strings;
    struct intmap failed; /* from the address of a kept path to that of a sentence */
    char helper[PATH_MAX];
    int socket; /* -1: the helper is not running */
    pid_t pid;
    int failures;
    char message[WIRE_MOST];
};

/* What is asked about. */
struct subject {
    const char *path, *id;
};

/* Beside the tool, as it was built, or where it is installed. */
static int find_helper(struct resolver *r, struct err *err)
{
    static const char *const places[] = {"", "/../lib/tidemark"};
    char tool[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", tool, sizeof(tool) - 1);
    const char *given = r->options.helper;

    tool[length > 0 ? length : 0] = 0;
    if (strrchr(tool, '/'))
        *strrchr(tool, '/') = 0;
    if (given && snprintf(r->helper, PATH_MAX, "%s", given) < PATH_MAX && access(given, X_OK) == 0)
        return 0;
    for (size_t i = 0; !given && i < sizeof(places) / sizeof(places[0]); i++) {
        int n = snprintf(r->helper, PATH_MAX, "%s%s/tidemark-resolve", tool, places[i]);

        if (n < PATH_MAX && access(r->helper, X_OK) == 0)
            return 0;
    }
    return err_set(err, "tidemark-resolve, which names functions, is not beside the tool: %s.",
                   r->helper);
}

static const char **arguments_of(const struct resolver *r)
{
    size_t count = 0;
    const char **argv = memory_zeroed((r->options.debug_directory_count + 3) * sizeof(*argv));

    argv[count++] = "tidemark-resolve";
    if (r->options.ask_debuginfod)
        argv[count++] = "--debuginfod";
    for (size_t i = 0; i < r->options.debug_directory_count; i++)
        argv[count++] = r->options.debug_directories[i];
    return argv;
}

/* Signals that the tool blocks are not blocked in the helper; its words go nowhere. */
static int spawn(struct resolver *r, int socket)
{
    const char **argv = arguments_of(r);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none;
    int failed;

    sigemptyset(&none);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, socket, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    failed = posix_spawn(&r->pid, r->helper, &files, &how, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    free(argv);
    return failed ? -1 : 0;
}

static bool start(struct resolver *r)
{
    int pair[2];
    int failed;

    if (r->socket >= 0)
        return true;
    if (r->failures > FAILURES_MOST ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    failed = spawn(r, pair[1]);
    close(pair[1]);
    if (failed)
        close(pair[0]);
    else
        r->socket = pair[0];
    return !failed;
}

static void stop(struct resolver *r, bool at_once)
{
    if (r->socket < 0)
        return;
    close(r->socket); /* the helper ends when it sees this */
    r->socket = -1;
    if (at_once)
        kill(r->pid, SIGKILL);
    while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

struct resolver *resolver_create(const struct resolver_options *o, struct err *err)
{
    struct resolver *r = memory_zeroed(sizeof(*r));

    r->socket = -1;
    if (o)
        r->options = *o;
    if (find_helper(r, err) < 0) {
        free(r);
        return NULL;
    }
    return r;
}

void resolver_free(struct resolver *r)
{
    if (!r)
        return;
    stop(r, false);
    intmap_free(&r->failed);
    strings_free(&r->strings);
    free(r);
}

static void append(struct resolver *r, size_t *used, const void *bytes, size_t size)
{
    if (size)
        memcpy(r->message + *used, bytes, size);
    *used += size;
}

static bool ask(struct resolver *r, const struct subject *m, const uint64_t *addresses,
                size_t count, int most)
{
    struct wire_question head = {.addresses = (uint32_t)count, .most = (uint32_t)most};
    size_t path_bytes = strlen(m->path), id_bytes = m->id ? strlen(m->id) : 0, used = 0;

    if (path_bytes >= PATH_MAX || id_bytes >= 256)
        return false;
    head.path_bytes = (uint32_t)path_bytes;
    head.id_bytes = (uint32_t)id_bytes;
    append(r, &used, &head, sizeof(head));
    append(r, &used, addresses, count * sizeof(*addresses));
    append(r, &used, m->path, path_bytes);
    append(r, &used, m->id, id_bytes);
    return send(r->socket, r->message, used, MSG_NOSIGNAL) > 0;
}

/* The length of the answer; 0 when the helper is gone or too late. */
static size_t hear(struct resolver *r)
{
    struct pollfd ready = {.fd = r->socket, .events = POLLIN};
    ssize_t n;
    int got;

    do
        got = poll(&ready, 1, ANSWER_MS);
    while (got < 0 && errno == EINTR);
    n = got > 0 ? recv(r->socket, r->message, sizeof(r->message), 0) : 0;
    return n > 0 ? (size_t)n : 0;
}

static const char *keep(struct resolver *r, size_t at, size_t bytes)
{
    char text[WIRE_MOST];

    memcpy(text, r->message + at, bytes);
    text[bytes] = 0;
    return strings_keep(&r->strings, text);
}

/* The names of the next address of the answer, which *at moves behind; -1 when it has no more. */
static int next_names(struct resolver *r, size_t size, size_t *at, struct resolved_name *out,
                      int most)
{
    uint32_t count;

    if (size - *at < sizeof(count))
        return -1;
    memcpy(&count, r->message + *at, sizeof(count));
    *at += sizeof(count);
    if (count > (uint32_t)most)
        return -1;
    for (uint32_t n = 0; n < count; n++) {
        struct wire_name name;

        if (size - *at < sizeof(name))
            return -1;
        memcpy(&name, r->message + *at, sizeof(name));
        *at += sizeof(name);
        if (name.function_bytes > size - *at || name.file_bytes > size - *at - name.function_bytes)
            return -1;
        out[n].function = keep(r, *at, name.function_bytes);
        *at += name.function_bytes;
        out[n].file = keep(r, *at, name.file_bytes);
        *at += name.file_bytes;
        out[n].line = name.line;
    }
    return (int)count;
}

/* The helper broke down over this module: go on without the module. */
static void give_up(struct resolver *r, const char *path)
{
    const char *kept = strings_keep(&r->strings, path);
    char *text = arena_printf(&r->strings.arena,
                              "%s could not be read to its end, so its functions have no names.",
                              path);

    stop(r, true);
    r->failures++;
    if (kept)
        intmap_put(&r->failed, (uint64_t)(uintptr_t)kept, (uint64_t)(uintptr_t)text);
}

static const char *failure(struct resolver *r, const char *path)
{
    const char *kept = r->failures ? strings_keep(&r->strings, path) : NULL;
    uint64_t text;

    if (!kept || !intmap_get(&r->failed, (uint64_t)(uintptr_t)kept, &text))
        return NULL;
    return (const char *)(uintptr_t)text;
}

/* The length of the helper's answer; 0 when there is none. */
static size_t exchange(struct resolver *r, const struct subject *m, const uint64_t *addresses,
                       size_t count, int most)
{
    size_t size;

    if (!m->path || !m->path[0] || failure(r, m->path) || !start(r))
        return 0;
    size = ask(r, m, addresses, count, most) ? hear(r) : 0;
    if (size == 0)
        give_up(r, m->path);
    return size;
}

int resolver_address(struct resolver *r, const char *module_path, const char *build_id_hex,
                     uint64_t address, struct resolved_name *out, int most)
{
    struct subject m = {module_path, build_id_hex};
    size_t size, at = 0;
    int count;

    most = most < WIRE_NAMES_MOST ? most : WIRE_NAMES_MOST;
    if (most <= 0)
        return 0;
    size = exchange(r, &m, &address, 1, most);
    count = next_names(r, size, &at, out, most);
    return count > 0 ? count : 0;
}

void resolver_addresses(struct resolver *r, const char *module_path, const char *build_id_hex,
                        const uint64_t *addresses, size_t count,
                        void (*each)(void *to, size_t index, const struct resolved_name *names,
                                     int name_count),
                        void *to)
{
    struct subject m = {module_path, build_id_hex};
    struct resolved_name names[WIRE_NAMES_MOST];

    for (size_t i = 0; i < count;) {
        size_t left = count - i, at = 0;
        size_t asked = left < WIRE_ADDRESSES_MOST ? left : WIRE_ADDRESSES_MOST;
        size_t size = exchange(r, &m, addresses + i, asked, WIRE_NAMES_MOST), end = i + asked;
        int found = next_names(r, size, &at, names, WIRE_NAMES_MOST);

        each(to, i++, names, found > 0 ? found : 0);
        while (i < end && (found = next_names(r, size, &at, names, WIRE_NAMES_MOST)) >= 0)
            each(to, i++, names, found);
    }
}

const char *resolver_problem(struct resolver *r, const char *module_path)
{
    struct subject m = {module_path, NULL};
    struct resolved_name sentence;
    size_t size, at = 0;

    if (failure(r, module_path))
        return failure(r, module_path);
    size = exchange(r, &m, NULL, 0, 1);
    return next_names(r, size, &at, &sentence, 1) == 1 ? sentence.function : NULL;
}
