// The matrix product family.
#include <algorithm>

#include "kernel.h"
#include "matmul.h"

namespace npusim {

namespace {

Kernel product(const char* first, const char* second) {
    return [=](const Call& call) {
        store(call.output(), matmul(load<double>(call.tensor(first)), load<double>(call.tensor(second))));
    };
}

// beta * self + alpha * product, self broadcast to the output.
void add_product(const Call& call, const Array<double>& product) {
    const Tensor& out = call.output();
    const double beta = value_of<double>(call.scalar("beta")), alpha = value_of<double>(call.scalar("alpha"));
    Array<double> result(out.shape);
    if (beta != 0) result = load<double>(call.tensor("self"), out.shape);  // beta 0 ignores NaN
    for (int64_t i = 0; i < result.size(); ++i) result[i] = (beta == 0 ? 0 : beta * result[i]) + alpha * product[i];
    store(out, result);
}

Kernel plus_product(const char* first, const char* second) {
    return [=](const Call& call) {
        add_product(call, matmul(load<double>(call.tensor(first)), load<double>(call.tensor(second))));
    };
}

void addbmm(const Call& call) {
    const auto products = matmul(load<double>(call.tensor("batch1")), load<double>(call.tensor("batch2")));
    Array<double> sum(call.output().shape);
    for (int64_t i = 0; i < products.size(); ++i) sum[i % sum.size()] += products[i];
    add_product(call, sum);
}

void addr(const Call& call) {
    auto column = load<double>(call.tensor("vec1")), row = load<double>(call.tensor("vec2"));
    column.shape.push_back(1);
    row.shape.insert(row.shape.begin(), 1);
    add_product(call, matmul(column, row));
}

// Rows [begin, end) of x, for each group.
std::vector<int64_t> group_ends(const Call& call, int64_t rows) {
    if (!call.has("group_list")) return {rows};
    const Value& value = call.value("group_list");
    const auto* numbers = std::get_if<std::vector<int64_t>>(&value);
    std::vector<int64_t> ends = numbers != nullptr ? *numbers : load<int64_t>(call.tensor("group_list")).values;
    if (call.has("group_list_type") && call.integer("group_list_type") == 1) {
        for (size_t g = 1; g < ends.size(); ++g) ends[g] += ends[g - 1];
    }
    return ends;
}

Array<double> rows_of(const Array<double>& x, int64_t begin, int64_t end) {
    const int64_t width = x.shape.back();
    Array<double> part({end - begin, width});
    std::copy(x.values.begin() + begin * width, x.values.begin() + end * width, part.values.begin());
    return part;
}

Array<double> matrix_of(const Array<double>& stacked, int64_t index) {
    const int64_t rows = stacked.shape[1], columns = stacked.shape[2];
    Array<double> part({rows, columns});
    std::copy_n(stacked.values.begin() + index * rows * columns, rows * columns, part.values.begin());
    return part;
}

// Groups of rows of one x, each by its own matrix of one stacked weight: the layout of a MoE layer.
void grouped_rows(const Call& call) {
    const auto x = load<double>(call.tensors("x").at(0));
    const auto& weights = call.tensors("weight");
    const Tensor& out = call.tensors("out").at(0);
    const auto ends = group_ends(call, x.shape[0]);
    const auto stacked = load<double>(weights.at(0));
    Array<double> result(out.shape);
    int64_t begin = 0;
    for (size_t g = 0; g < ends.size(); ++g) {
        const auto weight =
            weights.size() > 1 ? load<double>(weights.at(g)) : matrix_of(stacked, static_cast<int64_t>(g));
        const auto part = matmul(rows_of(x, begin, ends[g]), weight);
        std::copy(part.values.begin(), part.values.end(), result.values.begin() + begin * out.shape.back());
        begin = ends[g];
    }
    store(out, result);
}

// One x for each weight.
void grouped_lists(const Call& call) {
    const auto& xs = call.tensors("x");
    for (size_t g = 0; g < xs.size(); ++g) {
        auto result = matmul(load<double>(xs[g]), load<double>(call.tensors("weight").at(g)));
        if (call.has("bias") && call.tensors("bias").size() > g) {
            const auto bias = load<double>(call.tensors("bias")[g], result.shape);
            for (int64_t i = 0; i < result.size(); ++i) result[i] += bias[i];
        }
        store(call.tensors("out").at(g), result);
    }
}

void grouped_matmul(const Call& call) {
    for (const char* name : {"scale", "offset", "antiquant_scale", "antiquant_offset", "per_token_scale"}) {
        if (call.has(name) && !call.tensors(name).empty() && call.tensors(name)[0].numel() > 0) {
            throw UnsupportedCall(call.op() + ": quantized grouped products are not simulated (" + name + " is given)");
        }
    }
    if (call.has("act_type") && call.integer("act_type") != 0)
        throw UnsupportedCall(call.op() + ": fused activations are not simulated");
    if (call.tensors("x").size() > 1) grouped_lists(call);
    else grouped_rows(call);
}

}  // namespace

void register_matmul(Registry& registry) {
    registry.add("Mm", product("self", "mat2"));
    registry.add("BatchMatMul", product("self", "mat2"));
    registry.add("Matmul", product("self", "other"));
    registry.add("Mv", product("self", "vec"));
    registry.add("Dot", product("self", "tensor"));
    for (const std::string prefix : {"", "Inplace"}) {
        registry.add(prefix + "Addmm", plus_product("mat1", "mat2"));
        registry.add(prefix + "Addr", addr);
    }
    registry.add("Addmv", plus_product("mat", "vec"));
    registry.add("Baddbmm", plus_product("batch1", "batch2"));
    registry.add("Addbmm", addbmm);
    for (const char* name : {"GroupedMatmul", "GroupedMatmulV4", "GroupedMatmulV5"}) registry.add(name, grouped_matmul);
}

}  // namespace npusim
