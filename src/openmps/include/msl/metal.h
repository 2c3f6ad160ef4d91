// Metal's standard library in C++17, for kernels that the front end has rewritten: everything in
// namespace msl, no system header. Kernels include only this.
#pragma once

#include "constants.h"
#include "traits.h"
#include "float16.h"
#include "guard.h"
#include "wrapping.h"
#include "elements.h"
#include "vector.h"
#include "packed.h"
#include "matrix.h"
#include "limits.h"
#include "array.h"
#include "minmax.h"
#include "composed.h"
#include "math.h"
#include "geometric.h"
#include "integer.h"
#include "barrier.h"
#include "atomic.h"
#include "simd.h"
#include "quad.h"
#include "simdgroup_matrix.h"
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
#include "entry.h"
#endif
