/* What PyTorch's operators read and write, by its own RecordFunction: built against the PyTorch that it is loaded into
 * (tidemark.torch.build()), as that has no interface of plain C. Loaded by _accesses.py, which hands it the recorder's table.
 *
 * It must be built with NDEBUG, as PyTorch is: RecordFunction has other members without.
 */
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

enum { READ = 1, WRITE = 2, ALL = 4, SOME = 8 }; // include/tidemark.h

struct Table { // struct tidemark_api, as far as it is used
    uint64_t version;
    void *mark, *step;
    void (*begin)(const char *);
    void (*finish)(void);
    void *more[10];
    void (*access)(const void *, size_t, unsigned int, const char *);
};

const Table *api;
at::CallbackHandle handle;
bool on;

struct Operator { // what its schema says, once for all its calls
    bool told;    // views read nothing, and what is made of other operators is told by these
    bool fills;   // its results
    std::string name;
    std::vector<bool> written; // by argument
};

bool is_view(const c10::FunctionSchema &schema)
{
    for (const auto &r : schema.returns())
        if (r.alias_info() && !r.alias_info()->isWrite())
            return true;
    return false;
}

bool is_composed(const c10::FunctionSchema &schema)
{
    auto op = c10::Dispatcher::singleton().findSchema(schema.operator_name());

    return op && op->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

Operator operator_of(const c10::FunctionSchema &schema)
{
    size_t colon = schema.name().rfind(':');
    Operator o;

    o.name = schema.name().substr(colon == std::string::npos ? 0 : colon + 1);
    o.fills = o.name.find("empty") == std::string::npos;
    if (!schema.overload_name().empty())
        o.name += "_" + schema.overload_name();
    o.told = !is_view(schema) && !is_composed(schema);
    for (const auto &a : schema.arguments())
        o.written.push_back(a.alias_info() && a.alias_info()->isWrite());
    for (const auto &r : schema.returns())
        if (r.alias_info() && r.alias_info()->isWrite())
            o.fills = false; // its argument, which was told
    return o;
}

/* What has no schema is none. By where its name is, which stands as long as an operator does: asking for the schema
 * itself would copy it.
 */
const Operator *known(const at::RecordFunction &fn)
{
    thread_local std::unordered_map<const void *, std::unique_ptr<Operator>> all;
    auto found = all.find(fn.name());

    if (found != all.end())
        return found->second.get();
    auto schema = fn.operator_schema();
    auto &made = all[fn.name()];
    if (schema)
        made = std::make_unique<Operator>(operator_of(*schema));
    return made.get();
}

void tell(const at::Tensor &t, unsigned int kind, const char *name)
{
    if (!t.defined() || !t.unsafeGetTensorImpl()->has_storage())
        return;
    const auto &s = t.unsafeGetTensorImpl()->unsafe_storage();
    if (const void *at = s.data())
        api->access(at, s.nbytes(), kind, name);
}

void tell(const c10::IValue &v, unsigned int kind, const char *name)
{
    if (v.isTensor())
        tell(v.toTensor(), kind, name);
    else if (v.isTensorList() || v.isList())
        for (const c10::IValue &one : v.toListRef())
            if (one.isTensor())
                tell(one.toTensor(), kind, name);
}

struct Running : at::ObserverContext {
    const Operator *op;
};

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction &fn)
{
    const Operator *op = known(fn);

    if (!op || !op->told)
        return nullptr;
    auto running = std::make_unique<Running>();
    running->op = op;
    api->begin(op->name.c_str());
    auto values = fn.inputs();
    for (size_t i = 0; i < values.size(); i++)
        tell(values[i], i < op->written.size() && op->written[i] ? READ | WRITE : READ, op->name.c_str());
    return running;
}

void end(const at::RecordFunction &fn, at::ObserverContext *context)
{
    auto *running = static_cast<Running *>(context);

    if (!running)
        return;
    if (running->op->fills)
        for (const auto &v : fn.outputs())
            tell(v, WRITE, running->op->name.c_str());
    api->finish();
}

} // namespace

extern "C" __attribute__((visibility("default"))) void tidemark_accesses_start(const void *table)
{
    if (on)
        return;
    api = static_cast<const Table *>(table);
    api->access(nullptr, 0, ALL, nullptr);
    handle = at::addGlobalCallback(
        at::RecordFunctionCallback(begin, end).needsInputs(true).needsOutputs(true).scopes({at::RecordScope::FUNCTION}));
    on = true;
}

// ended: so is the program, and nothing more is accessed.
extern "C" __attribute__((visibility("default"))) void tidemark_accesses_stop(int ended)
{
    if (!on)
        return;
    at::removeCallback(handle);
    if (!ended)
        api->access(nullptr, 0, SOME, nullptr);
    on = false;
}
