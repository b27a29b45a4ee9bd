/* allocators - functions that nobody is interested in as the place that allocated. */
#include "analyze/frames.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const names[] = {
    /* sorted */
    "CRYPTO_malloc",
    "CRYPTO_realloc",
    "CRYPTO_zalloc",
    "PyMem_Calloc",
    "PyMem_Malloc",
    "PyMem_RawCalloc",
    "PyMem_RawMalloc",
    "PyMem_RawRealloc",
    "PyMem_Realloc",
    "PyObject_Calloc",
    "PyObject_Malloc",
    "PyObject_Realloc",
    "_PyMem_DebugCalloc",
    "_PyMem_DebugMalloc",
    "_PyMem_DebugRawAlloc",
    "_PyMem_DebugRawCalloc",
    "_PyMem_DebugRawMalloc",
    "_PyMem_DebugRawRealloc",
    "_PyMem_DebugRealloc",
    "_PyMem_RawCalloc",
    "_PyMem_RawMalloc",
    "_PyMem_RawRealloc",
    "_PyObject_Calloc",
    "_PyObject_Malloc",
    "_PyObject_Realloc",
    "__asprintf_chk",
    "__libc_calloc",
    "__libc_malloc",
    "__libc_memalign",
    "__libc_realloc",
    "__rdl_alloc",
    "__rdl_realloc",
    "__rust_alloc",
    "__rust_alloc_zeroed",
    "__rust_realloc",
    "__strdup",
    "__strndup",
    "_int_malloc",
    "aligned_alloc",
    "alloc::alloc::alloc",
    "alloc::alloc::realloc",
    "asprintf",
    "calloc",
    "g_malloc",
    "g_malloc0",
    "g_malloc0_n",
    "g_malloc_n",
    "g_memdup",
    "g_memdup2",
    "g_realloc",
    "g_realloc_n",
    "g_slice_alloc",
    "g_slice_alloc0",
    "g_strdup",
    "g_strndup",
    "g_try_malloc",
    "g_try_malloc0",
    "g_try_realloc",
    "kmalloc",
    "malloc",
    "memalign",
    "posix_memalign",
    "pvalloc",
    "realloc",
    "reallocarray",
    "safe_malloc",
    "strdup",
    "strndup",
    "valloc",
    "vasprintf",
    "xcalloc",
    "xmalloc",
    "xmemdup",
    "xrealloc",
    "xreallocarray",
    "xstrdup",
    "xstrndup",
    "xzalloc",
    "zcalloc",
    "zmalloc",
    "zrealloc",
};

static const char *const beginnings[] = {
    "operator new",         "std::allocator<",          "std::allocator_traits<",
    "__gnu_cxx::new_alloc", "std::__new_allocator<",    "alloc::raw_vec::",
    "std::_Vector_base<",   "<alloc::alloc::Global as", "hashbrown::raw::alloc",
};

static int compare(const void *key, const void *item)
{
    return strcmp(key, *(const char *const *)item);
}

bool frames_is_allocator(const char *function)
{
    if (bsearch(function, names, COUNT(names), sizeof(names[0]), compare))
        return true;
    for (size_t i = 0; i < COUNT(beginnings); i++)
        if (strncmp(function, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}
