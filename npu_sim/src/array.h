// Kernels compute on plain arrays: operands are read into them, broadcast if need be, and results are written back.
#pragma once

#include <vector>

#include "call.h"
#include "numbers.h"

namespace npusim {

// Row-major values of a shape. T is double for float operands, int64_t for the others.
template <typename T>
struct Array {
    Shape shape;
    std::vector<T> values;

    explicit Array(Shape dims, T fill = T{}) : shape(std::move(dims)), values(count(shape), fill) {}

    int64_t size() const { return static_cast<int64_t>(values.size()); }
    T& operator[](int64_t i) { return values[i]; }
    const T& operator[](int64_t i) const { return values[i]; }
};

// Calls `visit(address)` for every element in row-major order of `shape`, to which the tensor is broadcast.
template <typename Visit>
void for_each_element(const Tensor& tensor, const Shape& shape, Visit visit) {
    const int rank = static_cast<int>(shape.size());
    const int missing = rank - tensor.rank();
    if (missing < 0) throw UnsupportedCall("an operand has more dimensions than it is broadcast to");
    Shape strides(rank, 0);
    const auto item = static_cast<int64_t>(size_of(tensor.dtype));
    if (item == 0) throw UnsupportedCall("element type not simulated: " + name_of(tensor.dtype));
    for (int d = missing; d < rank; ++d) {
        const int64_t size = tensor.shape[d - missing];
        if (size != shape[d] && size != 1) throw UnsupportedCall("operands do not broadcast");
        strides[d] = size == 1 ? 0 : tensor.strides[d - missing] * item;
    }
    if (count(shape) == 0) return;
    Shape index(rank, 0);
    char* address = tensor.data();
    while (true) {
        visit(address);
        int d = rank - 1;
        for (; d >= 0; --d) {
            address += strides[d];
            if (++index[d] < shape[d]) break;
            address -= strides[d] * shape[d];
            index[d] = 0;
        }
        if (d < 0) return;
    }
}

template <typename T>
Array<T> load(const Tensor& tensor, const Shape& shape) {
    Array<T> out(shape);
    T* next = out.values.data();
    for_each_element(tensor, shape, [&](const char* address) { *next++ = load_number<T>(address, tensor.dtype); });
    return out;
}

template <typename T>
Array<T> load(const Tensor& tensor) {
    return load<T>(tensor, tensor.shape);
}

// Writes the array, which has the tensor's number of elements, and rounds to its type.
template <typename T>
void store(const Tensor& tensor, const std::vector<T>& values) {
    if (static_cast<int64_t>(values.size()) != tensor.numel())
        throw UnsupportedCall("a result has another size than its output");
    const T* next = values.data();
    for_each_element(tensor, tensor.shape, [&](char* address) { store_number<T>(address, tensor.dtype, *next++); });
}

template <typename T>
void store(const Tensor& tensor, const Array<T>& array) {
    store(tensor, array.values);
}

// The shape to which all broadcast.
Shape broadcast(const std::vector<Shape>& shapes);

// A dimension counted from the front.
int64_t from_front(int64_t dim, int64_t rank);

// A row-major view of dims [0, dim), dim, (dim, rank): number of outer blocks, length, number of inner elements.
struct Split {
    int64_t outer;
    int64_t length;
    int64_t inner;
    Split(const Shape& shape, int64_t dim);
    int64_t at(int64_t o, int64_t k, int64_t i) const { return (o * length + k) * inner + i; }
};

template <typename T>
T value_of(const Scalar& scalar);
template <>
inline double value_of<double>(const Scalar& scalar) {
    return is_float(scalar.dtype) ? scalar.real : static_cast<double>(scalar.integer);
}
template <>
inline int64_t value_of<int64_t>(const Scalar& scalar) {
    return scalar.integer;
}

}  // namespace npusim
