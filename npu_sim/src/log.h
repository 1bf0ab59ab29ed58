// The launch log: one JSON object a line, in the order in which the host issued the calls.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace npusim {

// One JSON object under construction. Values are written as they come; strings are escaped.
class JsonLine {
public:
    JsonLine& add(std::string_view key, std::string_view value);
    JsonLine& add(std::string_view key, int64_t value);
    JsonLine& add_raw(std::string_view key, std::string_view json);
    std::string text() const { return "{" + body_ + "}"; }

private:
    void key(std::string_view name);
    std::string body_;
};

class LaunchLog {
public:
    ~LaunchLog() { stop(); }

    // Opens `path` for writing; a log already running is closed first. False when it cannot be opened.
    bool start(const char* path);
    void stop();
    void flush();
    bool running() const { return file_ != nullptr; }

    // Writes {"order": n, "call": call, ...fields}. Order numbers start at 0 with the process, running or not.
    void write(std::string_view call, const JsonLine& fields);

private:
    std::FILE* file_ = nullptr;
    int64_t order_ = 0;
};

}  // namespace npusim
