// Metal's standard library in C++17, for kernels that the front end has rewritten: everything in
// namespace msl, no system header. Kernels include only this.
#pragma once

#include "types/constants.h"
#include "types/traits.h"
#include "types/float16.h"
#include "types/guard.h"
#include "types/wrapping.h"
#include "types/elements.h"
#include "types/vector.h"
#include "types/packed.h"
#include "types/matrix.h"
#include "types/limits.h"
#include "types/array.h"
#include "math/minmax.h"
#include "math/composed.h"
#include "math/math.h"
#include "math/geometric.h"
#include "math/integer.h"
#include "threads/barrier.h"
#include "threads/atomic.h"
#include "threads/simd.h"
#include "threads/quad.h"
#include "threads/simdgroup_matrix.h"
#include "internal_names.h"
#include "logging.h"

#undef OPENMPS_BOTH
#undef OPENMPS_IF_NUMBER
#undef OPENMPS_INTEGERS
#undef OPENMPS_LIFT_1
#undef OPENMPS_LIFT_2
#undef OPENMPS_LIFT_3
#undef OPENMPS_LIFT_TEST_1
#undef OPENMPS_LIFT_TEST_2

#ifdef __CUDACC_RTC__
#include "cuda/entry.h"
#else
#include "launch/entry.h"
#endif
