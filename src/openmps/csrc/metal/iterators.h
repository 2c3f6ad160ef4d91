// Which of the kernels that c10/metal/indexing.h registers runs for an iterator, and with which
// arguments: natively MetalShaderLibrary::exec_unary_kernel and its siblings. Where a library has
// not that kernel, the error names it.
#pragma once

#include <ATen/TensorIterator.h>
#include <c10/core/Scalar.h>

#include <optional>
#include <string>
#include <string_view>

#include "metal/encoder.h"

namespace openmps {

// `has_vec4`: torch 2.12's kernels of four elements a thread, for floating types, are there.
void run_unary_kernel(MetalLibrary& library, at::TensorIteratorBase& iter, const std::string& name,
                      const c10::Scalar* alpha, std::optional<c10::ScalarType> alpha_type,
                      std::optional<uint32_t> ilp_threshold, bool has_vec4);

// `natural_type` is what the kernel makes; by default what the output has.
void run_binary_kernel(MetalLibrary& library, at::TensorIteratorBase& iter, const std::string& name,
                       const c10::Scalar* alpha, std::optional<c10::ScalarType> alpha_type,
                       std::optional<c10::ScalarType> natural_type,
                       std::optional<uint32_t> ilp_threshold);

void run_ternary_kernel(MetalLibrary& library, at::TensorIteratorBase& iter,
                        const std::string& name, const c10::Scalar* alpha,
                        std::optional<c10::ScalarType> alpha_type);

// Dense, without an iterator: `source` and `target` are addresses.
void run_cast_kernel(MetalLibrary& library, std::string_view name, const void* source,
                     c10::ScalarType source_type, void* target, c10::ScalarType target_type,
                     uint32_t count, std::optional<uint32_t> ilp_threshold);

}  // namespace openmps
