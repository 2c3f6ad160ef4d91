#include "engine/cpu/half_loops.h"

#include <ATen/Version.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace openmps::half {
namespace {

// Columns that are added up at a time: their sums stay in the first cache.
constexpr int64_t kColumns = 512;

// ---- any processor

template <class T>
float wide(uint16_t bits) {
  return static_cast<float>(T(bits, T::from_bits()));
}

template <class T>
struct Plain {
  static void widen(const uint16_t* from, float* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = wide<T>(from[i]);
  }

  static void narrow(const float* from, uint16_t* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = T(from[i]).x;
  }

  // As a register of eight is added up, of which there are two.
  static float total(const float* sums) {
    std::array<float, 8> s{};
    for (size_t i = 0; i < s.size(); ++i) s[i] = sums[i] + sums[i + 8];
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
  }

  static float dot(const uint16_t* a, const uint16_t* b, int64_t length) {
    constexpr int64_t kAtOnce = 4 * kLanes;
    std::array<float, kAtOnce> sums{};
    for (int64_t i = 0; i < length; i += kAtOnce) {
      const auto count = std::min(kAtOnce, length - i);
      for (int64_t j = 0; j < count; ++j) sums[j] += wide<T>(a[i + j]) * wide<T>(b[i + j]);
    }
    const auto* s = sums.data();
    return (total(s) + total(s + kLanes)) + (total(s + 2 * kLanes) + total(s + 3 * kLanes));
  }

  static void dots(Rows x, const uint16_t* w, int64_t stride, int64_t rows, int64_t length,
                   float* out, int64_t out_stride) {
    for (int64_t n = 0; n < rows; ++n) {
      for (int64_t m = 0; m < x.count; ++m) {
        std::array<float, kLanes> sums{};
        const auto* row = w + n * stride;
        const auto* factors = x.data + m * x.stride;
        for (int64_t i = 0; i < length; i += kLanes) {
          const auto count = std::min(kLanes, length - i);
          for (int64_t j = 0; j < count; ++j) sums[j] += factors[i + j] * wide<T>(row[i + j]);
        }
        out[m * out_stride + n] = total(sums.data());
      }
    }
  }

  static void sum_of_rows(Rows x, const uint16_t* w, int64_t stride, int64_t length,
                          int64_t columns, float* out, int64_t out_stride) {
    std::array<float, kColumns> row{};
    for (int64_t begin = 0; begin < columns; begin += kColumns) {
      const auto count = std::min(kColumns, columns - begin);
      for (int64_t m = 0; m < x.count; ++m) std::fill_n(out + m * out_stride + begin, count, 0.0F);
      for (int64_t i = 0; i < length; ++i) {
        widen(w + i * stride + begin, row.data(), count);
        for (int64_t m = 0; m < x.count; ++m) {
          const auto factor = x.data[m * x.stride + i];
          auto* sums = out + m * out_stride + begin;
          for (int64_t n = 0; n < count; ++n) sums[n] += factor * row[n];
        }
      }
    }
  }

  static constexpr Loops loops{widen, narrow, dot, dots, sum_of_rows};
};

// ---- AVX2, which every x86-64 processor for PyTorch's fast kernels has, with F16C and FMA

#if defined(__x86_64__)
#define OPENMPS_AVX2 __attribute__((target("avx2,fma,f16c")))
// Sums stay in registers only if their numbers are constants.
#define OPENMPS_UNROLLED _Pragma("GCC unroll 8")

struct HalfLanes {
  OPENMPS_AVX2 static __m256 load(const uint16_t* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  OPENMPS_AVX2 static void store(uint16_t* to, __m256 value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  using Type = c10::Half;
};

struct BFloat16Lanes {
  OPENMPS_AVX2 static __m256 load(const uint16_t* from) {
    const auto bits =
        _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
  }
  // To the nearest, of two to the even one; not-a-numbers as c10::BFloat16 has them.
  OPENMPS_AVX2 static void store(uint16_t* to, __m256 value) {
    const auto bits = _mm256_castps_si256(value);
    const auto odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    auto rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    rounded = _mm256_srli_epi32(rounded, 16);
    const auto is_nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    rounded = _mm256_blendv_epi8(rounded, _mm256_set1_epi32(0x7fc0), is_nan);
    const auto packed =
        _mm_packus_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), packed);
  }
  using Type = c10::BFloat16;
};

// The totals of four pairs of registers.
OPENMPS_AVX2 inline __m128 totals(const __m256 (&low)[4], const __m256 (&high)[4]) {
  const auto first = _mm256_hadd_ps(_mm256_add_ps(low[0], high[0]), _mm256_add_ps(low[1], high[1]));
  const auto second =
      _mm256_hadd_ps(_mm256_add_ps(low[2], high[2]), _mm256_add_ps(low[3], high[3]));
  const auto both = _mm256_hadd_ps(first, second);
  return _mm_add_ps(_mm256_castps256_ps128(both), _mm256_extractf128_ps(both, 1));
}

template <class Lanes>
struct Avx2 {
  using Same = Plain<typename Lanes::Type>;

