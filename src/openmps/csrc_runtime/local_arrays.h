// Where clang's SafeStack keeps what a kernel indexes at run time: on a second stack, with no
// return address and no loop counter on it, so that an index that goes astray in a local array
// changes other arrays of the thread at most.
#pragma once

// Kernels take their frames from here downwards. The name is SafeStack's.
extern "C" {
extern __attribute__((visibility("default"),
                      tls_model("initial-exec"))) __thread char* __safestack_unsafe_stack_ptr;
}

namespace openmps {

inline char*& local_arrays() { return __safestack_unsafe_stack_ptr; }

}  // namespace openmps
