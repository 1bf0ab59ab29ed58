// Indexing with lists of tensors: x[i, j], x[mask], and writes to such places.
#include <algorithm>

#include "elementwise.h"
#include "kernel.h"
#include "positions.h"

namespace npusim {

namespace {

// What `x[indices]` addresses: for every element of the indices' broadcast shape, flat positions of an inner block.
struct Addressed {
    Shape result;  // shape of x[indices]
    std::vector<int64_t> positions;
};

struct IndexList {
    std::vector<int64_t> dims;  // dimensions that have an index
    std::vector<Array<int64_t>> indices;
    Shape shape;  // to which the indices broadcast
};

// A bool mask counts as one index for each of its dimensions.
void expand_mask(const Tensor& mask, int64_t first, IndexList& list) {
    const auto bits = load<int64_t>(mask);
    std::vector<std::vector<int64_t>> columns(mask.rank());
    for (int64_t i = 0; i < bits.size(); ++i) {
        if (bits[i] == 0) continue;
        int64_t rest = i;
        for (int d = mask.rank() - 1; d >= 0; --d) {
            columns[d].push_back(rest % mask.shape[d]);
            rest /= mask.shape[d];
        }
    }
    for (int d = 0; d < mask.rank(); ++d) {
        Array<int64_t> column({static_cast<int64_t>(columns[d].size())});
        column.values = columns[d];
        list.dims.push_back(first + d);
        list.indices.push_back(std::move(column));
    }
}

Array<int64_t> spread(const Array<int64_t>& index, const Shape& shape) {
    Array<int64_t> out(shape);
    const size_t missing = shape.size() - index.shape.size();
    Shape at(shape.size(), 0);
    for (int64_t i = 0; i < out.size(); ++i) {
        int64_t position = 0;
        for (size_t d = 0; d < index.shape.size(); ++d)
            position = position * index.shape[d] + (index.shape[d] == 1 ? 0 : at[missing + d]);
        out[i] = index[position];
        for (int64_t d = static_cast<int64_t>(shape.size()) - 1; d >= 0 && ++at[d] == shape[d]; --d) at[d] = 0;
    }
    return out;
}

IndexList read_indices(const std::vector<Tensor>& tensors) {
    IndexList list;
    int64_t dim = 0;
    for (const Tensor& tensor : tensors) {
        // A left out index arrives as a null or an empty tensor.
        if (tensor.storage == nullptr || (tensor.rank() == 1 && tensor.shape[0] == 0)) {
            ++dim;
        } else if (tensor.dtype == ACL_BOOL) {
            expand_mask(tensor, dim, list);
            dim += tensor.rank();
        } else {
            list.dims.push_back(dim++);
            list.indices.push_back(load<int64_t>(tensor));
        }
    }
    std::vector<Shape> shapes;
    for (const auto& index : list.indices) shapes.push_back(index.shape);
    list.shape = broadcast(shapes);
    for (auto& index : list.indices) index = spread(index, list.shape);
    return list;
}

bool adjacent(const std::vector<int64_t>& dims) {
    for (size_t i = 1; i < dims.size(); ++i) {
        if (dims[i] != dims[i - 1] + 1) return false;
    }
    return true;
}

Shape row_major(const Shape& shape) {
    Shape strides(shape.size(), 1);
    for (int64_t d = static_cast<int64_t>(shape.size()) - 2; d >= 0; --d) strides[d] = strides[d + 1] * shape[d + 1];
    return strides;
}

// Flat offsets of every combination of coordinates in some dimensions.
std::vector<int64_t> offsets(const std::vector<int64_t>& dims, const Shape& shape, const Shape& strides) {
    std::vector<int64_t> out{0};
    for (const int64_t d : dims) {
        std::vector<int64_t> next;
        for (const int64_t base : out) {
            for (int64_t i = 0; i < shape[d]; ++i) next.push_back(base + i * strides[d]);
        }
        out = std::move(next);
    }
    return out;
}

// Flat offsets of what the indices choose, in the dimensions that have one.
std::vector<int64_t> chosen_offsets(const IndexList& list, const Shape& shape, const Shape& strides, const Call& call) {
    std::vector<int64_t> out(count(list.shape), 0);
    for (size_t k = 0; k < list.dims.size(); ++k) {
        const int64_t size = shape[list.dims[k]], stride = strides[list.dims[k]];
        for (size_t i = 0; i < out.size(); ++i) out[i] += checked(list.indices[k].values[i], size, call) * stride;
    }
    return out;
}

// Flat row-major positions within `shape` of the elements that x[indices] names, in order.
Addressed address(const Shape& shape, const IndexList& list, const Call& call) {
    // The indices' own shape stands where they are when they are neighbours, else in front.
    std::vector<int64_t> before, after;
    const bool together = !list.dims.empty() && adjacent(list.dims);
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
        if (std::find(list.dims.begin(), list.dims.end(), d) != list.dims.end()) continue;
        (together && d < list.dims.front() ? before : after).push_back(d);
    }
    Addressed out;
    for (const int64_t d : before) out.result.push_back(shape[d]);
    out.result.insert(out.result.end(), list.shape.begin(), list.shape.end());
    for (const int64_t d : after) out.result.push_back(shape[d]);
    const Shape strides = row_major(shape);
    const auto chosen = chosen_offsets(list, shape, strides, call);
    const auto inner = offsets(after, shape, strides);
    for (const int64_t o : offsets(before, shape, strides)) {
        for (const int64_t c : chosen) {
            for (const int64_t i : inner) out.positions.push_back(o + c + i);
        }
    }
    return out;
}

void index(const Call& call) {
    const Tensor& self = call.tensor("self");
    const Addressed at = address(self.shape, read_indices(call.tensors("indices")), call);
    with_type(self, [&](auto zero) {
        const auto x = load<decltype(zero)>(self);
        std::vector<decltype(zero)> out;
        for (const int64_t position : at.positions) out.push_back(x[position]);
        store(call.output(), out);
    });
}

void index_put(const Call& call) {
    const Tensor& self = call.tensor("self");
    const Addressed at = address(self.shape, read_indices(call.tensors("indices")), call);
    const bool accumulate = call.integer("accumulate") != 0;
    with_type(self, [&](auto zero) {
        auto x = load<decltype(zero)>(self);
        const auto values = load<decltype(zero)>(call.tensor("values"), at.result);
        for (size_t i = 0; i < at.positions.size(); ++i) {
            auto& target = x[at.positions[i]];
            target = accumulate ? target + values[static_cast<int64_t>(i)] : values[static_cast<int64_t>(i)];
        }
        store(self, x);
    });
}

}  // namespace

void register_index(Registry& registry) {
    registry.add("Index", index);
    registry.add("IndexPutImpl", index_put);
}

}  // namespace npusim
