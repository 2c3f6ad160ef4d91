// Metal's own numbers, of which launches are made. openmps/layouts.py has the same two.
#pragma once

namespace openmps {

constexpr unsigned kSimdWidth = 32;
constexpr unsigned kBuffers = 31;  // [[buffer(0)]] to [[buffer(30)]]

}  // namespace openmps
