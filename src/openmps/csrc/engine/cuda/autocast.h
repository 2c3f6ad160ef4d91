#pragma once

namespace openmps {

// Whether batch norms under autocast in bfloat16 work on images (narrow.h).
void narrow_batch_norms(bool on);

}  // namespace openmps
