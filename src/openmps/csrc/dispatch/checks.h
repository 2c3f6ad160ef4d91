// What a Mac's operators refuse for other reasons than a dtype alone: shapes, modes, mismatches.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <string>

#include "mac/rules.h"

namespace openmps {

// Throws what the Mac throws, warns as it warns, or makes an argument what the Mac takes it for.
using Check = void (*)(const c10::FunctionSchema& schema, c10::IValue* arguments);

// The check of "aten::mm" and the like, or nullptr.
Check check_for(const std::string& op);

// The dtypes for which it must be asked before the backing device is. For the others, the backing
// device refuses the same arguments, and the check only finds the Mac's words.
DtypeMask dtypes_to_check(const std::string& op);

}  // namespace openmps
