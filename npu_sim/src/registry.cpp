#include <map>

#include "kernel.h"

namespace npusim {

namespace {

class Table : public Registry {
public:
    Table() {
        for (const auto family :
             {register_unary, register_binary, register_ternary, register_fill, register_copy, register_matmul,
              register_reduce, register_norm, register_index, register_gather, register_sort, register_convolution,
              register_pool, register_attention, register_quant, register_moe, register_random}) {
            family(*this);
        }
    }

    void add(const std::string& op, Kernel kernel) override { kernels_["aclnn" + op] = std::move(kernel); }

    const Kernel* find(const std::string& op) const {
        const auto found = kernels_.find(op);
        return found == kernels_.end() ? nullptr : &found->second;
    }

private:
    std::map<std::string, Kernel> kernels_;
};

}  // namespace

const Kernel* find_kernel(const std::string& op) {
    static const auto* const table = new Table;
    return table->find(op);
}

}  // namespace npusim
