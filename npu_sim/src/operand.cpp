#include "operand.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "numbers.h"

namespace npusim {

int64_t count(const Shape& shape) {
    int64_t product = 1;
    for (const int64_t size : shape) product *= size;
    return product;
}

size_t size_of(aclDataType dtype) {
    switch (dtype) {
        case ACL_FLOAT:
        case ACL_INT32:
        case ACL_UINT32: return 4;
        case ACL_FLOAT16:
        case ACL_BF16:
        case ACL_INT16:
        case ACL_UINT16: return 2;
        case ACL_INT8:
        case ACL_UINT8:
        case ACL_BOOL: return 1;
        case ACL_INT64:
        case ACL_UINT64:
        case ACL_DOUBLE: return 8;
        default: return 0;
    }
}

std::string name_of(aclDataType dtype) {
    switch (dtype) {
        case ACL_FLOAT: return "f32";
        case ACL_FLOAT16: return "f16";
        case ACL_BF16: return "bf16";
        case ACL_DOUBLE: return "f64";
        case ACL_INT8: return "i8";
        case ACL_INT16: return "i16";
        case ACL_INT32: return "i32";
        case ACL_INT64: return "i64";
        case ACL_UINT8: return "u8";
        case ACL_UINT16: return "u16";
        case ACL_UINT32: return "u32";
        case ACL_UINT64: return "u64";
        case ACL_BOOL: return "bool";
        default: return "dtype " + std::to_string(static_cast<int>(dtype));
    }
}

bool is_float(aclDataType dtype) {
    return dtype == ACL_FLOAT || dtype == ACL_FLOAT16 || dtype == ACL_BF16 || dtype == ACL_DOUBLE;
}

Range Tensor::extent() const {
    if (numel() == 0) return {data(), 0};
    int64_t last = 0;
    for (int d = 0; d < rank(); ++d) last += (shape[d] - 1) * strides[d];
    return {data(), static_cast<size_t>(last + 1) * size_of(dtype)};
}

bool Tensor::dense() const {
    return extent().bytes == static_cast<size_t>(numel()) * size_of(dtype) &&
           std::none_of(strides.begin(), strides.end(), [](int64_t stride) { return stride < 0; });
}

namespace {

// Handles are made by one thread and looked up by others.
class Handles {
public:
    template <typename T>
    T* add(T* handle, HandleKind kind) {
        const std::lock_guard<std::mutex> lock(mutex_);
        kinds_[handle] = kind;
        return handle;
    }

    HandleKind find(const void* pointer) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = kinds_.find(pointer);
        return found == kinds_.end() ? HandleKind::none : found->second;
    }

    bool remove(const void* pointer) {
        const std::lock_guard<std::mutex> lock(mutex_);
        return kinds_.erase(pointer) != 0;
    }

private:
    std::mutex mutex_;
    std::unordered_map<const void*, HandleKind> kinds_;
};

Handles& handles() {
    static Handles* const instance = new Handles;
    return *instance;
}

Scalar read_scalar(const void* value, aclDataType dtype) {
    Scalar scalar{dtype};
    const auto* bytes = static_cast<const char*>(value);
    scalar.real = load_number<double>(bytes, dtype);
    scalar.integer = is_float(dtype) ? static_cast<int64_t>(scalar.real) : load_number<int64_t>(bytes, dtype);
    return scalar;
}

template <typename Array>
int destroy(const Array* array) {
    if (array != nullptr && handles().remove(array)) delete array;
    return 0;
}

}  // namespace

HandleKind kind_of(const void* pointer) { return pointer == nullptr ? HandleKind::none : handles().find(pointer); }

}  // namespace npusim

using npusim::HandleKind;
using npusim::handles;

extern "C" {

aclTensor* aclCreateTensor(const int64_t* dims, uint64_t rank, aclDataType dtype, const int64_t* strides,
                           int64_t offset, aclFormat format, const int64_t*, uint64_t, void* storage) {
    auto* tensor = new aclTensor;
    npusim::Tensor& value = tensor->value;
    value.shape.assign(dims, dims + rank);
    value.offset = offset;
    value.dtype = dtype;
    value.format = format;
    value.storage = static_cast<char*>(storage);
    value.handle = tensor;
    value.strides.assign(rank, 1);
    if (strides != nullptr) {
        value.strides.assign(strides, strides + rank);
    } else {
        for (int d = static_cast<int>(rank) - 2; d >= 0; --d)
            value.strides[d] = value.strides[d + 1] * value.shape[d + 1];
    }
    return handles().add(tensor, HandleKind::tensor);
}

aclScalar* aclCreateScalar(void* value, aclDataType dtype) {
    return handles().add(new aclScalar{npusim::read_scalar(value, dtype)}, HandleKind::scalar);
}

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
    return handles().add(new aclIntArray{{value, value + size}}, HandleKind::ints);
}

aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
    return handles().add(new aclFloatArray{{value, value + size}}, HandleKind::floats);
}

aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
    return handles().add(new aclBoolArray{{value, value + size}}, HandleKind::bools);
}

// The list owns its tensors from now on.
aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
    auto* list = new aclTensorList;
    for (uint64_t i = 0; i < size; ++i) list->items.push_back(const_cast<aclTensor*>(value[i]));
    return handles().add(list, HandleKind::tensors);
}

aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
    auto* list = new aclScalarList;
    for (uint64_t i = 0; i < size; ++i) list->items.push_back(value[i]->value);
    return handles().add(list, HandleKind::scalars);
}

int aclDestroyTensor(const aclTensor* tensor) { return npusim::destroy(tensor); }
int aclDestroyScalar(const aclScalar* scalar) { return npusim::destroy(scalar); }
int aclDestroyIntArray(const aclIntArray* array) { return npusim::destroy(array); }
int aclDestroyFloatArray(const aclFloatArray* array) { return npusim::destroy(array); }
int aclDestroyBoolArray(const aclBoolArray* array) { return npusim::destroy(array); }
int aclDestroyScalarList(const aclScalarList* list) { return npusim::destroy(list); }

int aclDestroyTensorList(const aclTensorList* list) {
    if (npusim::kind_of(list) != HandleKind::tensors) return 0;
    for (const aclTensor* tensor : list->items) npusim::destroy(tensor);
    return npusim::destroy(list);
}

int aclGetViewShape(const aclTensor* tensor, int64_t** dims, uint64_t* rank) {
    *rank = tensor->value.shape.size();
    *dims = new int64_t[*rank];
    std::copy(tensor->value.shape.begin(), tensor->value.shape.end(), *dims);
    return 0;
}

int InitHugeMemThreadLocal(void*, bool) { return 0; }
void UnInitHugeMemThreadLocal(void*, bool) {}
void ReleaseHugeMem(void*, bool) {}

}  // extern "C"
