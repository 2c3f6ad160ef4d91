// While it lives, what PyTorch warns of in this thread is dropped: of kernels that replace others,
// and of attention kernels that do not fit.
#pragma once

#include <c10/util/Exception.h>

namespace openmps {

class NoWarnings {
 private:
  struct Dropped final : c10::WarningHandler {
    void process(const c10::Warning&) override {}
  } dropped_;
  const c10::WarningUtils::WarningHandlerGuard guard_{&dropped_};
};

}  // namespace openmps
