#include "profiler/options.h"

#include <c10/util/Exception.h>

#include <cstdlib>
#include <sstream>

namespace openmps::profiler {
namespace {

constexpr const char* kLogVariable = "PYTORCH_MPS_LOG_PROFILE_INFO";
constexpr const char* kTraceVariable = "PYTORCH_MPS_TRACE_SIGNPOSTS";

// As natively: 0x10 and 020 are numbers too, and what is no number is 0.
uint32_t number(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : static_cast<uint32_t>(std::strtol(text, nullptr, 0));
}

}  // namespace

Options Options::from_environment() {
  Options options;
  options.log = number(kLogVariable);
  TORCH_CHECK(options.log <= kLogMost, "invalid log options ", options.log, " passed to ",
              kLogVariable);
  const uint32_t given = number(kTraceVariable);
  options.trace = given & 0xFFFF;
  TORCH_CHECK(options.trace <= kTraceMost, "invalid profiling options ", given, " passed to ",
              kTraceVariable);
  options.signposts = given & 0xFFFF0000;
  TORCH_CHECK(options.signposts <= kSignpostsMost, "invalid signpost types ", given, " passed to ",
              kTraceVariable);
  options.complete();
  return options;
}

void Options::start(const std::string& mode, bool wait) {
  TORCH_CHECK(trace == 0, "Tracing Signposts is already enabled ");
  std::stringstream tokens(mode);
  std::string token;
  while (std::getline(tokens, token, ',')) {
    if (token.empty()) continue;
    // What came before a bad token stays on until stop(), as natively.
    TORCH_CHECK(token == "interval" || token == "event", "Invalid Signpost trace mode: ", token);
    trace |= token == "interval" ? kAllIntervals : kAllEvents;
  }
  if (trace == 0) return;
  if (wait) trace |= kWait;
  complete();
}

void Options::stop() {
  trace = 0;
  signposts = 0;
}

// What some bits imply of others.
void Options::complete() {
  if (signposts == 0 && (trace & kIncludeSchedule)) trace |= kAllIntervals;
  if (trace & (kAllEvents | kAllIntervals)) {
    signposts |= kOperations | kCopies | kFallbacks;
    if (trace & kAllEvents) trace |= kUseEvents;
    if (trace & kAllIntervals) trace |= kUseIntervals;
  }
  if (log & kAllStatistics) log |= kOperationStatistics | kCopyStatistics | kFallbackStatistics;
  if (signposts == 0) return;
  if (!(trace & (kUseEvents | kUseIntervals))) trace |= kUseIntervals;
  TORCH_CHECK(!(trace & kIncludeSchedule) || (trace & kUseIntervals),
              "the option 'INCLUDE_SCHEDULE_INTERVAL' only works for interval-based signposts");
  if (trace & kUseEvents) log |= kGpuTime;
}

bool Options::prints_lines(Kind kind) const {
  switch (kind) {
    case Kind::kOperation:
      return log & kOperationInfo;
    case Kind::kCopy:
      return log & kCopyInfo;
    case Kind::kFallback:
      return log & kFallbackInfo;
    default:
      return false;
  }
}

uint32_t Options::traced_kinds() const {
  return (signposts & kOperations ? bit(Kind::kOperation) | bit(Kind::kKernel) : 0) |
         (signposts & kCopies ? bit(Kind::kCopy) : 0) |
         (signposts & kFallbacks ? bit(Kind::kFallback) : 0);
}

uint32_t Options::logged_kinds() const {
  return (log & (kOperationInfo | kOperationStatistics) ? bit(Kind::kOperation) : 0) |
         (log & (kCopyInfo | kCopyStatistics) ? bit(Kind::kCopy) : 0) |
         (log & (kFallbackInfo | kFallbackStatistics) ? bit(Kind::kFallback) : 0);
}

}  // namespace openmps::profiler
