// The fused operators of a W8A8 expert: dynamic quantisation, quantised product, SwiGLU.
#include <algorithm>
#include <cmath>

#include "kernel.h"
#include "matmul.h"
#include "quantize.h"

namespace npusim {

namespace {

void refuse_given(const Call& call, std::initializer_list<const char*> operands) {
    for (const char* name : operands) {
        if (call.has(name) && call.tensor(name).numel() > 0)
            throw UnsupportedCall(call.op() + ": " + name + " is not simulated");
    }
}

void require_int8(const Call& call, const Tensor& tensor) {
    if (tensor.dtype != ACL_INT8)
        throw UnsupportedCall(call.op() + ": " + name_of(tensor.dtype) + " is not simulated, only i8");
}

void dynamic_quant(const Call& call) {
    refuse_given(call, {"group_index"});
    if (call.has("symmetric") && call.integer("symmetric") == 0)
        throw UnsupportedCall(call.op() + ": only symmetric is simulated");
    if (call.has("mode") && call.text("mode") != "pertoken")
        throw UnsupportedCall(call.op() + ": only per token is simulated");
    require_int8(call, call.tensor("out"));
    auto x = load<double>(call.tensor("x"));
    if (call.has("smooth")) {
        const auto smooth = load<double>(call.tensor("smooth"), x.shape);
        for (int64_t i = 0; i < x.size(); ++i) x[i] *= smooth[i];
    }
    store(call.tensor("scale"), quantize_rows(x));
    store(call.tensor("out"), x);
}

// The product of an i8 layer, taken as i32, to the next layer's i8: scale, gate, quantize.
void dequant_swiglu_quant(const Call& call) {
    refuse_given(call, {"bias", "quant_scale", "quant_offset", "group_index"});
    if (call.integer("variant") != 0 || call.text("mode") != "dynamic")
        throw UnsupportedCall(call.op() + ": only the plain dynamic mode is simulated");
    require_int8(call, call.tensor("out"));
    auto x = load<double>(call.tensor("x"));
    const int64_t width = x.shape.back(), half = width / 2;
    const auto channel = load<double>(call.tensor("weight_scale")).values;
    const bool per_token = call.has("token_scale");
    const auto token = per_token ? load<double>(call.tensor("token_scale")).values : std::vector<double>{};
    for (int64_t i = 0; i < x.size(); ++i) x[i] *= channel[i % width] * (per_token ? token[i / width] : 1);
    Array<double> gated(call.tensor("out").shape);
    const int64_t gate_first = call.integer("left") != 0 ? 0 : half;
    for (int64_t i = 0; i < gated.size(); ++i) {
        const int64_t row = i / half * width, column = i % half;
        const double gate = x[row + gate_first + column];
        gated[i] = gate / (1 + std::exp(-gate)) * x[row + half - gate_first + column];
    }
    store(call.tensor("scale"), quantize_rows(gated));
    store(call.tensor("out"), gated);
}

double element(const std::vector<double>& values, int64_t i) {
    return values.size() == 1 ? values[0] : values[i % values.size()];
}

void add_to_columns(Array<double>& product, const Tensor& bias) {
    const auto values = load<double>(bias).values;
    for (int64_t i = 0; i < product.size(); ++i) product[i] += values[i % product.shape.back()];
}

// x1 and x2 are i8; scales are per token (x1) and per channel or per tensor (x2). An i32 result is not scaled.
void quant_matmul(const Call& call) {
    refuse_given(call, {"y_scale", "x1_offset", "x2_offset", "y_offset"});
    if (call.integer("group_size") != 0) throw UnsupportedCall(call.op() + ": group sizes are not simulated");
    require_int8(call, call.tensor("x1"));
    require_int8(call, call.tensor("x2"));
    auto a = load<double>(call.tensor("x1")), b = load<double>(call.tensor("x2"));
    if (call.integer("transpose_x1") != 0) a = transposed(a);
    if (call.integer("transpose_x2") != 0) b = transposed(b);
    auto product = matmul(a, b);
    const Tensor* bias = call.optional_tensor("bias");
    if (bias != nullptr && !is_float(bias->dtype)) add_to_columns(product, *bias);
    if (is_float(call.tensor("out").dtype)) {
        const int64_t columns = product.shape.back();
        const auto channel = load<double>(call.tensor("x2_scale")).values;
        const auto token = call.has("x1_scale") ? load<double>(call.tensor("x1_scale")).values : std::vector<double>{1};
        for (int64_t i = 0; i < product.size(); ++i)
            product[i] *= element(channel, i % columns) * element(token, i / columns);
    }
    if (bias != nullptr && is_float(bias->dtype)) add_to_columns(product, *bias);
    store(call.tensor("out"), product);
}

// gate(first half along the dimension, second half).
template <typename Gate>
void gated(const Call& call, const Tensor& input, Gate gate) {
    const auto x = load<double>(input);
    const Split from(x.shape, call.integer("dim"));
    const int64_t half = from.length / 2;
    std::vector<double> out;
    for (int64_t o = 0; o < from.outer; ++o) {
        for (int64_t k = 0; k < half; ++k) {
            for (int64_t i = 0; i < from.inner; ++i) {
                out.push_back(gate(x[from.at(o, k, i)], x[from.at(o, k + half, i)]));
            }
        }
    }
    store(call.output(), out);
}

void swiglu(const Call& call) {
    gated(call, call.tensor("x"), [](double a, double b) { return a / (1 + std::exp(-a)) * b; });
}

void glu(const Call& call) {
    gated(call, call.tensor("self"), [](double a, double b) { return a / (1 + std::exp(-b)); });
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
    for (const char* name : {"DynamicQuant", "DynamicQuantV2", "DynamicQuantV3"}) registry.add(name, dynamic_quant);
    registry.add("DequantSwigluQuantV2", dequant_swiglu_quant);
    registry.add("QuantMatmulV5", quant_matmul);
    registry.add("SwiGlu", swiglu);
    registry.add("Glu", glu);
    registry.add("AscendQuantV3", quantize);
}

}  // namespace npusim
