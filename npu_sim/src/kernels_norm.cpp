// Normalisations.
#include <cmath>

#include "kernel.h"
#include "quantize.h"

namespace npusim {

namespace {

struct Moments {
    double mean = 0;
    double variance = 0;
};

Moments moments_of(const double* values, int64_t length) {
    Moments moments;
    for (int64_t i = 0; i < length; ++i) moments.mean += values[i];
    moments.mean /= static_cast<double>(length);
    for (int64_t i = 0; i < length; ++i) moments.variance += (values[i] - moments.mean) * (values[i] - moments.mean);
    moments.variance /= static_cast<double>(length);
    return moments;
}

// `length` values of an optional operand; `fallback` everywhere when it is not given.
std::vector<double> load_or(const Call& call, const char* name, int64_t length, double fallback) {
    return call.has(name) ? load<double>(call.tensor(name)).values : std::vector<double>(length, fallback);
}

void store_if_given(const Call& call, const char* name, const std::vector<double>& values) {
    if (call.has(name) && call.tensor(name).numel() > 0) store(call.tensor(name), values);
}

void layer_norm(const Call& call) {
    auto x = load<double>(call.tensor("input"));
    const int64_t length = count(call.ints("normalized"));
    const auto weight = load_or(call, "weight", length, 1), bias = load_or(call, "bias", length, 0);
    const double eps = call.real("eps");
    std::vector<double> means, inverses;
    for (int64_t row = 0; row < x.size(); row += length) {
        const Moments moments = moments_of(&x[row], length);
        const double inverse = 1 / std::sqrt(moments.variance + eps);
        for (int64_t i = 0; i < length; ++i) x[row + i] = (x[row + i] - moments.mean) * inverse * weight[i] + bias[i];
        means.push_back(moments.mean);
        inverses.push_back(inverse);
    }
    store(call.tensor("out"), x);
    store_if_given(call, "mean", means);
    store_if_given(call, "rstd", inverses);
}

// Divides each row by its root mean square and multiplies it with gamma. Returns the factors 1 / rms.
std::vector<double> rms_normalize(Array<double>& x, const Call& call) {
    const auto gamma = load<double>(call.tensor("gamma"));
    const int64_t length = gamma.size();
    std::vector<double> inverses;
    for (int64_t row = 0; row < x.size(); row += length) {
        double total = 0;
        for (int64_t i = 0; i < length; ++i) total += x[row + i] * x[row + i];
        const double inverse = 1 / std::sqrt(total / static_cast<double>(length) + call.real("eps"));
        for (int64_t i = 0; i < length; ++i) x[row + i] *= inverse * gamma[i];
        inverses.push_back(inverse);
    }
    return inverses;
}

void rms_norm(const Call& call) {
    auto x = load<double>(call.tensor("x"));
    const auto inverses = rms_normalize(x, call);
    store(call.tensor("out"), x);
    store_if_given(call, "rstd", inverses);
}

Array<double> residual_sum(const Call& call) {
    auto x = load<double>(call.tensor("x1"));
    const auto other = load<double>(call.tensor("x2"));
    for (int64_t i = 0; i < x.size(); ++i) x[i] += other[i];
    store(call.tensor("sum"), x);
    return x;
}

void add_rms_norm(const Call& call) {
    auto x = residual_sum(call);
    const auto inverses = rms_normalize(x, call);
    store(call.tensor("out"), x);
    store_if_given(call, "out_f32", x.values);
    store_if_given(call, "rstd", inverses);
}

void add_rms_norm_quant(const Call& call) {
    for (const char* name : {"smooth1", "smooth2", "beta"}) {
        if (call.has(name)) throw UnsupportedCall(call.op() + ": " + name + " is not simulated");
    }
    auto x = residual_sum(call);
    rms_normalize(x, call);
    store(call.tensor("scale1"), quantize_rows(x));
    store(call.tensor("out1"), x);
}

// Statistics of each channel over the batch and the positions.
std::vector<Moments> channel_moments(const Array<double>& x, const Split& split) {
    std::vector<Moments> out;
    for (int64_t c = 0; c < split.length; ++c) {
        std::vector<double> channel;
        for (int64_t o = 0; o < split.outer; ++o) {
            for (int64_t i = 0; i < split.inner; ++i) channel.push_back(x[split.at(o, c, i)]);
        }
        out.push_back(moments_of(channel.data(), static_cast<int64_t>(channel.size())));
    }
    return out;
}

void update_running(const Call& call, const std::vector<Moments>& moments, double samples) {
    if (!call.has("running_mean")) return;
    auto mean = load<double>(call.tensor("running_mean")), variance = load<double>(call.tensor("running_var"));
    const double momentum = call.real("momentum");
    for (int64_t c = 0; c < mean.size(); ++c) {
        const double unbiased = moments[c].variance * samples / (samples - 1);
        mean[c] += momentum * (moments[c].mean - mean[c]);
        variance[c] += momentum * (unbiased - variance[c]);
    }
    store(call.tensor("running_mean"), mean);
    store(call.tensor("running_var"), variance);
}

void batch_norm(const Call& call) {
    auto x = load<double>(call.tensor("input"));
    const Split split(x.shape, 1);
    const auto weight = load_or(call, "weight", split.length, 1), bias = load_or(call, "bias", split.length, 0);
    std::vector<Moments> moments;
    if (call.integer("training") != 0) {
        moments = channel_moments(x, split);
        update_running(call, moments, static_cast<double>(split.outer * split.inner));
    } else {
        const auto mean = load<double>(call.tensor("running_mean")),
                   variance = load<double>(call.tensor("running_var"));
        for (int64_t c = 0; c < split.length; ++c) moments.push_back({mean[c], variance[c]});
    }
    std::vector<double> means, inverses;
    for (int64_t c = 0; c < split.length; ++c) {
        const double inverse = 1 / std::sqrt(moments[c].variance + call.real("eps"));
        for (int64_t o = 0; o < split.outer; ++o) {
            for (int64_t i = 0; i < split.inner; ++i) {
                double& value = x[split.at(o, c, i)];
                value = (value - moments[c].mean) * inverse * weight[c] + bias[c];
            }
        }
        means.push_back(moments[c].mean);
        inverses.push_back(inverse);
    }
    store(call.tensor("out"), x);
    if (call.integer("training") != 0) {
        store_if_given(call, "save_mean", means);
        store_if_given(call, "save_invstd", inverses);
    }
}

void group_norm(const Call& call) {
    auto x = load<double>(call.tensor("input"));
    const int64_t channels = call.integer("channels"), positions = call.integer("positions"),
                  groups = call.integer("groups");
    const auto weight = load_or(call, "weight", channels, 1), bias = load_or(call, "bias", channels, 0);
    const int64_t length = channels / groups * positions;
    std::vector<double> means, inverses;
    for (int64_t row = 0; row < x.size(); row += length) {
        const Moments moments = moments_of(&x[row], length);
        const double inverse = 1 / std::sqrt(moments.variance + call.real("eps"));
        for (int64_t i = row; i < row + length; ++i) {
            const int64_t c = i / positions % channels;
            x[i] = (x[i] - moments.mean) * inverse * weight[c] + bias[c];
        }
        means.push_back(moments.mean);
        inverses.push_back(inverse);
    }
    store(call.tensor("out"), x);
    store_if_given(call, "mean", means);
    store_if_given(call, "rstd", inverses);
}

}  // namespace

void register_norm(Registry& registry) {
    registry.add("LayerNorm", layer_norm);
    registry.add("FastLayerNorm", layer_norm);
    registry.add("RmsNorm", rms_norm);
    registry.add("AddRmsNorm", add_rms_norm);
    registry.add("AddRmsNormCast", add_rms_norm);
    registry.add("AddRmsNormDynamicQuantV2", add_rms_norm_quant);
    registry.add("BatchNorm", batch_norm);
    registry.add("GroupNorm", group_norm);
}

}  // namespace npusim
