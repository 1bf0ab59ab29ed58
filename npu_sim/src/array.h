// Kernels compute on plain arrays: operands are read into them, broadcast if need be, and results are written back.
#pragma once

#include <vector>

#include "call.h"

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

// The tensor's values, broadcast to the shape.
template <typename T>
Array<T> load(const Tensor& tensor, const Shape& shape);

template <typename T>
Array<T> load(const Tensor& tensor) {
    return load<T>(tensor, tensor.shape);
}

// Writes the values, as many as the tensor has elements, and rounds to its type.
template <typename T>
void store(const Tensor& tensor, const std::vector<T>& values);

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
