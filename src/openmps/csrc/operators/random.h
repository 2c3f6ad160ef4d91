#pragma once

namespace openmps {

// Gives mps the random operators that draw what a Mac draws. For the CPU engine only: elsewhere the
// boxed kernel and register_backing_dropout serve.
// `with_poisson`: whether the installed torch has that operator on a Mac.
void register_random_operators(bool with_poisson);

}  // namespace openmps
