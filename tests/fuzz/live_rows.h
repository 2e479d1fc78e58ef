// Which rows of a tensor's memory a run may read, and what happens to the rest of it.
#ifndef SKIPATTN_TESTS_FUZZ_LIVE_ROWS_H_
#define SKIPATTN_TESTS_FUZZ_LIVE_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/attention_case.h"
#include "tests/random_array.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SKIPATTN_HAVE_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SKIPATTN_HAVE_ASAN 1
#endif
#if defined(SKIPATTN_HAVE_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace skipattn::test {

/// Rows of the memory of `tensor`. Views that repeat an index show a row under several.
class LiveRows {
 public:
  explicit LiveRows(FloatTensor& tensor) : tensor_(tensor) {}

  void Add(const float* row) { live_.push_back(row); }

  /// All have been added.
  void Sort() {
    std::sort(live_.begin(), live_.end());
    live_.erase(std::unique(live_.begin(), live_.end()), live_.end());
  }

  /// Calls use(row) for each row of the tensor that is not live.
  template <class Use>
  void ForEachOther(Use use) const {
    for (int64_t b = 0; b < tensor_.shape[0]; ++b) {
      for (int64_t h = 0; h < tensor_.shape[1]; ++h) {
        for (int64_t t = 0; t < tensor_.shape[2]; ++t) {
          float* row = tensor_.Row(b, h, t);
          if (!std::binary_search(live_.begin(), live_.end(), row)) use(row);
        }
      }
    }
  }

  /// While it lives, the address sanitizer reports who reads beside the live rows (or beside any
  /// row), in gaps too.
  class Guard {
   public:
    enum class Readable { kLiveRows, kAllRows };
    Guard(const LiveRows& rows, Readable readable) : storage_(rows.tensor_.storage) {
#if defined(SKIPATTN_HAVE_ASAN)
      const size_t bytes = static_cast<size_t>(rows.tensor_.shape[3]) * sizeof(float);
      ASAN_POISON_MEMORY_REGION(storage_.data(), storage_.size() * sizeof(float));
      for (const float* row : rows.live_) ASAN_UNPOISON_MEMORY_REGION(row, bytes);
      if (readable == Readable::kLiveRows) return;
      rows.ForEachOther([&](const float* row) { ASAN_UNPOISON_MEMORY_REGION(row, bytes); });
#else
      static_cast<void>(readable);
#endif
    }
    ~Guard() {
#if defined(SKIPATTN_HAVE_ASAN)
      ASAN_UNPOISON_MEMORY_REGION(storage_.data(), storage_.size() * sizeof(float));
#endif
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    [[maybe_unused]] const std::vector<float>& storage_;
  };

 private:
  FloatTensor& tensor_;
  std::vector<const float*> live_;
};

}  // namespace skipattn::test

#endif  // SKIPATTN_TESTS_FUZZ_LIVE_ROWS_H_
