/* vendor_helper - tidemark-devices: reads devices by the libraries of their vendors, in a process of its own.
 *
 * `tidemark-devices KIND` answers what comes through the socket that is its standard input, until that ends. No
 * library is needed to build or to start it.
 */
#include "gauges/gauge.h"

#include <stddef.h>

int main(int argc, char **argv)
{
    static const struct gauge *const list[] = {&gauge_nvidia, &gauge_ascend, &gauge_sysman, NULL};

    return argc == 2 ? gauge_serve(list, argv[1]) : 2;
}
