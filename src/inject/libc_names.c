/* libc_names - all that the library may use of libc, as a library of nothing but names.
 *
 * The library is linked with this instead of libc: so its references have no versions and are bound
 * to whatever libc a program has, and another name than these does not link. All of them are in the
 * libc.so.6 of every glibc since 2.4, but for those that the sources declare weak, so that no
 * program fails to start because of us. `tools/check_target` reads this list.
 */
#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch" /* they have no types here */

#define FUNCTION(name)                                                                             \
    void name(void);                                                                               \
    void name(void)                                                                                \
    {                                                                                              \
    }
#define DATA(name)                                                                                 \
    extern void *name;                                                                             \
    void *name;

DATA(__environ)
DATA(__libc_stack_end)
DATA(_r_debug)
DATA(environ)
FUNCTION(__errno_location)
FUNCTION(__register_atfork)
FUNCTION(__tls_get_addr)
FUNCTION(_dl_find_object)
FUNCTION(bcmp) /* as some compilers call a memcmp whose order nobody asks for */
FUNCTION(dl_iterate_phdr)
FUNCTION(dlsym)
FUNCTION(dlvsym)
FUNCTION(getenv)
FUNCTION(gnu_get_libc_version)
FUNCTION(memcmp)
FUNCTION(memcpy)
FUNCTION(memmove)
FUNCTION(memset)
FUNCTION(pthread_attr_destroy)
FUNCTION(pthread_attr_init)
FUNCTION(pthread_self)
FUNCTION(strchr)
FUNCTION(strcmp)
FUNCTION(strcspn)
FUNCTION(strlen)
FUNCTION(strncmp)
FUNCTION(strnlen)
FUNCTION(strrchr)
FUNCTION(strspn)
