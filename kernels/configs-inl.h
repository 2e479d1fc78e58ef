// The compiled tile configurations of each target, the default first: keys x vectors of query
// rows for the scores, query rows x vectors of value columns for the weighted sum.

#if defined(SKIPATTN_KERNELS_CONFIGS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPATTN_KERNELS_CONFIGS_INL_H_
#undef SKIPATTN_KERNELS_CONFIGS_INL_H_
#else
#define SKIPATTN_KERNELS_CONFIGS_INL_H_
#endif

#include "hwy/highway.h"

#undef SKIPATTN_TILE_CONFIGS
#if HWY_TARGET == HWY_AVX2
// 16 registers: accumulators, one vector of operands per column, one broadcast. Row pointers take
// general registers too, so 6 keys x 2 spill with gcc.
#define SKIPATTN_TILE_CONFIGS(X) X(4, 3, 6, 2) X(4, 2, 4, 2) X(3, 3, 6, 2) X(5, 2, 4, 2)
#elif HWY_ARCH_X86 && HWY_MAX_BYTES < 64
#define SKIPATTN_TILE_CONFIGS(X) X(4, 2, 4, 2)
#else
// 32 registers.
#define SKIPATTN_TILE_CONFIGS(X) X(8, 2, 6, 4) X(6, 4, 6, 4) X(4, 4, 6, 4) X(8, 3, 6, 4)
#endif

#endif  // SKIPATTN_KERNELS_CONFIGS_INL_H_
