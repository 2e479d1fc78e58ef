// Repeats a macro for the numbers of named variables: SVE vectors can be neither array elements nor
// members, so a block of accumulators is a block of names.
#ifndef SKIPATTN_KERNELS_REPEAT_H_
#define SKIPATTN_KERNELS_REPEAT_H_

#define SKIPATTN_REPEAT_4(X) X(0) X(1) X(2) X(3)
#define SKIPATTN_REPEAT_8(X) SKIPATTN_REPEAT_4(X) X(4) X(5) X(6) X(7)

#endif  // SKIPATTN_KERNELS_REPEAT_H_
