// The parts of a kernel by themselves: transpose of q, scores, softmax, weighted sum, exp2.
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/data.h"
#include "bench/micro/chunk_data.h"
#include "bench/micro/micro.h"
#include "bench/micro/parts.h"

namespace skipattn::bench {
namespace {

// Multiply-adds in the polynomial of one weight, as operations: the work of softmax and exp2 that
// the share of peak counts.
constexpr double kWeightOperations = 2 * 6;

double PairsOf(const ChunkOperands& c) { return static_cast<double>(c.rows * c.keys); }

class TransposeWork : public Work {
 public:
  TransposeWork(const MicroTarget& target, size_t rows, size_t dim)
      : parts_(PartsOf(target.bit)),
        data_(rows, parts_.lanes, dim, 1),
        tile_(data_.QueryArgs()),
        rows_(rows) {}

  std::string Check() override { return data_.CheckTranspose(parts_); }
  void Run() override { parts_.transpose(tile_, rows_, data_.qt()); }
  void Report(const Loop& loop, benchmark::UserCounters* counters) const override {
    const double elements = static_cast<double>(rows_ * tile_.dim);
    ReportOperations(elements, loop, counters);  // a multiplication each
    ReportElements(elements, loop, counters);
  }

 private:
  const Parts parts_;
  ChunkData data_;
  const internal::TileArgs tile_;
  const size_t rows_;
};

enum class Product { kScores, kWeightedSum };

// Both are multiply-adds and nothing else: dim for each pair.
class ProductWork : public Work {
 public:
  ProductWork(const MicroTarget& target, Product product, ChunkFunction run, size_t rows,
              size_t dim, size_t heads)
      : product_(product),
        exact_(target.exact),
        run_(run),
        data_(rows, PartsOf(target.bit).lanes, dim, heads),
        operands_(data_.operands()) {}

  std::string Check() override {
    return product_ == Product::kScores ? data_.CheckScores(run_, exact_)
                                        : data_.CheckWeightedSum(run_, exact_);
  }
  void Run() override { run_(operands_); }
  void Report(const Loop& loop, benchmark::UserCounters* counters) const override {
    ReportOperations(2 * PairsOf(operands_) * static_cast<double>(operands_.dim), loop, counters);
  }

 private:
  const Product product_;
  const bool exact_;
  const ChunkFunction run_;
  ChunkData data_;
  const ChunkOperands operands_;
};

// In place: after the first call the scores are the weights of the call before, which are ordinary
// numbers too, and the time does not depend on them.
class SoftmaxWork : public Work {
 public:
  SoftmaxWork(const MicroTarget& target, size_t rows)
      : parts_(PartsOf(target.bit)),
        data_(rows, parts_.lanes, 64, 1),
        operands_(data_.operands()) {}

  std::string Check() override { return data_.CheckSoftmax(parts_); }
  void Run() override { parts_.softmax(operands_); }
  void Report(const Loop& loop, benchmark::UserCounters* counters) const override {
    ReportOperations(kWeightOperations * PairsOf(operands_), loop, counters);
    ReportElements(PairsOf(operands_), loop, counters);
  }

 private:
  const Parts parts_;
  ChunkData data_;
  const ChunkOperands operands_;
};

class Exp2Work : public Work {
 public:
  explicit Exp2Work(const MicroTarget& target)
      : parts_(PartsOf(target.bit)), memory_(1, 1, 1, kApart + kCount, Layout::kBhtd) {
    for (int64_t n = 0; n < kCount; ++n) {
      x()[n] = -30.f * static_cast<float>(n) / static_cast<float>(kCount);
    }
  }

  std::string Check() override {
    Run();
    for (int64_t n = 0; n < kCount; ++n) {
      const double want = std::exp2(static_cast<double>(x()[n]));
      const bool near = std::abs(y()[n] - want) <= 1e-6 * want;
      if (!near) return "2^" + std::to_string(x()[n]) + " is wrong";
    }
    return "";
  }
  void Run() override { parts_.exp2(x(), kCount, 0, y()); }
  void Report(const Loop& loop, benchmark::UserCounters* counters) const override {
    ReportOperations(kWeightOperations * kCount, loop, counters);
    ReportElements(kCount, loop, counters);
  }

 private:
  static constexpr int64_t kCount = 2048;
  // Half a page more than a multiple of one: a load whose address ends as that of a store before it
  // waits for the store.
  static constexpr int64_t kApart = kCount + 512;

  float* x() const { return memory_.Row(0, 0, 0); }
  float* y() const { return x() + kApart; }

  const Parts parts_;
  Array memory_;
};

// Registers what no shape before has had.
class Registrar {
 public:
  explicit Registrar(const MicroTarget& target) : target_(target) {}

  void Add(const std::string& name, std::function<std::unique_ptr<Work>()> make) {
    if (names_.insert(name).second) {
      RegisterWork(name + "/" + target_.name, target_, 1, std::move(make));
    }
  }

  void AddProducts(const ShapeParts& parts, size_t rows, size_t dim, size_t heads) {
    const internal::TileShape& shape = parts.shape;
    const std::string suffix = "/rows:" + std::to_string(rows) + "/D:" + std::to_string(dim) +
                               (heads > 1 ? "/heads:" + std::to_string(heads) : "");
    const auto add = [&](const std::string& name, Product product, ChunkFunction run) {
      Add(name + suffix, [=, target = target_] {
        return std::make_unique<ProductWork>(target, product, run, rows, dim, heads);
      });
    };
    add("scores/" + Shape(shape.score_keys, shape.score_vectors), Product::kScores, parts.scores);
    add("weighted_sum/" + Shape(shape.sum_rows, shape.sum_vectors), Product::kWeightedSum,
        parts.weighted_sum);
  }

 private:
  static std::string Shape(int a, int b) { return std::to_string(a) + "x" + std::to_string(b); }

  const MicroTarget target_;
  std::set<std::string> names_;
};

}  // namespace

void RegisterParts(const MicroTarget& target) {
  const Parts parts = PartsOf(target.bit);
  Registrar registrar(target);
  for (int height : {1, parts.shapes[0].shape.score_vectors}) {
    const size_t rows = static_cast<size_t>(height) * parts.lanes;
    const std::string suffix = "/rows:" + std::to_string(rows);
    for (size_t dim : {64, 128}) {
      registrar.Add("transpose" + suffix + "/D:" + std::to_string(dim),
                    [=] { return std::make_unique<TransposeWork>(target, rows, dim); });
    }
    registrar.Add("softmax" + suffix, [=] { return std::make_unique<SoftmaxWork>(target, rows); });
  }
  registrar.Add("exp2", [=] { return std::make_unique<Exp2Work>(target); });
  for (size_t n = 0; n < parts.shape_count; ++n) {
    const ShapeParts& shape = parts.shapes[n];
    if (shape.scores == nullptr) continue;
    const size_t rows = static_cast<size_t>(shape.shape.score_vectors) * parts.lanes;
    registrar.AddProducts(shape, rows, 64, 1);
    registrar.AddProducts(shape, rows, 128, 1);
    // The heads of a token side by side, as a projection leaves them: rows are 4 KB apart.
    if (n == 0) registrar.AddProducts(shape, rows, 64, 16);
  }
}

}  // namespace skipattn::bench
