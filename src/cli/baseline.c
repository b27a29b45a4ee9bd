/* baseline - see baseline.h. A name becomes a file's name: characters that mean something in a
 * path, here or on other systems, become '_'.
 */
#include "cli/baseline.h"

#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWN_FAILURE 125

const char *baseline_directory(struct arena *a, const char *given)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (given)
        return given;
    if (cache && *cache)
        return arena_printf(a, "%s/tidemark/baselines", cache);
    if (home && *home)
        return arena_printf(a, "%s/.cache/tidemark/baselines", home);
    return "./.tidemark-baselines";
}

const char *baseline_path(struct arena *a, const char *directory, const char *name, struct err *err)
{
    char *clean = arena_strndup(a, name, strlen(name));

    if (!name[strspn(name, ".")]) {
        err_code(err, 2, "Invalid baseline name '%s': it needs at least one character besides dots",
                 name);
        return NULL;
    }
    for (char *s = clean; *s; s++)
        if (strchr("/\\:*?\"<>|", *s))
            *s = '_';
    return arena_printf(a, "%s/%s.json", directory, clean);
}

/* mkdir -p. */
static int make_directory(const char *path)
{
    char part[4096];
    size_t len = strlen(path);

    if (len >= sizeof(part)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(part, path, len + 1);
    for (char *s = part + 1; *s; s++) {
        if (*s != '/')
            continue;
        *s = '\0';
        if (mkdir(part, 0777) < 0 && errno != EEXIST)
            return -1;
        *s = '/';
    }
    return mkdir(part, 0777) < 0 && errno != EEXIST ? -1 : 0;
}

int baseline_prepare(const char *directory, struct err *err)
{
    if (make_directory(directory) < 0 || access(directory, W_OK | X_OK) < 0)
        return err_code(err, OWN_FAILURE, "cannot write baselines into '%s': %s", directory,
                        strerror(errno));
    return 0;
}

int baseline_save(const char *path, const struct baseline *b, struct err *err)
{
    FILE *out = fopen(path, "we");
    struct emit j = {.out = out};
    int failed;

    if (!out)
        return err_code(err, OWN_FAILURE, "cannot write '%s': %s", path, strerror(errno));
    baseline_json(&j, b);
    failed = ferror(out);
    if (fclose(out) || failed)
        return err_code(err, OWN_FAILURE, "cannot write '%s': %s", path, strerror(errno));
    return 0;
}

static const char *text_at(struct arena *a, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_string(value) ? arena_printf(a, "%s", json_string_value(value)) : NULL;
}

static bool number_at(const json_t *object, const char *key, uint64_t *out)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

int baseline_load(struct arena *a, const char *path, const char *name, struct baseline *out,
                  struct err *err)
{
    json_error_t why;
    json_t *file, *metadata;
    uint64_t pid;
    bool whole;

    if (access(path, R_OK) < 0)
        return err_code(err, OWN_FAILURE, "there is no baseline '%s' (%s: %s); save one first",
                        name, path, strerror(errno));
    file = json_load_file(path, 0, &why);
    metadata = json_object_get(file, "metadata");
    *out = (struct baseline){
        .version = text_at(a, file, "version"),
        .created_at = text_at(a, file, "created_at"),
        .command = text_at(a, file, "command"),
        .platform = text_at(a, metadata, "platform"),
        .arch = text_at(a, metadata, "arch"),
        .main_pid = number_at(metadata, "main_pid", &pid) ? (int64_t)pid : -1,
    };
    whole = number_at(file, "peak_rss_bytes", &out->peak_rss) &&
            number_at(file, "duration_ms", &out->duration_ms) && out->command;
    if (!number_at(file, "peak_vsz_bytes", &out->peak_vsz))
        out->peak_vsz = ABSENT;
    json_decref(file);
    if (!whole)
        return err_code(err, OWN_FAILURE,
                        "the baseline '%s' cannot be read (%s: %s); save it again", name, path,
                        file ? "a number or the command is missing" : why.text);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t baseline_list(struct arena *a, const char *directory, const char ***names)
{
    DIR *dir = opendir(directory);
    size_t count = 0, room = 0;
    struct dirent *e;

    *names = NULL;
    while (dir && (e = readdir(dir)) != NULL) {
        size_t len = strlen(e->d_name);

        if (len <= 5 || strcmp(e->d_name + len - 5, ".json"))
            continue;
        arena_fit(a, *names, room, count + 1);
        (*names)[count++] = arena_strndup(a, e->d_name, len - 5);
    }
    if (dir)
        closedir(dir);
    memory_sort(*names, count, sizeof(**names), by_name);
    return count;
}
