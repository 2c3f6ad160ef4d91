#include "engine/cpu/half_products.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <c10/util/FunctionRef.h>

#include <algorithm>
#include <array>
#include <vector>

#include "engine/cpu/half_loops.h"

namespace openmps::half {
namespace {

using at::Tensor;

// Rows for which the own loops are faster than a library that is given float32.
constexpr int64_t kFewRows = 8;
constexpr int64_t kSmall = int64_t{1} << 18;  // multiplications
// Elements of a factor that are float32 at a time, per thread: about what the second cache holds.
constexpr int64_t kPanel = int64_t{1} << 18;
constexpr int64_t kShortest = 64;   // rows or columns of a panel
constexpr int64_t kLongest = 1024;  // sums of a panel
constexpr int64_t kWorkOfThread = int64_t{1} << 15;

// Some elements of a line as float32.
void widen(const Loops& loops, const uint16_t* from, int64_t stride, float* to, int64_t count) {
  if (stride == 1) return loops.widen(from, to, count);
  if (stride == 0) {
    loops.widen(from, to, 1);
    std::fill_n(to, count, to[0]);
    return;
  }
  for (int64_t i = 0; i < count; ++i) loops.widen(from + i * stride, to + i, 1);
}

void narrow(const Loops& loops, const float* from, uint16_t* to, int64_t stride, int64_t count) {
  if (stride == 1) return loops.narrow(from, to, count);
  for (int64_t i = 0; i < count; ++i) loops.narrow(from + i, to + i * stride, 1);
}

// Rounds the sums for a part of the result into it.
class Writer {
 public:
  Writer(const Loops& loops, Matrix out, std::optional<Matrix> self, double beta, double alpha)
      : loops_(loops),
        out_(out),
        self_(self),
        beta_(static_cast<float>(beta)),
        alpha_(static_cast<float>(alpha)) {}

  Writer transposed() const {
    auto other = *this;
    other.out_ = out_.transposed();
    if (self_) other.self_ = self_->transposed();
    return other;
  }

  // Of the columns from `column` on. The sums are overwritten.
  void write(int64_t row, int64_t column, float* sums, int64_t count) const {
    if (alpha_ != 1) {
      for (int64_t i = 0; i < count; ++i) sums[i] *= alpha_;
    }
    if (self_) {
      std::array<float, 256> more;
      for (int64_t begin = 0; begin < count; begin += more.size()) {
        const auto some = std::min<int64_t>(more.size(), count - begin);
        widen(loops_, self_->at(row, column + begin), self_->column_stride, more.data(), some);
        for (int64_t i = 0; i < some; ++i) sums[begin + i] += beta_ * more[i];
      }
    }
    narrow(loops_, sums, out_.at(row, column), out_.column_stride, count);
  }

 private:
  const Loops& loops_;
  Matrix out_;
  std::optional<Matrix> self_;
  float beta_;
  float alpha_;
};

// ---- few rows

// The rows of `a` are few, and `b` has rows or columns in one piece.
void multiply_few(const Loops& loops, Matrix a, Matrix b, int64_t begin, int64_t end,
                  const Writer& writer, std::vector<float>& memory) {
  const auto length = a.columns;
  const auto stride = padded(length);
  const auto columns = end - begin;
  const auto rows = std::min(a.rows, kFewRows);
  memory.resize(std::max<size_t>(memory.size(), rows * (stride + columns)));
  float* const factors = memory.data();
  float* const sums = factors + rows * stride;
  for (int64_t first = 0; first < a.rows; first += rows) {
    const auto count = std::min(rows, a.rows - first);
    for (int64_t m = 0; m < count; ++m) {
      widen(loops, a.at(first + m, 0), a.column_stride, factors + m * stride, length);
      std::fill(factors + m * stride + length, factors + (m + 1) * stride, 0.0F);
    }
    const Rows x{factors, stride, count};
    if (b.row_stride == 1 && (b.column_stride != 1 || length > columns)) {
      loops.dots(x, b.at(0, begin), b.column_stride, columns, length, sums, columns);
    } else {
      loops.sum_of_rows(x, b.at(0, begin), b.row_stride, length, columns, sums, columns);
    }
    for (int64_t m = 0; m < count; ++m) {
      writer.write(first + m, begin, sums + m * columns, columns);
    }
  }
}

// ---- panels, for a library

// A part of a matrix as float32, in the order in which it lies.
class Panel {
 public:
  Panel(const Loops& loops, Matrix matrix, int64_t most)
      : loops_(loops),
        by_columns_(matrix.lies_by_columns()),
        matrix_(by_columns_ ? matrix.transposed() : matrix),
        memory_(at::empty({most}, at::TensorOptions(c10::kFloat))) {}

