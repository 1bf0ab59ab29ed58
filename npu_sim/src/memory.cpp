#include "memory.h"

#include <cstdlib>
#include <cstring>

namespace npusim {

namespace {

constexpr size_t kAlignment = 512;
constexpr int kNanByte = 0xFF;

size_t rounded(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

void poison(const Range& range) { std::memset(range.begin, kNanByte, range.bytes); }

Memory::~Memory() {
    for (const auto& [address, bytes] : device_) std::free(const_cast<char*>(address));
    for (const auto& [address, bytes] : host_) std::free(const_cast<char*>(address));
}

void* Memory::allocate(Blocks& blocks, size_t bytes) {
    const size_t size = rounded(bytes == 0 ? 1 : bytes);
    void* address = std::aligned_alloc(kAlignment, size);
    if (address != nullptr) blocks[static_cast<char*>(address)] = size;
    return address;
}

size_t Memory::release(Blocks& blocks, void* address) {
    const auto found = blocks.find(static_cast<char*>(address));
    if (found == blocks.end()) return 0;
    const size_t size = found->second;
    blocks.erase(found);
    std::free(address);
    return size;
}

bool Memory::holds(const Blocks& blocks, const void* address) {
    auto next = blocks.upper_bound(static_cast<const char*>(address));
    if (next == blocks.begin()) return false;
    --next;
    return static_cast<const char*>(address) < next->first + next->second;
}

void* Memory::allocate_device(size_t bytes) {
    if (used_ + bytes > kCapacity) return nullptr;
    void* address = allocate(device_, bytes);
    if (address == nullptr) return nullptr;
    used_ += rounded(bytes == 0 ? 1 : bytes);
    poison({static_cast<char*>(address), bytes});
    return address;
}

void* Memory::allocate_host(size_t bytes) { return allocate(host_, bytes); }

bool Memory::release_device(void* address) {
    const size_t size = release(device_, address);
    used_ -= size;
    return size != 0;
}

bool Memory::release_host(void* address) { return release(host_, address) != 0; }

}  // namespace npusim
