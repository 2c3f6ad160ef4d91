// The functions of shader/extension.py that compile and launch Metal kernels, as the core sees
// them. They take Python's lock themselves and never throw: failures come back in the answer.
#pragma once

#include <cstdint>

namespace openmps {

constexpr unsigned kMetalBuffers = 31;

// openmps/layouts.py has the same two structures.
struct ShaderAnswer {
  uint64_t numbers[4];
  const char* text;  // valid until this thread's next call
  uint64_t text_bytes;
  uint32_t failure;  // 0: none; see throw_failure
};

struct ShaderLaunch {
  uint32_t grid[3];
  uint32_t group[3];
  uint64_t bound;   // buffers 0 to bound - 1
  uint64_t copied;  // bit n: buffer n is a value in the host's memory
  const void* addresses[kMetalBuffers];
  uint64_t sizes[kMetalBuffers];  // 0: not known
};

struct ShaderCalls {
  // `parameters` texts follow the source, each after a zero byte. Answers the library's number.
  void (*compile)(ShaderAnswer*, const char* source, uint64_t bytes, uint64_t parameters);
  // Answers the names as one text, with zero bytes between them.
  void (*names)(ShaderAnswer*, uint64_t library);
  // Answers number, most threads in a threadgroup, threadgroup bytes, axes of its grid position.
  void (*kernel)(ShaderAnswer*, uint64_t library, const char* name, uint64_t bytes);
  void (*launch)(ShaderAnswer*, uint64_t kernel, const ShaderLaunch*);
};

// Set once, at activation.
extern const ShaderCalls* g_shader_calls;

}  // namespace openmps
