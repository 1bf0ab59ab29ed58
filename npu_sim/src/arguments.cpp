#include "arguments.h"

#include <cstring>
#include <map>

namespace npusim {

namespace {

constexpr int kMostArguments = 64;

template <typename Array>
std::vector<Tensor> copy_tensors(const Array& items) {
    std::vector<Tensor> out;
    for (const aclTensor* item : items) out.push_back(item == nullptr ? Tensor{} : item->value);
    return out;
}

// A deep copy: the caller destroys its handles before the device runs.
Value copy_operand(const void* pointer) {
    switch (kind_of(pointer)) {
        case HandleKind::tensor: return static_cast<const aclTensor*>(pointer)->value;
        case HandleKind::scalar: return static_cast<const aclScalar*>(pointer)->value;
        case HandleKind::tensors: return copy_tensors(static_cast<const aclTensorList*>(pointer)->items);
        case HandleKind::scalars: return static_cast<const aclScalarList*>(pointer)->items;
        case HandleKind::ints: return static_cast<const aclIntArray*>(pointer)->items;
        case HandleKind::floats: return static_cast<const aclFloatArray*>(pointer)->items;
        case HandleKind::bools: return static_cast<const aclBoolArray*>(pointer)->items;
        case HandleKind::none: break;
    }
    return {};
}

bool fits(HandleKind handle, Kind kind) {
    switch (kind) {
        case Kind::tensor: return handle == HandleKind::tensor;
        case Kind::tensors: return handle == HandleKind::tensors;
        case Kind::scalar: return handle == HandleKind::scalar;
        case Kind::scalars: return handle == HandleKind::scalars;
        case Kind::ints: return handle == HandleKind::ints;
        case Kind::floats: return handle == HandleKind::floats;
        case Kind::bools: return handle == HandleKind::bools;
        default: return false;
    }
}

bool is_handle(Kind kind) { return kind <= Kind::bools; }

// The result's two pointers are to locals of the caller, which it has set to zero.
bool is_result_pointer(uint64_t word, const uint64_t* stack) {
    constexpr uint64_t kReach = 1 << 20;
    const auto base = reinterpret_cast<uint64_t>(stack);
    return word % 8 == 0 && word >= base && word < base + kReach &&
           kind_of(reinterpret_cast<void*>(word)) == HandleKind::none && *reinterpret_cast<const uint64_t*>(word) == 0;
}

}  // namespace

uint64_t Arguments::next_general() { return general_ < 6 ? registers_.general[general_++] : stack_[on_stack_++]; }

double Arguments::next_double() {
    if (floating_ < 8) return registers_.floating[floating_++];
    double value;
    std::memcpy(&value, &stack_[on_stack_++], sizeof value);
    return value;
}

float Arguments::next_float() {
    const double wide = next_double();
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
}

Value Arguments::next(Kind kind) {
    if (kind == Kind::f64) return next_double();
    if (kind == Kind::f32) return static_cast<double>(next_float());
    const uint64_t word = next_general();
    const auto* pointer = reinterpret_cast<const void*>(word);
    if (is_handle(kind)) {
        if (word == 0) return {};
        if (!fits(kind_of(pointer), kind)) throw UnsupportedCall("an operand is not what the table says");
        return copy_operand(pointer);
    }
    switch (kind) {
        case Kind::i64: return static_cast<int64_t>(word);
        case Kind::i32:
        case Kind::dtype: return static_cast<int64_t>(static_cast<int32_t>(word));
        case Kind::i8: return static_cast<int64_t>(static_cast<int8_t>(word));
        case Kind::boolean: return static_cast<int64_t>((word & 0xFF) != 0);
        case Kind::string: return word == 0 ? Value{} : Value{std::string(static_cast<const char*>(pointer))};
        default: return {};
    }
}

std::vector<Value> Arguments::decode(const std::string& op, const Signature& signature, CallEnd& end) {
    std::vector<Value> values;
    for (const Parameter& parameter : signature) {
        try {
            values.push_back(next(parameter.kind));
        } catch (const UnsupportedCall&) {
            throw UnsupportedCall(op + ": operand '" + parameter.name +
                                  "' is not what the operand direction table says");
        }
    }
    const uint64_t size = next_general();
    const uint64_t executor = next_general();
    if (!is_result_pointer(size, stack_) || !is_result_pointer(executor, stack_)) {
        throw UnsupportedCall(op + ": takes other operands than the operand direction table says");
    }
    end = {reinterpret_cast<uint64_t*>(size), reinterpret_cast<void**>(executor)};
    return values;
}

std::string Arguments::describe() {
    static const std::map<HandleKind, const char*> names = {
        {HandleKind::tensor, "tensor"},   {HandleKind::scalar, "scalar"}, {HandleKind::tensors, "list"},
        {HandleKind::scalars, "scalars"}, {HandleKind::ints, "ints"},     {HandleKind::floats, "floats"},
        {HandleKind::bools, "bools"},
    };
    std::string out;
    uint64_t previous = next_general();
    for (int i = 0; i < kMostArguments; ++i) {
        const uint64_t word = next_general();
        if (is_result_pointer(previous, stack_) && is_result_pointer(word, stack_)) return out;
        const auto name = names.find(kind_of(reinterpret_cast<const void*>(previous)));
        out += (out.empty() ? "" : " ") +
               (name != names.end() ? std::string(name->second) : std::to_string(static_cast<int64_t>(previous)));
        previous = word;
    }
    return out;
}

std::vector<Value> Arguments::recognise(CallEnd& end) {
    std::vector<Value> values;
    uint64_t previous = 0;
    for (int i = 0; i < kMostArguments; ++i) {
        const uint64_t word = next_general();
        if (is_result_pointer(previous, stack_) && is_result_pointer(word, stack_)) {
            end = {reinterpret_cast<uint64_t*>(previous), reinterpret_cast<void**>(word)};
            break;
        }
        Value operand = copy_operand(reinterpret_cast<const void*>(word));
        if (!std::holds_alternative<std::monostate>(operand)) values.push_back(std::move(operand));
        previous = word;
    }
    return values;
}

}  // namespace npusim
