// metal_logging and assert: accepted, and without effect.
#pragma once

#include "types/traits.h"

#define assert(...) ((void)0)

namespace msl {
namespace metal {

enum log_type { log_type_debug, log_type_info, log_type_default, log_type_error, log_type_fault };

struct os_log {
  constexpr os_log() {}
  constexpr os_log(const char*, const char*) {}
  template <class... A>
  void log(const char*, const A&...) const {}
  template <class... A>
  void log_with_type(log_type, const char*, const A&...) const {}
  template <class... A>
  void log_debug(const char*, const A&...) const {}
  template <class... A>
  void log_info(const char*, const A&...) const {}
  template <class... A>
  void log_error(const char*, const A&...) const {}
  template <class... A>
  void log_fault(const char*, const A&...) const {}
};
inline constexpr os_log os_log_default{};

}  // namespace metal
}  // namespace msl
