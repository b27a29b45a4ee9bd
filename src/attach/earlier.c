/* earlier - see earlier.h.
 *
 * Our memory in a process has a name and is gone when we have left. If it is still there, either a
 * call of ours has met a fault (its first word says so): whatever that held, it may still hold. Or
 * a thread is still on its way out of there. Or there was nobody left to take it away, which does
 * no harm.
 */
#include "attach/earlier.h"

#include "attach/candidates.h"
#include "attach/remote.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t first_word(int pid, uint64_t at)
{
    uint64_t word = 0;
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/mem", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (pread(fd, &word, sizeof(word), (off_t)at) != sizeof(word))
        word = 0;
    close(fd);
    return word;
}

static bool has_thread(int pid, uint64_t from, uint64_t to)
{
    char path[64];
    struct dirent *e;
    bool found = false;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    dir = opendir(path);
    while (dir && !found && (e = readdir(dir)) != NULL) {
        uint64_t stack = atoi(e->d_name) > 0 ? candidates_stack(pid, atoi(e->d_name)) : 0;

        found = stack >= from && stack < to;
    }
    if (dir)
        closedir(dir);
    return found;
}

static int check_one(int pid, uint64_t at, struct err *err)
{
    if (first_word(pid, at) == REMOTE_BROKEN)
        return err_code(err, 126,
                        "process %d cannot be attached to any more: an earlier attempt failed "
                        "inside it; restart it, perhaps with 'tidemark record'",
                        pid);
    if (has_thread(pid, at, at + REMOTE_SCRATCH_BYTES))
        return err_code(
            err, 126,
            "process %d is being attached to right now, or an earlier attempt has not finished "
            "inside it; try again later",
            pid);
    return 0;
}

int earlier_check(int pid, struct err *err)
{
    char path[64], line[4096];
    int failed = 0;
    uint64_t at;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    f = fopen(path, "re");
    while (f && !failed && fgets(line, sizeof(line), f))
        if (strstr(line, "/memfd:" REMOTE_SCRATCH) && sscanf(line, "%" SCNx64, &at) == 1)
            failed = check_one(pid, at, err);
    if (f)
        fclose(f);
    return failed;
}
