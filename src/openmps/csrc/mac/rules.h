// What the chosen Mac refuses: dtypes per operator, and double precision everywhere. The facts come
// from openmps/mac/ at activation; here they are only enforced.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <string>
#include <vector>

#include "ledger/ledger.h"

namespace openmps {

using DtypeMask = uint64_t;  // one bit per c10::ScalarType

constexpr DtypeMask mask_of(c10::ScalarType type) {
  return DtypeMask{1} << static_cast<unsigned>(type);
}
inline DtypeMask mask_of(const at::Tensor& tensor) {
  return tensor.defined() ? mask_of(tensor.scalar_type()) : 0;
}

inline constexpr DtypeMask kHalves = mask_of(c10::kHalf) | mask_of(c10::kBFloat16);

struct Refusal {
  DtypeMask dtypes;
  std::string of;     // whose dtype: "first", "any" or "every" tensor's, "common", or an argument
  std::string error;  // the Python exception
  std::string text;   // with {dtype}, {metal}, {op} and {layout}
};

// Dtypes that a Mac has a kernel for and PyTorch's backing device has not: computed in another one,
// or on the host.
struct Widening {
  DtypeMask dtypes;
  c10::ScalarType through;
  std::string of;  // whose dtype: the "first", "common" or "same" one of the tensors that are read
};
inline constexpr auto kOnHost = static_cast<c10::ScalarType>(-1);

struct DtypeRules {
  std::vector<Refusal> refusals;
  std::vector<Widening> widenings;
  DtypeMask refused = 0;
  DtypeMask widened = 0;
  DtypeMask on_host = 0;

  // An operator none of whose tensors is in here passes at once.
  DtypeMask special() const { return refused | widened | on_host; }
};

// The rules of "aten::name.overload", or nullptr. Valid for ever.
const DtypeRules* dtype_rules_of(const std::string& op);
void add_refusal(const std::string& op, Refusal refusal);
void add_widening(const std::string& op, Widening widening);

// Throws what the Mac throws if it refuses these arguments, which stand on the stack from `first`.
void enforce(const DtypeRules& rules, const c10::FunctionSchema& schema,
             const torch::jit::Stack& stack, size_t first);

// In the ledger, unless it follows from float64, whose arrival is there already.
void record_refusal(const std::string& op, const c10::Error& error);

// Whether the Mac's refusals hold; OPENMPS_STRICT=0 lifts them.
extern bool g_strict;
inline bool is_strict() { return g_strict; }

// Throws, or writes it in the ledger of a program that is only being checked.
void refuse_double(c10::ScalarType type);

// Throws for float64 and complex128, which Metal does not have.
inline void check_precision(c10::ScalarType type) {
  if ((type == c10::kDouble || type == c10::kComplexDouble) && is_strict()) refuse_double(type);
}

// Whether the Mac's refusal of `what` holds. In a program that is only being checked it is written
// in the ledger, and does not.
bool refuses(const char* op, const std::string& what);

// Runs `check`, which throws what the Mac refuses; or writes that in the ledger.
template <class Check>
void unless_recorded(const std::string& op, const Check& check) {
  if (!ledger::finds_all()) return check();
  try {
    check();
  } catch (const c10::Error& error) {
    record_refusal(op, error);
  }
}

}  // namespace openmps
