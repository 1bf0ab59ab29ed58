// Values moved, converted, joined, split and repeated; none is computed.
#include <algorithm>

#include "array.h"
#include "kernel.h"

namespace npusim {

namespace {

// Calls f(double{}) or f(int64_t{}): the type that holds every value of the dtype.
template <typename F>
void with_type(aclDataType dtype, F f) {
    if (is_float(dtype)) f(double{});
    else f(int64_t{});
}

void copy(const Tensor& target, const Tensor& source) {
    with_type(source.dtype, [&](auto zero) { store(target, load<decltype(zero)>(source, target.shape)); });
}

void foreach_copy(const Call& call) {
    const auto& sources = call.tensors("source");
    const auto& targets = call.tensors("out");
    for (size_t i = 0; i < sources.size(); ++i) copy(targets.at(i), sources[i]);
}

// The part of a tensor from `start`, `length` long, along a dimension.
Tensor narrow(const Tensor& tensor, int64_t dim, int64_t start, int64_t length) {
    Tensor part = tensor;
    part.offset += start * tensor.strides[dim];
    part.shape[dim] = length;
    return part;
}

bool is_legacy_empty(const Tensor& tensor) { return tensor.rank() == 1 && tensor.shape[0] == 0; }

void cat(const Call& call) {
    const Tensor& out = call.output();
    const int64_t dim = from_front(call.integer("dim"), out.rank());
    int64_t start = 0;
    for (const Tensor& source : call.tensors("tensors")) {
        if (is_legacy_empty(source)) continue;
        copy(narrow(out, dim, start, source.shape.at(dim)), source);
        start += source.shape[dim];
    }
}

void stack(const Call& call) {
    const Tensor& out = call.output();
    const int64_t dim = from_front(call.integer("dim"), out.rank());
    int64_t start = 0;
    for (Tensor source : call.tensors("tensors")) {
        source.shape.insert(source.shape.begin() + dim, 1);
        source.strides.insert(source.strides.begin() + dim, 0);
        copy(narrow(out, dim, start++, 1), source);
    }
}

void split(const Call& call) {
    const Tensor& self = call.tensor("self");
    const int64_t dim = from_front(call.integer("dim"), self.rank());
    int64_t start = 0;
    for (const Tensor& out : call.tensors("out")) {
        copy(out, narrow(self, dim, start, out.shape.at(dim)));
        start += out.shape[dim];
    }
}

// Each output element comes from the input element that `source_index` maps its index to.
template <typename Map>
void rearrange(const Call& call, Map source_index) {
    const Tensor& self = call.tensor("self");
    const Tensor& out = call.output();
    with_type(self.dtype, [&](auto zero) {
        const auto x = load<decltype(zero)>(self);
        Array<decltype(zero)> result(out.shape);
        Shape index(out.shape.size(), 0);
        for (int64_t i = 0; i < result.size(); ++i) {
            result[i] = x[source_index(index)];
            for (int d = out.rank() - 1; d >= 0 && ++index[d] == out.shape[d]; --d) index[d] = 0;
        }
        store(out, result);
    });
}

int64_t flat(const Shape& shape, const Shape& index) {
    int64_t position = 0;
    for (size_t d = 0; d < shape.size(); ++d) position = position * shape[d] + index[d];
    return position;
}

void repeat(const Call& call) {
    const Shape& shape = call.tensor("self").shape;
    const size_t missing = call.output().shape.size() - shape.size();
    rearrange(call, [&](const Shape& index) {
        Shape source(shape.size());
        for (size_t d = 0; d < shape.size(); ++d) source[d] = index[missing + d] % shape[d];
        return flat(shape, source);
    });
}

void flip(const Call& call) {
    const Shape& shape = call.tensor("self").shape;
    const auto& dims = call.ints("dims");
    rearrange(call, [&](Shape index) {
        for (const int64_t dim : dims) {
            const int64_t d = from_front(dim, static_cast<int64_t>(shape.size()));
            index[d] = shape[d] - 1 - index[d];
        }
        return flat(shape, index);
    });
}

void roll(const Call& call) {
    const Shape& shape = call.tensor("self").shape;
    const auto& dims = call.ints("dims");
    const auto& shifts = call.ints("shifts");
    const int64_t total = count(shape);
    rearrange(call, [&](Shape index) {
        if (dims.empty()) return (flat(shape, index) + total - shifts[0] % total + total) % total;
        for (size_t k = 0; k < dims.size(); ++k) {
            const int64_t d = from_front(dims[k], static_cast<int64_t>(shape.size()));
            index[d] = ((index[d] - shifts[k]) % shape[d] + shape[d]) % shape[d];
        }
        return flat(shape, index);
    });
}

// `pad` holds pairs (before, after), the last dimension's first.
void pad_constant(const Call& call) {
    const Tensor& self = call.tensor("self");
    const Tensor& out = call.output();
    const auto& pad = call.ints("pad");
    Tensor inner = out;
    for (size_t k = 0; k < pad.size() / 2; ++k) {
        const int64_t dim = out.rank() - 1 - static_cast<int64_t>(k);
        inner = narrow(inner, dim, std::max<int64_t>(pad[2 * k], 0), self.shape[dim]);
        if (pad[2 * k] < 0 || pad[2 * k + 1] < 0) throw UnsupportedCall("ConstantPadNd: negative padding");
    }
    store(out, std::vector<double>(out.numel(), value_of<double>(call.scalar("value"))));
    copy(inner, self);
}

// How often each index along the dimension is repeated.
std::vector<int64_t> repeats_of(const Call& call, int64_t length) {
    if (!call.has("repeats")) throw UnsupportedCall(call.op() + ": without repeats");
    const Value& value = call.value("repeats");
    if (const auto* number = std::get_if<int64_t>(&value)) return std::vector<int64_t>(length, *number);
    auto repeats = load<int64_t>(call.tensor("repeats")).values;
    if (repeats.size() == 1) repeats.resize(length, repeats[0]);
    return repeats;
}

void repeat_interleave(const Call& call) {
    const bool has_dim = call.has("dim");
    const Tensor& self = call.tensor("self");
    const Tensor& out = call.output();
    const Shape shape = has_dim ? self.shape : Shape{self.numel()};
    const Split parts(shape, has_dim ? call.integer("dim") : 0);
    const auto repeats = repeats_of(call, parts.length);
    with_type(self.dtype, [&](auto zero) {
        const auto x = load<decltype(zero)>(self);
        std::vector<decltype(zero)> result;
        for (int64_t o = 0; o < parts.outer; ++o) {
            for (int64_t k = 0; k < parts.length; ++k) {
                const auto begin = x.values.begin() + parts.at(o, k, 0);
                for (int64_t r = 0; r < repeats[k]; ++r) result.insert(result.end(), begin, begin + parts.inner);
            }
        }
        store(out, result);
    });
}

void repeat_interleave_counts(const Call& call) {
    const auto repeats = load<int64_t>(call.tensor("repeats"));
    std::vector<int64_t> result;
    for (int64_t i = 0; i < repeats.size(); ++i) result.insert(result.end(), repeats[i], i);
    store(call.output(), result);
}

}  // namespace

void register_copy(Registry& registry) {
    registry.add("InplaceCopy", [](const Call& call) { copy(call.tensor("self"), call.tensor("source")); });
    registry.add("Cast", [](const Call& call) { copy(call.output(), call.tensor("self")); });
    registry.add("ForeachCopy", foreach_copy);
    registry.add("Cat", cat);
    registry.add("Stack", stack);
    registry.add("SplitWithSize", split);
    registry.add("Repeat", repeat);
    registry.add("Flip", flip);
    registry.add("Roll", roll);
    registry.add("ConstantPadNd", pad_constant);
    for (const char* name :
         {"RepeatInterleave", "RepeatInterleaveWithDim", "RepeatInterleaveInt", "RepeatInterleaveIntWithDim"}) {
        registry.add(name, repeat_interleave);
    }
    registry.add("RepeatInterleaveTensor", repeat_interleave_counts);
}

}  // namespace npusim