  const Tensor& at(int64_t row, int64_t column, int64_t rows, int64_t columns) {
    if (by_columns_) {
      std::swap(row, column);
      std::swap(rows, columns);
    }
    const std::array<int64_t, 4> wanted{row, column, rows, columns};
    if (panel_.defined() && wanted == place_) return panel_;
    place_ = wanted;
    auto* to = memory_.data_ptr<float>();
    const auto grain = std::max<int64_t>(1, kWorkOfThread / columns);
    at::parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
      for (auto i = begin; i < end; ++i) {
        widen(loops_, matrix_.at(row + i, column), matrix_.column_stride, to + i * columns,
              columns);
      }
    });
    panel_ = memory_.narrow(0, 0, rows * columns).view({rows, columns});
    if (by_columns_) panel_ = panel_.t();
    return panel_;
  }

 private:
  const Loops& loops_;
  const bool by_columns_;
  const Matrix matrix_;
  const Tensor memory_;
  std::array<int64_t, 4> place_{};
  Tensor panel_;
};

void write_rows(const Writer& writer, const Tensor& sums, int64_t row, int64_t column) {
  auto* data = sums.data_ptr<float>();
  const auto columns = sums.size(1);
  const auto grain = std::max<int64_t>(1, kWorkOfThread / columns);
  at::parallel_for(0, sums.size(0), grain, [&](int64_t begin, int64_t end) {
    for (auto i = begin; i < end; ++i) writer.write(row + i, column, data + i * columns, columns);
  });
}

void multiply_panels(const Loops& loops, Matrix a, Matrix b, const Writer& writer) {
  const auto rows = a.rows;
  const auto columns = b.columns;
  const auto length = std::min(a.columns, kLongest);
  const auto panel = kPanel * at::get_num_threads();
  const auto fitting = std::max(kShortest, panel / length);
  const auto wide = std::min(columns, fitting);
  const auto high = std::min(rows, std::max(kShortest, std::min(fitting, 4 * panel / wide)));
  Panel left(loops, a, high * length);
  Panel right(loops, b, length * wide);
  const auto memory = at::empty({high * wide}, at::TensorOptions(c10::kFloat));
  for (int64_t column = 0; column < columns; column += wide) {
    const auto width = std::min(wide, columns - column);
    for (int64_t row = 0; row < rows; row += high) {
      const auto height = std::min(high, rows - row);
      auto sums = memory.narrow(0, 0, height * width).view({height, width});
      for (int64_t i = 0; i < a.columns; i += length) {
        const auto some = std::min(length, a.columns - i);
        const auto& x = left.at(row, i, height, some);
        const auto& y = right.at(i, column, some, width);
        if (i == 0) {
          at::mm_out(sums, x, y);
        } else {
          at::addmm_out(sums, sums, x, y);
        }
      }
      write_rows(writer, sums, row, column);
    }
  }
}

// ---- many matrices at a time, as they fit a panel

Tensor floats_of(const Loops& loops, const Matrices& batch, const Tensor& memory, int64_t begin,
                 int64_t count) {
  const bool by_columns = batch.first.lies_by_columns();
  const auto matrices = by_columns ? batch.transposed() : batch;
  const auto rows = matrices.first.rows;
  const auto columns = matrices.first.columns;
  auto* to = memory.data_ptr<float>();
  const auto grain = std::max<int64_t>(1, kWorkOfThread / columns);
  at::parallel_for(0, count * rows, grain, [&](int64_t from, int64_t end) {
    for (auto i = from; i < end; ++i) {
      const auto matrix = matrices[begin + i / rows];
      widen(loops, matrix.at(i % rows, 0), matrix.column_stride, to + i * columns, columns);
    }
  });
  auto result = memory.narrow(0, 0, count * rows * columns).view({count, rows, columns});
  return by_columns ? result.transpose(1, 2) : result;
}

using MakeWriter = c10::function_ref<Writer(int64_t)>;

