// Attention and rotary embeddings.
#include <algorithm>
#include <cmath>
#include <limits>

#include "array.h"
#include "kernel.h"

namespace npusim {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Positions of heads and tokens in a tensor of the layout BSH, BSND, SBH or BNSD.
struct Layout {
    int64_t batch, heads, tokens, width;
    std::string name;

    Layout(const std::string& layout, const Shape& shape, int64_t heads_given) : heads(heads_given), name(layout) {
        if (name == "BNSD") {
            batch = shape[0], heads = shape[1], tokens = shape[2], width = shape[3];
        } else if (name == "BSND") {
            batch = shape[0], tokens = shape[1], heads = shape[2], width = shape[3];
        } else if (name == "BSH") {
            batch = shape[0], tokens = shape[1], width = shape[2] / heads;
        } else if (name == "SBH") {
            tokens = shape[0], batch = shape[1], width = shape[2] / heads;
        } else {
            throw UnsupportedCall("attention: layout " + name + " is not simulated");
        }
    }

    int64_t at(int64_t b, int64_t h, int64_t s) const {
        if (name == "BNSD") return ((b * heads + h) * tokens + s) * width;
        if (name == "SBH") return ((s * batch + b) * heads + h) * width;
        return ((b * tokens + s) * heads + h) * width;
    }
};

int64_t heads_of(const std::string& layout, const Shape& shape, int64_t width) {
    return layout == "BNSD" ? shape[1] : layout == "BSND" ? shape[2] : shape[2] / width;
}

// What the scores of one query row get added or cut.
struct Mask {
    std::optional<Array<int64_t>> hidden;  // true: the key is not seen
    std::optional<Array<double>> shift;

    template <typename T>
    static T element(const Array<T>& array, int64_t b, int64_t h, int64_t q, int64_t k) {
        const Shape& shape = array.shape;
        const int64_t keys = shape.back(), queries = shape[shape.size() - 2];
        const int64_t heads = shape.size() > 2 ? shape[shape.size() - 3] : 1,
                      batches = shape.size() > 3 ? shape[shape.size() - 4] : 1;
        return array[((b % batches * heads + h % heads) * queries + q % queries) * keys + k];
    }
};

struct Masking {
    Mask mask;
    bool causal = false;
    int64_t diagonal = 0;  // a query sees keys up to its own number plus this
};

// The operands of one attention, read once.
struct Problem {
    Array<double> query, key, value;
    Layout q, k, v;
    double scale;
    Masking masking;