  OPENMPS_AVX2 static void widen(const uint16_t* from, float* to, int64_t count) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) _mm256_storeu_ps(to + i, Lanes::load(from + i));
    Same::widen(from + i, to + i, count - i);
  }

  OPENMPS_AVX2 static void narrow(const float* from, uint16_t* to, int64_t count) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) Lanes::store(to + i, _mm256_loadu_ps(from + i));
    Same::narrow(from + i, to + i, count - i);
  }

  OPENMPS_AVX2 static float dot(const uint16_t* a, const uint16_t* b, int64_t length) {
    constexpr int64_t kAtOnce = 4 * kLanes;
    __m256 low[4] = {};
    __m256 high[4] = {};
    const auto add = [&](const uint16_t* x, const uint16_t* y) OPENMPS_AVX2 {
      OPENMPS_UNROLLED
      for (int j = 0; j < 4; ++j) {
        low[j] = _mm256_fmadd_ps(Lanes::load(x + 16 * j), Lanes::load(y + 16 * j), low[j]);
        high[j] =
            _mm256_fmadd_ps(Lanes::load(x + 16 * j + 8), Lanes::load(y + 16 * j + 8), high[j]);
      }
    };
    int64_t i = 0;
    for (; i + kAtOnce <= length; i += kAtOnce) add(a + i, b + i);
    if (i < length) {
      std::array<uint16_t, kAtOnce> x{};
      std::array<uint16_t, kAtOnce> y{};
      std::copy(a + i, a + length, x.data());
      std::copy(b + i, b + length, y.data());
      add(x.data(), y.data());
    }
    alignas(16) std::array<float, 4> sums{};
    _mm_store_ps(sums.data(), totals(low, high));
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  // Four sums at a time: of kX rows of x with 4 / kX rows of w.
  template <int kX>
  OPENMPS_AVX2 static __m128 four_dots(const float* const (&x)[kX],
                                       const uint16_t* const (&w)[4 / kX], int64_t length) {
    constexpr int kW = 4 / kX;
    __m256 low[4] = {};
    __m256 high[4] = {};
    const auto whole = length / kLanes * kLanes;
    for (int64_t i = 0; i < whole; i += kLanes) {
      OPENMPS_UNROLLED
      for (int n = 0; n < kW; ++n) {
        const auto first = Lanes::load(w[n] + i);
        const auto second = Lanes::load(w[n] + i + 8);
        OPENMPS_UNROLLED
        for (int m = 0; m < kX; ++m) {
          low[n * kX + m] = _mm256_fmadd_ps(first, _mm256_loadu_ps(x[m] + i), low[n * kX + m]);
          high[n * kX + m] =
              _mm256_fmadd_ps(second, _mm256_loadu_ps(x[m] + i + 8), high[n * kX + m]);
        }
      }
    }
    if (whole < length) {
      OPENMPS_UNROLLED
      for (int n = 0; n < kW; ++n) {
        std::array<uint16_t, kLanes> rest{};
        std::copy(w[n] + whole, w[n] + length, rest.data());
        const auto first = Lanes::load(rest.data());
        const auto second = Lanes::load(rest.data() + 8);
        OPENMPS_UNROLLED
        for (int m = 0; m < kX; ++m) {
          low[n * kX + m] = _mm256_fmadd_ps(first, _mm256_loadu_ps(x[m] + whole), low[n * kX + m]);
          high[n * kX + m] =
              _mm256_fmadd_ps(second, _mm256_loadu_ps(x[m] + whole + 8), high[n * kX + m]);
        }
      }
    }
    return totals(low, high);
  }

  template <int kX>
  OPENMPS_AVX2 static void dots_of(Rows x, const uint16_t* w, int64_t stride, int64_t rows,
                                   int64_t length, float* out, int64_t out_stride) {
    constexpr int kW = 4 / kX;
    const float* from[kX];
    for (int m = 0; m < kX; ++m) from[m] = x.data + std::min<int64_t>(m, x.count - 1) * x.stride;
    for (int64_t n = 0; n < rows; n += kW) {
      const uint16_t* row[kW];
      for (int j = 0; j < kW; ++j) row[j] = w + std::min<int64_t>(n + j, rows - 1) * stride;
      alignas(16) std::array<float, 4> sums{};
      _mm_store_ps(sums.data(), four_dots<kX>(from, row, length));
      for (int64_t j = 0; j < std::min<int64_t>(kW, rows - n); ++j) {
        for (int64_t m = 0; m < std::min<int64_t>(kX, x.count); ++m) {
          out[m * out_stride + n + j] = sums[j * kX + m];
        }
      }
    }
  }

  OPENMPS_AVX2 static void dots(Rows x, const uint16_t* w, int64_t stride, int64_t rows,
                                int64_t length, float* out, int64_t out_stride) {
    constexpr int64_t kBlock = 16;  // rows of w that are in the cache for all rows of x
    for (int64_t n = 0; n < rows; n += kBlock) {
      const auto count = std::min(kBlock, rows - n);
      for (int64_t m = 0; m < x.count; m += 4) {
        const Rows some{x.data + m * x.stride, x.stride, std::min<int64_t>(4, x.count - m)};
        const auto dots_of_some = some.count == 1   ? &dots_of<1>
                                  : some.count == 2 ? &dots_of<2>
                                                    : &dots_of<4>;
        dots_of_some(some, w + n * stride, stride, count, length, out + m * out_stride + n,
                     out_stride);
      }
    }
  }

  // Adds kRows rows to the sums, as if one after another.
  template <int kRows>
  OPENMPS_AVX2 static void add_rows(Rows x, const uint16_t* w, int64_t stride, int64_t columns,
                                    float* out, int64_t out_stride) {
    int64_t n = 0;
    for (; n + 8 <= columns; n += 8) {
      __m256 row[kRows];
      OPENMPS_UNROLLED
      for (int i = 0; i < kRows; ++i) row[i] = Lanes::load(w + i * stride + n);
      for (int64_t m = 0; m < x.count; ++m) {
        auto* place = out + m * out_stride + n;
        auto sum = _mm256_loadu_ps(place);
        OPENMPS_UNROLLED
        for (int i = 0; i < kRows; ++i) {
          sum = _mm256_fmadd_ps(row[i], _mm256_set1_ps(x.data[m * x.stride + i]), sum);
        }
        _mm256_storeu_ps(place, sum);
      }
    }
    for (; n < columns; ++n) {
      for (int i = 0; i < kRows; ++i) {
        const auto number = wide<typename Lanes::Type>(w[i * stride + n]);
        for (int64_t m = 0; m < x.count; ++m) {
          auto& sum = out[m * out_stride + n];
          sum = __builtin_fmaf(number, x.data[m * x.stride + i], sum);
        }
      }
    }
  }

  OPENMPS_AVX2 static void sum_of_rows(Rows x, const uint16_t* w, int64_t stride, int64_t length,
                                       int64_t columns, float* out, int64_t out_stride) {
    constexpr int kRows = 8;
    for (int64_t begin = 0; begin < columns; begin += kColumns) {
      const auto count = std::min(kColumns, columns - begin);
      auto* sums = out + begin;
      for (int64_t m = 0; m < x.count; ++m) std::fill_n(sums + m * out_stride, count, 0.0F);
      Rows factors = x;
      const auto* row = w + begin;
      int64_t i = 0;
      for (; i + kRows <= length; i += kRows, factors.data += kRows, row += kRows * stride) {
        add_rows<kRows>(factors, row, stride, count, sums, out_stride);
      }
      for (; i < length; ++i, ++factors.data, row += stride) {
        add_rows<1>(factors, row, stride, count, sums, out_stride);
      }
    }
  }

  static constexpr Loops loops{widen, narrow, dot, dots, sum_of_rows};
};
#endif

template <class T>
const Loops& chosen() {
#if defined(__x86_64__)
  // What PyTorch found, or was told by ATEN_CPU_CAPABILITY.
  static const bool has_avx2 = at::get_cpu_capability() != "DEFAULT";
  if (has_avx2) {
    using Lanes = std::conditional_t<std::is_same_v<T, c10::Half>, HalfLanes, BFloat16Lanes>;
    return Avx2<Lanes>::loops;
  }
#endif
  return Plain<T>::loops;
}

}  // namespace

const Loops& loops(c10::ScalarType type) {
  return type == c10::kHalf ? chosen<c10::Half>() : chosen<c10::BFloat16>();
}

}  // namespace openmps::half
