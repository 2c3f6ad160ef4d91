#include "engine/cpu/half_attention.h"

#include <ATen/ExpandUtils.h>
#include <ATen/Parallel.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward_ops.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_ops.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/cpu/half_loops.h"
#include "engine/cpu/half_support.h"
#include "engine/engine.h"
#include "tensor/allocation_tracker.h"

namespace openmps::half {
namespace {

using at::Tensor;
using torch::jit::Stack;
using Attention = at::_ops::_scaled_dot_product_flash_attention_for_cpu;
using Backward = at::_ops::_scaled_dot_product_flash_attention_for_cpu_backward;

// Queries for which keys and values are better converted in registers.
constexpr int64_t kFewQueries = 4;
// Numbers that are float32 at a time, per thread.
constexpr int64_t kNumbersOfHeads = int64_t{1} << 18;

struct Inputs {
  Tensor query;  // batch, heads, length, size: of the backing device
  Tensor key;
  Tensor value;
  std::optional<Tensor> mask;  // of four dimensions, some of which may be 1
  bool causal;
  std::optional<double> scale;
};

bool have_fitting_sizes(const Tensor& query, const Tensor& key, const Tensor& value) {
  return query.dim() == 4 && key.dim() == 4 && value.dim() == 4 && key.sizes() == value.sizes() &&
         query.size(0) == key.size(0) && query.size(3) == key.size(3) &&
         query.size(1) % key.size(1) == 0;
}

// A part of the heads of one batch.
Tensor part(const Tensor& tensor, int64_t batch, int64_t head, int64_t heads) {
  return tensor.narrow(0, batch, 1).narrow(1, head, heads);
}

Tensor part_of_mask(const Tensor& mask, int64_t batch, int64_t head, int64_t heads) {
  const auto rows = mask.size(0) == 1 ? mask : mask.narrow(0, batch, 1);
  return (rows.size(1) == 1 ? rows : rows.narrow(1, head, heads)).to(c10::kFloat);
}

// As many heads at a time as fit a cache.
void by_heads(const Inputs& in, const Tensor& out, const Tensor& logsumexp) {
  const auto groups = in.key.size(1);
  const auto shared = in.query.size(1) / groups;
  const auto size = in.query.size(3);
  const auto one = (shared * in.query.size(2) + 2 * in.key.size(2)) * size;
  const auto threads = at::get_num_threads();
  const auto at_once =
      std::min(groups, std::max<int64_t>(kNumbersOfHeads * threads / one, threads));
  for (int64_t batch = 0; batch < in.query.size(0); ++batch) {
    for (int64_t group = 0; group < groups; group += at_once) {
      const auto count = std::min(at_once, groups - group);
      const auto head = group * shared;
      const auto heads = count * shared;
      const auto wide = [&](const Tensor& tensor, int64_t from, int64_t some) {
        return part(tensor, batch, from, some).to(c10::kFloat);
      };
      const auto mask =
          in.mask ? std::optional(part_of_mask(*in.mask, batch, head, heads)) : std::nullopt;
      const auto [result, sums] =
          Attention::redispatch(backing().keys, wide(in.query, head, heads),
                                wide(in.key, group, count), wide(in.value, group, count),
                                /*dropout_p=*/0.0, in.causal, mask, in.scale);
      part(out, batch, head, heads).copy_(result);
      logsumexp.narrow(0, batch, 1).narrow(1, head, heads).copy_(sums);
    }
  }
}

// One row of scores becomes weights, not yet divided by their sum, which is returned.
float weigh(float* scores, int64_t count, float* logsumexp) {
  auto most = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < count; ++i) most = std::max(most, scores[i]);
  if (most == -std::numeric_limits<float>::infinity()) most = 0;  // a row that is masked out
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    scores[i] = std::exp(scores[i] - most);
    sum += scores[i];
  }
  if (sum == 0) sum = 1;
  *logsumexp = most + std::log(sum);
  return sum;
}

