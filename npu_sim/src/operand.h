// The operands of an operator: what the aclCreate* functions make, and what kernels read and write.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "acl/acl.h"
#include "memory.h"

namespace npusim {

using Shape = std::vector<int64_t>;

int64_t count(const Shape& shape);
size_t size_of(aclDataType dtype);       // 0 for types that are not simulated
std::string name_of(aclDataType dtype);  // "f16", "i64"...; "dtype N" for types that are not simulated
bool is_float(aclDataType dtype);

// A strided view of device memory.
struct Tensor {
    Shape shape;
    Shape strides;  // in elements
    int64_t offset = 0;
    aclDataType dtype = ACL_DT_UNDEFINED;
    aclFormat format = ACL_FORMAT_ND;
    char* storage = nullptr;
    const void* handle = nullptr;  // the aclTensor that it was copied from

    int rank() const { return static_cast<int>(shape.size()); }
    int64_t numel() const { return count(shape); }
    char* data() const { return storage + offset * static_cast<int64_t>(size_of(dtype)); }
    Range extent() const;  // the bytes from the first to the last element
    bool dense() const;    // every byte of the extent belongs to an element, none to two
};

struct Scalar {
    aclDataType dtype = ACL_FLOAT;
    double real = 0;
    int64_t integer = 0;
};

}  // namespace npusim

// The wheel sees these by their address only.
struct aclTensor {
    npusim::Tensor value;
};
struct aclScalar {
    npusim::Scalar value;
};
struct aclTensorList {
    std::vector<aclTensor*> items;
};
struct aclScalarList {
    std::vector<npusim::Scalar> items;
};
struct aclIntArray {
    std::vector<int64_t> items;
};
struct aclFloatArray {
    std::vector<double> items;
};
struct aclBoolArray {
    std::vector<int64_t> items;
};

namespace npusim {

enum class HandleKind { none, tensor, scalar, tensors, scalars, ints, floats, bools };

// What a pointer is, if it is one that an aclCreate* function returned and none destroyed.
HandleKind kind_of(const void* pointer);

}  // namespace npusim
