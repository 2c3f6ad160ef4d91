// Looks at operators' arguments without waiting for the GPU (device/guards.metal). What is wrong is
// reported (engine/reports.h), and something that works comes back in its place.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <string>

#include "engine/index_guards.h"

namespace openmps {

// `index` is an int or long tensor on mps.
at::Tensor checked_indices(const at::Tensor& index, const IndexBounds& bounds,
                           c10::function_ref<IndexErrorText()> text);

// Floats on mps, from 0 to 1.
at::Tensor checked_probabilities(const at::Tensor& values, const std::string& text);

// A bool on mps.
void check_assertion_on_gpu(const at::Tensor& assertion, const std::string& text);

}  // namespace openmps
