// Strides, aliasing and the edges of memory: layouts are the same code and nothing else is touched.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "skipattn/attention.h"
#include "tests/attention_case.h"

namespace skipattn::test {
namespace {

Problem OneHead(int64_t q_len, int64_t k_len, int64_t dim, int64_t v_dim) {
  Problem p;
  p.batch = p.heads = p.kv_heads = 1;
  p.q_len = q_len;
  p.k_len = k_len;
  p.dim = dim;
  p.v_dim = v_dim;
  return p;
}

/// Floats that end (or begin) right at a page that may not be touched.
class GuardedFloats {
 public:
  GuardedFloats(const std::vector<float>& values, bool guard_behind) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t bytes = values.size() * sizeof(float);
    pages_ = (bytes + page - 1) / page * page;
    base_ = static_cast<char*>(mmap(nullptr, pages_ + 2 * page, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_, page, PROT_NONE);
    mprotect(base_ + page + pages_, page, PROT_NONE);
    data_ = reinterpret_cast<float*>(base_ + page + (guard_behind ? pages_ - bytes : 0));
    std::memcpy(data_, values.data(), bytes);
    pages_ += 2 * page;
  }
  ~GuardedFloats() { munmap(base_, pages_); }
  GuardedFloats(const GuardedFloats&) = delete;
  GuardedFloats& operator=(const GuardedFloats&) = delete;
  float* data() { return data_; }

