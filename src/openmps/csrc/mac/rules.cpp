#include "mac/rules.h"

#include <ATen/native/TypeProperties.h>

#include <string_view>
#include <unordered_map>

#include "mac/metal_name.h"

namespace openmps {
namespace {

using c10::ScalarType;

std::unordered_map<std::string, DtypeRules>& all_rules() {
  static auto* rules = new std::unordered_map<std::string, DtypeRules>();
  return *rules;
}

void replace(std::string& text, std::string_view placeholder, std::string_view value) {
  for (auto at = text.find(placeholder); at != std::string::npos;
       at = text.find(placeholder, at + value.size())) {
    text.replace(at, placeholder.size(), value);
  }
}

// "aten::sin_" -> "sin"
std::string base_name(const std::string& op) {
  auto name = op.substr(op.find("::") + 2);
  if (name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_') name.pop_back();
  return name;
}

[[noreturn]] void refuse(const Refusal& refusal, const c10::FunctionSchema& schema, ScalarType type,
                         bool dense) {
  auto text = refusal.text;
  replace(text, "{dtype}", c10::toString(type));
  replace(text, "{metal}", metal_name(type));
  replace(text, "{op}", base_name(schema.name()));
  replace(text, "{layout}", dense ? "dense" : "strided");
  if (refusal.error == "NotImplementedError") TORCH_CHECK_NOT_IMPLEMENTED(false, text);
  if (refusal.error == "TypeError") TORCH_CHECK_TYPE(false, text);
  TORCH_CHECK(false, text);
}

// A Mac looks for a kernel only where there is something to compute.
bool is_missing_kernel(const Refusal& refusal) {
  constexpr std::string_view kLookup = "Failed to create function state object";
  return std::string_view(refusal.text).substr(0, kLookup.size()) == kLookup;
}

// Calls `visit` with every tensor of the arguments, and with its argument's name.
template <class Visit>
void for_each_tensor(const c10::FunctionSchema& schema, const torch::jit::Stack& stack,
                     size_t first, const Visit& visit) {
  const auto& arguments = schema.arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& value = stack[first + i];
    if (value.isTensor()) {
      if (value.toTensor().defined()) visit(value.toTensor(), arguments[i]);
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorList()) {
        if (tensor.defined()) visit(tensor, arguments[i]);
      }
    }
  }
}

}  // namespace

bool g_strict = true;

const DtypeRules* dtype_rules_of(const std::string& op) {
  const auto found = all_rules().find(op);
  return found == all_rules().end() ? nullptr : &found->second;
}

void add_refusal(const std::string& op, Refusal refusal) {
  auto& rules = all_rules()[op];
  rules.refused |= refusal.dtypes;
  rules.refusals.push_back(std::move(refusal));
}

void add_widening(const std::string& op, Widening widening) {
  auto& rules = all_rules()[op];
  if (widening.through == kOnHost) {
    rules.on_host |= widening.dtypes;
    return;
  }
  rules.widened |= widening.dtypes;
  rules.widenings.push_back(widening);
}

void enforce(const DtypeRules& rules, const c10::FunctionSchema& schema,
             const torch::jit::Stack& stack, size_t first) {
  DtypeMask seen = 0;
  std::optional<ScalarType> leading;
  bool dense = true;
  bool empty = false;
  at::native::ResultTypeState state{};
  for_each_tensor(schema, stack, first, [&](const at::Tensor& tensor, const c10::Argument& from) {
    if (from.is_out()) return;
    if (!leading) leading = tensor.scalar_type();
    seen |= mask_of(tensor);
    empty = empty || tensor.numel() == 0;
    dense = dense && tensor.layout() == c10::kStrided && tensor.is_non_overlapping_and_dense();
    state = at::native::update_result_type_state(tensor, state);
  });
  if (!leading) return;
  if (const auto other = schema.argumentIndexWithName("other")) {
    const auto& value = stack[first + static_cast<size_t>(*other)];
    if (value.isScalar()) state = at::native::update_result_type_state(value.toScalar(), state);
  }
  const auto common = at::native::result_type(state);
  if (((seen | mask_of(common)) & rules.refused) == 0) return;

  for (const auto& refusal : rules.refusals) {
    if (empty && is_missing_kernel(refusal)) continue;
    if (refusal.of == "first") {
      if (mask_of(*leading) & refusal.dtypes) refuse(refusal, schema, *leading, dense);
    } else if (refusal.of == "common") {
      if (mask_of(common) & refusal.dtypes) refuse(refusal, schema, common, dense);
    } else if (refusal.of == "every") {
      if ((seen & ~refusal.dtypes) == 0) refuse(refusal, schema, *leading, dense);
    } else {
      for_each_tensor(schema, stack, first,
                      [&](const at::Tensor& tensor, const c10::Argument& from) {
                        const bool counts = refusal.of == "any" || refusal.of == from.name();
                        if (counts && (mask_of(tensor) & refusal.dtypes)) {
                          refuse(refusal, schema, tensor.scalar_type(), dense);
                        }
                      });
    }
  }
}

void record_refusal(const std::string& op, const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  const bool double_precision =
      text.find("float64") != std::string::npos || text.find("Double") != std::string::npos;
  if (!double_precision) ledger::add(ledger::Kind::kRefused, op, text);
}

bool refuses(const char* op, const std::string& what) {
  if (!is_strict()) return false;
  if (!ledger::finds_all()) return true;
  ledger::add(ledger::Kind::kRefused, op, what);
  return false;
}

void refuse_double(ScalarType type) {
  const char* name = type == c10::kDouble ? "float64" : "complex128";
  if (ledger::on() && !ledger::current_operator().doubles) ledger::add(ledger::Kind::kDouble, name);
  if (ledger::finds_all()) return;
  TORCH_CHECK_TYPE(false,
                   "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't "
                   "support float64. Please use float32 instead.");
}

}  // namespace openmps
