// The same from C: a causal mask, whose first query attends the first key alone.
#include <skipattn/skipattn.h>
#include <stdio.h>

enum { kLength = 70, kDim = 20 };

int main(void) {
  static float q[kLength * kDim], v[kLength * kDim], out[kLength * kDim];
  const int64_t shape[4] = {1, 1, kLength, kDim};
  skipattn_tensor q_view = SKIPATTN_TENSOR_INIT, v_view = q_view, out_view = q_view;
  skipattn_run_args args = SKIPATTN_RUN_ARGS_INIT;
  skipattn_mask* mask = NULL;
  int right = 1;
  for (int n = 0; n < kLength * kDim; ++n) {
    q[n] = (float)(n % 13) / 13;
    v[n] = (float)(n % 19) / 19;
  }
  skipattn_status status = skipattn_tensor_contiguous(&q_view, q, SKIPATTN_F32, 4, shape);
  if (!status) status = skipattn_tensor_contiguous(&v_view, v, SKIPATTN_F32, 4, shape);
  if (!status) status = skipattn_tensor_contiguous(&out_view, out, SKIPATTN_F32, 4, shape);
  args.q = args.k = &q_view;
  args.v = &v_view;
  args.out = &out_view;
  if (!status) status = skipattn_mask_causal(NULL, &mask);
  if (!status) status = skipattn_attention(&args, mask, NULL);
  skipattn_mask_free(mask);
  for (int d = 0; d < kDim; ++d) right = right && out[d] == v[d];
  if (status || !right) {
    printf("status %d: %s\n", (int)status, skipattn_last_error());
    return 1;
  }
  printf("skipattn %s works\n", skipattn_version());
  return 0;
}
