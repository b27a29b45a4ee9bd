/* script - see script.h. */
#include "cli/script.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_MOST 256 /* as much as the kernel reads of a first line */

static bool is_python_file(const char *path)
{
    const char *dot = strrchr(path, '.');
    struct stat file;

    return dot && strcmp(dot, ".py") == 0 && stat(path, &file) == 0 && S_ISREG(file.st_mode);
}

/* As execvp looks for it. */
static bool is_in_path(struct arena *a, const char *name)
{
    const char *folders = getenv("PATH");

    for (const char *at = folders ? folders : "/bin:/usr/bin"; *at; at += *at == ':') {
        int n = (int)strcspn(at, ":");

        if (n && access(arena_printf(a, "%.*s/%s", n, at, name), X_OK) == 0)
            return true;
        at += n;
    }
    return false;
}

/* The first line without "#!", ended; NULL: it names no interpreter that is here. */
static char *read_first_line(struct arena *a, const char *path)
{
    char *line = arena_alloc(a, LINE_MOST), *word;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, line, LINE_MOST - 1);

    if (fd >= 0)
        close(fd);
    if (n < 3 || memcmp(line, "#!", 2) != 0)
        return NULL;
    line[n] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    line += 2 + strspn(line + 2, " \t");
    word = arena_strndup(a, line, strcspn(line, " \t"));
    return access(word, X_OK) == 0 ? line : NULL;
}

/* The interpreter's words, one or two as the kernel splits them; returns how many. */
static int split(struct arena *a, const char *line, char *words[2])
{
    size_t n = line ? strcspn(line, " \t") : 0;
    const char *rest = line ? line + n + strspn(line + n, " \t") : "";

    words[0] = line ? arena_strndup(a, line, n) : arena_strndup(a, "python3", 7);
    words[1] = arena_strndup(a, rest, strlen(rest));
    return *rest ? 2 : 1;
}

char **script_words(struct arena *a, char **argv, bool quiet)
{
    bool bare = !strchr(argv[0], '/');
    int count = 0, before;
    char **words, *line;

    if (!is_python_file(argv[0]) || (bare && is_in_path(a, argv[0])))
        return argv;
    line = read_first_line(a, argv[0]);
    if (line && !bare && access(argv[0], X_OK) == 0)
        return argv;
    while (argv[count])
        count++;
    words = arena_alloc(a, ((size_t)count + 3) * sizeof(*words));
    before = split(a, line, words);
    memcpy(words + before, argv, ((size_t)count + 1) * sizeof(*words));
    if (!quiet)
        fprintf(stderr, "tidemark: '%s' is run with %s%s%s\n", argv[0], words[0],
                before > 1 ? " " : "", before > 1 ? words[1] : "");
    return words;
}
