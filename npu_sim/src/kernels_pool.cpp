// Pooling and nearest resizing over the last two dimensions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "array.h"
#include "kernel.h"

namespace npusim {

namespace {

// Rows and columns of each plane; everything before is a stack of planes.
struct Planes {
    int64_t number, rows, columns;
    explicit Planes(const Shape& shape)
        : number(count(shape) / std::max<int64_t>(shape.back() * shape[shape.size() - 2], 1)),
          rows(shape[shape.size() - 2]),
          columns(shape.back()) {}
};

std::pair<int64_t, int64_t> pair_of(const std::vector<int64_t>& values, std::pair<int64_t, int64_t> fallback) {
    if (values.empty()) return fallback;
    return {values[0], values.size() > 1 ? values[1] : values[0]};
}

void max_pool(const Call& call) {
    const auto x = load<double>(call.tensor("self"));
    const Tensor& out = call.tensor("out");
    const Planes from(x.shape), to(out.shape);
    const auto [kernel_rows, kernel_columns] = pair_of(call.ints("kernel"), {1, 1});
    const auto [stride_rows, stride_columns] = pair_of(call.ints("stride"), {kernel_rows, kernel_columns});
    const auto [pad_rows, pad_columns] = pair_of(call.ints("padding"), {0, 0});
    const auto [step_rows, step_columns] = pair_of(call.ints("dilation"), {1, 1});
    std::vector<double> values(out.numel());
    std::vector<int64_t> indices(out.numel());
    for (int64_t i = 0; i < out.numel(); ++i) {
        const int64_t plane = i / (to.rows * to.columns), r = i / to.columns % to.rows, c = i % to.columns;
        double best = -std::numeric_limits<double>::infinity();
        int64_t best_index = -1;
        for (int64_t y = 0; y < kernel_rows; ++y) {
            for (int64_t z = 0; z < kernel_columns; ++z) {
                const int64_t row = r * stride_rows - pad_rows + y * step_rows;
                const int64_t column = c * stride_columns - pad_columns + z * step_columns;
                if (row < 0 || row >= from.rows || column < 0 || column >= from.columns) continue;
                const double value = x[(plane * from.rows + row) * from.columns + column];
                if (best_index < 0 || value > best || std::isnan(value)) {
                    best = value;
                    best_index = row * from.columns + column;
                }
            }
        }
        values[i] = best;
        indices[i] = best_index;
    }
    store(out, values);
    // With a mask instead of indices, the second output is the backward pass's own format: left as it is.
    if (call.op() == "aclnnMaxPool2dWithIndices") store(call.tensor("indices"), indices);
}

double window_sum(const Array<double>& x, const Planes& from, int64_t plane, int64_t row, int64_t row_end,
                  int64_t column, int64_t column_end) {
    double sum = 0;
    for (int64_t r = std::max<int64_t>(row, 0); r < std::min(row_end, from.rows); ++r) {
        for (int64_t c = std::max<int64_t>(column, 0); c < std::min(column_end, from.columns); ++c) {
            sum += x[(plane * from.rows + r) * from.columns + c];
        }
    }
    return sum;
}

void avg_pool(const Call& call) {
    const auto x = load<double>(call.tensor("self"));
    const Tensor& out = call.output();
    const Planes from(x.shape), to(out.shape);
    const auto [kernel_rows, kernel_columns] = pair_of(call.ints("kernel"), {1, 1});
    const auto [stride_rows, stride_columns] = pair_of(call.ints("stride"), {kernel_rows, kernel_columns});
    const auto [pad_rows, pad_columns] = pair_of(call.ints("padding"), {0, 0});
    const bool count_padding = call.integer("count_include_pad") != 0;
    const int64_t divisor = call.integer("divisor");
    std::vector<double> values(out.numel());
    for (int64_t i = 0; i < out.numel(); ++i) {
        const int64_t plane = i / (to.rows * to.columns);
        const int64_t row = i / to.columns % to.rows * stride_rows - pad_rows,
                      column = i % to.columns * stride_columns - pad_columns;
        const int64_t row_end = std::min(row + kernel_rows, from.rows + pad_rows);
        const int64_t column_end = std::min(column + kernel_columns, from.columns + pad_columns);
        const int64_t padded = (row_end - row) * (column_end - column);
        const int64_t inside = (std::min(row_end, from.rows) - std::max<int64_t>(row, 0)) *
                               (std::min(column_end, from.columns) - std::max<int64_t>(column, 0));
        const int64_t share = divisor != 0 ? divisor : count_padding ? padded : inside;
        values[i] = window_sum(x, from, plane, row, row_end, column, column_end) / static_cast<double>(share);
    }
    store(out, values);
}

void adaptive_avg_pool(const Call& call) {
    const auto x = load<double>(call.tensor("self"));
    const Tensor& out = call.output();
    const Planes from(x.shape), to(out.shape);
    std::vector<double> values(out.numel());
    for (int64_t i = 0; i < out.numel(); ++i) {
        const int64_t plane = i / (to.rows * to.columns), r = i / to.columns % to.rows, c = i % to.columns;
        const int64_t row = r * from.rows / to.rows, row_end = ((r + 1) * from.rows + to.rows - 1) / to.rows;
        const int64_t column = c * from.columns / to.columns;
        const int64_t column_end = ((c + 1) * from.columns + to.columns - 1) / to.columns;
        const auto share = static_cast<double>((row_end - row) * (column_end - column));
        values[i] = window_sum(x, from, plane, row, row_end, column, column_end) / share;
    }
    store(out, values);
}

void upsample_nearest(const Call& call) {
    const auto x = load<double>(call.tensor("self"));
    const Tensor& out = call.output();
    const Planes from(x.shape), to(out.shape);
    std::vector<double> values(out.numel());
    for (int64_t i = 0; i < out.numel(); ++i) {
        const int64_t plane = i / (to.rows * to.columns);
        const int64_t row = i / to.columns % to.rows * from.rows / to.rows,
                      column = i % to.columns * from.columns / to.columns;
        values[i] = x[(plane * from.rows + row) * from.columns + column];
    }
    store(out, values);
}

}  // namespace

void register_pool(Registry& registry) {
    registry.add("MaxPool2dWithMask", max_pool);
    registry.add("MaxPool2dWithIndices", max_pool);
    registry.add("AvgPool2d", avg_pool);
    registry.add("AdaptiveAvgPool2d", adaptive_avg_pool);
    registry.add("UpsampleNearest2d", upsample_nearest);
    registry.add("UpsampleNearest2dV2", upsample_nearest);
}

}  // namespace npusim
