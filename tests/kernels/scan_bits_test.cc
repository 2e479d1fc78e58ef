// Bool bytes to bits, for every target, right up to memory that may not be touched.
#include "kernels/scan_bits.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "hwy/highway.h"
#include "tests/random_array.h"

namespace skipattn::internal {
namespace {

/// One page of memory with a forbidden page on either side.
class GuardedPage {
 public:
  GuardedPage() : size_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    void* memory = mmap(nullptr, 3 * size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    pages_ = static_cast<uint8_t*>(memory);
    ready_ = mprotect(pages_ + size_, size_, PROT_READ | PROT_WRITE) == 0;
  }
  ~GuardedPage() {
    if (pages_ != nullptr) munmap(pages_, 3 * size_);
  }
  GuardedPage(const GuardedPage&) = delete;
  GuardedPage& operator=(const GuardedPage&) = delete;

  bool ready() const { return ready_; }
  uint8_t* begin() const { return pages_ + size_; }
  uint8_t* end() const { return begin() + size_; }

 private:
  size_t size_;
  uint8_t* pages_ = nullptr;
  bool ready_ = false;
};

class ScanBitsTest : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(page_.ready());
    scan_ = ScanBitsFunction(GetParam());
    ASSERT_NE(scan_, nullptr);
  }

  /// Scans `count` bytes at `bytes` and compares with them one by one.
  void ExpectBits(const uint8_t* bytes, int64_t count) {
    constexpr uint64_t kUntouched = 0x5a5a5a5a5a5a5a5a;
    const size_t size = static_cast<size_t>((count + 63) / 64);
    std::vector<uint64_t> words(size + 1, kUntouched), expected(size);
    for (int64_t t = 0; t < count; ++t) {
      expected[static_cast<size_t>(t / 64)] |= uint64_t{bytes[t] != 0} << (t % 64);
    }
    scan_(bytes, count, words.data());
    ASSERT_EQ(words.back(), kUntouched);
    words.pop_back();
    ASSERT_EQ(words, expected);
  }

  GuardedPage page_;
  ScanFunction scan_ = nullptr;
};

TEST_P(ScanBitsTest, AllSizesBetweenGuardPages) {
  constexpr uint64_t kSeed = 1;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  test::Rng rng(kSeed);
  for (int64_t count = 0; count <= 300; ++count) {
    SCOPED_TRACE(std::to_string(count) + " bytes");
    for (uint8_t* bytes : {page_.end() - count, page_.begin()}) {
      for (int64_t t = 0; t < count; ++t) {
        bytes[t] = static_cast<uint8_t>(test::PickOf(rng, {0, 0, 1, 255}));
      }
      ASSERT_NO_FATAL_FAILURE(ExpectBits(bytes, count));
    }
  }
}

TEST_P(ScanBitsTest, AnyByteThatIsNotZeroIsTrue) {
  for (int value = 0; value < 256; ++value) page_.begin()[value] = static_cast<uint8_t>(value);
  ExpectBits(page_.begin(), 256);
}

TEST_P(ScanBitsTest, SingleBitsAtAnyAlignment) {
  constexpr int64_t kCount = 200;
  std::fill(page_.begin(), page_.end(), uint8_t{0});
  for (int64_t shift = 0; shift < 3; ++shift) {
    uint8_t* bytes = page_.begin() + shift;
    for (int64_t t = 0; t < kCount; ++t) {
      bytes[t] = 128;
      bytes[kCount] = 1;  // beyond the end: not a bit of the last word
      ASSERT_NO_FATAL_FAILURE(ExpectBits(bytes, kCount));
      bytes[t] = bytes[kCount] = 0;
    }
  }
}

std::vector<int64_t> Targets() {
  std::vector<int64_t> targets;
  for (int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1) {
    targets.push_back(rest & -rest);
  }
  return targets;
}

INSTANTIATE_TEST_SUITE_P(Targets, ScanBitsTest, testing::ValuesIn(Targets()),
                         [](const testing::TestParamInfo<int64_t>& target) {
                           return std::string(hwy::TargetName(target.param));
                         });

TEST(ScanAboveTest, EveryElementByItself) {
  test::Rng rng(3);
  const float interesting[] = {0.0f, -1e30f, -1.1e30f, -0.9e30f, -INFINITY, INFINITY,
                               NAN,  -NAN,   -3e38f,   1e30f,    -1.0f,     2.0f};
  for (int64_t count : {0, 1, 7, 16, 63, 64, 65, 127, 128, 200}) {
    std::vector<float> values(static_cast<size_t>(count) + 1);
    for (float& value : values) value = interesting[rng.Below(12)];
    for (const float most : {-1e30f, -std::numeric_limits<float>::infinity()}) {
      constexpr uint64_t kUntouched = 0x5a5a5a5a5a5a5a5a;
      const size_t size = static_cast<size_t>((count + 63) / 64);
      std::vector<uint64_t> words(size + 1, kUntouched), expected(size);
      uint32_t found = kFoundNothing;
      for (int64_t t = 0; t < count; ++t) {
        const float value = values[static_cast<size_t>(t) + 1];
        if (!(value <= most) && value != 0) found |= kFoundNonzeroAbove;
        if (value <= most && value > -INFINITY) found |= kFoundFiniteLow;
        if (value > most && value <= -1e4f) found |= kFoundLargeAbove;
        const bool above = !(value <= most);
        expected[static_cast<size_t>(t / 64)] |= uint64_t{above} << (t % 64);
      }
      expected.push_back(kUntouched);
      EXPECT_EQ(ScanAbove(values.data() + 1, count, most, words.data()), found);
      EXPECT_EQ(words, expected) << count << " above " << most;
    }
  }
}

TEST(ScanAboveTest, OneNumberIsFoundAnywhere) {
  for (const int64_t count : {1, 64, 65, 200}) {
    for (int64_t t = 0; t < count; ++t) {
      std::vector<float> values(static_cast<size_t>(count));
      std::vector<uint64_t> words(static_cast<size_t>((count + 63) / 64));
      float& one = values[static_cast<size_t>(t)];
      const auto found = [&](float value) {
        one = value;
        return ScanAbove(values.data(), count, -1e30f, words.data());
      };
      EXPECT_EQ(found(-0.0f), uint32_t{kFoundNothing});
      EXPECT_EQ(found(-INFINITY), uint32_t{kFoundNothing});
      EXPECT_EQ(found(-1e30f), uint32_t{kFoundFiniteLow});
      EXPECT_EQ(found(std::numeric_limits<float>::lowest()), uint32_t{kFoundFiniteLow});
      EXPECT_EQ(found(-1e4f), uint32_t{kFoundNonzeroAbove | kFoundLargeAbove});
      EXPECT_EQ(found(-9999.0f), uint32_t{kFoundNonzeroAbove});
      EXPECT_EQ(found(1e-45f), uint32_t{kFoundNonzeroAbove});
      EXPECT_EQ(found(NAN), uint32_t{kFoundNonzeroAbove});
      EXPECT_EQ(found(INFINITY), uint32_t{kFoundNonzeroAbove});
    }
  }
}

}  // namespace
}  // namespace skipattn::internal
