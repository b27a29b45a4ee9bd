/* scope - see scope.h. */
#include "model/scope.h"
#include "base/count.h"
#include "base/text.h"
#include "model/plumbing.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

/* The modules of Python's standard library that have a file, of 3.9 to 3.14. */
static const char library[] =
    " __future__ __hello__ __phello__ _aix_support _android_support _apple_support _ast_unparse "
    "_bootsubprocess _collections_abc _colorize _compat_pickle _compression _ios_support "
    "_markupbase _opcode_metadata _osx_support _py_abc _py_warnings _pydatetime _pydecimal _pyio "
    "_pylong _pyrepl _sitebuiltins _strptime _sysconfigdata _threading_local _weakrefset abc aifc "
    "annotationlib antigravity argparse ast asynchat asyncio asyncore base64 bdb binhex bisect bz2 "
    "cProfile calendar cgi cgitb chunk cmd code codecs codeop collections colorsys compileall "
    "compression concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes "
    "curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings "
    "ensurepip enum filecmp fileinput fnmatch formatter fractions ftplib functools genericpath "
    "getopt getpass gettext glob graphlib gzip hashlib heapq hmac html http idlelib imaplib imghdr "
    "imp importlib inspect io ipaddress json keyword lib2to3 linecache locale logging lzma mailbox "
    "mailcap mimetypes modulefinder msilib multiprocessing netrc nntplib ntpath nturl2path numbers "
    "opcode operator optparse os parser pathlib pdb pickle pickletools pipes pkgutil platform "
    "plistlib poplib posixpath pprint profile pstats pty py_compile pyclbr pydoc pydoc_data queue "
    "quopri random re reprlib rlcompleter runpy sched secrets selectors shelve shlex shutil signal "
    "site sitecustomize smtpd smtplib sndhdr socket socketserver sqlite3 sre_compile sre_constants "
    "sre_parse ssl stat statistics string stringprep struct subprocess sunau symbol symtable "
    "sysconfig tabnanny tarfile telnetlib tempfile test textwrap this threading timeit tkinter "
    "token tokenize tomllib trace traceback tracemalloc tty turtle turtledemo types typing "
    "unittest urllib uu uuid venv warnings wave weakref webbrowser wsgiref xdrlib xml xmlrpc "
    "zipapp zipfile zipimport zoneinfo ";

/* ---- paths ---- */

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, const char *with)
{
    size_t n = strlen(text), m = strlen(with);

    return n >= m && strcmp(text + n - m, with) == 0;
}

/* Is text[0..n) that word? */
static bool is_word(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && strncmp(text, word, n) == 0;
}

/* Is the first part of this path a module of the library? Its ending is left aside. */
static bool in_library(const char *path)
{
    size_t n = strcspn(path, "/");
    char word[66];

    if (path[n] == '\0') {
        const char *dot = memchr(path, '.', n);

        n = dot ? (size_t)(dot - path) : n;
    }
    if (starts(path, "_sysconfigdata_"))
        return true;
    if (n == 0 || n > sizeof(word) - 3)
        return false;
    word[0] = ' ';
    memcpy(word + 1, path, n);
    word[n + 1] = ' ';
    word[n + 2] = '\0';
    return strstr(library, word) != NULL;
}

/* "python3", "python3.11", "python3.13t", "pypy3.10", "python311.zip" */
static bool is_python_folder(const char *part, size_t n)
{
    size_t at = n > 6 && strncmp(part, "python", 6) == 0 ? 6
              : n > 4 && strncmp(part, "pypy", 4) == 0   ? 4
                                                         : 0;

    if (!at || !isdigit((unsigned char)part[at]))
        return false;
    while (at < n && (isdigit((unsigned char)part[at]) || part[at] == '.'))
        at++;
    return at == n || is_word(part + at, n - at, "t") || is_word(part + at, n - at, "td") ||
           is_word(part + at, n - at, "zip");
}

