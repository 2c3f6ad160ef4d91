#pragma once

namespace openmps {

// From now on batch norms under autocast in bfloat16 work on images (narrow.h).
void narrow_batch_norms();

}  // namespace openmps
