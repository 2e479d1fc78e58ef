// The cases and their masks.
#include "bench/cases.h"

#include <algorithm>
#include <cmath>

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

}  // namespace

const std::vector<std::string>& CaseNames() {
  static const std::vector<std::string> names = {"padding",   "causal", "window",
                                                 "documents", "cross",  "decode"};
  return names;
}

Result<Case> MakeCase(const CaseSpec& spec) {
  Status checked = CheckSpec(spec);
  if (!checked.ok()) return checked;
  Case c;
  c.spec = spec;
  if (spec.name == "padding") {
    c.description = "self-attention of an encoder, sequences padded on the right";
    c.mask = PaddingOf(c);
  } else if (spec.name == "causal") {
    c.description = "causal self-attention, prefill";
    c.mask = mask::Causal(Align::kTopLeft) & PaddingIfAny(c);
  } else if (spec.name == "window") {
    c.description = "causal self-attention over the last " + std::to_string(spec.window) + " keys";
    c.mask = mask::Window(spec.window - 1, 0, Align::kTopLeft) & PaddingIfAny(c);
  } else if (spec.name == "documents") {
    c.description = std::to_string(spec.documents) + " documents packed into each sequence";
    c.mask = DocumentsOf(c);
  } else if (spec.name == "cross") {
    c.description = "cross-attention to encoder states padded on the right";
    c.mask = KeyLengthsOf(c);
  } else if (spec.name == "decode") {
    c.description = "the newest tokens of each sequence attend all before them";
    c.mask = DecodeOf(c);
  } else {
    return Wrong("case", '"' + spec.name + '"',
                 "padding, causal, window, documents, cross or decode");
  }
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
