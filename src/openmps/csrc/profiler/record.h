// What happened on the device: one operator, kernel, copy or CPU fallback.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <string>

#include "ledger/ledger.h"

namespace openmps::profiler {

enum class Kind : uint8_t { kOperation, kKernel, kCopy, kFallback };
constexpr uint32_t kAllKinds = 0xF;
constexpr uint32_t bit(Kind kind) { return 1u << static_cast<unsigned>(kind); }

using Tensors = c10::SmallVector<const at::Tensor*, 8>;

enum class Direction : uint8_t { kMpsToMps, kMpsToCpu, kCpuToMps };

struct Record {
  Kind kind = Kind::kOperation;
  std::string name;     // "aten::add.Tensor", a Metal kernel's name, "aten::copy_"
  std::string key;      // the native text: "add:MPS:Float[4]", or a copy's source
  std::string target;   // a copy's destination
  std::string program;  // what natively is one graph or kernel: the operator and its dtypes
  std::string detail;   // of a Metal kernel: its grid
  uint64_t id = 0;
  uint64_t run = 0;
  uint64_t thread = 0;
  int64_t start_ns = 0;  // of CLOCK_MONOTONIC, as Python's time.monotonic_ns()
  int64_t duration_ns = 0;
  uint64_t bytes = 0;
  Direction direction = Direction::kMpsToMps;
  bool blocking = false;

  // For the ledger.
  ledger::Line line = 0;
  ledger::Kind reported_as = ledger::Kind::kNative;
  std::string overload;  // where the name is without it
  bool printing = false;
  bool waits = false;  // the program waits for it

  double milliseconds() const { return static_cast<double>(duration_ns) * 1e-6; }
};

}  // namespace openmps::profiler
