// mps storages without bytes of their own. Such a storage stands for the elements of a backing
// storage in bfloat16, its image, and shows them as bfloat16 or as float32; several may stand for
// one image. So a cast between the two moves nothing, and narrow.h lets some operators work on the
// images. Everybody else finds an ordinary storage: who asks for the bytes, be it an operator or
// data_ptr(), has them written. The Mac's books have every such storage with all its bytes.
//
// To PyTorch it is a copy-on-write storage whose data is a token, and our allocator knows how to
// copy that: from the image.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>

namespace openmps::held {

extern std::atomic<int64_t> g_count;
// Whether there are any: one load, for operators that would have to look.
inline bool any() { return g_count.load(std::memory_order_relaxed) != 0; }

// The image of `tensor`, as a backing tensor of its shape; undefined if it is not of mps or is not
// held, or not as `shown`. Only to be read. Hand it to `recycle` after the call.
at::Tensor image(const at::Tensor& tensor, c10::ScalarType shown);
// The same to be written to: an image that others stand for, too, is copied first.
at::Tensor own_image(const at::Tensor& tensor, c10::ScalarType shown);

bool is_held(const at::Tensor& tensor, c10::ScalarType shown);

// Makes an image of a bfloat16 mps tensor's bytes, so that it can be shown as float32. False if it
// cannot be done.
bool hold(const at::Tensor& tensor);
// Ends that: casts of it are real ones again. Who has its image keeps it.
void seal(const at::Tensor& tensor);

// Whether `shown_as` would do.
bool can_be_shown(const at::Tensor& tensor);
// A new mps tensor that shows the image of `tensor` as `to`; undefined if it is not held, or
// sealed.
at::Tensor shown_as(const at::Tensor& tensor, c10::ScalarType to);

// A float32 mps tensor whose image is `result`, a bfloat16 backing tensor that nobody else has.
at::Tensor new_float(const at::Tensor& result);

// Writes the bytes, unless they are there. Any thread.
void write(const c10::Storage& mps);

// For the allocator: writes the bytes of what `token` stands for; false if it is no token.
bool write_copy(void* destination, const void* token, size_t bytes);

}  // namespace openmps::held
