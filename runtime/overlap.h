// Whether views share memory: integers only, nothing is read.
#ifndef SKIPATTN_RUNTIME_OVERLAP_H_
#define SKIPATTN_RUNTIME_OVERLAP_H_

#include "skipattn/tensor.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// False where it is proven that no byte belongs to an element of both views. That proof is found
/// for separate buffers and for slices of a packed one ([B, T, 4, H, D] for q, k, v and out, and
/// the like), but not for every clever pair of strides.
bool MayOverlap(const ConstTensor& a, const ConstTensor& b);

/// False where it is proven that all elements of the view are apart: the axes nest, each stepping
/// over all that the axes of smaller strides span.
bool MayOverlapItself(const ConstTensor& a);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_RUNTIME_OVERLAP_H_
