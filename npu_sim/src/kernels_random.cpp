// Random numbers: reproducible from seed and offset, but not the numbers of a real device.
#include <cmath>
#include <random>

#include "array.h"
#include "kernel.h"

namespace npusim {

namespace {

// Seed and offset come as numbers or, in captured graphs, as tensors.
uint64_t number(const Call& call, const char* name) {
    const Value& value = call.value(name);
    if (const auto* plain = std::get_if<int64_t>(&value)) return static_cast<uint64_t>(*plain);
    return static_cast<uint64_t>(load<int64_t>(call.tensor(name))[0]);
}

std::mt19937_64 engine_of(const Call& call) {
    const uint64_t extra = call.has("more_offset") ? number(call, "more_offset") : 0;
    return std::mt19937_64(number(call, "seed") * 0x9E3779B97F4A7C15ull + number(call, "offset") + extra);
}

template <typename Distribution>
void draw(const Call& call, Distribution distribution) {
    auto engine = engine_of(call);
    std::vector<double> values(call.output().numel());
    for (double& value : values) value = distribution(engine);
    store(call.output(), values);
}

void normal(const Call& call) { draw(call, std::normal_distribution<double>(call.real("mean"), call.real("std"))); }
void uniform(const Call& call) {
    draw(call, std::uniform_real_distribution<double>(call.real("from"), call.real("to")));
}

void integers(const Call& call) {
    draw(call, std::uniform_int_distribution<int64_t>(call.integer("from"), call.integer("to") - 1));
}

void bernoulli(const Call& call) {
    draw(call, std::bernoulli_distribution(value_of<double>(call.scalar("probability"))));
}

}  // namespace

void register_random(Registry& registry) {
    for (const std::string suffix : {"", "Tensor"}) {
        registry.add("InplaceNormal" + suffix, normal);
        registry.add("InplaceUniform" + suffix, uniform);
        registry.add("InplaceRandom" + suffix, integers);
    }
    registry.add("InplaceBernoulli", bernoulli);
}

}  // namespace npusim
