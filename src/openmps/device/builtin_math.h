// Functions of one number for the built-in kernels, each within 1 ulp (tan: 2) where
// distributions use them. Explicit fma and nothing of a maths library: a result has the same bits
// on every machine and engine, in whatever vector it is computed.
#pragma once
#include <metal_stdlib>

using namespace metal;

// x > 0 and normal.
float log_of(float x) {
  const int bits = as_type<int>(x);
  const int exponent = (bits - 0x3f3504f3) >> 23;  // the rest lies in [sqrt(1/2), sqrt(2))
  const float e = float(exponent);
  const float f = as_type<float>(bits - (exponent << 23)) - 1.0f;
  float p = -8.102603257e-2f;
  p = fma(p, f, 1.271379441e-1f);
  p = fma(p, f, -1.297250390e-1f);
  p = fma(p, f, 1.420201659e-1f);
  p = fma(p, f, -1.664221585e-1f);
  p = fma(p, f, 2.000147253e-1f);
  p = fma(p, f, -2.500029802e-1f);
  p = fma(p, f, 3.333332837e-1f);
  const float square = f * f;
  const float square_low = fma(f, f, -square);
  // f - f^2/2 is kept as a sum of two floats: most of the rounding happens in it.
  const float high = fma(-0.5f, square, f);
  const float low = (f - high) - 0.5f * square;
  const float tail = fma(square * f, p, fma(e, -1.904654212e-9f, fma(-0.5f, square_low, low)));
  const float whole = fma(e, 6.931471825e-1f, high);
  const float lost = fma(e, 6.931471825e-1f, -whole) + high;
  return whole + (tail + lost);
}

// The sine and cosine of x, |x| <= 7.
struct SineCosine {
  float sine;
  float cosine;
};

// Of x less the nearest multiple of pi/2, whose number goes to `quarter`.
SineCosine near_zero(float x, thread int& quarter) {
  const float k = rint(x * 6.366197467e-1f);
  quarter = int(k);
  // pi/2 in three parts; what the second one's product and sum lose is kept.
  const float roughly = fma(k, -1.570796371f, x);
  const float second = k * 4.371138829e-8f;
  const float third = fma(k, 4.371138829e-8f, -second) + k * 1.715124510e-15f;
  const float y = roughly + second;
  const float lost = ((roughly - y) + second) + third;
  const float z = y * y;
  float s = 2.724918431e-6f;
  s = fma(s, z, -1.984008122e-4f);
  s = fma(s, z, 8.333331905e-3f);
  s = fma(s, z, -1.666666716e-1f);
  float c = -2.730033657e-7f;
  c = fma(c, z, 2.480059629e-5f);
  c = fma(c, z, -1.388888806e-3f);
  c = fma(c, z, 4.166666791e-2f);
  const float half_square = 0.5f * z;
  const float most = 1.0f - half_square;
  return {y + fma(s * z, y, lost),
          most + (((1.0f - most) - half_square) + fma(c * z, z, -y * lost))};
}

SineCosine sine_cosine_of(float x) {
  int quarter;
  const SineCosine near = near_zero(x, quarter);
  const bool swapped = (quarter & 1) != 0;
  const float sine = swapped ? near.cosine : near.sine;
  const float cosine = swapped ? near.sine : near.cosine;
  return {(quarter & 2) != 0 ? -sine : sine, ((quarter + 1) & 2) != 0 ? -cosine : cosine};
}

float tan_of(float x) {
  int quarter;
  const SineCosine near = near_zero(x, quarter);
  const bool swapped = (quarter & 1) != 0;
  return (swapped ? -near.cosine : near.sine) / (swapped ? near.sine : near.cosine);
}

float exp_of(float x) {
  // Beyond these, infinity and 0 come out by themselves.
  const float inside = clamp(x, -110.0f, 100.0f);
  const float k = rint(inside * 1.442695041f);
  const float high = fma(k, -6.931471825e-1f, inside);
  const float r = fma(k, 1.904654212e-9f, high);
  float p = 1.989931916e-4f;
  p = fma(p, r, 1.393367653e-3f);
  p = fma(p, r, 8.333298378e-3f);
  p = fma(p, r, 4.166646302e-2f);
  p = fma(p, r, 1.666666716e-1f);
  p = fma(p, r, 0.5f);
  const float mantissa = 1.0f + fma(r * r, p, r);
  // In two steps, because 2^k may lie outside what a float can be.
  const int first = int(k) >> 1;
  const int second = int(k) - first;
  const float scaled =
      mantissa * as_type<float>((first + 127) << 23) * as_type<float>((second + 127) << 23);
  return isnan(x) ? x : scaled;
}

// 0 <= x; 0 has a logarithm, too.
float log_from_zero(float x) { return x > 0.0f ? log_of(x) : -INFINITY; }

// ---- almost as exact as a float can be, for what is cubed or raised to a power afterwards

// A number as the sum of two floats, the second below the first one's last place.
struct TwoFloats {
  float high;
  float low;
};

// Of numbers where |a| >= |b|, or a is 0.
TwoFloats sum_of(float a, float b) {
  const float high = a + b;
  return {high, (a - high) + b};
}