struct Heads {
  uint16_t* data;
  int64_t batch_stride;
  int64_t head_stride;
  int64_t row_stride;

  explicit Heads(const Tensor& tensor)
      : data(static_cast<uint16_t*>(const_cast<void*>(tensor.const_data_ptr()))),
        batch_stride(tensor.stride(0)),
        head_stride(tensor.stride(1)),
        row_stride(tensor.stride(2)) {}
  uint16_t* at(int64_t batch, int64_t head) const {
    return data + batch * batch_stride + head * head_stride;
  }
};

// Each thread takes some heads.
void by_few_queries(const Inputs& in, const Tensor& out, const Tensor& logsumexp) {
  const auto& table = loops(in.query.scalar_type());
  const auto heads = in.query.size(1);
  const auto shared = heads / in.key.size(1);
  const auto queries = in.query.size(2);
  const auto keys = in.key.size(2);
  const auto size = in.query.size(3);
  const auto stride = padded(size);
  const auto scale =
      static_cast<float>(in.scale.value_or(1.0 / std::sqrt(static_cast<double>(size))));
  const Heads q(in.query);
  const Heads k(in.key);
  const Heads v(in.value);
  const Heads o(out);
  std::optional<Tensor> mask;
  if (in.mask) {
    mask = in.mask->to(c10::kFloat).expand({in.query.size(0), heads, queries, keys});
  }
  const auto work = std::max<int64_t>(1, queries * keys * size);
  const auto grain = std::max<int64_t>(1, (int64_t{1} << 15) / work);
  at::parallel_for(0, in.query.size(0) * heads, grain, [&](int64_t begin, int64_t end) {
    std::vector<float> memory(queries * (2 * stride + keys));
    auto* const rows = memory.data();
    auto* const sums = rows + queries * stride;
    auto* const scores = sums + queries * stride;
    for (auto i = begin; i < end; ++i) {
      const auto batch = i / heads;
      const auto head = i % heads;
      for (int64_t m = 0; m < queries; ++m) {
        table.widen(q.at(batch, head) + m * q.row_stride, rows + m * stride, size);
      }
      table.dots({rows, stride, queries}, k.at(batch, head / shared), k.row_stride, keys, size,
                 scores, keys);
      std::array<float, kFewQueries> totals{};
      for (int64_t m = 0; m < queries; ++m) {
        auto* row = scores + m * keys;
        for (int64_t n = 0; n < keys; ++n) row[n] *= scale;
        if (in.causal) {
          const auto first = std::min(keys, m + 1);
          std::fill(row + first, row + keys, -std::numeric_limits<float>::infinity());
        }
        if (mask) {
          const auto* more = mask->const_data_ptr<float>() + batch * mask->stride(0) +
                             head * mask->stride(1) + m * mask->stride(2);
          for (int64_t n = 0; n < keys; ++n) row[n] += more[n * mask->stride(3)];
        }
        auto* place = logsumexp.data_ptr<float>() + batch * logsumexp.stride(0) +
                      head * logsumexp.stride(1) + m * logsumexp.stride(2);
        totals[m] = weigh(row, keys, place);
      }
      table.sum_of_rows({scores, keys, queries}, v.at(batch, head / shared), v.row_stride, keys,
                        size, sums, stride);
      for (int64_t m = 0; m < queries; ++m) {
        auto* row = sums + m * stride;
        for (int64_t n = 0; n < size; ++n) row[n] /= totals[m];
        table.narrow(row, o.at(batch, head) + m * o.row_stride, size);
      }
    }
  });
}

std::optional<Tensor> of_four_dimensions(const std::optional<Tensor>& mask) {
  if (!mask || mask->dim() == 4) return mask;
  return mask->unsqueeze(0).unsqueeze(0);
}

