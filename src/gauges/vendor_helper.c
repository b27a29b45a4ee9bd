/* vendor_helper - tidemark-devices: reads devices by the libraries of their vendors, in a process
 * of its own.
 *
 * `tidemark-devices KIND` answers what comes through the socket that is its standard input, until
 * that ends. No library is needed to build or to start it.
 */
#include "gauges/gauge.h"

#include <stddef.h>

#define BY_LIBRARY(name) &gauge_##name,
#define BY_FILES(name)

int main(int argc, char **argv)
{
    static const struct gauge *const list[] = {
#define X(name, program, ...) BY_##program(name)
        DEVICE_KINDS(X)
#undef X
            NULL};

    return argc == 2 ? gauge_serve(list, argv[1]) : 2;
}
