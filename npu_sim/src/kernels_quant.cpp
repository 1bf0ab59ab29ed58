// The fused operators of a W8A8 expert: dynamic quantisation, quantised product, SwiGLU.
#include <algorithm>
#include <cmath>

#include "kernel.h"
#include "matmul.h"

namespace npusim {

namespace {

constexpr double kInt8Max = 127;

// Each row (last dimension) by its own scale, so that its greatest magnitude becomes 127.
void dynamic_quant(const Call& call) {
    if (call.has("group_index")) throw UnsupportedCall(call.op() + ": groups are not simulated");
    if (call.has("symmetric") && call.integer("symmetric") == 0) throw UnsupportedCall(call.op() + ": only symmetric is simulated");
    if (call.has("mode") && call.text("mode") != "pertoken") throw UnsupportedCall(call.op() + ": only per token is simulated");
    const Tensor& out = call.tensor("out");
    if (out.dtype != ACL_INT8) throw UnsupportedCall(call.op() + ": only i8 is simulated");
    auto x = load<double>(call.tensor("x"));
    const int64_t width = x.shape.back();
    const auto smooth = call.has("smooth") ? load<double>(call.tensor("smooth")).values : std::vector<double>(width, 1);
    std::vector<double> scales;
    for (int64_t row = 0; row < x.size(); row += width) {
        double greatest = 0;
        for (int64_t i = 0; i < width; ++i) {
            x[row + i] *= smooth[i];
            greatest = std::max(greatest, std::fabs(x[row + i]));
            if (std::isnan(x[row + i])) greatest = x[row + i];
        }
        const double scale = static_cast<float>(greatest / kInt8Max);
        for (int64_t i = 0; i < width; ++i) x[row + i] = scale == 0 ? 0 : std::nearbyint(x[row + i] / scale);
        scales.push_back(scale);
    }
    store(out, x);
    store(call.tensor("scale"), scales);
}

// x1 and x2 are i8; scales are per token (x1) and per channel or per tensor (x2).
void quant_matmul(const Call& call) {
    for (const char* name : {"y_scale", "x1_offset", "x2_offset", "y_offset"}) {
        if (call.has(name) && call.tensor(name).numel() > 0) throw UnsupportedCall(call.op() + ": " + name + " is not simulated");
    }
    if (call.has("group_size") && call.integer("group_size") != 0) throw UnsupportedCall(call.op() + ": group sizes are not simulated");
    auto a = load<double>(call.tensor("x1")), b = load<double>(call.tensor("x2"));
    if (call.tensor("x1").dtype != ACL_INT8 || call.tensor("x2").dtype != ACL_INT8) throw UnsupportedCall(call.op() + ": only i8 is simulated");
    if (call.integer("transpose_x1") != 0) a = transposed(a);
    if (call.integer("transpose_x2") != 0) b = transposed(b);
    auto product = matmul(a, b);
    const int64_t columns = product.shape.back();
    const Tensor* bias = call.optional_tensor("bias");
    if (bias != nullptr && !is_float(bias->dtype)) {
        const auto values = load<double>(*bias);
        for (int64_t i = 0; i < product.size(); ++i) product[i] += values[i % columns];
    }
    const auto channel = load<double>(call.tensor("x2_scale")).values;
    for (int64_t i = 0; i < product.size(); ++i) product[i] *= channel.size() == 1 ? channel[0] : channel[i % columns];
    if (call.has("x1_scale")) {
        const auto token = load<double>(call.tensor("x1_scale")).values;
        for (int64_t i = 0; i < product.size(); ++i) product[i] *= token.size() == 1 ? token[0] : token[i / columns % token.size()];
    }
    if (bias != nullptr && is_float(bias->dtype)) {
        const auto values = load<double>(*bias);
        for (int64_t i = 0; i < product.size(); ++i) product[i] += values[i % columns];
    }
    store(call.tensor("out"), product);
}

// The first half along the dimension, through SiLU, times the second half.
void swiglu(const Call& call) {
    const auto x = load<double>(call.tensor("x"));
    const Split from(x.shape, call.integer("dim"));
    const int64_t half = from.length / 2;
    std::vector<double> out;
    for (int64_t o = 0; o < from.outer; ++o) {
        for (int64_t k = 0; k < half; ++k) {
            for (int64_t i = 0; i < from.inner; ++i) {
                const double gate = x[from.at(o, k, i)];
                out.push_back(gate / (1 + std::exp(-gate)) * x[from.at(o, k + half, i)]);
            }
        }
    }
    store(call.output(), out);
}

// y = round(x * scale + offset), scale and offset per channel or one for all.
void quantize(const Call& call) {
    auto x = load<double>(call.tensor("x"));
    const auto scale = load<double>(call.tensor("scale"), x.shape);
    for (int64_t i = 0; i < x.size(); ++i) x[i] *= call.integer("sqrt_mode") != 0 ? scale[i] * scale[i] : scale[i];
    if (call.has("offset")) {
        const auto offset = load<double>(call.tensor("offset"), x.shape);
        for (int64_t i = 0; i < x.size(); ++i) x[i] += offset[i];
    }
    for (double& value : x.values) value = std::nearbyint(value);
    store(call.output(), x);
}

}  // namespace

void register_quant(Registry& registry) {
    for (const char* name : {"DynamicQuant", "DynamicQuantV2", "DynamicQuantV3", "DynamicQuantV4"}) registry.add(name, dynamic_quant);
    registry.add("QuantMatmulV5", quant_matmul);
    registry.add("SwiGlu", swiglu);
    registry.add("AscendQuantV3", quantize);
}

}  // namespace npusim
