// Version numbers, and the macro that marks what the shared library exports. C may include it too.
#ifndef SKIPATTN_VERSION_H_
#define SKIPATTN_VERSION_H_

#define SKIPATTN_VERSION_MAJOR 0
#define SKIPATTN_VERSION_MINOR 1
#define SKIPATTN_VERSION_PATCH 0

#if defined(__GNUC__) || defined(__clang__)
#define SKIPATTN_API __attribute__((visibility("default")))
#else
#define SKIPATTN_API
#endif

#ifdef __cplusplus
namespace skipattn {
inline namespace v0 {

/// The library's version, "major.minor.patch".
SKIPATTN_API const char* Version();

/// The version of the exact arithmetic. Two libraries with the same number give the same bits for
/// the same problem, on every target with a native fma.
SKIPATTN_API int ArithmeticVersion();

}  // namespace v0
}  // namespace skipattn
#endif  // __cplusplus

#endif  // SKIPATTN_VERSION_H_
