#include "log.h"

namespace npusim {

namespace {

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", c);
            out += escape;
        } else {
            out += c;
        }
    }
    return out + "\"";
}

}  // namespace

void JsonLine::key(std::string_view name) {
    if (!body_.empty()) body_ += ", ";
    body_ += quoted(name) + ": ";
}

JsonLine& JsonLine::add(std::string_view name, std::string_view value) {
    key(name);
    body_ += quoted(value);
    return *this;
}

JsonLine& JsonLine::add(std::string_view name, int64_t value) {
    key(name);
    body_ += std::to_string(value);
    return *this;
}

JsonLine& JsonLine::add_raw(std::string_view name, std::string_view json) {
    key(name);
    body_ += json;
    return *this;
}

bool LaunchLog::start(const char* path) {
    stop();
    file_ = std::fopen(path, "w");
    return file_ != nullptr;
}

void LaunchLog::stop() {
    if (file_ != nullptr) std::fclose(file_);
    file_ = nullptr;
}

void LaunchLog::flush() {
    if (file_ != nullptr) std::fflush(file_);
}

void LaunchLog::write(std::string_view call, const JsonLine& fields) {
    const int64_t order = order_++;
    if (file_ == nullptr) return;
    JsonLine head;
    head.add("order", order).add("call", call);
    const std::string first = head.text();
    const std::string rest = fields.text();
    std::fwrite(first.data(), 1, first.size() - 1, file_);
    if (rest.size() > 2) std::fprintf(file_, ", %.*s", static_cast<int>(rest.size() - 2), rest.data() + 1);
    std::fputs("}\n", file_);
}

}  // namespace npusim
