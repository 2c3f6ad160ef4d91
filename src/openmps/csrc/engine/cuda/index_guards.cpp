#include "engine/cuda/index_guards.h"

#include <ATen/EmptyTensor.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <cstring>

#include "tensor/allocator.h"
#include "engine/cuda/known_indices.h"
#include "engine/builtin_kernels.h"
#include "engine/reports.h"

namespace openmps {
namespace {

using at::Tensor;

// device/guards.metal has the same structures.
struct Words {
  char before[80];
  char between[40];
  char after[100];
  uint32_t with_number;
  uint32_t with_place;
};

struct Assertion {
  char text[250];
};

template <size_t kSize>
void copy_text(const std::string& from, char (&to)[kSize]) {
  std::memset(to, 0, kSize);
  from.copy(to, kSize - 1);
}

Words packed(const IndexErrorText& text, bool with_number) {
  Words words{};
  copy_text(text.before, words.before);
  copy_text(text.between, words.between);
  copy_text(text.after, words.after);
  words.with_number = with_number ? 1 : 0;
  words.with_place = text.between.empty() ? 0 : 1;
  return words;
}

const BuiltinKernel& guard_kernel(const char* name) {
  const auto* found = find_builtin_kernel(name);
  TORCH_INTERNAL_ASSERT(found != nullptr, name);
  return *found;
}

// Kept, because every embedding asks for one. No static of its own: the search waits for Python,
// and a thread that has Python might wait here for the static.
const BuiltinKernel& kernel_for_index(at::ScalarType type) {
  static std::atomic<const BuiltinKernel*> kept[2] = {};
  const bool is_int = type == at::kInt;
  const auto* found = kept[is_int].load(std::memory_order_acquire);
  if (found == nullptr) {
    found = &guard_kernel(is_int ? "guard_index_int" : "guard_index_long");
    kept[is_int].store(found, std::memory_order_release);
  }
  return *found;
}

// One of each element: an expanded tensor shows the same many times.
Tensor without_repeats(Tensor tensor) {
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    if (tensor.stride(dim) == 0 && tensor.size(dim) > 1) tensor = tensor.narrow(dim, 0, 1);
  }
  return tensor.contiguous();
}

// at::empty_like, without its way through the dispatcher: every embedding and loss comes here.
Tensor empty_like_contiguous(const Tensor& contiguous) {
  return at::detail::empty_generic(contiguous.sizes(), mps_allocator(),
                                   c10::DispatchKeySet(c10::DispatchKey::MPS),
                                   contiguous.scalar_type(), c10::MemoryFormat::Contiguous);
}

}  // namespace

Tensor checked_indices(const Tensor& index, const IndexBounds& bounds,
                       c10::function_ref<IndexErrorText()> text) {
  if (index.numel() == 0 || bounds.low >= bounds.high) return index;
  auto known = looked_at(index, bounds);
  if (known.defined()) return known;
  const auto given = without_repeats(index);
  const auto mended = empty_like_contiguous(given);
  const auto checked = mended.sizes() == index.sizes() ? mended : mended.expand(index.sizes());
  const auto words = packed(text(), /*with_number=*/true);
  const auto& kernel = kernel_for_index(index.scalar_type());
  remember_look(index, bounds, checked, [&](uint32_t* misfit) {
    kernel.run(given.numel(), {{given.const_data_ptr()},
                               {mended.mutable_data_ptr()},
                               bytes_of(bounds),
                               bytes_of(words),
                               {misfit},
                               {report_buffer()}});
  });
  return checked;
}

Tensor checked_probabilities(const Tensor& values, const std::string& text) {
  if (values.numel() == 0) return values;
  const auto given = without_repeats(values);
  const auto checked = empty_like_contiguous(given);
  guard_kernel("guard_probability")
      .run(given.numel(), {{given.const_data_ptr()},
                           {checked.mutable_data_ptr()},
                           bytes_of(packed({text, "", ""}, /*with_number=*/false)),
                           {report_buffer()}});
  return checked.expand(values.sizes());
}

void check_assertion_on_gpu(const Tensor& assertion, const std::string& text) {
  Assertion packed_text;
  copy_text(text, packed_text.text);
  const auto given = assertion.contiguous();
  guard_kernel("guard_assertion")
      .run(given.numel(), {{given.const_data_ptr()}, bytes_of(packed_text), {report_buffer()}});
}

}  // namespace openmps
