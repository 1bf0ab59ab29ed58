// One call of an operator: its operands by the names of the operand direction table.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "operand.h"
#include "signature.h"

namespace npusim {

// A tensor that the caller left out is a null pointer; here it is std::monostate, as is any other left out operand.
using Value = std::variant<std::monostate, Tensor, std::vector<Tensor>, Scalar, std::vector<Scalar>,
                           std::vector<int64_t>, std::vector<double>, int64_t, double, std::string>;

struct UnsupportedCall : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Call {
public:
    Call(std::string op, const Signature* signature, std::vector<Value> values)
        : op_(std::move(op)), signature_(signature), values_(std::move(values)) {}

    const std::string& op() const { return op_; }
    const Signature& signature() const { return *signature_; }
    const std::vector<Value>& values() const { return values_; }

    // What this call does with its operand number i.
    Direction direction(size_t i) const;

    // Each throws UnsupportedCall when the operand is missing or of another kind.
    const Tensor& tensor(const std::string& name) const { return get<Tensor>(name); }
    const std::vector<Tensor>& tensors(const std::string& name) const { return get<std::vector<Tensor>>(name); }
    const Scalar& scalar(const std::string& name) const { return get<Scalar>(name); }
    const std::vector<Scalar>& scalars(const std::string& name) const { return get<std::vector<Scalar>>(name); }
    const std::vector<int64_t>& ints(const std::string& name) const { return get<std::vector<int64_t>>(name); }
    const std::vector<double>& floats(const std::string& name) const { return get<std::vector<double>>(name); }
    int64_t integer(const std::string& name) const { return get<int64_t>(name); }
    double real(const std::string& name) const { return get<double>(name); }
    const std::string& text(const std::string& name) const { return get<std::string>(name); }

    // Throws UnsupportedCall when the operator has no such operand.
    const Value& value(const std::string& name) const;

    // Whether the operator has the operand and the caller gave it.
    bool has(const std::string& name) const;
    const Tensor* optional_tensor(const std::string& name) const { return has(name) ? &tensor(name) : nullptr; }

    // The tensor that the operator writes when there is one: the first with direction out or inout.
    const Tensor& output() const;

private:
    const Value* find(const std::string& name) const;

    template <typename T>
    const T& get(const std::string& name) const {
        const Value* value = find(name);
        const T* out = value == nullptr ? nullptr : std::get_if<T>(value);
        if (out == nullptr) throw UnsupportedCall(op_ + ": operand '" + name + "' is missing or of another kind");
        return *out;
    }

    std::string op_;
    const Signature* signature_;
    std::vector<Value> values_;
};

}  // namespace npusim
