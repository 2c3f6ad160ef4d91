#include "engine/cuda/flat_weights.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_cudnn_rnn_flatten_weight.h>
#include <ATen/ops/empty.h>

#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tensor/allocation_tracker.h"
#include "tensor/header.h"

namespace openmps {
namespace {

using at::Tensor;

// A buffer, and where its weights lie; alive as long as one of them is.
struct FlatBuffer {
  WeightLayout layout;
  Tensor buffer;
  std::vector<const void*> places;
  std::vector<int64_t> sizes;

  ~FlatBuffer();
};

struct FlatBuffers {
  std::mutex lock;
  std::unordered_map<const void*, std::weak_ptr<FlatBuffer>> by_first_place;
};

FlatBuffers& flat_buffers() {
  static auto& all = *new FlatBuffers();  // outlives the last tensor
  return all;
}

FlatBuffer::~FlatBuffer() {
  if (places.empty()) return;
  const std::lock_guard guard(flat_buffers().lock);
  const auto found = flat_buffers().by_first_place.find(places[0]);
  if (found != flat_buffers().by_first_place.end() && found->second.expired()) {
    flat_buffers().by_first_place.erase(found);
  }
}

bool lies_in(const FlatBuffer& flat, const WeightLayout& layout, at::TensorList weights) {
  if (!(flat.layout == layout) || flat.places.size() != weights.size()) return false;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i].const_data_ptr() != flat.places[i] || weights[i].numel() != flat.sizes[i] ||
        weights[i].dtype() != flat.buffer.dtype() || !weights[i].is_contiguous()) {
      return false;
    }
  }
  return true;
}

Tensor find_flat(const WeightLayout& layout, at::TensorList weights) {
  std::shared_ptr<FlatBuffer> flat;  // let go of without the lock, which its end takes
  {
    const std::lock_guard guard(flat_buffers().lock);
    const auto found = flat_buffers().by_first_place.find(weights[0].const_data_ptr());
    if (found != flat_buffers().by_first_place.end()) flat = found->second.lock();
  }
  return flat && lies_in(*flat, layout, weights) ? flat->buffer : Tensor();
}

// Whether nobody would notice that its bytes are elsewhere: a parameter with a storage of its own.
bool can_move(const Tensor& weight) {
  const auto& storage = weight.storage();
  const auto* twin = twin_of(*storage.unsafeGetStorageImpl());
  return twin != nullptr && weight.is_leaf() && storage.use_count() == 1 &&
         c10::raw::intrusive_ptr::use_count(const_cast<c10::StorageImpl*>(twin)) == 1 &&
         weight.storage_offset() == 0 && weight.is_contiguous() &&
         twin->nbytes() == weight.nbytes() && is_tracked(twin->data_ptr());
}

bool can_move_all(at::TensorList weights) {
  std::unordered_set<const void*> storages;
  for (const auto& weight : weights) {
    const bool is_first = storages.insert(weight.storage().unsafeGetStorageImpl()).second;
    if (!is_first || !can_move(weight)) return false;
  }
  return true;
}

// On the GPU, over the bytes of `weight`, and not a view, whose storage could not be replaced.
Tensor header_of(const Tensor& weight) {
  auto header = at::empty({0}, weight.options().device(backing().device));
  return header.set_(backing_storage(weight.storage(), /*written=*/false), weight.storage_offset(),
                     weight.sizes(), weight.strides());
}

struct Flattened {
  Tensor buffer;
  std::vector<Tensor> parts;
};

Flattened flatten(const WeightLayout& layout, at::TensorList weights) {
  const at::AutoDispatchBelowADInplaceOrView no_gradients;
  const Tracking untracked(false);  // the weights have their buffers already
  Flattened result;
  for (const auto& weight : weights) result.parts.push_back(header_of(weight));
  result.buffer = at::_cudnn_rnn_flatten_weight(
      result.parts, layout.each, layout.features, layout.mode, layout.hidden_size,
      /*proj_size=*/0, layout.layers, /*batch_first=*/false, layout.bidirectional);
  return result;
}

void release_part(void* owner) { delete static_cast<std::shared_ptr<FlatBuffer>*>(owner); }

// Its old bytes go back to CUDA's allocator, which knows what the stream still does with them.
void move_to(const Tensor& weight, const Tensor& part, const std::shared_ptr<FlatBuffer>& flat) {
  auto& storage = *weight.storage().unsafeGetStorageImpl();
  auto& twin = *twin_of(storage);
  replace_bytes(twin, {part.mutable_data_ptr(), new std::shared_ptr<FlatBuffer>(flat),
                       &release_part, backing().device});
  follow_twin(storage);
}

std::mutex g_moving;

Tensor move_together(const WeightLayout& layout, at::TensorList weights) {
  const std::lock_guard alone(g_moving);
  auto buffer = find_flat(layout, weights);  // another thread may have moved them
  if (buffer.defined() || !can_move_all(weights)) return buffer;
  const auto flattened = flatten(layout, weights);
  auto flat = std::make_shared<FlatBuffer>();
  flat->layout = layout;
  flat->buffer = flattened.buffer;
  for (const auto& part : flattened.parts) {
    if (!part.is_contiguous() || !part.is_alias_of(flattened.buffer)) return flattened.buffer;
    flat->places.push_back(part.const_data_ptr());
    flat->sizes.push_back(part.numel());
  }
  for (size_t i = 0; i < weights.size(); ++i) move_to(weights[i], flattened.parts[i], flat);
  const std::lock_guard guard(flat_buffers().lock);
  flat_buffers().by_first_place[flat->places[0]] = flat;
  return flat->buffer;
}

}  // namespace

bool WeightLayout::operator==(const WeightLayout& other) const {
  return each == other.each && features == other.features && mode == other.mode &&
         hidden_size == other.hidden_size && layers == other.layers &&
         bidirectional == other.bidirectional;
}

Tensor flat_weights(const WeightLayout& layout, at::TensorList weights) {
  auto buffer = find_flat(layout, weights);
  return buffer.defined() || !can_move_all(weights) ? buffer : move_together(layout, weights);
}

Tensor copy_flat(const WeightLayout& layout, at::TensorList weights) {
  return flatten(layout, weights).buffer;
}

}  // namespace openmps
