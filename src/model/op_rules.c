/* op_rules - see op_rules.h. */
#include "model/op_rules.h"

#include "base/count.h"

#include <string.h>

struct op_rule {
    const char *framework;
    const char *function; /* a pattern for its name; NULL: any */
    const char *file; /* the same for a line of Python's file, or native code's module; NULL: any */
    bool python;      /* it is a line of Python */
    enum op_meaning meaning;
};

#define TORCH "PyTorch"
#define JAX "JAX"

static const struct op_rule rules[] = {
    {TORCH, "at::_ops::%::call(*", NULL, false, OP_NAMED},
    {TORCH, "at::_ops::%::redispatch(*", NULL, false, OP_NAMED},
    {TORCH, "c10::alloc_cpu(*", NULL, false, OP_TENSOR},
    {TORCH, "at::MapAllocator::makeDataPtr(*", NULL, false, OP_TENSOR}, /* shared memory, files */
    {TORCH, "*CachingAllocator::alloc_block(*", NULL, false, OP_RESERVE},
    {TORCH, "*ExpandableSegment::*", NULL, false, OP_RESERVE},
    {TORCH, "*CachingAllocator::*", NULL, false, OP_TENSOR},
    {TORCH, "torch::autograd::Engine::evaluate_function(*", NULL, false, OP_BACKWARD},
    {TORCH, "_engine_run_backward", "*/torch/autograd/graph.py", true, OP_BACKWARD},
    {TORCH, "torch::autograd::generated::%::apply(*", NULL, false, OP_NODE},
    {TORCH, "torch::autograd::%::apply(*", NULL, false, OP_NODE},
    {TORCH, "c10d::Reducer::initialize_buckets(*", NULL, false, OP_BUCKET},
    {TORCH, "*_init_sharded_param", "*/torch/distributed/fsdp/*.py", true, OP_SHARD},
    {TORCH, "dnnl*", "*/libtorch*", false, OP_WORKSPACE},
    {TORCH, "mkl_*", "*/libtorch*", false, OP_WORKSPACE},
    {TORCH, NULL, "*/libtorch*.so*", false, OP_FRAMEWORK},
    {TORCH, NULL, "*/libc10*.so*", false, OP_FRAMEWORK},
    {TORCH, "Module._call_impl*", "*/torch/nn/modules/module.py", true, OP_CALL},
    {TORCH, "Module._wrapped_call_impl", "*/torch/nn/modules/module.py", true, OP_CALL},
    {TORCH, "_call_impl", "*/torch/nn/modules/module.py", true, OP_CALL}, /* in snapshots */
    {TORCH, "_wrapped_call_impl", "*/torch/nn/modules/module.py", true, OP_CALL},
    {TORCH, "*", "*/torch/nn/modules/module.py", true, OP_BUILD},
    {TORCH, "*", "*/torch/nn/parameter.py", true, OP_PARAMETER},
    {TORCH, "*__init__", "*/torch/optim/swa_utils.py", true, OP_BUILD}, /* a model's average */
    {TORCH, "*", "*/torch/optim/swa_utils.py", true, OP_FRAMEWORK},
    {TORCH, "*", "*/torch/optim/*.py", true, OP_OPTIMIZER},
    {TORCH, "*", "*/torch/nn/init.py", true, OP_BUILD},
    {TORCH, "*", "*/torch/serialization.py", true, OP_BUILD},
    {TORCH, "*%.__init__", "*/torch/nn/*.py", true, OP_BUILD},
    {TORCH, "*%.reset_parameters", "*/torch/nn/*.py", true, OP_BUILD},
    {TORCH, "__init__", "*/torch/nn/*.py", true, OP_BUILD},
    {TORCH, "reset_parameters", "*/torch/nn/*.py", true, OP_BUILD},
    {TORCH, "*", "*/torch/utils/data/*.py", true, OP_DATA},
    {TORCH, "*call", "*/torchinductor_*/*.py", true, OP_COMPILED},
    {TORCH, NULL, "*/site-packages/torch/*.py", true, OP_FRAMEWORK},
    {JAX, "tsl::port::AlignedMalloc(*", NULL, false, OP_TENSOR},
    {JAX, NULL, "*/jaxlib/*.so*", false, OP_FRAMEWORK},
    {JAX, NULL, "*/site-packages/jax*/*.py", true, OP_FRAMEWORK},
    {NULL, "*%.__init__", NULL, true, OP_MADE},
};

/* ---- patterns ---- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* "*%REST": a name before the end of the text. */
static bool match_end(const char *rest, const char *text, struct op_found *out)
{
    size_t length = strlen(text), end = strlen(rest);
    const char *name;

    if (length <= end || strcmp(text + length - end, rest) != 0)
        return false;
    for (name = text + length - end; name > text && is_word(name[-1]);)
        name--;
    out->name = name;
    out->length = (size_t)(text + length - end - name);
    return out->length > 0;
}

/* What `%` stands for has an end of its own, so that only the last `*` is ever tried again: texts
 * of a trace may be long, and made to cost something.
 */
