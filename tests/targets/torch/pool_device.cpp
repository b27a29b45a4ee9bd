// pool_device - a device of PyTorch (PrivateUse1, as Ascend's is one) over memory of the host, with a caching allocator: it
// takes pieces of 2 MiB and more from the driver (Ascend's, or our double of it), cuts tensors out of them, and tells MSTX of
// each, as torch_npu does. What it has no kernel for, a processor computes.
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorShape.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <dlfcn.h>

#include <cstring>
#include <map>
#include <mutex>

namespace {

constexpr auto DEVICE = c10::DeviceType::PrivateUse1;
constexpr size_t PIECE = 2 << 20, GRAIN = 512;
constexpr unsigned long long ON_DEVICE = 3ull << 56 | 1 << 10; // module 3, device 0

// ---- the driver and MSTX ----

template <typename F> F *find(const char *file, const char *name)
{
    void *library = dlopen(file, RTLD_NOW);

    TORCH_CHECK(library, file, " is not found");
    return reinterpret_cast<F *>(dlsym(library, name));
}

struct Range {
    uint32_t device;
    const void *at;
    uint64_t bytes;
};

struct Heap {
    uint32_t usage, type;
    const Range *described;
};

struct Regions {
    void *heap;
    uint32_t type;
    size_t count;
    const Range *described;
    void **handles;
};

struct Reference {
    uint32_t is_handle;
    void *value;
};

struct References {
    size_t count;
    const Reference *list;
};

// ---- the pool ----

struct Block {
    size_t bytes;
    bool used;
    void *heap; // whose piece it is of
};

class DeviceCachingAllocator final : public c10::Allocator {
    std::mutex mutex;
    std::map<char *, Block> blocks; // all of them, by address
    void *domain = nullptr;

    void *tell_heap(char *at, size_t bytes)
    {
        static auto create = find<void *(const char *)>("libms_tools_ext.so", "mstxDomainCreateA");
        static auto heap = find<void *(void *, const Heap *)>("libms_tools_ext.so", "mstxMemHeapRegister");
        Range range{0, at, bytes};
        Heap told{0, 0, &range};

        if (!domain)
            domain = create("pool");
        return heap(domain, &told);
    }

    void tell_region(void *heap, char *at, size_t bytes)
    {
        static auto tell = find<void(void *, const Regions *)>("libms_tools_ext.so", "mstxMemRegionsRegister");
        Range range{0, at, bytes};
        void *handle = nullptr;
        Regions told{heap, 0, 1, &range, &handle};

        tell(domain, &told);
    }

    void tell_gone(char *at)
    {
        static auto tell = find<void(void *, const References *)>("libms_tools_ext.so", "mstxMemRegionsUnregister");
        Reference reference{0, at};
        References told{1, &reference};

        tell(domain, &told);
    }

    // Named as PyTorch's own are, by which they are known not to be tensors.
    __attribute__((noinline)) std::map<char *, Block>::iterator alloc_block(size_t bytes)
    {
        static auto take = find<int(void **, unsigned long long, unsigned long long)>("libascend_hal.so", "halMemAlloc");
        size_t piece = (bytes + PIECE - 1) / PIECE * PIECE;
        void *at = nullptr;

        TORCH_CHECK_WITH(OutOfMemoryError, take(&at, piece, ON_DEVICE) == 0, "the device has no ", piece, " bytes");
        return blocks.emplace(static_cast<char *>(at), Block{piece, false, tell_heap(static_cast<char *>(at), piece)}).first;
    }

    // The smallest that is large enough.
    std::map<char *, Block>::iterator fitting(size_t bytes)
    {
        auto best = blocks.end();

        for (auto i = blocks.begin(); i != blocks.end(); ++i)
            if (!i->second.used && i->second.bytes >= bytes && (best == blocks.end() || i->second.bytes < best->second.bytes))
                best = i;
        return best == blocks.end() ? alloc_block(bytes) : best;
    }

    void *take(size_t wanted)
    {
        std::lock_guard<std::mutex> lock(mutex);
        size_t bytes = (wanted + GRAIN - 1) / GRAIN * GRAIN;
        auto i = fitting(bytes);

        if (i->second.bytes > bytes)
            blocks.emplace(i->first + bytes, Block{i->second.bytes - bytes, false, i->second.heap});
        i->second.bytes = bytes;
        i->second.used = true;
        tell_region(i->second.heap, i->first, bytes);
        return i->first;
    }

    // Free neighbours of one piece become one.
    void give(void *at)
    {
        std::lock_guard<std::mutex> lock(mutex);
        auto i = blocks.find(static_cast<char *>(at));

        tell_gone(i->first);
        i->second.used = false;
        for (auto next = std::next(i); next != blocks.end() && joins(i, next); next = blocks.erase(next))
            i->second.bytes += next->second.bytes;
        if (i != blocks.begin() && joins(std::prev(i), i)) {
            std::prev(i)->second.bytes += i->second.bytes;
            blocks.erase(i);
        }
    }

