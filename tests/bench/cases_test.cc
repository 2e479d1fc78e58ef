// Cases: lengths, errors, and masks as the reference reads them.
#include "bench/cases.h"

#include "gtest/gtest.h"

namespace skipattn::bench {
namespace {

CaseSpec SpecOf(const std::string& name, std::vector<int64_t> lengths = {}) {
  CaseSpec spec;
  spec.name = name;
  spec.problem.batch = 2;
  spec.problem.heads = 2;
  spec.problem.kv_heads = 1;
  spec.problem.q_len = spec.problem.k_len = 12;
  spec.problem.dim = spec.problem.v_dim = 4;
  spec.lengths = std::move(lengths);
  return spec;
}

// Row i of batch entry b as text, one character a key.
std::string RowOf(const CaseSpec& spec, int64_t b, int64_t i) {
  const Result<Case> c = MakeCase(spec);
  if (!c.ok()) return c.status().message();
  const Result<Reference> reference = Reference::Make(spec.problem, c->mask);
  if (!reference.ok()) return reference.status().message();
  std::string row;
  for (int64_t j = 0; j < spec.problem.k_len; ++j) {
    row += reference->Allows(b, 1, i, j) ? 'x' : '.';
  }
  return row;
}

TEST(LengthsAtRatio, RoundsToTheNearestLength) {
  EXPECT_EQ(LengthsAtRatio(2, 10, 0.25), (std::vector<int64_t>{8, 8}));
  EXPECT_EQ(LengthsAtRatio(1, 512, 0.9), (std::vector<int64_t>{51}));
  EXPECT_EQ(LengthsAtRatio(1, 512, 0), (std::vector<int64_t>{512}));
  EXPECT_EQ(LengthsAtRatio(1, 512, 1), (std::vector<int64_t>{0}));
}

TEST(MakeCase, PaddingEmptiesRowsAndKeys) {
  const CaseSpec spec = SpecOf("padding", {12, 5});
  EXPECT_EQ(RowOf(spec, 0, 11), "xxxxxxxxxxxx");
  EXPECT_EQ(RowOf(spec, 1, 4), "xxxxx.......");
  EXPECT_EQ(RowOf(spec, 1, 5), "............");
}

TEST(MakeCase, CausalWithAndWithoutPadding) {
  EXPECT_EQ(RowOf(SpecOf("causal"), 1, 6), "xxxxxxx.....");
  EXPECT_EQ(RowOf(SpecOf("causal", {12, 5}), 1, 2), "xxx.........");
  EXPECT_EQ(RowOf(SpecOf("causal", {12, 5}), 1, 6), "............");
}

TEST(MakeCase, WindowCountsTheQuerysOwnKey) {
  CaseSpec spec = SpecOf("window");
  spec.window = 3;
  EXPECT_EQ(RowOf(spec, 0, 1), "xx..........");
  EXPECT_EQ(RowOf(spec, 0, 6), "....xxx.....");
}

TEST(MakeCase, DocumentsFillTheSequence) {
  CaseSpec spec = SpecOf("documents");
  spec.documents = 3;  // 1 : 2 : 3
  EXPECT_EQ(RowOf(spec, 0, 0), "xx..........");
  EXPECT_EQ(RowOf(spec, 0, 3), "..xxxx......");
  EXPECT_EQ(RowOf(spec, 0, 11), "......xxxxxx");
  spec.lengths = {12, 6};
  EXPECT_EQ(RowOf(spec, 1, 5), "...xxx......");
  EXPECT_EQ(RowOf(spec, 1, 6), "............");
}

TEST(MakeCase, MoreDocumentsThanTokens) {
  CaseSpec spec = SpecOf("documents");
  spec.documents = 100;
  EXPECT_EQ(RowOf(spec, 0, 3).find_first_not_of("x."), std::string::npos);
}

TEST(MakeCase, CrossPadsKeysOnly) {
  CaseSpec spec = SpecOf("cross", {7, 2});
  spec.problem.q_len = 3;
  EXPECT_EQ(RowOf(spec, 1, 2), "xx..........");
}

TEST(MakeCase, DecodeEndsAtEachLength) {
  CaseSpec spec = SpecOf("decode", {7, 2});
  spec.problem.q_len = 3;
  EXPECT_EQ(RowOf(spec, 0, 0), "xxxxx.......");
  EXPECT_EQ(RowOf(spec, 0, 2), "xxxxxxx.....");
  EXPECT_EQ(RowOf(spec, 1, 0), "............");
  EXPECT_EQ(RowOf(spec, 1, 2), "xx..........");
}

TEST(MakeCase, CausalDocumentsAndPadding) {
  CaseSpec spec = SpecOf("documents", {12, 6});
  spec.documents = 3;
  spec.causal = true;
  EXPECT_EQ(RowOf(spec, 0, 4), "..xxx.......");
  EXPECT_EQ(RowOf(spec, 1, 5), "...xxx......");
  spec.name = "padding";
  EXPECT_EQ(RowOf(spec, 1, 4), "xxxxx.......");
  EXPECT_EQ(RowOf(spec, 1, 6), "............");
}

// What a plan made of the case counts, without the names.
std::vector<int64_t> CountsOf(const CaseSpec& spec) {
  const Result<Case> c = MakeCase(spec);
  if (!c.ok()) return {};
  const Result<Plan> plan = MakePlan(c->spec.problem, c->mask, c->bias, {});
  if (!plan.ok()) return {};
  return {plan->stats().live_pairs, plan->stats().empty_rows};
}

TEST(MakeCase, FormsAreTheSameMask) {
  for (const std::string& name : CaseNames()) {
    if (name == "terms") continue;
    for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{}, {12, 5}}) {
      CaseSpec spec = SpecOf(name, lengths);
      spec.window = 3;
      const std::vector<int64_t> counts = CountsOf(spec);
      const std::string row = RowOf(spec, 1, 6);
      ASSERT_EQ(counts.size(), 2u) << name;
      spec.form = MaskForm::kDense;
      EXPECT_EQ(CountsOf(spec), counts) << name;
      EXPECT_EQ(RowOf(spec, 1, 6), row) << name;
      spec.form = MaskForm::kBias;
      EXPECT_EQ(CountsOf(spec), counts) << name;
    }
  }
}

