/* libc_names - what the programs here use, as libraries of names alone: a program that is linked
 * with them has no versions of symbols, and runs with an older libc than that of the machine that
 * it was built on.
 */
#define NAME(name)                                                                                 \
    void name(void);                                                                               \
    void name(void)                                                                                \
    {                                                                                              \
    }

#ifdef OF_LIBPTHREAD
NAME(pthread_create)
NAME(pthread_join)
#elif defined(OF_LIBDL)
NAME(dlclose)
NAME(dlmopen)
NAME(dlopen)
NAME(dlsym)
#else
NAME(__libc_start_main)
NAME(clock_gettime)
NAME(malloc)
NAME(puts)
NAME(usleep)
#endif