    static bool joins(std::map<char *, Block>::iterator a, std::map<char *, Block>::iterator b)
    {
        return !a->second.used && !b->second.used && a->second.heap == b->second.heap &&
               a->first + a->second.bytes == b->first;
    }

public:
    static DeviceCachingAllocator &the()
    {
        static auto *pool = new DeviceCachingAllocator;

        return *pool;
    }

    c10::DataPtr allocate(size_t bytes) override
    {
        c10::Device device(DEVICE, 0);
        void *at = bytes ? take(bytes) : nullptr;

        return {at, at, raw_deleter(), device};
    }

    c10::DeleterFnPtr raw_deleter() const override
    {
        return [](void *at) {
            if (at)
                the().give(at);
        };
    }

    void copy_data(void *to, const void *from, size_t bytes) const override
    {
        memcpy(to, from, bytes);
    }
};

// ---- operators ----

using Kept = std::optional<bool>;

at::Tensor pool_empty(c10::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                      std::optional<at::Device>, Kept, std::optional<at::MemoryFormat> format)
{
    return at::detail::empty_generic(size, &DeviceCachingAllocator::the(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                     c10::dtype_or_default(dtype), format);
}

at::Tensor pool_empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                              std::optional<at::Layout>, std::optional<at::Device>, Kept)
{
    return at::detail::empty_strided_generic(size, stride, &DeviceCachingAllocator::the(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                             c10::dtype_or_default(dtype));
}

// The same memory, as the processor has it.
at::Tensor on_host(const at::Tensor &t)
{
    return t.device().type() == DEVICE
               ? at::from_blob(t.data_ptr(), t.sizes(), t.strides(), t.options().device(at::kCPU).requires_grad(false))
               : t;
}

at::Tensor pool_copy_from(const at::Tensor &self, const at::Tensor &to, bool)
{
    on_host(to).copy_(on_host(self));
    return to;
}

at::Tensor pool_copy_from_and_resize(const at::Tensor &self, const at::Tensor &to)
{
    at::native::resize_output(to, self.sizes());
    return pool_copy_from(self, to, false);
}

const at::Tensor &pool_resize(const at::Tensor &self, c10::SymIntArrayRef size, std::optional<at::MemoryFormat>)
{
    at::native::resize_impl_cpu_(self.unsafeGetTensorImpl(), C10_AS_INTARRAYREF_SLOW(size), std::nullopt);
    return self;
}

at::Scalar pool_scalar(const at::Tensor &self)
{
    return on_host(self).item();
}

at::Tensor &pool_fill(at::Tensor &self, const at::Scalar &value)
{
    on_host(self).fill_(value);
    return self;
}

at::Tensor &pool_zero(at::Tensor &self)
{
    on_host(self).zero_();
    return self;
}

void on_processor(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
    at::native::cpu_fallback(op, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("empty.memory_format", pool_empty);
    m.impl("empty_strided", pool_empty_strided);
    m.impl("_copy_from", pool_copy_from);
    m.impl("_copy_from_and_resize", pool_copy_from_and_resize);
    m.impl("resize_", pool_resize);
    m.impl("_local_scalar_dense", pool_scalar);
    m.impl("fill_.Scalar", pool_fill);
    m.impl("zero_", pool_zero);
    m.impl("as_strided", at::native::as_strided_tensorimpl);
    m.impl("view", at::native::view);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m)
{
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_processor>());
}

// ---- the device ----

// One device, one stream, and all that was asked for is done: events have nothing to wait for.
struct Guard final : c10::impl::NoOpDeviceGuardImpl<DEVICE> {
    c10::Device exchangeDevice(c10::Device) const override
    {
        return {DEVICE, 0};
    }

    c10::Device getDevice() const override
    {
        return {DEVICE, 0};
    }

    c10::Stream getStream(c10::Device) const noexcept override
    {
        return c10::Stream(c10::Stream::DEFAULT, {DEVICE, 0});
    }

    c10::Stream exchangeStream(c10::Stream) const noexcept override
    {
        return c10::Stream(c10::Stream::DEFAULT, {DEVICE, 0});
    }

    void record(void **, const c10::Stream &, const c10::DeviceIndex, const c10::EventFlag) const override
    {
    }

    void block(void *, const c10::Stream &) const override
    {
    }

    bool queryEvent(void *) const override
    {
        return true;
    }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

struct Hooks : at::PrivateUse1HooksInterface {
    bool hasPrimaryContext(c10::DeviceIndex) const override
    {
        return true;
    }

    bool isBuilt() const override
    {
        return true;
    }

    bool isAvailable() const override
    {
        return true;
    }
};

const bool registered = [] {
    c10::SetAllocator(DEVICE, &DeviceCachingAllocator::the());
    at::RegisterPrivateUse1HooksInterface(new Hooks);
    return true;
}();

} // namespace
