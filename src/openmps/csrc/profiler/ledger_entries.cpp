#include "profiler/ledger_entries.h"

#include <algorithm>
#include <unordered_set>

#include "mac/waits.h"
#include "tensor/header.h"

namespace openmps::profiler {

// Masks become indices first, and how many only the device knows.
bool indexes_by_mask(const std::string& name, const torch::jit::Stack& stack) {
  static const std::unordered_set<std::string> kIndexing = {
      "aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"};
  if (kIndexing.count(name) == 0) return false;
  for (const auto& value : stack) {
    if (!value.isList()) continue;
    for (const c10::IValue& index : value.toListRef()) {
      if (!index.isTensor() || !index.toTensor().defined()) continue;
      if (is_mask(index.toTensor().scalar_type())) return true;
    }
  }
  return false;
}

void note_doubles(const Tensors& tensors) {
  auto& doubles = ledger::current_operator().doubles;
  doubles = std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor* tensor) {
    return is_mps(*tensor) &&
           (tensor->scalar_type() == c10::kDouble || tensor->scalar_type() == c10::kComplexDouble);
  });
}

void enter_ledger(Record& record) {
  record.line = ledger::line();
  auto& now = ledger::current_operator();
  now.line = record.line;
  record.printing = now.printing;
  if (record.kind == Kind::kOperation) now.operation = true;
  if (record.kind == Kind::kFallback) now.fallback = true;
}

void leave_ledger(Kind kind) {
  auto& now = ledger::current_operator();
  if (kind == Kind::kOperation) now.operation = now.doubles = false;
  if (kind == Kind::kFallback) now.fallback = false;
}

void write_in_ledger(const Record& record) {
  using Event = ledger::Kind;
  const auto add = [&](Event kind) {
    const auto name = kind == Event::kSync && record.printing ? "print"
                      : record.overload.empty()               ? record.name
                                                              : record.name + "." + record.overload;
    ledger::add_from(record.line, kind, name, "", record.bytes, record.duration_ns);
  };
  if (record.kind != Kind::kCopy || record.direction == Direction::kMpsToMps) {
    add(record.reported_as);
    if (record.waits) add(Event::kSync);
    return;
  }
  if (ledger::current_operator().fallback) return;  // its bytes count as the fallback's
  const bool to_host = record.direction == Direction::kMpsToCpu;
  add(to_host ? Event::kToHost : Event::kToDevice);
  if (to_host && record.blocking) add(Event::kSync);
}

}  // namespace openmps::profiler