static bool is_library_folder(const char *part, size_t n)
{
    return is_word(part, n, "lib") || is_word(part, n, "lib64") || is_word(part, n, "Lib");
}

/* What interpreters install, as far as the folders of a path say it. */
static enum scope_kind of_folders(const char *path)
{
    const char *before = "";
    size_t before_length = 0, n;

    for (const char *part = path; *part; part += n + 1) {
        bool python = is_python_folder(before, before_length);

        n = strcspn(part, "/");
        if (!part[n])
            break;
        if ((is_word(part, n, "site-packages") || is_word(part, n, "dist-packages")) &&
            (python || is_library_folder(before, before_length)))
            return SCOPE_PACKAGES;
        if (is_python_folder(part, n) &&
            (is_library_folder(before, before_length) || part[n - 1] == 'p') &&
            in_library(part + n + 1))
            return SCOPE_LIBRARY;
        before = part;
        before_length = n;
    }
    return SCOPE_OWN;
}

/* ---- rules ---- */

bool scope_matches(const char *pattern, const char *path)
{
    if (!strpbrk(pattern, "*?["))
        return strstr(path, pattern) != NULL;
    if (fnmatch(pattern, path, 0) == 0)
        return true;
    for (const char *end = strchr(path, '/'); end; end = strchr(end + 1, '/'))
        if (fnmatch(pattern, end + 1, 0) == 0)
            return true;
    return false;
}

static bool any_matches(const char *const *patterns, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (scope_matches(patterns[i], path))
            return true;
    return false;
}

/* --only brings in what it names, also from elsewhere. */
static enum scope_kind apply(const struct scope *s, const char *file, enum scope_kind kind)
{
    const struct scope_rules *r = s->rules;

    if (!r)
        return kind;
    if (any_matches(r->exclude, r->exclude_count, file))
        return SCOPE_LEFT_OUT;
    if (r->only_count)
        return any_matches(r->only, r->only_count, file) ? SCOPE_OWN
             : kind == SCOPE_OWN                         ? SCOPE_LEFT_OUT
                                                         : kind;
    return r->all ? SCOPE_OWN : kind;
}

void scope_command(struct scope *s, const char *command)
{
    scope_programs_command(&s->programs, command);
}

void scope_program(struct scope *s, const char *file)
{
    scope_programs_file(&s->programs, file);
}

static bool is_root(const struct scope *s, const char *path, size_t n)
{
    for (size_t i = 0; i < s->root_count; i++)
        if (strlen(s->roots[i]) == n + 1 && strncmp(s->roots[i], path, n) == 0)
            return true;
    return false;
}

/* PREFIX of PREFIX/lib/python3.11/site-packages/... */
static void learn_prefix(struct scope *s, const char *file)
{
    const char *lib = of_folders(file) == SCOPE_PACKAGES ? strstr(file, "/lib/python") : NULL;

    if (!lib || s->prefix_count == SCOPE_PREFIXES_MOST)
        return;
    for (size_t i = 0; i < s->prefix_count; i++)
        if (strlen(s->prefixes[i]) == (size_t)(lib - file) &&
            strncmp(s->prefixes[i], file, (size_t)(lib - file)) == 0)
            return;
    s->prefixes[s->prefix_count++] = arena_printf(s->arena, "%.*s", (int)(lib - file), file);
}

void scope_learn(struct scope *s, const char *file)
{
    static const char *const signs[] = {"/encodings/__init__.py", "/_collections_abc.py"};

    for (int i = 0; i < COUNT(signs); i++) {
        size_t n = strlen(file) - strlen(signs[i]);

        if (ends(file, signs[i]) && n && s->root_count < SCOPE_ROOTS_MOST && !is_root(s, file, n))
            s->roots[s->root_count++] = arena_printf(s->arena, "%.*s/", (int)n, file);
    }
    learn_prefix(s, file);
}