 private:
  size_t pages_;
  char* base_;
  float* data_;
};

std::vector<float> Contiguous(Rng& rng, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(Uniform(rng, -1000, 1000)) / 500.0f;
  return values;
}

TEST(LayoutTest, NothingBesideTheTensorsIsTouched) {
  Rng rng(1);
  for (const auto& [length, dim, v_dim] : std::vector<std::array<int64_t, 3>>{
           {1, 1, 1}, {3, 5, 7}, {17, 9, 13}, {33, 16, 31}, {64, 7, 65}, {130, 40, 40}}) {
    const auto q = Contiguous(rng, length * dim), k = Contiguous(rng, length * dim);
    const auto v = Contiguous(rng, length * v_dim);
    for (const TargetConfig& one : AllConfigs()) {
      SCOPED_TRACE(one.target + " " + one.config + " length " + std::to_string(length));
      std::vector<float> first;
      for (bool behind : {true, false}) {
        GuardedFloats gq(q, behind), gk(k, behind), gv(v, behind);
        GuardedFloats out(std::vector<float>(v.size()), behind);
        GuardedFloats lse(std::vector<float>(static_cast<size_t>(length)), behind);
        RunArgs args;
        args.q = ConstTensor(gq.data(), {1, 1, length, dim});
        args.k = ConstTensor(gk.data(), {1, 1, length, dim});
        args.v = ConstTensor(gv.data(), {1, 1, length, v_dim});
        args.out = Tensor(out.data(), {1, 1, length, v_dim});
        args.lse = Tensor(lse.data(), {1, 1, length});
        AttentionOptions options;
        options.threads = 1;
        options.target = one.target;
        options.config = one.config;
        const Status status = Attention(args, mask::Causal(), options);
        ASSERT_TRUE(status.ok()) << status.message();
        const std::vector<float> got(out.data(), out.data() + v.size());
        if (behind) first = got;
        EXPECT_EQ(std::memcmp(got.data(), first.data(), got.size() * sizeof(float)), 0);
      }
    }
  }
}

TEST(LayoutTest, NothingBesideBiasesSinksAndStatesIsTouched) {
  Rng rng(8);
  const int64_t dim = 9, v_dim = 13, first = 128;
  for (const int64_t k_len : {129, 140, 200}) {
    for (const int64_t q_len : {1, 3, 33}) {
      const Problem p = OneHead(q_len, k_len, dim, v_dim);
      const auto q = Contiguous(rng, q_len * dim), k = Contiguous(rng, k_len * dim);
      const auto v = Contiguous(rng, k_len * v_dim), numbers = Contiguous(rng, q_len * k_len);
      for (const TargetConfig& one : AllConfigs()) {
        SCOPED_TRACE(one.target + " " + one.config + ", keys " + std::to_string(k_len));
        std::vector<float> results[2];
        for (const bool behind : {true, false}) {
          const size_t rows = static_cast<size_t>(q_len);
          GuardedFloats gq(q, behind), gk(k, behind), gv(v, behind), bias(numbers, behind);
          GuardedFloats sinks({0.5f}, behind), max(std::vector<float>(rows), behind);
          GuardedFloats sum(std::vector<float>(rows), behind);
          GuardedFloats state(std::vector<float>(rows * v_dim), behind);
          GuardedFloats out(std::vector<float>(rows * v_dim), behind);
          AttentionOptions options;
          options.threads = 1;
          options.target = one.target;
          options.config = one.config;
          const Carry carry = {Tensor(max.data(), {1, 1, q_len}), Tensor(sum.data(), {1, 1, q_len}),
                               Tensor(state.data(), {1, 1, q_len, v_dim})};
          for (const bool last : {false, true}) {  // all keys but the first 128 come last
            Problem part = p;
            part.k_len = last ? k_len - first : first;
            part.bias = true;
            part.sinks = last;
            RunArgs args;
            args.q = ConstTensor(gq.data(), {1, 1, q_len, dim});
            args.k = ConstTensor(gk.data() + (last ? first * dim : 0), {1, 1, part.k_len, dim});
            args.v = ConstTensor(gv.data() + (last ? first * v_dim : 0), {1, 1, part.k_len, v_dim});
            args.bias = ConstTensor(bias.data() + (last ? first : 0), {1, 1, q_len, part.k_len});
            args.bias.stride[2] = k_len;
            if (last) {
              args.sinks = ConstTensor(sinks.data(), {1});
              args.carry_in = {carry.max, carry.sum, carry.out};
              args.out = Tensor(out.data(), {1, 1, q_len, v_dim});
            } else {
              args.carry_out = carry;
            }
            options.key_origin = {0};
            const Status status = MakePlan(part, {}, options)->Run(args);
            ASSERT_TRUE(status.ok()) << status.message();
          }
          results[behind].assign(out.data(), out.data() + rows * v_dim);
        }
        EXPECT_EQ(
            std::memcmp(results[0].data(), results[1].data(), results[0].size() * sizeof(float)),
            0);
      }
    }
  }
}

// Padding on pages that cannot be read, on both sides of the valid keys.
TEST(LayoutTest, MemoryThatNobodyAttendsIsNotRead) {
  const int64_t page_rows = sysconf(_SC_PAGESIZE) / static_cast<int64_t>(sizeof(float)) / 16;
  const int64_t length = 3 * page_rows;
  Rng rng(2);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  float* tensors[3];
  for (float*& tensor : tensors) {
    tensor = static_cast<float*>(
        mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const auto values = Contiguous(rng, length * 16);
    std::memcpy(tensor, values.data(), 3 * page);
    mprotect(tensor, page, PROT_NONE);
    mprotect(reinterpret_cast<char*>(tensor) + 2 * page, page, PROT_NONE);
  }
  std::vector<float> out(static_cast<size_t>(length * 16));
  RunArgs args;
  args.q = ConstTensor(tensors[0], {1, 1, length, 16});
  args.k = ConstTensor(tensors[1], {1, 1, length, 16});
  args.v = ConstTensor(tensors[2], {1, 1, length, 16});
  args.out = Tensor(out.data(), {1, 1, length, 16});
  std::vector<uint8_t> valid(static_cast<size_t>(length), 0);
  std::fill(valid.begin() + page_rows, valid.begin() + 2 * page_rows, uint8_t{1});
  const Mask padding = mask::Padding(ConstTensor(valid.data(), DType::kBool, {1, length}));
  for (const TargetConfig& one : AllConfigs()) {
    AttentionOptions options;
    options.target = one.target;
    options.config = one.config;
    const Status status = Attention(args, padding, options);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  EXPECT_EQ(out[0], 0.0f);
  for (float* tensor : tensors) munmap(tensor, 3 * page);
}

// A cache whose tail was never written. A memory checker (valgrind) sees whether it decides
// anything.
TEST(LayoutTest, UnwrittenTailsDecideNothing) {
  constexpr int64_t kRoom = 300, kDim = 24;
  Rng rng(12);
  for (const int64_t length : {1, 100, 128, 200}) {
    for (const int64_t q_len : {1, 2, 20}) {
      const auto q = Contiguous(rng, q_len * kDim);
      const auto k = Contiguous(rng, length * kDim), v = Contiguous(rng, length * kDim);
      const std::unique_ptr<float[]> k_cache(new float[kRoom * kDim]);
      const std::unique_ptr<float[]> v_cache(new float[kRoom * kDim]);
      std::copy(k.begin(), k.end(), k_cache.get());
      std::copy(v.begin(), v.end(), v_cache.get());
      std::vector<float> out(q.size()), want(q.size());
      RunArgs args;
      args.q = ConstTensor(q.data(), {1, 1, q_len, kDim});
      args.k = ConstTensor(k.data(), {1, 1, length, kDim});
      args.v = ConstTensor(v.data(), {1, 1, length, kDim});
      args.out = Tensor(want.data(), {1, 1, q_len, kDim});
      ASSERT_TRUE(Attention(args).ok());
      args.k = ConstTensor(k_cache.get(), {1, 1, kRoom, kDim});
      args.v = ConstTensor(v_cache.get(), {1, 1, kRoom, kDim});
      args.out = Tensor(out.data(), {1, 1, q_len, kDim});
      const std::vector<int64_t> lengths = {length};
      for (const TargetConfig& one : AllConfigs()) {
        AttentionOptions options;
        options.target = one.target;
        options.config = one.config;
        ASSERT_TRUE(Attention(args, mask::KeyLengths(lengths), options).ok());
        if (one.exact) {
          EXPECT_EQ(std::memcmp(out.data(), want.data(), out.size() * sizeof(float)), 0);
        }
      }
    }
  }
}

TEST(LayoutTest, PackedBroadcastAndNegativeStridesAreTheSameCode) {
  Rng rng(3);
  const Problem p = OneHead(21, 21, 8, 8);
  AttentionCase data(rng, p);
  AttentionOptions options;
  const Outputs want = data.Exact(*Reference::Make(p, Mask(), options));
  // One buffer [T, 3, D], the output in a fourth slot of it, positions running backwards.
  std::vector<float> packed(21 * 4 * 8, NAN);
  const auto slot = [&](int which, FloatTensor* from) {
    for (int64_t t = 0; t < 21 && from != nullptr; ++t) {
      std::copy_n(from->Row(0, 0, t), 8, packed.data() + ((20 - t) * 4 + which) * 8);
    }
    Tensor view(packed.data() + (20 * 4 + which) * 8, {1, 1, 21, 8});
    view.stride[2] = -4 * 8;
    return view;
  };
  RunArgs args;
  args.q = slot(0, &data.q);
  args.k = slot(1, &data.k);
  args.v = slot(2, &data.v);
  args.out = slot(3, nullptr);
  const Status status = Attention(args, Mask(), options);
  ASSERT_TRUE(status.ok()) << status.message();
  Outputs as_outputs = want;
  for (int64_t t = 0; t < 21; ++t) {
    EXPECT_EQ(std::memcmp(packed.data() + ((20 - t) * 4 + 3) * 8, as_outputs.out.Row(0, 0, t), 32),
              0);
  }
}

TEST(LayoutTest, KeyHeadsMayBeBroadcast) {
  Rng rng(4);
  Problem p = OneHead(9, 40, 8, 8);
  p.heads = p.kv_heads = 3;
  AttentionCase data(rng, p);
  Outputs got = data.EmptyOutputs();
  RunArgs args = data.Args(got);
  args.k.stride[1] = args.v.stride[1] = 0;  // all heads read the first
  AttentionOptions options;
  ASSERT_TRUE(Attention(args, Mask(), options).ok());
  for (int64_t h = 0; h < 3; ++h) {
    for (int64_t j = 0; j < 40; ++j) {
      std::copy_n(data.k.Row(0, 0, j), 8, data.k.Row(0, h, j));
      std::copy_n(data.v.Row(0, 0, j), 8, data.v.Row(0, h, j));
    }
  }
  EXPECT_TRUE(SameBits(got, data.Exact(*Reference::Make(p, Mask(), options))));
}

}  // namespace
}  // namespace skipattn::test
