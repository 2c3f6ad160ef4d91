#include "mac/waits.h"

#include <unordered_set>

namespace openmps {

bool waits_for_device(const std::string& op) {
  static const std::unordered_set<std::string> names = {
      "aten::nonzero",    "aten::masked_select",      "aten::_unique", "aten::_unique2",
      "aten::unique_dim", "aten::unique_consecutive", "aten::equal",   "aten::bincount",
      "aten::argwhere",   "aten::repeat_interleave"};
  return names.count(op) != 0;
}

}  // namespace openmps
