// Float32 that is bfloat16 in memory until somebody asks for its bytes. An mps storage may stand
// for the elements of a backing storage in bfloat16, its source, which it is viewed as float32 or
// as bfloat16; several may stand for one source. So a cast between the two moves nothing, and some
// operators work on the sources (lazy_operators.h). Everybody else finds an ordinary storage: who
// asks for the bytes, be it an operator or data_ptr(), has them written. The simulated allocator
// has every such storage with all its bytes.
//
// To PyTorch it is a copy-on-write storage whose data is a token, and our allocator knows how to
// copy that: from the source (tensor/lazy_bytes.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>

namespace openmps::lazy {

extern std::atomic<int64_t> g_count;
// Whether there are any: one load, for operators that would have to look.
inline bool exist() { return g_count.load(std::memory_order_relaxed) != 0; }

// From now on there may be such storages.
void switch_on();

// The source of `tensor`, as a backing tensor of its shape; undefined if it is not of mps or not
// lazy, or not `viewed` as that. Only to be read. Hand it to `recycle` after the call.
at::Tensor source(const at::Tensor& tensor, c10::ScalarType viewed);
// The same to be written to: a source that others stand for, too, is copied first.
at::Tensor own_source(const at::Tensor& tensor, c10::ScalarType viewed);

bool is_viewed_as(const at::Tensor& tensor, c10::ScalarType viewed);

// Makes a source of a bfloat16 mps tensor's bytes, so that it can be viewed as float32. False if it
// cannot be done.
bool make_lazy(const at::Tensor& tensor);
// Ends that: casts of it are real ones again. Who has its source keeps it.
void freeze(const at::Tensor& tensor);

// Whether `view_as` would do.
bool can_be_viewed(const at::Tensor& tensor);
// A new mps tensor that views the source of `tensor` as `to`; undefined if it is not lazy, or
// frozen.
at::Tensor view_as(const at::Tensor& tensor, c10::ScalarType to);

// A float32 mps tensor whose source is `result`, a bfloat16 backing tensor that nobody else has.
at::Tensor new_float(const at::Tensor& result);

}  // namespace openmps::lazy
