// Reading and writing one number of any simulated type.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "acl/acl.h"

namespace npusim {

inline float half_to_float(uint16_t bits) {
    const uint32_t sign = (bits & 0x8000u) << 16;
    const uint32_t exponent = (bits >> 10) & 0x1Fu;
    const uint32_t mantissa = bits & 0x3FFu;
    if (exponent == 0) {
        const float value = std::ldexp(static_cast<float>(mantissa), -24);
        return sign != 0 ? -value : value;
    }
    const uint32_t wide = exponent == 31 ? 255u : exponent + 112u;
    const uint32_t out = sign | (wide << 23) | (mantissa << 13);
    float value;
    std::memcpy(&value, &out, sizeof value);
    return value;
}

// Rounds to the nearest, ties to even.
inline uint16_t float_to_half(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return sign | 0x7E00u;
    if (magnitude >= 0x477FF000u) return sign | 0x7C00u;
    if (magnitude < 0x38800000u) {  // subnormal
        const float scaled = std::ldexp(std::fabs(value), 24);
        return sign | static_cast<uint16_t>(std::nearbyint(scaled));
    }
    const uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u);
    return sign | static_cast<uint16_t>((rounded - 0x38000000u) >> 13);
}

inline float bfloat_to_float(uint16_t bits) {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
}

// Rounds to the nearest, ties to even.
inline uint16_t float_to_bfloat(float value) {
    if (std::isnan(value)) return 0x7FC0u;
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

template <typename Stored, typename T>
T load_as(const char* address) {
    Stored value;
    std::memcpy(&value, address, sizeof value);
    return static_cast<T>(value);
}

template <typename Stored, typename T>
void store_as(char* address, T value) {
    Stored stored;
    // A conversion that does not fit is undefined in C++ for floats; saturate, and let NaN become 0.
    if constexpr (std::numeric_limits<Stored>::is_integer && !std::numeric_limits<T>::is_integer) {
        constexpr auto lowest = static_cast<double>(std::numeric_limits<Stored>::lowest());
        constexpr auto highest = static_cast<double>(std::numeric_limits<Stored>::max());
        if (std::isnan(value)) stored = 0;
        else if (value <= lowest) stored = std::numeric_limits<Stored>::lowest();
        else if (value >= highest) stored = std::numeric_limits<Stored>::max();
        else stored = static_cast<Stored>(value);
    } else {
        stored = static_cast<Stored>(value);
    }
    std::memcpy(address, &stored, sizeof stored);
}

// T is double or int64_t.
template <typename T>
T load_number(const char* address, aclDataType dtype) {
    switch (dtype) {
        case ACL_FLOAT: return load_as<float, T>(address);
        case ACL_DOUBLE: return load_as<double, T>(address);
        case ACL_FLOAT16: return static_cast<T>(half_to_float(load_as<uint16_t, uint16_t>(address)));
        case ACL_BF16: return static_cast<T>(bfloat_to_float(load_as<uint16_t, uint16_t>(address)));
        case ACL_INT8: return load_as<int8_t, T>(address);
        case ACL_INT16: return load_as<int16_t, T>(address);
        case ACL_INT32: return load_as<int32_t, T>(address);
        case ACL_INT64: return load_as<int64_t, T>(address);
        case ACL_UINT8: return load_as<uint8_t, T>(address);
        case ACL_UINT16: return load_as<uint16_t, T>(address);
        case ACL_UINT32: return load_as<uint32_t, T>(address);
        case ACL_UINT64: return load_as<uint64_t, T>(address);
        case ACL_BOOL: return load_as<uint8_t, uint8_t>(address) != 0;
        default: return T{};
    }
}

template <typename T>
void store_number(char* address, aclDataType dtype, T value) {
    switch (dtype) {
        case ACL_FLOAT: return store_as<float>(address, value);
        case ACL_DOUBLE: return store_as<double>(address, value);
        case ACL_FLOAT16: return store_as<uint16_t>(address, float_to_half(static_cast<float>(value)));
        case ACL_BF16: return store_as<uint16_t>(address, float_to_bfloat(static_cast<float>(value)));
        case ACL_INT8: return store_as<int8_t>(address, value);
        case ACL_INT16: return store_as<int16_t>(address, value);
        case ACL_INT32: return store_as<int32_t>(address, value);
        case ACL_INT64: return store_as<int64_t>(address, value);
        case ACL_UINT8: return store_as<uint8_t>(address, value);
        case ACL_UINT16: return store_as<uint16_t>(address, value);
        case ACL_UINT32: return store_as<uint32_t>(address, value);
        case ACL_UINT64: return store_as<uint64_t>(address, value);
        case ACL_BOOL: return store_as<uint8_t>(address, static_cast<int64_t>(value != 0));
        default: return;
    }
}

}  // namespace npusim
