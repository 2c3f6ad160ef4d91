// PYTORCH_MPS_LOG_PROFILE_INFO, PYTORCH_MPS_TRACE_SIGNPOSTS and torch.mps.profiler's modes:
// PyTorch's bits, with its rules and error texts (ATen/mps/MPSProfiler).
#pragma once

#include <cstdint>
#include <string>

#include "profiler/record.h"

namespace openmps::profiler {

struct Options {
  enum Trace : uint32_t {
    kAllEvents = 1 << 0,
    kAllIntervals = 1 << 1,
    kWait = 1 << 2,
    kIncludeSchedule = 1 << 3,
    kUseIntervals = 1 << 4,
    kUseEvents = 1 << 5,
    kTraceMost = (kUseEvents << 1) - 1,
  };
  enum Signposts : uint32_t {
    kOperations = 1 << 16,
    kCopies = 1 << 17,
    kFallbacks = 1 << 18,
    kSignpostsMost = (kFallbacks << 1) - 1,
  };
  enum Log : uint32_t {
    kOperationInfo = 1 << 0,
    kCopyInfo = 1 << 1,
    kFallbackInfo = 1 << 2,
    kAllStatistics = 1 << 3,
    kOperationStatistics = 1 << 4,
    kCopyStatistics = 1 << 5,
    kFallbackStatistics = 1 << 6,
    kGpuTime = 1 << 7,
    kKernelTime = 1 << 8,
    kBufferId = 1 << 9,
    kLogMost = (kBufferId << 1) - 1,
  };

  uint32_t trace = 0;
  uint32_t signposts = 0;
  uint32_t log = 0;

  static Options from_environment();
  void start(const std::string& mode, bool wait);
  void stop();

  bool tracing() const { return signposts != 0; }
  bool statistics() const {
    return log & (kOperationStatistics | kCopyStatistics | kFallbackStatistics);
  }
  bool timed_lines() const { return log & (kGpuTime | kKernelTime); }
  bool prints_lines(Kind kind) const;
  uint32_t traced_kinds() const;
  uint32_t logged_kinds() const;

 private:
  void complete();
};

}  // namespace openmps::profiler