static bool match(const char *pattern, const char *text, struct op_found *out)
{
    const char *star = NULL, *from = NULL;

    if (!strncmp(pattern, "*%", 2))
        return match_end(pattern + 2, text, out);
    while (*text || *pattern) {
        if (*pattern == '*') {
            star = ++pattern;
            from = text;
        } else if (*pattern == '%' && is_word(*text)) {
            for (out->name = text; is_word(*text);)
                text++;
            out->length = (size_t)(text - out->name);
            pattern++;
        } else if (*text && *pattern == *text) {
            pattern++;
            text++;
        } else if (star && *from) {
            pattern = star;
            text = ++from;
        } else {
            return false;
        }
        if (star && !*star)
            return true;
    }
    return true;
}

bool op_rules_match(const char *pattern, const char *text, struct op_found *out)
{
    *out = (struct op_found){0};
    return match(pattern, text, out);
}

static bool fits(const struct op_rule *r, const struct table_frame *f, struct op_found *out)
{
    const char *file = r->python ? f->file : f->module;
    struct op_found unused;

    *out = (struct op_found){.meaning = r->meaning, .framework = r->framework};
    if (r->python != ((f->flags & TABLE_FRAME_PYTHON) != 0))
        return false;
    if (r->function && (!f->function || !match(r->function, f->function, out)))
        return false;
    return !r->file || (file && op_rules_match(r->file, file, &unused));
}

struct op_found op_rules_find(const struct table_frame *f)
{
    struct op_found found;

    for (int i = 0; i < COUNT(rules); i++)
        if (fits(&rules[i], f, &found))
            return found;
    return (struct op_found){0};
}

bool op_rules_has_phases(const char *framework)
{
    bool known = false;

    for (int i = 0; framework && i < COUNT(rules); i++)
        if (rules[i].framework && strcmp(rules[i].framework, framework) == 0) {
            known = true;
            if (rules[i].meaning == OP_BACKWARD)
                return true;
        }
    return !known;
}

/* ---- operators ---- */

static bool begins_with_one(const char *op, const char *const *list, int count)
{
    for (int i = 0; op && i < count; i++)
        if (!strncmp(op, list[i], strlen(list[i])))
            return true;
    return false;
}

bool op_rules_is_blank(const char *op)
{
    static const char *const blank[] = {"empty", "rand", "normal", "bernoulli", "new_empty"};

    return begins_with_one(op, blank, COUNT(blank));
}

bool op_rules_is_copying(const char *op)
{
    static const char *const copying[] = {"_to_copy", "clone", "copy",       "stack",
                                          "cat",      "new_",  "lift_fresh", "contiguous"};

    return begins_with_one(op, copying, COUNT(copying));
}

bool op_rules_is_empty(const char *op)
{
    static const char *const empty[] = {"empty"};

    return begins_with_one(op, empty, COUNT(empty));
}

bool op_rules_is_reading(const char *op)
{
    static const char *const reading[] = {"lift_fresh", "new_"};

    return begins_with_one(op, reading, COUNT(reading));
}

bool op_rules_is_moving(const char *op)
{
    static const char *const moving[] = {"to_", "_to_copy", "clone"};

    return begins_with_one(op, moving, COUNT(moving));
}

bool op_rules_is_like(const char *op)
{
    return op && strstr(op, "_like") != NULL;
}

bool op_rules_is_factory(const char *op)
{
    static const char *const made[] = {"zeros",    "ones", "full",          "arange",
                                       "linspace", "eye",  "scalar_tensor", "from_file"};

    return !op || op_rules_is_blank(op) || op_rules_is_copying(op) ||
           begins_with_one(op, made, COUNT(made));
}

bool op_rules_is_joining(const char *op)
{
    static const char *const joining[] = {"cat",       "stack",         "index_copy",
                                          "index_put", "slice_scatter", "index_select"};

    return begins_with_one(op, joining, COUNT(joining));
}

/* Its overload follows the name after a `_`, so that add_.Tensor is add__Tensor. */
static bool is_in_place(const char *op)
{
    size_t length = strlen(op);
    const char *name = op + strspn(op, "_");

    if (strncmp(op, "__", 2) == 0 && strstr(name, "__"))
        return name[0] == 'i' && name[1] != 'n'; /* __iand__, but __and__ and such do not */
    return strstr(name, "__") || (length && op[length - 1] == '_');
}

/* What an `out` overload is called, or those that give each result a name of its own. */
static bool has_out(const char *op)
{
    static const char *const ends[] = {"_out", "_grad_input", "_values", "_max_values",
                                       "_out_mode"};
    size_t length = strlen(op);

    for (size_t i = 0; i < COUNT(ends); i++) {
        size_t bytes = strlen(ends[i]);

        if (length > bytes && strcmp(op + length - bytes, ends[i]) == 0)
            return true;
    }
    return strstr(op, "_out_") != NULL;
}

/* Some write to statistics or states that their schema does not mark. */
static bool breaks_the_rule(const char *op)
{
    static const char *const parts[] = {"batch_norm",    "instance_norm", "set_data",
                                        "record_stream", "_rnn",          "fake_quantize"};

    for (size_t i = 0; i < COUNT(parts); i++)
        if (strstr(op, parts[i]))
            return true;
    return false;
}

enum op_writes op_rules_writes(const char *op)
{
    if (!op || !*op)
        return OP_WRITES_UNKNOWN;
    if (is_in_place(op) || has_out(op))
        return OP_WRITES_DECLARED;
    return breaks_the_rule(op) ? OP_WRITES_UNKNOWN : OP_WRITES_NOTHING;
}
