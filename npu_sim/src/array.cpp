#include "array.h"

#include <algorithm>

#include "numbers.h"

namespace npusim {

namespace {

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

}  // namespace

template <typename T>
Array<T> load(const Tensor& tensor, const Shape& shape) {
    Array<T> out(shape);
    T* next = out.values.data();
    for_each_element(tensor, shape, [&](const char* address) { *next++ = load_number<T>(address, tensor.dtype); });
    return out;
}

template <typename T>
void store(const Tensor& tensor, const std::vector<T>& values) {
    if (static_cast<int64_t>(values.size()) != tensor.numel()) {
        throw UnsupportedCall("a result has another size than its output");
    }
    const T* next = values.data();
    for_each_element(tensor, tensor.shape, [&](char* address) { store_number<T>(address, tensor.dtype, *next++); });
}

template Array<double> load(const Tensor& tensor, const Shape& shape);
template Array<int64_t> load(const Tensor& tensor, const Shape& shape);
template void store(const Tensor& tensor, const std::vector<double>& values);
template void store(const Tensor& tensor, const std::vector<int64_t>& values);

Shape broadcast(const std::vector<Shape>& shapes) {
    Shape out;
    for (const Shape& shape : shapes) {
        if (shape.size() > out.size()) out.insert(out.begin(), shape.size() - out.size(), 1);
        const size_t missing = out.size() - shape.size();
        for (size_t d = 0; d < shape.size(); ++d) {
            int64_t& size = out[missing + d];
            if (size == 1) size = shape[d];
            else if (shape[d] != 1 && shape[d] != size) throw UnsupportedCall("operands do not broadcast");
        }
    }
    return out;
}

int64_t from_front(int64_t dim, int64_t rank) { return dim < 0 ? dim + std::max<int64_t>(rank, 1) : dim; }

Split::Split(const Shape& shape, int64_t dim) : outer(1), length(1), inner(1) {
    const auto rank = static_cast<int64_t>(shape.size());
    const int64_t middle = from_front(dim, rank);
    for (int64_t d = 0; d < rank; ++d) (d < middle ? outer : d == middle ? length : inner) *= shape[d];
}

}  // namespace npusim
