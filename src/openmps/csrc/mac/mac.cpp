#include "mac/mac.h"

namespace openmps {

Mac g_mac;

}  // namespace openmps