void multiply_batch(const Loops& loops, const Matrices& a, const Matrices& b,
                    const MakeWriter& writer) {
  const auto rows = a.first.rows;
  const auto columns = b.first.columns;
  const auto length = a.first.columns;
  const auto largest = std::max({rows * length, length * columns, rows * columns});
  const auto at_once =
      std::clamp<int64_t>(kPanel / 4 * at::get_num_threads() / largest, 1, a.count);
  const at::TensorOptions options(c10::kFloat);
  const auto left = at::empty({at_once * rows * length}, options);
  const auto right = at::empty({at_once * length * columns}, options);
  const auto memory = at::empty({at_once * rows * columns}, options);
  for (int64_t begin = 0; begin < a.count; begin += at_once) {
    const auto count = std::min(at_once, a.count - begin);
    auto sums = memory.narrow(0, 0, count * rows * columns).view({count, rows, columns});
    const auto x = floats_of(loops, a, left, begin, count);
    const auto y = floats_of(loops, b, right, begin, count);
    at::bmm_out(sums, x, y);
    auto* data = sums.data_ptr<float>();
    const auto grain = std::max<int64_t>(1, kWorkOfThread / columns);
    at::parallel_for(0, count * rows, grain, [&](int64_t from, int64_t end) {
      for (auto i = from; i < end; ++i) {
        writer(begin + i / rows).write(i % rows, 0, data + i * columns, columns);
      }
    });
  }
}

// Each thread takes some columns of some matrices.
void multiply_small(const Loops& loops, const Matrices& a, const Matrices& b,
                    const MakeWriter& writer) {
  const auto width = b.first.columns;
  const auto work = std::max<int64_t>(1, a.first.rows * a.first.columns);
  const auto piece = std::min(width, std::max(kShortest, kWorkOfThread / work));
  const auto pieces = (width + piece - 1) / piece;
  const auto grain = std::max<int64_t>(1, kWorkOfThread / (work * piece));
  at::parallel_for(0, a.count * pieces, grain, [&](int64_t begin, int64_t end) {
    std::vector<float> memory;
    while (begin < end) {  // those of one matrix together
      const auto i = begin / pieces;
      const auto until = std::min(end, (i + 1) * pieces);
      multiply_few(loops, a[i], b[i], begin % pieces * piece,
                   std::min(width, (until - i * pieces) * piece), writer(i), memory);
      begin = until;
    }
  });
}

bool asks_onednn() {
  const auto op = c10::Dispatcher::singleton().findOp({"mkldnn::_is_mkldnn_bf16_supported", ""});
  if (!op) return false;
  torch::jit::Stack stack;
  op->callBoxed(&stack);
  return stack.back().toBool();
}

// oneDNN takes any processor with AVX-512 for one that has bfloat16, and computes the conversions.
bool find_bfloat16_products() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx512bf16")) return false;
#endif
  return asks_onednn();
}

}  // namespace

bool has_bfloat16_products() {
  static const bool found = find_bfloat16_products();
  return found && at::globalContext().userEnabledMkldnn();
}

bool Product::is_small() const {
  const auto rows = out.first.rows;
  const auto columns = out.first.columns;
  return std::min(rows, columns) <= kFewRows || rows * columns * a.first.columns <= kSmall;
}

void multiply(const Product& product) {
  const auto& table = loops(product.type);
  const auto& [type, out, a, b, self, beta, alpha] = product;
  const auto writer = [&](int64_t i) {
    return Writer(table, out[i], self ? std::optional<Matrix>((*self)[i]) : std::nullopt, beta,
                  alpha);
  };
  const auto& x = a.first;
  const auto& y = b.first;
  if (x.rows == 1 && y.columns == 1 && x.column_stride == 1 && y.row_stride == 1 && a.count == 1) {
    auto sum = table.dot(x.data, y.data, x.columns);
    return writer(0).write(0, 0, &sum, 1);
  }
  if (product.is_small()) {
    // What is wide is read by its lines, if it has any.
    const bool is_high = out.first.rows > out.first.columns;
    const bool swapped = is_high ? a.first.has_lines() : !b.first.has_lines();
    if (!swapped && b.first.has_lines()) return multiply_small(table, a, b, writer);
    if (swapped && a.first.has_lines()) {
      const auto across = [&](int64_t i) { return writer(i).transposed(); };
      return multiply_small(table, b.transposed(), a.transposed(), across);
    }
  }
  if (a.count > 1 && std::max(out.first.rows, out.first.columns) * a.first.columns < kPanel) {
    return multiply_batch(table, a, b, writer);
  }
  for (int64_t i = 0; i < a.count; ++i) multiply_panels(table, a[i], b[i], writer(i));
}

}  // namespace openmps::half
