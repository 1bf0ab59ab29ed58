#include "log_operands.h"

#include "log.h"

namespace npusim {

namespace {

const char* name_of(Direction direction) {
    switch (direction) {
        case Direction::in: return "in";
        case Direction::out: return "out";
        case Direction::inout: break;
    }
    return "inout";
}

std::string json(const Shape& numbers) {
    std::string out;
    for (const int64_t number : numbers) out += (out.empty() ? "" : ", ") + std::to_string(number);
    return "[" + out + "]";
}

int64_t as_number(const void* address) { return reinterpret_cast<int64_t>(address); }

std::string json(const std::string& name, const char* direction, const Tensor& tensor) {
    const Range extent = tensor.extent();
    JsonLine line;
    line.add("name", name).add("direction", direction);
    line.add("address", as_number(extent.begin)).add("bytes", static_cast<int64_t>(extent.bytes));
    line.add("dtype", npusim::name_of(tensor.dtype));
    return line.add_raw("shape", json(tensor.shape)).add_raw("strides", json(tensor.strides)).text();
}

void append(std::string& list, const std::string& item) { list += (list.empty() ? "" : ", ") + item; }

void append(std::string& list, const std::string& name, const char* direction, const Value& value) {
    if (const auto* tensor = std::get_if<Tensor>(&value)) append(list, json(name, direction, *tensor));
    if (const auto* items = std::get_if<std::vector<Tensor>>(&value)) {
        for (size_t i = 0; i < items->size(); ++i) {
            append(list, json(name + "[" + std::to_string(i) + "]", direction, (*items)[i]));
        }
    }
}

}  // namespace

std::string operands_json(const Call& call) {
    std::string list;
    for (size_t i = 0; i < call.values().size(); ++i) {
        append(list, call.signature()[i].name, name_of(call.direction(i)), call.values()[i]);
    }
    return "[" + list + "]";
}

std::string operands_json(const std::vector<Value>& values) {
    std::string list;
    for (const Value& value : values) append(list, "", "unknown", value);
    return "[" + list + "]";
}

std::string bytes_json(const std::string& name, const std::string& direction, const void* address, size_t bytes) {
    JsonLine line;
    line.add("name", name).add("direction", direction).add("address", as_number(address));
    return line.add("bytes", static_cast<int64_t>(bytes)).text();
}

}  // namespace npusim
