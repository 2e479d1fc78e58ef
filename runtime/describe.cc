// A plan for people.
#include <string>

#include "runtime/plan_impl.h"

namespace skipattn {
inline namespace v0 {
namespace {

constexpr double kNearlyAll = 0.95;  // of the work without a mask

std::string Percent(double share) {
  const int64_t tenths = static_cast<int64_t>(share * 1000 + 0.5);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
}

std::string Percent(int64_t part, int64_t whole) {
  return Percent(whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0);
}

/// Of a bias, and what of it the plan knows; "" without one.
std::string BiasLines(const Plan& plan) {
  const internal::PlanData& data = plan.impl().data;
  std::string text;
  if (!data.bias.empty()) {
    text = "bias      " + data.bias;
    if (data.bias_adds_nothing) {
      text += ", which only masks: the runs need not bring it";
    } else if (data.problem.bias) {
      text += ", whose values the runs bring";
    }
  } else if (data.problem.bias) {
    text = "bias      brought by the runs, nothing known yet: what it masks is not skipped";
  } else {
    return "";
  }
  if (data.bias_looks_masking) {
    text +=
        "\nwarning   the bias has numbers of -10000 and less that are added like any other: they "
        "do "
        "not mask, and nothing is skipped for them; -inf masks";
  }
  return text + "\n";
}

}  // namespace

std::string Plan::Describe() const {
  using std::to_string;
  const Problem& p = problem();
  const PlanStats s = stats();
  const int64_t blocks = s.skipped_blocks + s.full_blocks + s.partial_blocks;
  const double share = internal::PredictedShare(impl_->data);
  std::string text;
  text += "problem   batch " + to_string(p.batch) + ", heads " + to_string(p.heads) +
          " (key heads " + to_string(p.kv_heads) + "), queries " + to_string(p.q_len) + ", keys " +
          to_string(p.k_len) + ", dim " + to_string(p.dim) + ", value dim " + to_string(p.v_dim) +
          ", " + DTypeName(p.q_dtype) + "\n";
  text += "live      " + to_string(s.live_pairs) + " of " + to_string(s.dense_pairs) + " pairs (" +
          Percent(s.live_pairs, s.dense_pairs) + ")\n";
  text += "mask      " + impl_->data.mask + "\n" + BiasLines(*this);
  text += "work      " + Percent(share) + " of that without a mask, as predicted\n";
  text += "blocks    " + to_string(s.skipped_blocks) + " skipped (" +
          Percent(s.skipped_blocks, blocks) + "), " + to_string(s.full_blocks) + " full, " +
          to_string(s.partial_blocks) + " partly masked\n";
  text += "rows      " + to_string(s.empty_rows) + " of " + to_string(p.batch * p.heads * p.q_len) +
          " have no key, the others make " + to_string(s.tiles) + " tiles\n";
  if (2 * s.empty_rows > p.batch * p.heads * p.q_len) {
    text +=
        "warning   more than half of the rows have no key: is the mask inverted? True means "
        "attend\n";
  }
  if (share > kNearlyAll && 100 * s.live_pairs < 95 * s.dense_pairs) {
    text += "warning   the mask leaves out " +
            Percent(s.dense_pairs - s.live_pairs, s.dense_pairs) +
            " of the pairs, but hardly any work: they are scattered\n";
  }
  text += "kernel    " + s.target + ", config " + s.config + ", threads " +
          to_string(impl_->threads) + "\n";
  const std::string picture = internal::Picture(impl_->data);
  if (!picture.empty()) text += "picture   of batch entry 0, head 0; " + picture;
  return text;
}

}  // namespace v0
}  // namespace skipattn
