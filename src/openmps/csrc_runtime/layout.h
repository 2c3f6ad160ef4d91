// A table that tells openmps/layouts.py where the fields of structures lie, so that a difference
// between the two is an error at loading and not a wrong launch.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace openmps {

struct FieldLayout {
  const char* name;  // "Type" or "Type.field"; null ends a table
  uint32_t offset;
  uint32_t bytes;
};

}  // namespace openmps

#define OPENMPS_STRUCTURE(type) {#type, 0, sizeof(type)}
#define OPENMPS_FIELD(type, field) {#type "." #field, offsetof(type, field), sizeof(type::field)}
// In namespace openmps. Declared first, because what is const is not seen from outside otherwise.
#define OPENMPS_LAYOUT(name)                                                  \
  extern "C" __attribute__((visibility("default"))) const FieldLayout name[]; \
  const FieldLayout name[]
