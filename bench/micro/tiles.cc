// One task: a plan of a single tile, for every tile configuration, height and kind of mask.
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/data.h"
#include "bench/hash.h"
#include "bench/micro/micro.h"
#include "bench/verify.h"
#include "kernels/tile.h"
#include "skipattn/attention.h"
#include "skipattn/reference.h"

namespace skipattn::bench {
namespace {

constexpr int64_t kKeys = 512;
constexpr int64_t kDim = 64;

// What the tile's rows attend; "full" runs no mask code.
const char* const kMasks[] = {"full", "causal", "gaps", "bits"};

class TileWork : public Work {
 public:
  TileWork(const MicroTarget& target, const std::string& config, int64_t rows,
           const std::string& mask)
      : exact_(target.exact), problem_{1, 1, 1, rows, kKeys, kDim, kDim} {
    options_.target = target.name;
    options_.config = config;
    options_.threads = 1;
    inputs_ = RandomInputs(problem_, Layout::kBhtd, 2);
    out_ = Array(1, 1, rows, kDim, Layout::kBhtd);
    args_ = ArgsOf(inputs_, out_);
    mask_ = MaskOf(mask);
    plan_ = MakePlan(problem_, mask_, options_);
  }

  std::string Check() override {
    if (!plan_.ok()) return plan_.status().message();
    if (Status status = plan_->Run(args_); !status.ok()) return status.message();
    const Result<Reference> reference = Reference::Make(problem_, mask_, options_);
    if (!reference.ok()) return reference.status().message();
    for (int64_t i = 0; i < problem_.q_len; ++i) {
      float exact[kDim], lse;
      const Status status = reference->ExactRow(args_, 0, 0, i, exact, &lse);
      if (!status.ok()) return status.message();
      const Result<Float64Row> row = reference->Row64(args_, 0, 0, i);
      if (!row.ok()) return row.status().message();
      const float* got = out_.Row(0, 0, i);
      if (exact_ && std::memcmp(got, exact, sizeof(exact)) != 0) {
        return "bits differ from the reference in row " + std::to_string(i);
      }
      for (int64_t d = 0; d < kDim; ++d) {
        const bool near = std::abs(got[d] - row->out[d]) <= 2 * row->out_bound;  // false for NaN
        if (!near) return "error beyond its bound in row " + std::to_string(i);
      }
    }
    return "";
  }

  void Run() override { (void)plan_->Run(args_); }

  void Report(const Loop& loop, benchmark::UserCounters* counters) const override {
    const int64_t pairs = plan_->stats().live_pairs;
    ReportOperations(2.0 * static_cast<double>(pairs * 2 * kDim), loop, counters);
  }

  std::string Label() const override {
    // A planner that finds several smaller tiles cheaper is to be seen.
    return "tiles=" + std::to_string(plan_->stats().tiles) + " " + HashLabel(HashOf(args_.out));
  }

 private:
  Mask MaskOf(const std::string& name) {
    if (name == "causal") return mask::Causal(mask::Align::kBottomRight);
    if (name == "gaps") {  // keys in runs of 3 of 4: the rows of k and v are found by pointers
      values_.resize(kKeys);
      for (int64_t j = 0; j < kKeys; ++j) values_[j] = j % 4 != 3;
      return mask::KeyValid(ConstTensor(values_.data(), DType::kBool, {1, kKeys}));
    }
    if (name == "bits") {  // every row has its own half of the keys
      values_.resize(problem_.q_len * kKeys);
      for (size_t n = 0; n < values_.size(); ++n) values_[n] = Hash64(3, n) >> 63;
      return mask::Dense(ConstTensor(values_.data(), DType::kBool, {1, 1, problem_.q_len, kKeys}));
    }
    return {};
  }

  const bool exact_;
  const Problem problem_;
  AttentionOptions options_;
  std::vector<uint8_t> values_;  // borrowed by the mask
  Mask mask_;
  Inputs inputs_;
  Array out_;
  RunArgs args_;
  Result<Plan> plan_ = Status::InvalidArgument("no plan");
};

}  // namespace

void RegisterTiles(const MicroTarget& target) {
  const internal::KernelTable table = internal::KernelsF32(target.bit);
  for (size_t c = 0; c < table.config_count; ++c) {
    const std::string config = table.configs[c].name;
    const int tallest = table.configs[c].shape.score_vectors;
    // Lower tiles are the same in all configurations, and what a mask costs hardly depends on them.
    for (int height = c == 0 ? 1 : tallest; height <= tallest; ++height) {
      const int64_t rows = height * static_cast<int64_t>(table.lanes);
      for (const std::string mask : kMasks) {
        if (mask != "full" && (c > 0 || height != tallest)) continue;
        RegisterWork(
            "tile/" + mask + "/" + config + "/rows:" + std::to_string(rows) + "/" + target.name,
            target, 1, [target, config, rows, mask] {
              return std::make_unique<TileWork>(target, config, rows, mask);
            });
      }
    }
  }
}

}  // namespace skipattn::bench