bool fits_scores(const Tensor& mask, const Tensor& query, const Tensor& key) {
  if (mask.dim() != 2 && mask.dim() != 4) return false;
  return at::is_expandable_to(mask.sizes(),
                              {query.size(0), query.size(1), query.size(2), key.size(2)});
}

}  // namespace

bool attention(Stack* stack, size_t first) {
  const auto query = stack->at(first).toTensor();
  const auto key = stack->at(first + 1).toTensor();
  const auto value = stack->at(first + 2).toTensor();
  const auto mask = stack->at(first + 5).toOptional<Tensor>();
  const auto type = query.scalar_type();
  if (!is_half(type) || stack->at(first + 3).toDouble() != 0.0) return false;
  for (const auto* tensor : {&query, &key, &value}) {
    if (!is_usual(*tensor, type)) return false;
  }
  if (!have_fitting_sizes(query, key, value)) return false;
  std::optional<BackingView> view_of_mask;
  if (mask && mask->defined()) {
    if (!is_usual(*mask, type) && !is_usual(*mask, c10::kFloat)) return false;
    if (!fits_scores(*mask, query, key)) return false;
    view_of_mask.emplace(*mask, /*written=*/false);
  }

  const auto out = at::empty_like(query);
  const auto logsumexp =
      at::empty({query.size(0), query.size(2), query.size(1)}, query.options().dtype(c10::kFloat))
          .transpose(1, 2);
  {
    const Tracking untracked(false);
    const BackingView view_of_query(query, /*written=*/false);
    const BackingView view_of_key(key, /*written=*/false);
    const BackingView view_of_value(value, /*written=*/false);
    const BackingView view_of_out(out);
    const BackingView view_of_logsumexp(logsumexp);
    const Inputs inputs{
        view_of_query.get(),
        view_of_key.get(),
        view_of_value.get(),
        of_four_dimensions(view_of_mask ? std::optional(view_of_mask->get()) : std::nullopt),
        stack->at(first + 4).toBool(),
        stack->at(first + 6).toOptional<double>()};
    const bool has_lines =
        query.stride(3) == 1 && key.stride(3) == 1 && value.stride(3) == 1 && out.stride(3) == 1;
    if (query.size(2) <= kFewQueries && has_lines) {
      by_few_queries(inputs, view_of_out.get(), view_of_logsumexp.get());
    } else {
      by_heads(inputs, view_of_out.get(), view_of_logsumexp.get());
    }
  }
  stack->resize(first);
  torch::jit::push(stack, out, logsumexp);
  return true;
}

bool attention_backward(Stack* stack, size_t first) {
  const auto type = stack->at(first).toTensor().scalar_type();
  if (!is_half(type)) return false;
  for (size_t i = 0; i < 5; ++i) {
    if (!is_usual(stack->at(first + i).toTensor(), type)) return false;
  }
  const auto& logsumexp = stack->at(first + 5).toTensor();
  const auto mask = stack->at(first + 8).toOptional<Tensor>();
  if (!is_usual(logsumexp, c10::kFloat)) return false;
  if (mask && mask->defined() && !is_usual(*mask, type) && !is_usual(*mask, c10::kFloat)) {
    return false;
  }
  const Tracking untracked(false);
  const auto wide = [&](size_t i) { return widened(stack->at(first + i).toTensor()); };
  const BackingView sums(logsumexp, /*written=*/false);
  const auto wide_mask =
      mask && mask->defined() ? std::optional(widened(*mask)) : std::optional<Tensor>();
  const auto [of_query, of_key, of_value] =
      Backward::redispatch(backing().keys, wide(0), wide(1), wide(2), wide(3), wide(4), sums.get(),
                           stack->at(first + 6).toDouble(), stack->at(first + 7).toBool(),
                           wide_mask, stack->at(first + 9).toOptional<double>());
  stack->resize(first);
  torch::jit::push(stack, narrowed(of_query, type), narrowed(of_key, type),
                   narrowed(of_value, type));
  return true;
}

}  // namespace openmps::half
