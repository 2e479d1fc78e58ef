// From the C interface's structs and handles to the types of the C++ interface.
#ifndef SKIPATTN_RUNTIME_C_CONVERT_H_
#define SKIPATTN_RUNTIME_C_CONVERT_H_

#include <cstddef>

#include "skipattn/attention.h"
#include "skipattn/skipattn.h"

struct skipattn_mask {
  skipattn::Mask mask;
};
struct skipattn_bias {
  skipattn::Bias bias;
};

namespace skipattn {
inline namespace v0 {
namespace internal {

/// A caller's memory for scratch; not given where the functions are null.
struct Allocator {
  skipattn_allocate allocate = nullptr;
  skipattn_deallocate deallocate = nullptr;
  void* context = nullptr;
};

/// Each checks what C++ types cannot hold (null pointers, sizes of structs, numbers that are no
/// value of an enumeration); all else is left to the checks that C++ callers go through.
Status ReadTensor(const char* name, const skipattn_tensor* given, Tensor* tensor);
Status ReadDiagonal(const skipattn_diagonal* given, mask::Diagonal* diagonal);  // may be null
Status ReadProblem(const skipattn_problem* given, Problem* problem);
Status ReadOptions(const skipattn_options* given, AttentionOptions* options, Bias* bias,
                   Allocator* allocator);  // may be null
Status ReadRunArgs(const skipattn_run_args* given, RunArgs* args);
Status ReadMergeArgs(const skipattn_merge_args* given, MergeArgs* args);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_RUNTIME_C_CONVERT_H_
