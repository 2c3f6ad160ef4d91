// Changing stacks: the three assembly routines that fibres and abandoned kernels stand on.
#pragma once

#include "local_arrays.h"

extern "C" {

// Saves this context, its stack pointer in *save, and continues the one that `load` points to.
__attribute__((visibility("hidden"))) void openmps_switch(void** save, void* load);
// The same, faster where contexts stand at different calls and slower elsewhere (switch.cpp).
__attribute__((visibility("hidden"))) void openmps_switch_by_jump(void** save, void* load);

// Calls function(argument) on the stack that ends at `top` (16-byte aligned), which must not return
// but end with openmps_finish(*save): what lies on that stack may be damaged. Returns 0 then, and 1
// when a signal handler made the thread continue at openmps_left with *save as its stack pointer.
__attribute__((visibility("hidden"))) int openmps_enter(void** save, void (*function)(void*),
                                                        void* argument, char* top);
[[noreturn]] __attribute__((visibility("hidden"))) void openmps_finish(void* saved);
__attribute__((visibility("hidden"))) void openmps_left();
}

namespace openmps {

// Of two contexts each has its own local arrays.
inline void switch_context(void** save, void* load) {
  char* const arrays = local_arrays();
  openmps_switch(save, load);
  local_arrays() = arrays;
}

// A context for openmps_switch that calls `function` on the stack ending at `top` (16-byte
// aligned). The function must not return.
void* fresh_context(char* top, void (*function)());

}  // namespace openmps