void scope_free(struct scope *s)
{
    scope_programs_free(&s->programs);
}

static bool is_typed(const struct scope *s, const char *file)
{
    return starts(file, "<stdin") || starts(file, "<ipython-input") ||
           starts(file, "<python-input") ||
           ((starts(file, "<string>") || starts(file, "<string ")) && s->programs.text);
}

/* As far as the path says it. */
static enum scope_kind of_path(const struct scope *s, const char *file)
{
    enum scope_kind kind;

    if (*file == '<')
        kind = starts(file, "<frozen ") ? SCOPE_LIBRARY
             : is_typed(s, file)        ? SCOPE_OWN
                                        : SCOPE_GENERATED;
    else
        kind = strstr(file, "/torchinductor_") ? SCOPE_GENERATED : of_folders(file);
    for (size_t i = 0; kind == SCOPE_OWN && i < s->root_count; i++)
        if (starts(file, s->roots[i]) && in_library(file + strlen(s->roots[i])))
            kind = SCOPE_LIBRARY;
    return kind;
}

/* PREFIX/bin/tool, where packages are installed in PREFIX/lib: what pip makes to start one of them.
 */
static bool is_console_script(const struct scope *s, const char *file)
{
    const char *base = strrchr(file, '/');
    size_t n = base ? (size_t)(base - file) : 0;

    if (n < 4 || strncmp(base - 4, "/bin", 4) != 0)
        return false;
    for (size_t i = 0; i < s->prefix_count; i++)
        if (strlen(s->prefixes[i]) == n - 4 && strncmp(s->prefixes[i], file, n - 4) == 0)
            return true;
    return false;
}

bool scope_is_library(const struct scope *s, const char *file)
{
    return of_path(s, file) == SCOPE_LIBRARY;
}

void scope_settle(struct scope *s, const char *file)
{
    if (of_path(s, file) == SCOPE_OWN &&
        !(is_console_script(s, file) && scope_programs_has(&s->programs, file)))
        s->others = true;
}

enum scope_kind scope_of_python(const struct scope *s, const char *file)
{
    enum scope_kind kind = of_path(s, file);
    bool starts_it = *file != '<' && scope_programs_has(&s->programs, file);

    if (starts_it && kind == SCOPE_OWN && s->others && is_console_script(s, file))
        kind = SCOPE_PACKAGES;
    if (starts_it && kind != SCOPE_OWN && !s->others)
        kind = SCOPE_OWN;
    return apply(s, file, kind);
}

bool scope_is_system(const char *module)
{
    static const char *const folders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"};
    const char *base = text_base(module);

    if (strcmp(base, "libtidemark.so") == 0)
        return true; /* our own work in the program is nobody's line */
    if (starts(base, "libpython") || is_python_folder(base, strlen(base)) ||
        strstr(module, "/lib-dynload/") || of_folders(module) != SCOPE_OWN)
        return true;
    for (int i = 0; i < COUNT(folders); i++)
        if (starts(module, folders[i]) && (starts(base, "lib") || starts(base, "ld-")))
            return true;
    return false;
}

enum scope_kind scope_of_native(const struct scope *s, const char *file, const char *module)
{
    bool own = file && !(module && scope_is_system(module)) && !starts(file, "/usr/include/") &&
               !starts(file, "/usr/lib/") && !plumbing_is_compilers(file);

    return file ? apply(s, file, own ? SCOPE_OWN : SCOPE_NATIVE) : SCOPE_NATIVE;
}

const char *scope_text(enum scope_kind kind)
{
    static const char *const texts[SCOPE_KINDS] = {
        "(stack not known)",
        "(the standard library)",
        "(installed packages)",
        "(code without a file)",
        "(native code without a line of the program)",
        "(code that was not asked for)",
        "(worker threads)",
        "(threads without work)",
        "(arenas of allocators)",
    };

    return texts[kind];
}
