// Comparisons of outputs with numbers, and with each other by bits; see case_check.h.
#include "tests/cases/case_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cases/case_float64.h"
#include "tests/cases/case_inputs.h"
#include "tests/cases/case_missing.h"
#include "tests/cases/case_run.h"
#include "tests/cases/case_stated.h"
#include "tests/cases/case_vary.h"

namespace skipattn::cases {
namespace {

uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/// Collects the elements of an array that are not as they should be into one failure.
class Complaint {
 public:
  Complaint(std::string what, Shape shape) : what_(std::move(what)), shape_(std::move(shape)) {}
  ~Complaint() {
    if (wrong_ == 0) return;
    ADD_FAILURE() << what_ << ": " << wrong_ << " of " << CountOf(shape_)
                  << " elements differ, the first at " << first_;
  }

  void Check(bool right, size_t element, float got, double want) {
    if (right || wrong_++ > 0) return;
    std::ostringstream text;
    text.precision(9);
    text << "[";
    const Shape stride = StridesOf(shape_);
    for (size_t axis = 0; axis < shape_.size(); ++axis) {
      const int64_t index = static_cast<int64_t>(element) / stride[axis] % shape_[axis];
      text << (axis > 0 ? ", " : "") << index;
    }
    text << "]: " << got << " (bits " << std::hex << BitsOf(got) << "), expected " << want;
    first_ = text.str();
  }

 private:
  const std::string what_;
  const Shape shape_;
  int64_t wrong_ = 0;
  std::string first_;
};

/// NaN equals NaN. The ends of the interval are rounded to float, which keeps their order.
bool IsWithin(float got, double want, double bound) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  if (bound == INFINITY) return true;
  return static_cast<float>(want - bound) <= got && got <= static_cast<float>(want + bound);
}

bool IsCanonical(float value) { return !std::isnan(value) || BitsOf(value) == 0x7FC00000u; }

void CheckValues(const Json& one, const Inputs& x, const Pairs& pairs, const Outputs& got) {
  Float64 want = Evaluate(x, pairs.attended, pairs.bias);
  PutStatedNumbers(one["expect"], x, &want);
  const auto v_dim = static_cast<size_t>(x.OutShape()[3]);
  Complaint out("out", x.OutShape()), out_nan("NaN bits of out", x.OutShape());
  Complaint lse("lse", x.RowsShape()), lse_nan("NaN bits of lse", x.RowsShape());
  for (size_t row = 0; row < got.lse.size(); ++row) {
    const double bound = one.contains("tol") ? one["tol"].get<double>() * want.v[row]
                                             : OutBound(want, row, x.qkv[kQ].shape[3]);
    for (size_t n = row * v_dim; n < (row + 1) * v_dim; ++n) {
      out.Check(IsWithin(got.out[n], want.out[n], bound), n, got.out[n], want.out[n]);
      out_nan.Check(IsCanonical(got.out[n]), n, got.out[n], NAN);
    }
    const double size = std::isfinite(want.lse[row]) ? std::abs(want.lse[row]) : 0;
    double lse_bound = one.value("lse_tol", 1e-5) * std::max(1.0, size);
    if (want.score[row] >= 1e30) lse_bound = INFINITY;  // beside huge biases it says nothing
    lse.Check(IsWithin(got.lse[row], want.lse[row], lse_bound), row, got.lse[row], want.lse[row]);
    lse_nan.Check(IsCanonical(got.lse[row]), row, got.lse[row], NAN);
  }
}

/// The rows of `got`, which begin at batch entry `first_b` and query `first_i` of those of `want`.
void CheckSameBits(const Inputs& x, const Outputs& want, const Variation& y, const Outputs& got) {
  const Shape rows = y.inputs.RowsShape(), all = x.RowsShape();
  const auto v_dim = static_cast<size_t>(x.OutShape()[3]);
  Complaint out("bits of out", y.inputs.OutShape()), lse("bits of lse", rows);
  for (size_t row = 0; row < got.lse.size(); ++row) {
    const auto n = static_cast<int64_t>(row);
    const int64_t i = n % rows[2] + y.first_i, h = n / rows[2] % rows[1];
    const int64_t b = n / rows[2] / rows[1] + y.first_b;
    const auto old = static_cast<size_t>((b * all[1] + h) * all[2] + i);
    if (!y.compared[old]) continue;
    for (size_t d = 0; d < v_dim; ++d) {
      const float is = got.out[row * v_dim + d], should = want.out[old * v_dim + d];
      out.Check(BitsOf(is) == BitsOf(should), row * v_dim + d, is, should);
    }
    lse.Check(BitsOf(got.lse[row]) == BitsOf(want.lse[old]), row, got.lse[row], want.lse[old]);
  }
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Whether a text has a word, or one of several words "a|b", in any case.
bool Mentions(const std::string& text, const std::string& words) {
  std::istringstream stream(words);
  for (std::string word; std::getline(stream, word, '|');) {
    if (Lower(text).find(Lower(word)) != std::string::npos) return true;
  }
  return false;
}

void CheckError(const Json& words, const Inputs& x, const Way& way) {
  SCOPED_TRACE(way.name);
  const Outputs got = Run(x, way);
  EXPECT_EQ(static_cast<int>(got.status.code()), static_cast<int>(StatusCode::kInvalidArgument));
  for (const Json& word : words.is_array() ? words : Json::array({words})) {
    EXPECT_TRUE(Mentions(got.status.message(), word))
        << "the message lacks \"" << word.get<std::string>() << "\": " << got.status.message();
  }
  EXPECT_FALSE(got.wrote);
}

/// Runs, and checks what holds for every run that succeeds.
Outputs RunWell(const Inputs& x, const Way& way) {
  Outputs got = Run(x, way);
  EXPECT_TRUE(got.status.ok()) << got.status.message();
  EXPECT_FALSE(got.wrote_elsewhere);
  return got;
}

}  // namespace

void CheckCase(const Json& one, size_t number) {
  SCOPED_TRACE(one["id"].get<std::string>());
  const Inputs x = MakeInputs(one);
  const std::vector<Way> ways = WaysFor(number);
  if (one["expect"].contains("error")) {
    for (const Way& way : ways) CheckError(one["expect"]["error"], x, way);
    return;
  }
  const Pairs pairs(x);
  const Outputs first = RunWell(x, ways[0]);
  CheckValues(one, x, pairs, first);
  std::vector<Json> changes = {Json::object()};  // none: the other ways give the same bits
  for (const Json& change : VariationsOf(one)) {
    changes.push_back(change);
  }
  for (const Json& change : changes) {
    SCOPED_TRACE("variation " + change.dump().substr(0, 160));
    const Variation y = Vary(x, pairs, change);
    for (const Way& way : ways) {
      SCOPED_TRACE(way.name);
      CheckSameBits(x, first, y, RunWell(y.inputs, way));
    }
  }
}

}  // namespace skipattn::cases
