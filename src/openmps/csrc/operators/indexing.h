// Operators whose Mac has something to say at every call, and nothing for the
// arguments that models pass: for those, without the boxed kernel.
#pragma once

#include <ATen/core/List.h>
#include <ATen/ops/index_ops.h>
#include <ATen/ops/sort_ops.h>

#include "dispatch/typed.h"

namespace openmps {

// The indices of index.Tensor: those on mps travel as backing views.
template <>
struct Parameter<const c10::List<std::optional<at::Tensor>>&> {
  using List = c10::List<std::optional<at::Tensor>>;

  c10::SmallVector<at::Tensor, 4> originals;
  c10::SmallVector<at::Tensor, 4> views;
  std::optional<List> passed;

  Parameter(const char* op, const List& list) {
    passed.emplace();
    passed->reserve(list.size());
    for (const std::optional<at::Tensor>& index : list) {
      if (!index || !is_mps(*index)) {
        if (index && index->defined()) check_same_device(op, *index, /*written=*/false);
        passed->push_back(index);
        continue;
      }
      originals.push_back(*index);
      views.push_back(backing_view(*index, /*written=*/false));
      passed->push_back(views.back());
    }
  }
  ~Parameter() {
    passed.reset();
    for (auto& view : views) recycle(std::move(view));
  }
  const List& pass() { return *passed; }
  void list(profiler::Tensors& tensors) const {
    for (const auto& tensor : originals) tensors.push_back(&tensor);
  }
  const at::Tensor* find(const at::Tensor&) const { return nullptr; }
  const c10::Storage* find_storage(const c10::Storage&) const { return nullptr; }
};

// A Mac waits for what a mask selects, takes at most 16 indices, and refuses to
// index a CPU tensor.
struct Index {
  using Kernel = OnBacking<at::_ops::index_Tensor>;

  static at::Tensor run(const at::Tensor& self,
                        const c10::List<std::optional<at::Tensor>>& indices) {
    bool usual = is_mps(self) && indices.size() <= 16;
    for (const std::optional<at::Tensor>& index : indices) {
      const bool integers = !index || !index->defined() || index->scalar_type() == c10::kLong ||
                            index->scalar_type() == c10::kInt;
      usual = usual && integers;
    }
    return usual ? Kernel::run(self, indices) : Kernel::run_boxed(self, indices);
  }
};

// A Mac's sort keeps equal elements in order whether asked to or not.
struct Sort {
  static std::tuple<at::Tensor, at::Tensor> run(const at::Tensor& self, std::optional<bool> stable,
                                                int64_t dim, bool descending) {
    return OnBacking<at::_ops::sort_stable>::run(self, is_strict() ? true : stable, dim,
                                                 descending);
  }
};

}  // namespace openmps
