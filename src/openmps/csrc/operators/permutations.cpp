#include "operators/permutations.h"

#include <ATen/native/TensorFactories.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sort.h>

#include <numeric>
#include <vector>

#include "engine/engine.h"
#include "torch_interfaces/generator.h"
#include "operators/random_kernels.h"

namespace openmps {
namespace {

using at::Tensor;
using MaybeGenerator = std::optional<at::Generator>;

constexpr int64_t kLongestShuffled = 384;
constexpr int64_t kShortestSortedByBits = 1 << 15;
// In bits; sorting is stable, so two passes do what a Mac does in three.
constexpr int64_t kHalfKey = 12;

void shuffle_into(const Tensor& result, const MaybeGenerator& given) {
  const auto count = static_cast<uint32_t>(result.numel());
  auto& generator = generator_for(given);
  const auto& kernel = random_kernel(Draw::kPermute, result.scalar_type());
  const auto blocks = generator.reserve((count + 2) / 4);  // a word for each but the first
  kernel.run(1, {{result.mutable_data_ptr()}, bytes_of(blocks), bytes_of(count)});
}

Tensor sorted_by_floats(const Tensor& result, const MaybeGenerator& given) {
  const auto keys = at::empty({result.numel()}, result.options().dtype(at::kFloat));
  keys.uniform_(0.0, 1.0, given);
  return std::get<1>(at::sort(keys, /*stable=*/true, /*dim=*/0, /*descending=*/false));
}

// One pass of a radix sort, by `kHalfKey` bits from `shift` on.
void sort_pass(const int32_t* keys, const int64_t* order, int64_t count, int64_t shift,
               int32_t* sorted_keys, int64_t* sorted_order) {
  constexpr int32_t kMask = (1 << kHalfKey) - 1;
  std::vector<int64_t> places((1 << kHalfKey) + 1);
  for (int64_t i = 0; i < count; ++i) ++places[(keys[i] >> shift & kMask) + 1];
  std::partial_sum(places.begin(), places.end(), places.begin());
  for (int64_t i = 0; i < count; ++i) {
    const auto place = places[keys[i] >> shift & kMask]++;
    sorted_keys[place] = keys[i];
    sorted_order[place] = order == nullptr ? i : order[i];
  }
}

// The keys in order, and where each came from: a radix sort, faster than the CPU's own.
std::pair<Tensor, Tensor> sort_on_host(const Tensor& keys) {
  const auto half_sorted = at::empty_like(keys);
  const auto half_order = at::empty_like(keys, keys.options().dtype(at::kLong));
  const auto order = at::empty_like(half_order);
  auto* key = keys.mutable_data_ptr<int32_t>();
  auto* half_key = half_sorted.mutable_data_ptr<int32_t>();
  auto* half = half_order.mutable_data_ptr<int64_t>();
  sort_pass(key, nullptr, keys.numel(), 0, half_key, half);
  sort_pass(half_key, half, keys.numel(), kHalfKey, key, order.mutable_data_ptr<int64_t>());
  return {keys, order};
}

std::pair<Tensor, Tensor> sort_on_device(const Tensor& keys) {
  auto [sorted, order] = at::sort(keys, /*stable=*/true, /*dim=*/0, /*descending=*/false);
  return {sorted, order};
}

Tensor sorted_by_bits(const Tensor& result, const MaybeGenerator& given) {
  const auto count = static_cast<uint32_t>(result.numel());
  const auto keys = at::empty({result.numel()}, result.options().dtype(at::kInt));
  keys.random_(0, int64_t{1} << (2 * kHalfKey), given);
  const auto [sorted, order] =
      engine().shares_memory_with_host() ? sort_on_host(keys) : sort_on_device(keys);

  const auto& kernel = random_kernel(Draw::kPermuteTies, order.scalar_type());
  const auto blocks = generator_for(given).reserve(count);
  kernel.run(
      count,
      {{order.mutable_data_ptr()}, {sorted.const_data_ptr()}, bytes_of(blocks), bytes_of(count)});
  return order;
}

}  // namespace

at::Tensor& randperm_out(int64_t n, std::optional<at::Generator> given, at::Tensor& result) {
  TORCH_CHECK(n >= 0, "n must be non-negative, got", n);
  TORCH_CHECK(!given || result.device() == given->device(), "Expected a '", result.device(),
              "' generator device but found '", given->device(), "'");
  // Makes a tensor to find out; a long holds every n.
  if (result.scalar_type() != at::kLong) {
    at::native::check_supported_max_int_with_precision(n, result);
  }
  result.resize_({n});
  if (n == 0) return result;
  const auto type = result.scalar_type();
  if (n <= kLongestShuffled && (type == at::kInt || type == at::kLong) && result.is_contiguous()) {
    shuffle_into(result, given);
    return result;
  }
  return result.copy_(n < kShortestSortedByBits ? sorted_by_floats(result, given)
                                                : sorted_by_bits(result, given));
}

}  // namespace openmps
