// Planning: MakePlan by kind of mask, and the scan of bool bytes by itself.
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/hash.h"
#include "bench/micro/micro.h"
#include "kernels/scan_bits.h"
#include "skipattn/attention.h"

namespace skipattn::bench {
namespace {

constexpr int64_t kBatch = 8, kHeads = 12, kDim = 64;

// A mask by a rule as well, which its live pairs are counted by.
struct RuledMask {
  Mask mask;
  std::function<bool(int64_t b, int64_t i, int64_t j)> attends;
  std::vector<int64_t> lengths;
  std::vector<int32_t> documents;
  std::vector<uint8_t> values;
};

// Causal, with sequences of 1/8, 2/8, ... of the length.
void MakeIntervals(int64_t length, RuledMask* m) {
  for (int64_t b = 0; b < kBatch; ++b) m->lengths.push_back(length * (b + 1) / kBatch);
  m->mask = mask::Causal(mask::Align::kTopLeft) & mask::KeyLengths(m->lengths) &
            mask::QueryLengths(m->lengths);
  m->attends = [m](int64_t b, int64_t i, int64_t j) { return j <= i && i < m->lengths[b]; };
}

// Documents of 100 tokens.
void MakeDocuments(int64_t length, RuledMask* m) {
  for (int64_t n = 0; n < kBatch * length; ++n) {
    m->documents.push_back(static_cast<int32_t>(n % length / 100));
  }
  const ConstTensor ids(m->documents.data(), {kBatch, length});
  m->mask = mask::Documents(ids, ids);
  m->attends = [](int64_t, int64_t i, int64_t j) { return i / 100 == j / 100; };
}

// Bytes that all heads and batch entries share.
void MakeDense(int64_t length, bool causal, RuledMask* m) {
  m->values.resize(length * length);
  for (int64_t n = 0; n < length * length; ++n) {
    m->values[n] = causal ? n % length <= n / length : Hash64(7, n) >> 63;
  }
  m->mask = mask::Dense(ConstTensor(m->values.data(), DType::kBool, {1, 1, length, length}));
  m->attends = [m, length](int64_t, int64_t i, int64_t j) {
    return m->values[i * length + j] != 0;
  };
}

class PlanWork : public Work {
 public:
  PlanWork(const MicroTarget& target, int64_t length,
           const std::function<void(int64_t, RuledMask*)>& make)
      : problem_{kBatch, kHeads, kHeads, length, length, kDim, kDim} {
    options_.target = target.name;
    options_.threads = 1;  // else the system is asked how many there are
    make(length, &mask_);
  }

  std::string Check() override {
    const Result<Plan> plan = MakePlan(problem_, mask_.mask, options_);
    if (!plan.ok()) return plan.status().message();
    for (int64_t b = 0; b < kBatch; ++b) {
      for (int64_t i = 0; i < problem_.q_len; ++i) {
        for (int64_t j = 0; j < problem_.k_len; ++j) {
          pairs_ += mask_.attends(b, i, j) ? kHeads : 0;
        }
      }
    }
    const int64_t planned = plan->stats().live_pairs;
    if (planned == pairs_) return "";
    return std::to_string(planned) + " live pairs, expected " + std::to_string(pairs_);
  }

  void Run() override { benchmark::DoNotOptimize(MakePlan(problem_, mask_.mask, options_).ok()); }

  // Planning against what it is for: a run on one thread at the fma peak, which none reaches.
  void Report(const Loop& loop, benchmark::UserCounters* counters) const override {
    const double operations = 2.0 * static_cast<double>(pairs_ * 2 * kDim);
    (*counters)["of_run_at_peak"] = loop.seconds / (operations / loop.peak);
    (*counters)["ns_per_row"] = 1e9 * loop.seconds / static_cast<double>(kBatch * problem_.q_len);
  }

 private:
  const Problem problem_;
  AttentionOptions options_;
  RuledMask mask_;
  int64_t pairs_ = 0;
};

class ScanWork : public Work {
 public:
  ScanWork(const MicroTarget& target, int64_t bytes)
      : scan_(internal::ScanBitsFunction(target.bit)), bytes_(bytes), words_((bytes + 63) / 64) {
    for (int64_t n = 0; n < bytes; ++n) bytes_[n] = Hash64(8, n) >> 63;
  }

  std::string Check() override {
    Run();
    for (size_t n = 0; n < bytes_.size(); ++n) {
      if ((words_[n / 64] >> (n % 64) & 1) != bytes_[n]) return "bit " + std::to_string(n);
    }
    return "";
  }

  void Run() override { scan_(bytes_.data(), static_cast<int64_t>(bytes_.size()), words_.data()); }

  void Report(const Loop& loop, benchmark::UserCounters* counters) const override {
    (*counters)["GB/s"] = 1e-9 * static_cast<double>(bytes_.size()) / loop.seconds;
    ReportElements(static_cast<double>(bytes_.size()), loop, counters);
  }

 private:
  const internal::ScanFunction scan_;
  std::vector<uint8_t> bytes_;
  std::vector<uint64_t> words_;
};

}  // namespace

void RegisterPlans(const MicroTarget& target) {
  const std::pair<const char*, std::function<void(int64_t, RuledMask*)>> kinds[] = {
      {"intervals", MakeIntervals},
      {"documents", MakeDocuments},
      {"dense_causal", [](int64_t length, RuledMask* m) { MakeDense(length, true, m); }},
      {"dense_random", [](int64_t length, RuledMask* m) { MakeDense(length, false, m); }},
  };
  for (const auto& [kind, make] : kinds) {
    for (int64_t length : {128, 512, 2048}) {
      RegisterWork(std::string("plan/") + kind + "/T:" + std::to_string(length) + "/" + target.name,
                   target, 1, [target, length, make = make] {
                     return std::make_unique<PlanWork>(target, length, make);
                   });
    }
  }
  for (int64_t bytes : {512, 16 << 10, 16 << 20}) {  // a row; in the first cache; in none
    RegisterWork("scan/bytes:" + std::to_string(bytes) + "/" + target.name, target, 1,
                 [target, bytes] { return std::make_unique<ScanWork>(target, bytes); });
  }
}

}  // namespace skipattn::bench
