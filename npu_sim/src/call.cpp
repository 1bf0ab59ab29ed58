#include "call.h"

namespace npusim {

const Value* Call::find(const std::string& name) const {
    for (size_t i = 0; i < signature_->size() && i < values_.size(); ++i) {
        if ((*signature_)[i].name == name) return &values_[i];
    }
    return nullptr;
}

const Value& Call::value(const std::string& name) const {
    const Value* value = find(name);
    if (value == nullptr) throw UnsupportedCall(op_ + ": has no operand '" + name + "'");
    return *value;
}

Direction Call::direction(size_t i) const {
    const Parameter& parameter = (*signature_)[i];
    const bool read_only = !parameter.condition.empty() && integer(parameter.condition) == 0;
    return read_only ? Direction::in : parameter.direction;
}

bool Call::has(const std::string& name) const {
    const Value* value = find(name);
    return value != nullptr && !std::holds_alternative<std::monostate>(*value);
}

const Tensor& Call::output() const {
    for (size_t i = 0; i < signature_->size() && i < values_.size(); ++i) {
        const Tensor* tensor = std::get_if<Tensor>(&values_[i]);
        if ((*signature_)[i].direction != Direction::in && tensor != nullptr) return *tensor;
    }
    throw UnsupportedCall(op_ + ": has no output");
}

}  // namespace npusim
