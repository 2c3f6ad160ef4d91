// Indices that were looked at already. A network's forward and backward, its layers and its epochs
// use the same ones again and again: what was found fine needs no second look until it is written
// to.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include "engine/index_guards.h"

namespace openmps {

// The index itself if a look at it, for these bounds, has ended and found nothing; what a look that
// has not ended gives in its place; undefined if it must be looked at.
at::Tensor looked_at(const at::Tensor& index, const IndexBounds& bounds);

// Remembers the look that `launch` queues, and that it gives `checked`. The kernel sets the word,
// which host and device see, if any index does not fit.
void remember_look(const at::Tensor& index, const IndexBounds& bounds, const at::Tensor& checked,
                   c10::function_ref<void(uint32_t* misfit)> launch);

}  // namespace openmps
