// The C interface's header alone, with every struct begun: it compiles without a warning, as C99
// and as C++17, and no struct has padding, into which a later field could slip.
#include "skipattn/skipattn.h"

size_t SumOfSizes(void);

size_t SumOfSizes(void) {
  const skipattn_tensor tensor = SKIPATTN_TENSOR_INIT;
  const skipattn_diagonal diagonal = SKIPATTN_DIAGONAL_INIT;
  const skipattn_problem problem = SKIPATTN_PROBLEM_INIT;
  const skipattn_options options = SKIPATTN_OPTIONS_INIT;
  const skipattn_run_args args = SKIPATTN_RUN_ARGS_INIT;
  const skipattn_stats stats = SKIPATTN_STATS_INIT;
  const skipattn_target_info info = SKIPATTN_TARGET_INFO_INIT;
  return tensor.struct_size + diagonal.struct_size + problem.struct_size + options.struct_size +
         args.struct_size + stats.struct_size + info.struct_size;
}
