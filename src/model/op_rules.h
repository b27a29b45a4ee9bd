/* op_rules - what the frames of a deep-learning framework mean: which name an operator, which say
 * what a program is doing. A table of (framework, pattern, meaning), so that another framework is
 * data.
 *
 * In a pattern `*` stands for anything, and `%` for a name (letters, digits and _), which is what
 * the frame tells of. A `%` comes before every `*`, or right after the one that begins a pattern.
 */
#ifndef MODEL_OP_RULES_H
#define MODEL_OP_RULES_H

#include "model/values.h"

#include <stddef.h>

enum op_meaning {
    OP_NOTHING,
    OP_NAMED,     /* the frame of an operator: its name */
    OP_TENSOR,    /* allocates the memory of tensors */
    OP_RESERVE,   /* takes memory of a device that its pool cuts tensors out of */
    OP_WORKSPACE, /* allocates memory that a library of kernels works in */
    OP_BACKWARD,  /* gradients are computed */
    OP_NODE,      /* of the operator of this name, or what belongs to it */
    OP_OPTIMIZER, /* an optimizer is made, or makes its step */
    OP_CALL,      /* a module is called: the next frame of Python is its code */
    OP_BUILD,     /* a module is made, moved or loaded */
    OP_PARAMETER, /* a parameter is made or copied, maybe when its module is first called */
    OP_MADE,      /* the code that makes an object: the name of its class */
    OP_DATA,      /* inputs are read or put together */
    OP_BUCKET,    /* gradients of several parameters are put together, for other ranks */
    OP_SHARD,     /* the part of parameters is made that a rank has instead of them */
    OP_COMPILED,  /* a generated function: its file and line name what is done */
    OP_FRAMEWORK, /* of a framework, and nothing else is known */
};

struct op_found {
    enum op_meaning meaning;
    const char *framework; /* NULL: of any */
    const char *name;      /* what `%` stood for, in the frame's own text, */
    size_t length;         /* and how long it is; 0: there is none */
};

/* What one frame means: the first rule of the table that fits. */
struct op_found op_rules_find(const struct table_frame *f);
/* Does a text fit a pattern, and what is its `%`? */
bool op_rules_match(const char *pattern, const char *text, struct op_found *out);

/* Do frames of this framework say what a program is doing? Where they do not, nothing tells what
 * its tensors are for. */
bool op_rules_has_phases(const char *framework);

/* Operators by what their result is: made from nothing or copied whole, or put together from others
 * and kept to grow.
 */
bool op_rules_is_factory(const char *op);
bool op_rules_is_blank(
    const char *op); /* a factory whose result has no contents yet, or random ones */
bool op_rules_is_copying(const char *op); /* one whose result has the contents of others */
bool op_rules_is_empty(const char *op);   /* one whose result others write into */
bool op_rules_is_reading(const char *op); /* the same of what is no tensor, or of none */
bool op_rules_is_moving(
    const char *op); /* the same of one other, perhaps in another dtype or place */
bool op_rules_is_joining(const char *op);
bool op_rules_is_like(const char *op); /* made in the shape of another, without its contents */

/* Does the schema of an operator declare that it writes to one of its arguments? By its name, as
 * PyTorch's rule is: add_ and __iadd__ do, and what has an `out`; operators that break the rule are
 * not known.
 */
enum op_writes { OP_WRITES_UNKNOWN, OP_WRITES_DECLARED, OP_WRITES_NOTHING };
enum op_writes op_rules_writes(const char *op);

#endif
