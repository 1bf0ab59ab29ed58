// Device and pinned host memory. Both are host memory here; device blocks start as NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace npusim {

struct Range {
    char* begin = nullptr;
    size_t bytes = 0;
    char* end() const { return begin + bytes; }
};

// Writes a pattern that is NaN in every float type, -1 in signed integers and the largest number in unsigned ones.
void poison(const Range& range);

class Memory {
public:
    ~Memory();

    // Returns nullptr when the host has no memory left, or more than the device's capacity would be in use.
    void* allocate_device(size_t bytes);
    void* allocate_host(size_t bytes);
    bool release_device(void* address);
    bool release_host(void* address);

    bool is_device(const void* address) const { return holds(device_, address); }
    bool is_pinned_host(const void* address) const { return holds(host_, address); }

    size_t used() const { return used_; }
    static constexpr size_t kCapacity = size_t{32} << 30;

private:
    using Blocks = std::map<const char*, size_t>;
    static bool holds(const Blocks& blocks, const void* address);
    static void* allocate(Blocks& blocks, size_t bytes);
    static size_t release(Blocks& blocks, void* address);

    Blocks device_;
    Blocks host_;
    size_t used_ = 0;
};

}  // namespace npusim
