#include "array.h"

#include <algorithm>

namespace npusim {

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
