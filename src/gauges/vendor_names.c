/* vendor_names - all that tidemark-devices uses of libc, as libraries of nothing but names: in
 * packages it is linked with these instead of libc, so that its references have no versions and it
 * starts with any glibc since 2.17 (of the functions for loading libraries, which an old one has in
 * libdl, with either). See inject/libc_names.c.
 */
#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch" /* they have no types here */

#define FUNCTION(name)                                                                             \
    void name(void);                                                                               \
    void name(void)                                                                                \
    {                                                                                              \
    }

#ifdef LIBDL
FUNCTION(dlerror)
FUNCTION(dlopen)
FUNCTION(dlsym)
#else
FUNCTION(__errno_location)
FUNCTION(__libc_start_main)
FUNCTION(__memcpy_chk) /* as some distributions' compilers write it */
FUNCTION(__snprintf_chk)
FUNCTION(__stack_chk_fail)
FUNCTION(__vsnprintf_chk)
FUNCTION(_exit)
FUNCTION(access)
FUNCTION(bcmp)
FUNCTION(calloc)
FUNCTION(clock_gettime)
FUNCTION(close)
FUNCTION(getenv)
FUNCTION(memcmp)
FUNCTION(memcpy)
FUNCTION(memset)
FUNCTION(open)
FUNCTION(open64)
FUNCTION(prctl)
FUNCTION(qsort)
FUNCTION(read)
FUNCTION(readlink)
FUNCTION(realloc)
FUNCTION(recv)
FUNCTION(sendmsg)
FUNCTION(setsid)
FUNCTION(snprintf)
FUNCTION(strcmp)
FUNCTION(strcspn)
FUNCTION(strlen)
FUNCTION(strncmp)
FUNCTION(strstr)
FUNCTION(strtoull)
FUNCTION(vsnprintf)
FUNCTION(write)
#endif
