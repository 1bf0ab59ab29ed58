// The registry of host kernels. A kernel computes one operator when the device comes to it.
#pragma once

#include <functional>
#include <string>

#include "call.h"

namespace npusim {

using Kernel = std::function<void(const Call&)>;

// The kernel of an operator ("aclnnAdd"), or nullptr.
const Kernel* find_kernel(const std::string& op);

class Registry {
public:
    virtual ~Registry() = default;
    // `op` is written without the prefix "aclnn".
    virtual void add(const std::string& op, Kernel kernel) = 0;
};

// One for each family, called once.
void register_unary(Registry& registry);
void register_binary(Registry& registry);
void register_ternary(Registry& registry);
void register_fill(Registry& registry);
void register_copy(Registry& registry);
void register_matmul(Registry& registry);
void register_reduce(Registry& registry);
void register_norm(Registry& registry);
void register_index(Registry& registry);
void register_gather(Registry& registry);
void register_sort(Registry& registry);
void register_convolution(Registry& registry);
void register_pool(Registry& registry);
void register_attention(Registry& registry);
void register_quant(Registry& registry);
void register_moe(Registry& registry);
void register_random(Registry& registry);

}  // namespace npusim
