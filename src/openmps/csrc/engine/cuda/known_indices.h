// Indices that were looked at already. A network's forward and backward, its layers and its epochs
// use the same ones again and again: what was found fine needs no second look until it is written
// to.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include "engine/index_guards.h"

namespace openmps {

// Whether a look at this very index, for these bounds, has ended and found nothing.
bool are_known_to_fit(const at::Tensor& index, const IndexBounds& bounds);

// Remembers the look that `launch` queues. The kernel sets the word, which host and device see, if
// any index does not fit.
void remember_look(const at::Tensor& index, const IndexBounds& bounds,
                   c10::function_ref<void(uint32_t* misfit)> launch);

}  // namespace openmps
