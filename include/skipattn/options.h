// AttentionOptions: everything about a plan that is neither a size nor the mask.
#ifndef SKIPATTN_OPTIONS_H_
#define SKIPATTN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skipattn/version.h"

namespace skipattn {
inline namespace v0 {

/// What a query row without a key to attend (or whose scores are all -inf) gives. Its lse is -inf
/// in any case. With a sink (other than -inf) no row is empty: such a row gives out = 0 and the lse
/// of the sink alone, whatever is chosen here.
enum class EmptyRows : uint8_t {
  kZero,     ///< out = 0
  kKeep,     ///< out stays as it was
  kUniform,  ///< out = the mean of v over all keys, masked ones included (0 without keys)
  kNan,      ///< out = NaN
};

/// Which arithmetic. `kExact` is defined to the last bit.
enum class Precision : uint8_t { kExact };

enum class Backend : uint8_t {
  kAuto,       ///< the kernels of the best (or the chosen) target
  kReference,  ///< plain scalar loops: the definition, same bits, slow
};

/// Whether masked keys and blocks are left out. `kOff` computes every key of every row that has
/// one, selects the masked ones away and gives the same bits: for checking and measuring. It
/// reads masked k and v.
enum class Skipping : uint8_t { kOn, kOff };

/// A caller's own threads instead of OpenMP.
///
/// `run(context, workers, work, argument)` must call `work(argument, w)` exactly once for each w
/// in [0, workers), from as many threads as it likes, and return when all calls have returned.
struct ParallelFor {
  using Work = void (*)(void* argument, int worker);
  void (*run)(void* context, int workers, Work work, void* argument) = nullptr;
  void* context = nullptr;
};

struct AttentionOptions {
  /// Factor of q . k; 1 / sqrt(dim) when not given.
  std::optional<double> scale;

  /// c: a score s becomes c * tanh(s / c), before any bias; 0 = no cap.
  double softcap = 0;

  /// Whether a dense bias given to MakePlan is looked at for what it masks, which is then skipped
  /// as with a mask: -inf, and soft values, which are those up to -1e30. In a row that attends a
  /// key that is not soft, soft ones are masked; otherwise they are numbers like any other.
  bool bias_is_mask = true;

  EmptyRows empty_rows = EmptyRows::kZero;
  Precision precision = Precision::kExact;

  /// Where the grid of 128-key chunks begins: empty (found from the mask), one value, or one per
  /// batch entry. Any integers; only their value mod 128 counts.
  std::vector<int64_t> key_origin;

  /// Threads of a run; 0 = all that the process may use.
  int threads = 0;
  Backend backend = Backend::kAuto;
  Skipping skipping = Skipping::kOn;

  /// Instruction set, a name of `CompiledTargets()`; empty = the best one of this CPU.
  std::string target;

  /// Tile configuration, a name of `TileConfigs(target)`; empty = the default. Changes time only.
  std::string config;

  ParallelFor parallel_for;
};

}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_OPTIONS_H_
