#include <map>

#include "kernel.h"

namespace npusim {

namespace {

class Table : public Registry {
public:
    Table() {
        register_binary(*this);
        register_copy(*this);
        register_fill(*this);
    }

    void add(const std::string& op, Kernel kernel) override { kernels_["aclnn" + op] = kernel; }

    Kernel find(const std::string& op) const {
        const auto found = kernels_.find(op);
        return found == kernels_.end() ? nullptr : found->second;
    }

private:
    std::map<std::string, Kernel> kernels_;
};

}  // namespace

Kernel find_kernel(const std::string& op) {
    static const auto* const table = new Table;
    return table->find(op);
}

}  // namespace npusim