TEST(MakeCase, TermsWithoutAMask) {
  for (const std::string& term : TermNames()) {
    CaseSpec spec = SpecOf("terms");
    spec.term = term;
    const Result<Case> c = MakeCase(spec);
    ASSERT_TRUE(c.ok()) << c.status().message();
    EXPECT_EQ(c->softcap > 0, term == "softcap");
    EXPECT_EQ(c->bias.term() != nullptr, term == "alibi" || term == "relative" || term == "bias");
    EXPECT_EQ(c->run_bias.given(), term == "bias");
    EXPECT_EQ(c->spec.problem.sinks, term == "sinks");
    EXPECT_EQ(RowOf(spec, 1, 0), "xxxxxxxxxxxx");
  }
}

TEST(MakeCase, MaskOutlivesAMove) {
  Case first = std::move(MakeCase(SpecOf("padding", {12, 5}))).value();
  const Case second = std::move(first);
  const Result<Reference> reference = Reference::Make(second.spec.problem, second.mask);
  ASSERT_TRUE(reference.ok()) << reference.status().message();
  EXPECT_TRUE(reference->Allows(1, 0, 4, 4));
  EXPECT_FALSE(reference->Allows(1, 0, 4, 5));
}

TEST(MakeCase, ErrorsNameTheArgument) {
  const auto message = [](const CaseSpec& spec) { return MakeCase(spec).status().message(); };
  EXPECT_EQ(message(SpecOf("padding", {1})).rfind("lengths is ", 0), 0u);
  EXPECT_EQ(message(SpecOf("padding", {1, 13})).rfind("lengths is 13", 0), 0u);
  EXPECT_EQ(message(SpecOf("diagonal")).rfind("case is \"diagonal\"", 0), 0u);
  CaseSpec unequal = SpecOf("causal");
  unequal.problem.k_len = 13;
  EXPECT_EQ(message(unequal).rfind("k_len is 13", 0), 0u);
  CaseSpec window = SpecOf("window");
  window.window = 0;
  EXPECT_EQ(message(window).rfind("window is 0", 0), 0u);
  CaseSpec terms = SpecOf("terms");
  EXPECT_EQ(message(terms).rfind("term is \"\"", 0), 0u);
  terms.form = MaskForm::kDense;
  EXPECT_EQ(message(terms).rfind("form is ", 0), 0u);
  terms.lengths = {12, 5};
  EXPECT_EQ(message(terms).rfind("lengths is ", 0), 0u);
  CaseSpec causal = SpecOf("window");
  causal.causal = true;
  EXPECT_EQ(message(causal).rfind("causal is ", 0), 0u);
}

TEST(EntryOf, HasTheRowsOfItsEntry) {
  for (const std::string& name : CaseNames()) {
    if (name == "terms") continue;
    const CaseSpec spec = SpecOf(name, {12, 5});
    const CaseSpec entry = EntryOf(spec, 1);
    const Result<Case> whole = MakeCase(spec), one = MakeCase(entry);
    const Result<Reference> all = Reference::Make(spec.problem, whole->mask);
    const Result<Reference> single = Reference::Make(entry.problem, one->mask);
    ASSERT_TRUE(all.ok() && single.ok()) << name;
    for (int64_t i = 0; i < 12; ++i) {
      for (int64_t j = 0; j < 12; ++j) {
        ASSERT_EQ(single->Allows(0, 0, i, j), all->Allows(1, 1, i, j)) << name << i << j;
      }
    }
  }
}

}  // namespace
}  // namespace skipattn::bench
