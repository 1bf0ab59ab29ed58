// Gather, scatter, selection along a dimension, and the positions of what is not zero.
#include <algorithm>

#include "elementwise.h"
#include "kernel.h"
#include "positions.h"

namespace npusim {

namespace {

// Calls f(position in the index, position in a tensor of `shape`) for gather and scatter along a dimension.
template <typename F>
void along(const Call& call, const Shape& shape, F f) {
    const Tensor& index = call.tensor("index");
    const int64_t dim = from_front(call.integer("dim"), static_cast<int64_t>(shape.size()));
    const auto values = load<int64_t>(index);
    Shape at(index.shape.size(), 0);
    for (int64_t i = 0; i < values.size(); ++i) {
        int64_t position = 0;
        for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
            const int64_t coordinate = d == dim ? checked(values[i], shape[d], call) : at.empty() ? 0 : at[d];
            position = position * shape[d] + coordinate;
        }
        f(i, position, at);
        for (int d = index.rank() - 1; d >= 0 && ++at[d] == index.shape[d]; --d) at[d] = 0;
    }
}

void gather(const Call& call) {
    const Tensor& self = call.tensor("self");
    with_type(self, [&](auto zero) {
        const auto x = load<decltype(zero)>(self);
        std::vector<decltype(zero)> out(call.output().numel());
        along(call, self.shape, [&](int64_t i, int64_t position, const Shape&) { out[i] = x[position]; });
        store(call.output(), out);
    });
}

// reduce: 0 replaces, 1 adds, 2 multiplies.
void scatter_with(const Call& call, int64_t reduce) {
    const Tensor& self = call.tensor("self");
    const Tensor& out = call.output();
    with_type(self, [&](auto zero) {
        using T = decltype(zero);
        auto x = load<T>(self);
        const bool constant = call.has("value");
        const auto source =
            constant ? Array<T>(Shape{1}, value_of<T>(call.scalar("value"))) : load<T>(call.tensor("source"));
        along(call, self.shape, [&](int64_t, int64_t position, const Shape& at) {
            int64_t from = 0;
            for (size_t d = 0; d < at.size() && !constant; ++d) from = from * source.shape[d] + at[d];
            T& target = x[position];
            target = reduce == 1 ? target + source[from] : reduce == 2 ? target * source[from] : source[from];
        });
        store(out, x);
    });
}

void scatter(const Call& call) { scatter_with(call, call.integer("reduce")); }
void scatter_add(const Call& call) { scatter_with(call, 1); }

void index_select(const Call& call) {
    const Tensor& self = call.tensor("self");
    const auto rows = load<int64_t>(call.tensor("index"));
    const Split split(self.shape, call.integer("dim"));
    with_type(self, [&](auto zero) {
        const auto x = load<decltype(zero)>(self);
        std::vector<decltype(zero)> out;
        for (int64_t o = 0; o < split.outer; ++o) {
            for (const int64_t row : rows.values) {
                const auto begin = x.values.begin() + split.at(o, checked(row, split.length, call), 0);
                out.insert(out.end(), begin, begin + split.inner);
            }
        }
        store(call.output(), out);
    });
}

void embedding(const Call& call) {
    const Tensor& weight = call.tensor("weight");
    const auto rows = load<int64_t>(call.tensor("indices"));
    const auto x = load<double>(weight);
    const int64_t width = weight.shape[1];
    std::vector<double> out;
    for (const int64_t row : rows.values) {
        const auto begin = x.values.begin() + checked(row, weight.shape[0], call) * width;
        out.insert(out.end(), begin, begin + width);
    }
    store(call.output(), out);
}

// Stores `values` where the caller's tensor has room for exactly them: of the by-products, which ones it wants depends
// on the mode.
void store_by_product(const Call& call, const std::string& name, const std::vector<int64_t>& values) {
    const Tensor& out = call.tensor(name);
    std::vector<int64_t> stored = values;
    stored.resize(out.numel(), 0);
    store(out, stored);
}

// mode: 0 sums a bag's rows, 1 takes their mean, 2 the largest of each column.
void embedding_bag(const Call& call) {
    const Tensor& weight = call.tensor("weight");
    const auto rows = load<int64_t>(call.tensor("indices"));
    const auto offsets = load<int64_t>(call.tensor("offsets"));
    const auto x = load<double>(weight);
    const int64_t width = weight.shape[1], mode = call.integer("mode"), padding = call.integer("padding_idx");
    const int64_t bags = offsets.size() - (call.integer("include_last_offset") != 0 ? 1 : 0);
    const Tensor* weights = call.optional_tensor("per_sample_weights");
    const auto scales = weights == nullptr ? Array<double>(Shape{rows.size()}, 1.0) : load<double>(*weights);
    std::vector<double> out(bags * width, 0.0);
    std::vector<int64_t> bag_of(rows.size(), 0), sizes(bags, 0), largest(bags * width, 0);
    for (int64_t bag = 0; bag < bags; ++bag) {
        const int64_t end = bag + 1 < offsets.size() ? offsets[bag + 1] : rows.size();
        for (int64_t i = offsets[bag]; i < end; ++i) {
            const int64_t row = checked(rows[i], weight.shape[0], call);
            bag_of[i] = bag;
            if (row == padding) continue;
            const bool first = sizes[bag]++ == 0;
            for (int64_t column = 0; column < width; ++column) {
                double& sum = out[bag * width + column];
                const double value = x[row * width + column] * scales[i];
                const bool larger = mode == 2 && (first || value > sum);
                if (larger) largest[bag * width + column] = row;
                if (mode != 2 || larger) sum = mode == 2 ? value : sum + value;
            }
        }
        for (int64_t column = 0; column < width && mode == 1 && sizes[bag] > 0; ++column) {
            out[bag * width + column] /= static_cast<double>(sizes[bag]);
        }
    }
    store(call.output(), out);
    store_by_product(call, "offset2bag", bag_of);
    store_by_product(call, "bag_size", sizes);
    store_by_product(call, "max_indices", largest);
}

// Writes whole slices at positions along a dimension: combine(old value, new value).
template <typename Combine>
void write_slices(const Call& call, Combine combine) {
    const Tensor& self = call.tensor("self");
    const auto rows = load<int64_t>(call.tensor("index"));
    const Split split(self.shape, call.integer("dim"));
    with_type(self, [&](auto zero) {
        auto x = load<decltype(zero)>(self);
        const auto source = load<decltype(zero)>(call.tensor("source"));
        for (int64_t o = 0; o < split.outer; ++o) {
            for (int64_t k = 0; k < rows.size(); ++k) {
                const int64_t row = checked(rows[k], split.length, call);
                for (int64_t i = 0; i < split.inner; ++i) {
                    auto& target = x[split.at(o, row, i)];
                    target = combine(target, source[(o * rows.size() + k) * split.inner + i]);
                }
            }
        }
        store(call.output(), x);
    });
}

void index_add(const Call& call) {
    const double alpha = value_of<double>(call.scalar("alpha"));
    write_slices(call, [alpha](auto old, auto value) { return static_cast<decltype(old)>(old + alpha * value); });
}

void index_copy(const Call& call) {
    write_slices(call, [](auto, auto value) { return value; });
}

void index_fill(const Call& call) {
    const Tensor& self = call.tensor("self");
    const Split split(self.shape, call.integer("dim"));
    auto x = load<double>(self);
    const double value = value_of<double>(call.scalar("value"));
    for (int64_t o = 0; o < split.outer; ++o) {
        for (const int64_t row : call.ints("index")) {
            for (int64_t i = 0; i < split.inner; ++i) x[split.at(o, checked(row, split.length, call), i)] = value;
        }
    }
    store(call.output(), x);
}

void take(const Call& call) {
    const auto x = load<double>(call.tensor("self"));
    auto positions = load<int64_t>(call.tensor("index"));
    std::vector<double> out;
    for (const int64_t position : positions.values) out.push_back(x[checked(position, x.size(), call)]);
    store(call.output(), out);
}

// self[index[n]] = updates[n]: the last dimension of the index holds the leading coordinates.
void scatter_nd(const Call& call) {
    const Tensor& self = call.tensor("self");
    const Tensor& index = call.tensor("index");
    auto x = load<double>(self);
    const auto at = load<int64_t>(index);
    const auto updates = load<double>(call.tensor("updates"));
    const int64_t depth = index.shape.back(), slices = depth == 0 ? 1 : at.size() / depth,
                  width = updates.size() / slices;
    for (int64_t n = 0; n < slices; ++n) {
        int64_t position = 0;
        for (int64_t d = 0; d < depth; ++d)
            position = position * self.shape[d] + checked(at[n * depth + d], self.shape[d], call);
        for (int64_t i = 0; i < width; ++i) x[position * width + i] = updates[n * width + i];
    }
    store(self, x);
}

// The outputs of these two have room for the worst case; the handle's shape tells the wheel how much is used.
void shrink(const Tensor& out, Shape shape) {
    if (kind_of(out.handle) != HandleKind::tensor) return;
    auto* handle = static_cast<aclTensor*>(const_cast<void*>(out.handle));
    handle->value.shape = std::move(shape);
}

void nonzero(const Call& call) {
    const Tensor& self = call.tensor("self");
    Tensor out = call.output();
    const auto x = load<double>(self);
    std::vector<int64_t> found;
    for (int64_t i = 0; i < x.size(); ++i) {
        if (x[i] != 0) found.push_back(i);
    }
    const auto total = static_cast<int64_t>(found.size());
    const bool by_dimension = call.op() == "aclnnNonzeroV2";  // (rank, total) instead of (total, rank)
    std::vector<int64_t> coordinates(total * self.rank());
    for (int64_t n = 0; n < total; ++n) {
        int64_t rest = found[n];
        for (int64_t d = self.rank() - 1; d >= 0; --d) {
            coordinates[by_dimension ? d * total + n : n * self.rank() + d] = rest % self.shape[d];
            rest /= self.shape[d];
        }
    }
    out.shape = by_dimension ? Shape{self.rank(), total} : Shape{total, self.rank()};
    out.strides = {out.shape[1], 1};
    store(out, coordinates);
    shrink(call.output(), out.shape);
}

void masked_select(const Call& call) {
    const Shape shape = broadcast({call.tensor("self").shape, call.tensor("mask").shape});
    const auto mask = load<int64_t>(call.tensor("mask"), shape);
    Tensor out = call.output();
    with_type(call.tensor("self"), [&](auto zero) {
        const auto x = load<decltype(zero)>(call.tensor("self"), shape);
        std::vector<decltype(zero)> chosen;
        for (int64_t i = 0; i < x.size(); ++i) {
            if (mask[i] != 0) chosen.push_back(x[i]);
        }
        out.shape = {static_cast<int64_t>(chosen.size())};
        out.strides = {1};
        store(out, chosen);
    });
    shrink(call.output(), out.shape);
}

void masked_scatter(const Call& call) {
    const Tensor& self = call.tensor("self");
    auto x = load<double>(self);
    const auto mask = load<int64_t>(call.tensor("mask"), self.shape);
    const auto source = load<double>(call.tensor("source"));
    int64_t next = 0;
    for (int64_t i = 0; i < x.size(); ++i) {
        if (mask[i] != 0) x[i] = source[checked(next++, source.size(), call)];
    }
    store(self, x);
}

}  // namespace

void register_gather(Registry& registry) {
    registry.add("Gather", gather);
    for (const std::string prefix : {"", "Inplace"}) {
        registry.add(prefix + "Scatter", scatter);
        registry.add(prefix + "ScatterValue", scatter);
        registry.add(prefix + "IndexCopy", index_copy);
        registry.add(prefix + "IndexFillTensor", index_fill);
        registry.add(prefix + "IndexFill", index_fill);
    }
    registry.add("ScatterNdUpdate", scatter_nd);
    registry.add("ScatterAdd", scatter_add);
    registry.add("IndexAdd", index_add);
    registry.add("IndexAddV2", index_add);
    registry.add("IndexSelect", index_select);
    registry.add("Embedding", embedding);
    registry.add("EmbeddingBag", embedding_bag);
    registry.add("Take", take);
    registry.add("Nonzero", nonzero);
    registry.add("NonzeroV2", nonzero);
    registry.add("MaskedSelect", masked_select);
    registry.add("InplaceMaskedScatter", masked_scatter);
}

}  // namespace npusim
