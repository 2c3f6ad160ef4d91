#pragma once

namespace openmps {

// Whether batch norms under autocast in bfloat16 give float32 that is bfloat16 in memory. What is
// needed for that is registered when it is first asked for.
void take_batch_norms_lazily(bool on);
bool takes_batch_norms_lazily();

}  // namespace openmps
