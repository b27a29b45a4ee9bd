/* state - see state.h. */
#include "inject/state.h"

__thread struct local local __attribute__((tls_model("initial-exec")));

struct ring_control nobody;
struct home home;
struct process process = {.control = &nobody, .mode = &nobody.mode, .depth = 8};
