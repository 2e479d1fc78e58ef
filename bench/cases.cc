// The cases and their masks.
#include "bench/cases.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/hash.h"

namespace skipattn::bench {
namespace {

using mask::Align;

Status Wrong(const std::string& what, const std::string& is, const std::string& expected) {
  return Status::InvalidArgument(what + " is " + is + ", expected " + expected);
}

Status CheckSpec(const CaseSpec& spec) {
  const Problem& p = spec.problem;
  const bool any_q_len = spec.name == "cross" || spec.name == "decode";
  if (!any_q_len && p.q_len != p.k_len) {
    return Wrong("k_len", std::to_string(p.k_len),
                 "q_len (" + std::to_string(p.q_len) + ") in the case " + spec.name);
  }
  if (!spec.lengths.empty() && static_cast<int64_t>(spec.lengths.size()) != p.batch) {
    return Wrong("lengths", std::to_string(spec.lengths.size()) + " numbers",
                 "one for each of the " + std::to_string(p.batch) + " batch entries");
  }
  for (int64_t length : spec.lengths) {
    if (length < 0 || length > p.k_len) {
      return Wrong("lengths", std::to_string(length), "[0, " + std::to_string(p.k_len) + "]");
    }
  }
  if (spec.name == "window" && spec.window < 1) {
    return Wrong("window", std::to_string(spec.window), "at least 1");
  }
  if (spec.name == "documents" && spec.documents < 1) {
    return Wrong("documents", std::to_string(spec.documents), "at least 1");
  }
  if (spec.causal && spec.name != "documents" && spec.name != "padding") {
    return Wrong("causal", "set in the case " + spec.name, "so in padding and documents only");
  }
  if (spec.name == "terms" && !spec.lengths.empty()) {
    return Wrong("lengths", "given", "none: the case terms has no padding");
  }
  if (spec.name == "terms" && spec.form != MaskForm::kTerms) {
    return Wrong("form", "of a mask", "of terms: the case terms has no mask");
  }
  return Status();
}

int64_t LengthOf(const CaseSpec& spec, int64_t b) {
  return spec.lengths.empty() ? spec.problem.k_len : spec.lengths[b];
}

Mask PaddingOf(Case& c) {
  const int64_t batch = c.spec.problem.batch;
  const int64_t len = c.spec.problem.k_len;
  c.valid.assign(batch * len, 0);
  for (int64_t b = 0; b < batch; ++b) {
    std::fill_n(c.valid.begin() + b * len, LengthOf(c.spec, b), uint8_t{1});
  }
  return mask::Padding(ConstTensor(c.valid.data(), DType::kBool, {batch, len}));
}

// No term at all where nothing is padded, as a caller without padding would have it.
Mask PaddingIfAny(Case& c) { return c.spec.lengths.empty() ? Mask() : PaddingOf(c); }

Mask KeyLengthsOf(Case& c) {
  c.key_lengths.resize(c.spec.problem.batch);
  for (int64_t b = 0; b < c.spec.problem.batch; ++b) c.key_lengths[b] = LengthOf(c.spec, b);
  return mask::KeyLengths(c.key_lengths);
}

// The queries are the last tokens of each sequence.
Mask DecodeOf(Case& c) {
  c.offsets.resize(c.spec.problem.batch);
  for (int64_t b = 0; b < c.spec.problem.batch; ++b) {
    c.offsets[b] = LengthOf(c.spec, b) - c.spec.problem.q_len;
  }
  return mask::Causal(c.offsets);
}

// Documents of lengths 1 : 2 : 3 : 1 : 2 : 3 ..., since packed text is never cut evenly.
Mask DocumentsOf(Case& c) {
  const Problem& p = c.spec.problem;
  std::vector<int64_t> weight_before(c.spec.documents + 1, 0);
  for (int64_t n = 0; n < c.spec.documents; ++n) {
    weight_before[n + 1] = weight_before[n] + 1 + n % 3;
  }
  c.document_ids.assign(p.batch * p.k_len, -1);
  for (int64_t b = 0; b < p.batch; ++b) {
    const int64_t length = LengthOf(c.spec, b);
    for (int64_t n = 0; n < c.spec.documents; ++n) {
      const int64_t begin = length * weight_before[n] / weight_before.back();
      const int64_t end = length * weight_before[n + 1] / weight_before.back();
      std::fill_n(c.document_ids.begin() + b * p.k_len + begin, end - begin,
                  static_cast<int32_t>(n));
    }
  }
  const ConstTensor ids(c.document_ids.data(), {p.batch, p.k_len});
  return mask::Documents(ids, ids);
}

Mask CausalIfAny(const Case& c) { return c.spec.causal ? mask::Causal(Align::kTopLeft) : Mask(); }

// Numbers that are the same on every machine: multiples of 2^-8 in [-1, 1).
void FillSmall(std::vector<float>& values, size_t count) {
  values.resize(count);
  for (size_t n = 0; n < count; ++n) {
    values[n] = static_cast<float>(Hash64(count, n) % 512) / 256.f - 1.f;
  }
}

Status SetTerm(Case& c) {
  const Problem& p = c.spec.problem;
  const std::string& term = c.spec.term;
  const auto each_head = [&](float value) {
    return std::vector<float>(static_cast<size_t>(p.heads), value);
  };
  if (term == "softcap") {
    c.softcap = 30;
  } else if (term == "alibi") {
    c.bias_values = each_head(0.125f);
    c.bias = bias::Alibi(c.bias_values, Align::kTopLeft);
  } else if (term == "relative") {  // as many places as T5 tells apart at most
    constexpr int64_t kPlaces = 257;
    FillSmall(c.bias_values, kPlaces);
    ConstTensor table(c.bias_values.data(), {p.heads, kPlaces});
    table.stride[0] = 0;
    c.bias = bias::Relative(table, Align::kTopLeft);
  } else if (term == "bias") {
    FillSmall(c.bias_values, static_cast<size_t>(p.q_len * p.k_len));
    c.run_bias = ConstTensor(c.bias_values.data(), {1, 1, p.q_len, p.k_len});
    c.bias = bias::Dense(c.run_bias);
  } else if (term == "sinks") {
    c.sinks = each_head(0.5f);
    c.spec.problem.sinks = true;
  } else {
    return Wrong("term", '"' + term + '"', "softcap, alibi, relative, bias or sinks");
  }
  return Status();
}

// The same mask as an array, a plane for each batch entry, or one where they are alike.
Status SetForm(Case& c) {
  const Problem& p = c.spec.problem;
  const int64_t planes = c.spec.lengths.empty() ? std::min<int64_t>(p.batch, 1) : p.batch;
  const bool dense = c.spec.form == MaskForm::kDense;
  const size_t elements = static_cast<size_t>(planes * p.q_len * p.k_len);
  std::vector<uint8_t>& allowed = c.dense;
  allowed.resize(dense ? elements : 0);
  c.bias_values.resize(dense ? 0 : elements);
  size_t at = 0;
  for (int64_t b = 0; b < planes; ++b) {
    CaseSpec spec = EntryOf(c.spec, b);
    spec.form = MaskForm::kTerms;
    const Result<Case> entry = MakeCase(spec);
    if (!entry.ok()) return entry.status();
    const Result<Reference> reference = Reference::Make(entry->spec.problem, entry->mask);
    if (!reference.ok()) return reference.status();
    for (int64_t i = 0; i < p.q_len; ++i) {
      for (int64_t j = 0; j < p.k_len; ++j, ++at) {
        const bool allows = reference->Allows(0, 0, i, j);
        if (dense) {
          allowed[at] = allows ? 1 : 0;
        } else {
          c.bias_values[at] = allows ? 0 : -std::numeric_limits<float>::infinity();
        }
      }
    }
  }
  c.mask = Mask();
  if (dense) {
    c.mask = mask::Dense(ConstTensor(allowed.data(), DType::kBool, {planes, 1, p.q_len, p.k_len}));
  } else {
    c.bias = bias::Dense(ConstTensor(c.bias_values.data(), {planes, 1, p.q_len, p.k_len}));
  }
  return Status();
}

}  // namespace

const std::vector<std::string>& CaseNames() {
  static const std::vector<std::string> names = {"padding", "causal", "window", "documents",
                                                 "cross",   "decode", "terms"};
  return names;
}

const std::vector<std::string>& TermNames() {
  static const std::vector<std::string> names = {"softcap", "alibi", "relative", "bias", "sinks"};
  return names;
}

Result<Case> MakeCase(const CaseSpec& spec) {
  Status checked = CheckSpec(spec);
  if (!checked.ok()) return checked;
  Case c;
  c.spec = spec;
  if (spec.name == "padding") {
    c.description = "self-attention of an encoder, sequences padded on the right";
    c.mask = PaddingOf(c) & CausalIfAny(c);
  } else if (spec.name == "causal") {
    c.description = "causal self-attention, prefill";
    c.mask = mask::Causal(Align::kTopLeft) & PaddingIfAny(c);
  } else if (spec.name == "window") {
    c.description = "causal self-attention over the last " + std::to_string(spec.window) + " keys";
    c.mask = mask::Window(spec.window - 1, 0, Align::kTopLeft) & PaddingIfAny(c);
  } else if (spec.name == "documents") {
    c.description = std::to_string(spec.documents) + " documents packed into each sequence";
    c.mask = DocumentsOf(c) & CausalIfAny(c);
  } else if (spec.name == "cross") {
    c.description = "cross-attention to encoder states padded on the right";
    c.mask = KeyLengthsOf(c);
  } else if (spec.name == "decode") {
    c.description = "the newest tokens of each sequence attend all before them";
    c.mask = DecodeOf(c);
  } else if (spec.name == "terms") {
    c.description = "self-attention without a mask, beside the same without the term";
    checked = SetTerm(c);
  } else {
    return Wrong("case", '"' + spec.name + '"',
                 "padding, causal, window, documents, cross, decode or terms");
  }
  if (spec.causal) c.description += ", causal";
  if (spec.form != MaskForm::kTerms) checked = SetForm(c);
  if (!checked.ok()) return checked;
  return c;
}

CaseSpec EntryOf(const CaseSpec& spec, int64_t b) {
  CaseSpec entry = spec;
  entry.problem.batch = entry.problem.heads = entry.problem.kv_heads = 1;
  if (!spec.lengths.empty()) entry.lengths = {spec.lengths[b]};
  return entry;
}

std::vector<int64_t> LengthsAtRatio(int64_t batch, int64_t length, double ratio) {
  return std::vector<int64_t>(batch, std::llround((1 - ratio) * static_cast<double>(length)));
}

}  // namespace skipattn::bench
