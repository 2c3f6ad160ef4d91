#include "mac/metal_name.h"

namespace openmps {

std::string_view metal_name(c10::ScalarType type) {
  using c10::ScalarType;
  switch (type) {
    case ScalarType::Float:
      return "float";
    case ScalarType::Half:
      return "half";
    case ScalarType::BFloat16:
      return "bfloat";
    case ScalarType::Byte:
      return "uchar";
    case ScalarType::Char:
      return "char";
    case ScalarType::Short:
      return "short";
    case ScalarType::Int:
      return "int";
    case ScalarType::Long:
      return "long";
    case ScalarType::UInt16:
      return "ushort";
    case ScalarType::UInt32:
      return "uint";
    case ScalarType::UInt64:
      return "ulong";
    case ScalarType::Bool:
      return "bool";
    case ScalarType::ComplexHalf:
      return "half2";
    case ScalarType::ComplexFloat:
      return "float2";
    default:
      return "unknown";
  }
}

}  // namespace openmps
