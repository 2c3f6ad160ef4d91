// Metal kernels of C++ extensions: what the classes of ATen/native/mps/MetalShaderLibrary.h ask of
// the device. Those classes differ from one torch to the next; this does not. csrc_metal/ turns
// one into the other, as a library of its own that every extension can see.
#pragma once

#include <c10/core/Scalar.h>
#include <c10/util/OptionalArrayRef.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace at {
class TensorBase;
struct TensorIteratorBase;
}  // namespace at

namespace openmps {

// Libraries and kernels are handles that stay valid for ever: their code is never unloaded.
class Metal {
 public:
  // A source with parameters is a format, as of fmt::format, and `parameters` are its values.
  virtual void* compile(const std::string& source, const std::vector<std::string>& parameters) = 0;
  virtual std::vector<std::string> names(void* library) = 0;
  virtual bool has(void* library, const std::string& name) = 0;
  virtual void* kernel(void* library, const std::string& name) = 0;

  virtual uint64_t max_threads(const void* kernel) const = 0;
  virtual uint64_t simd_width() const = 0;
  virtual uint64_t static_bytes(const void* kernel) const = 0;

  // One launch is encoded at a time in each thread: begin, set what is bound, dispatch.
  virtual void begin(const void* kernel) = 0;
  virtual void set(unsigned index, const at::TensorBase& tensor) = 0;
  virtual void set(unsigned index, const void* bytes, uint64_t size) = 0;
  virtual void set_error_buffer(unsigned index) = 0;
  virtual void dispatch(uint64_t length, std::optional<uint64_t> group) = 0;
  virtual void dispatch(c10::ArrayRef<uint64_t> lengths, c10::OptionalArrayRef<uint64_t> group) = 0;

  virtual void* address(const at::TensorBase& tensor) const = 0;

  // Kernels that c10/metal/indexing.h registers, chosen by what an iterator looks like. `alpha` may
  // be null: an optional would drag torch's own libraries in.
  virtual void run_unary(void* library, at::TensorIteratorBase& iter, const std::string& name,
                         const c10::Scalar* alpha, std::optional<c10::ScalarType> alpha_type,
                         std::optional<uint32_t> ilp_threshold, bool has_vec4) = 0;
  virtual void run_binary(void* library, at::TensorIteratorBase& iter, const std::string& name,
                          const c10::Scalar* alpha, std::optional<c10::ScalarType> alpha_type,
                          std::optional<c10::ScalarType> natural_type,
                          std::optional<uint32_t> ilp_threshold) = 0;
  virtual void run_ternary(void* library, at::TensorIteratorBase& iter, const std::string& name,
                           const c10::Scalar* alpha, std::optional<c10::ScalarType> alpha_type) = 0;
  virtual void run_cast(void* library, std::string_view name, const void* source,
                        c10::ScalarType source_type, void* target, c10::ScalarType target_type,
                        uint32_t count, std::optional<uint32_t> ilp_threshold) = 0;

  // These two throw.
  virtual void refuse_binary(const std::string& path) = 0;
  virtual void refuse_bundled() = 0;

 protected:
  ~Metal() = default;
};

struct ShaderCalls;

// The device, with `calls` to compile and launch with.
Metal* connect_metal(const ShaderCalls* calls);

}  // namespace openmps
