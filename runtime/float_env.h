// The floating-point environment of the exact arithmetic, for the length of a scope.
#ifndef SKIPATTN_RUNTIME_FLOAT_ENV_H_
#define SKIPATTN_RUNTIME_FLOAT_ENV_H_

#include "skipattn/version.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#elif defined(__aarch64__)
#include <cstdint>
#else
#include <cfenv>
#endif

namespace skipattn {
inline namespace v0 {
namespace internal {

/// Round to nearest even, subnormals kept (no FTZ, no DAZ), exceptions masked, whatever the host or
/// a library in it has set. The destructor brings back what was there before, sticky flags
/// included, so that the caller sees no trace. Acts on the calling thread alone; costs a few dozen
/// cycles.
///
/// Compilers do not order arithmetic against the environment. The fences here hold memory accesses
/// in place, so arithmetic stays inside the scope when it reads its operands from memory and stores
/// its results there (or sits in a function that is not inlined).
class ScopedFloatEnv {
 public:
  ScopedFloatEnv(const ScopedFloatEnv&) = delete;
  ScopedFloatEnv& operator=(const ScopedFloatEnv&) = delete;

#if defined(__SSE__)
  ScopedFloatEnv() : control_(_mm_getcsr()) {
    _mm_setcsr(0x1f80);  // all six exceptions masked, the other fields and the flags 0
    Fence();
  }
  ~ScopedFloatEnv() {
    Fence();
    _mm_setcsr(control_);
  }

 private:
  unsigned control_;
#elif defined(__aarch64__)
  ScopedFloatEnv() {
    asm volatile("mrs %0, fpcr" : "=r"(control_));
    asm volatile("mrs %0, fpsr" : "=r"(flags_));
    asm volatile("msr fpcr, %0" : : "r"(uint64_t{0}));
    asm volatile("msr fpsr, %0" : : "r"(uint64_t{0}));
    Fence();
  }
  ~ScopedFloatEnv() {
    Fence();
    asm volatile("msr fpcr, %0" : : "r"(control_));
    asm volatile("msr fpsr, %0" : : "r"(flags_));
  }

 private:
  uint64_t control_, flags_;
#else
  ScopedFloatEnv() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
    Fence();
  }
  ~ScopedFloatEnv() {
    Fence();
    std::fesetenv(&saved_);
  }

 private:
  std::fenv_t saved_;
#endif

  static void Fence() { asm volatile("" : : : "memory"); }
};

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_RUNTIME_FLOAT_ENV_H_