    // The scaled and masked scores of one query row.
    std::vector<double> scores(int64_t b, int64_t h, int64_t s) const {
        const int64_t key_head = h / (q.heads / k.heads);
        std::vector<double> out(k.tokens);
        for (int64_t t = 0; t < k.tokens; ++t) {
            const double* left = &query.values[q.at(b, h, s)];
            const double* right = &key.values[k.at(b, key_head, t)];
            double score = 0;
            for (int64_t d = 0; d < q.width; ++d) score += left[d] * right[d];
            score *= scale;
            if (masking.mask.shift) score += Mask::element(*masking.mask.shift, b, h, s, t);
            const bool unseen = masking.mask.hidden && Mask::element(*masking.mask.hidden, b, h, s, t) != 0;
            out[t] = unseen || (masking.causal && t > s + masking.diagonal) ? -kInfinity : score;
        }
        return out;
    }
};

void store_statistics(const Call& call, const char* name, const Array<double>& values) {
    if (call.has(name) && call.tensor(name).numel() == values.size()) store(call.tensor(name), values);
}

Problem read_problem(const Call& call, const std::string& layout, int64_t heads, double scale, Masking masking) {
    auto query = load<double>(call.tensor("query")), key = load<double>(call.tensor("key"));
    auto value = load<double>(call.tensor("value"));
    const Layout q(layout, query.shape, heads);
    const int64_t key_heads = heads_of(layout, key.shape, q.width);
    const Layout k(layout, key.shape, key_heads), v(layout, value.shape, key_heads);
    return {std::move(query), std::move(key), std::move(value), q, k, v, scale, std::move(masking)};
}

void attend(const Call& call, const Problem& problem) {
    constexpr int64_t kCopies = 8;  // the device keeps each row's statistics eight times
    const Layout& q = problem.q;
    const Layout& v = problem.v;
    const Tensor& out = call.tensor("out");
    const Layout o(q.name, out.shape, q.heads);
    Array<double> result(out.shape), greatest({q.batch, q.heads, q.tokens, kCopies}), total(greatest.shape);
    for (int64_t row = 0; row < q.batch * q.heads * q.tokens; ++row) {
        const int64_t b = row / q.tokens / q.heads, h = row / q.tokens % q.heads, s = row % q.tokens;
        auto scores = problem.scores(b, h, s);
        const double high = *std::max_element(scores.begin(), scores.end());
        double sum = 0;
        for (double& score : scores) sum += score = std::isinf(high) ? 0 : std::exp(score - high);
        for (int64_t t = 0; t < v.tokens; ++t) {
            const double share = sum == 0 ? 0 : scores[t] / sum;
            const double* from = &problem.value.values[v.at(b, h / (q.heads / v.heads), t)];
            for (int64_t d = 0; d < v.width; ++d) result[o.at(b, h, s) + d] += share * from[d];
        }
        std::fill_n(greatest.values.begin() + row * kCopies, kCopies, high);
        std::fill_n(total.values.begin() + row * kCopies, kCopies, sum);
    }
    store(out, result);
    store_statistics(call, "softmax_max", greatest);
    store_statistics(call, "softmax_sum", total);
}

Masking masking_of(const Call& call, int64_t sparse_mode, int64_t queries, int64_t keys) {
    Masking masking;
    if (call.has("shift") && call.tensor("shift").numel() > 0) masking.mask.shift = load<double>(call.tensor("shift"));
    if (sparse_mode == 2 || sparse_mode == 3) {  // causal, from the upper left or the lower right corner
        masking.causal = true;
        masking.diagonal = sparse_mode == 3 ? keys - queries : 0;
    } else if (sparse_mode == 0 || sparse_mode == 1) {
        if (call.has("mask") && call.tensor("mask").numel() > 0)
            masking.mask.hidden = load<int64_t>(call.tensor("mask"));
    } else {
        throw UnsupportedCall(call.op() + ": sparse mode " + std::to_string(sparse_mode) + " is not simulated");
    }
    return masking;
}

int64_t tokens_of(const std::string& layout, const Shape& shape) {
    return layout == "BNSD" ? shape[2] : layout == "SBH" ? shape[0] : shape[1];
}

void flash_attention(const Call& call) {
    if (call.real("keep") < 1) throw UnsupportedCall(call.op() + ": dropout is not simulated");
    const std::string& layout = call.text("layout");
    const int64_t queries = tokens_of(layout, call.tensor("query").shape),
                  keys = tokens_of(layout, call.tensor("key").shape);
    auto masking = masking_of(call, call.integer("sparse_mode"), queries, keys);
    attend(call, read_problem(call, layout, call.integer("heads"), call.real("scale"), std::move(masking)));
}

// The pairs that a rotation turns: halves of the last dimension (mode 0), or neighbours (mode 1).
void rotate(const Call& call, const Tensor& out, bool neighbours) {
    auto x = load<double>(out);
    const auto cosine = load<double>(call.tensor("cos"), out.shape), sine = load<double>(call.tensor("sin"), out.shape);
    const int64_t width = out.shape.back(), half = width / 2;
    Array<double> turned(out.shape);
    for (int64_t i = 0; i < x.size(); ++i) {
        const int64_t row = i / width * width, d = i % width;
        const int64_t partner = neighbours ? row + (d ^ 1) : row + (d + half) % width;
        const bool first = neighbours ? d % 2 == 0 : d < half;
        turned[i] = x[i] * cosine[i] + (first ? -x[partner] : x[partner]) * sine[i];
    }
    store(out, turned);
}

void rotary(const Call& call) {
    const Tensor& out = call.output();
    store(out, load<double>(call.tensor("x")));
    if (call.integer("mode") > 1) throw UnsupportedCall(call.op() + ": only modes 0 and 1 are simulated");
    rotate(call, out, call.integer("mode") == 1);
}

void rotary_pair(const Call& call) {
    if (call.has("rotary_mode") && call.text("rotary_mode") != "half")
        throw UnsupportedCall(call.op() + ": only mode half is simulated");
    rotate(call, call.tensor("query"), false);
    rotate(call, call.tensor("key"), false);
}

}  // namespace

void register_attention(Registry& registry) {
    for (const char* name : {"FlashAttentionScore", "FlashAttentionScoreV2"}) registry.add(name, flash_attention);
    registry.add("RotaryPositionEmbedding", rotary);
    registry.add("RotaryPositionEmbeddingV2", rotary);
    registry.add("ApplyRotaryPosEmb", rotary_pair);
    registry.add("ApplyRotaryPosEmbV2", rotary_pair);
}

}  // namespace npusim