// c x + x^2 p: the first two terms of a series, the first of them in two floats; `rest` is small.
TwoFloats series_of(TwoFloats x, TwoFloats c, float rest) {
  const float first = x.high * c.high;
  const float lost = fma(x.high, c.high, -first) + fma(x.high, c.low, x.low * c.high);
  const TwoFloats sum = sum_of(first, x.high * x.high * rest);
  return {sum.high, sum.low + lost};
}

TwoFloats square_of(TwoFloats x) {
  const float square = x.high * x.high;
  return {square, fma(2.0f * x.high, x.low, fma(x.high, x.high, -square))};
}

// x (1 + y) in two floats, not quite apart.
TwoFloats grown(TwoFloats x, TwoFloats y) {
  const float product = x.high * y.high;
  const float lost = fma(x.high, y.high, -product) + x.high * y.low;
  const TwoFloats sum = sum_of(x.high, product);
  return {sum.high, sum.low + (lost + fma(x.low, y.high, x.low))};
}

// x > 0 and normal: 2 atanh(s), s = f / (2 + f).
TwoFloats exact_log_of(float x) {
  const int bits = as_type<int>(x);
  const int exponent = (bits - 0x3f3504f3) >> 23;
  const float e = float(exponent);
  const float f = as_type<float>(bits - (exponent << 23)) - 1.0f;
  const TwoFloats below = sum_of(2.0f, f);
  const float s = f / below.high;
  const float s_low = fma(-s, below.low, fma(-s, below.high, f)) / below.high;
  const TwoFloats z = square_of({s, s_low});
  float p = 7.692307692e-2f;
  p = fma(p, z.high, 9.090909091e-2f);
  p = fma(p, z.high, 1.111111111e-1f);
  p = fma(p, z.high, 1.428571429e-1f);
  p = fma(p, z.high, 2.0e-1f);
  const TwoFloats m = grown({s, s_low}, series_of(z, {3.333333433e-1f, -9.934107481e-9f}, p));
  // Whole multiples of ln 2, and what their sum with 2 m loses.
  const float twice = 2.0f * m.high;
  const float whole = fma(e, 6.931471825e-1f, twice);
  const float lost = fma(e, 6.931471825e-1f, -whole) + twice;
  return sum_of(whole, fma(e, -1.904654212e-9f, 2.0f * m.low) + lost);
}

// The cosine of x, |x| <= 7.
float exact_cosine_of(float x) {
  const float k = rint(x * 6.366197467e-1f);
  const float roughly = fma(k, -1.570796371f, x);
  const float second = k * 4.371138829e-8f;
  const float third = fma(k, 4.371138829e-8f, -second) + k * 1.715124510e-15f;
  const TwoFloats rough = sum_of(roughly, second);
  const TwoFloats y = {rough.high, rough.low + third};
  const TwoFloats z = square_of(y);
  float s = -2.505210839e-8f;
  s = fma(s, z.high, 2.755731922e-6f);
  s = fma(s, z.high, -1.984126984e-4f);
  s = fma(s, z.high, 8.333333333e-3f);
  const TwoFloats sine = grown(y, series_of(z, {-1.666666716e-1f, 4.967053740e-9f}, s));
  float c = -2.755731922e-7f;
  c = fma(c, z.high, 2.480158730e-5f);
  c = fma(c, z.high, -1.388888889e-3f);
  c = fma(c, z.high, 4.166666667e-2f);
  const TwoFloats cosine = grown({1.0f, 0.0f}, series_of(z, {-0.5f, 0.0f}, c));
  const int quarter = int(k);
  const float result = (quarter & 1) != 0 ? sine.high + sine.low : cosine.high + cosine.low;
  return ((quarter + 1) & 2) != 0 ? -result : result;
}

// e^x for -110 <= x <= 100.
float exact_exp_of(TwoFloats x) {
  const float k = rint(x.high * 1.442695041f);
  const TwoFloats r = sum_of(fma(k, -6.931471825e-1f, x.high), fma(k, 1.904654212e-9f, x.low));
  float p = 2.480158730e-5f;
  p = fma(p, r.high, 1.984126984e-4f);
  p = fma(p, r.high, 1.388888889e-3f);
  p = fma(p, r.high, 8.333333333e-3f);
  p = fma(p, r.high, 4.166666667e-2f);
  p = fma(p, r.high, 1.666666667e-1f);
  const float square = 0.5f * r.high * r.high;
  const float square_low = fma(0.5f * r.high, r.high, -square);
  const TwoFloats one_more = sum_of(1.0f, r.high);
  const float small = fma(r.high * r.high * r.high, p, square_low) + r.low * one_more.high;
  const float mantissa = one_more.high + (square + (one_more.low + small));
  const int first = int(k) >> 1;
  const int second = int(k) - first;
  return mantissa * as_type<float>((first + 127) << 23) * as_type<float>((second + 127) << 23);
}

// base^exponent for 0 <= base <= 1 and an exponent other than 0.
float power_of(float base, float exponent) {
  if (base == 1.0f) return 1.0f;
  if (base == 0.0f) return exponent > 0.0f ? 0.0f : INFINITY;
  const TwoFloats log_base = exact_log_of(base);
  const float product = exponent * log_base.high;
  if (product < -110.0f) return 0.0f;
  if (product > 100.0f) return INFINITY;
  const float low = fma(exponent, log_base.low, fma(exponent, log_base.high, -product));
  return exact_exp_of({product, low});
}
