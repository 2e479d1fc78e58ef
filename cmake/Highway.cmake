# The one place that finds Highway (>= 1.2). Sets, in the caller's scope:
#   SKIPATTN_HWY          the target to link, PRIVATE
#   SKIPATTN_HWY_OBJECTS  Highway's own objects, to be put into our library; empty when it comes from outside
# Order: a target the consumer has, an installed package, Debian's source package, the upstream release.
include(FetchContent)

set(SKIPATTN_DEPS_DIR "${PROJECT_SOURCE_DIR}/.deps" CACHE PATH "Where fetched sources are kept, shared by all build folders")

# Highway's list reads these as cache options; as variables of a function they stay out of the consumer's cache and scope.
function(skipattn_add_highway)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # option() keeps a variable that is already set
  set(CMAKE_POLICY_DEFAULT_CMP0126 NEW)  # set(CACHE) too
  if(NOT POLICY CMP0218)
    set(CMAKE_WARN_DEPRECATED OFF)  # its list sets old policies
  endif()
  set(BUILD_SHARED_LIBS OFF)
  set(BUILD_TESTING OFF)
  set(HWY_ENABLE_CONTRIB OFF)
  set(HWY_ENABLE_EXAMPLES OFF)
  set(HWY_ENABLE_TESTS OFF)
  set(HWY_ENABLE_INSTALL OFF)

  if(NOT EXISTS "${FETCHCONTENT_SOURCE_DIR_HIGHWAY}/CMakeLists.txt")
    set(source "${SKIPATTN_DEPS_DIR}/highway")
    execute_process(COMMAND "${PROJECT_SOURCE_DIR}/cmake/fetch-highway.sh" "${source}"
                    RESULT_VARIABLE failed ERROR_VARIABLE why ERROR_STRIP_TRAILING_WHITESPACE)
    if(failed)
      message(STATUS "Highway: upstream release (${why})")
      unset(FETCHCONTENT_SOURCE_DIR_HIGHWAY CACHE)
      set(source "")
    endif()
    set(FETCHCONTENT_SOURCE_DIR_HIGHWAY "${source}")
  endif()
  FetchContent_Declare(highway GIT_REPOSITORY https://github.com/google/highway.git GIT_TAG 1.2.0 GIT_SHALLOW ON)
  FetchContent_MakeAvailable(highway)

  # Defined even with tests off; nothing here needs them.
  set_target_properties(hwy_test hwy_list_targets PROPERTIES EXCLUDE_FROM_ALL ON)
  # Warnings in Highway's headers are not ours.
  get_target_property(include_dirs hwy INTERFACE_INCLUDE_DIRECTORIES)
  set_target_properties(hwy PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${include_dirs}")
  # Its dispatch then knows the same targets as ours, and compiles in a third of the time.
  target_compile_definitions(hwy PRIVATE ${SKIPATTN_HWY_DEFINITIONS})
endfunction()

# Which targets the SIMD units are compiled for: on x86 those of SKIPATTN_X86_TARGETS, elsewhere all attainable ones but
# SVE2, which has nothing for us that SVE has not.
# ((SSE2 << 1) - 1 is every x86 target there is, and the bits of other families lie above it.)
list(TRANSFORM SKIPATTN_X86_TARGETS PREPEND "HWY_" OUTPUT_VARIABLE targets)
list(GET targets 0 lowest)
list(JOIN targets "|" targets)
set(SKIPATTN_HWY_DEFINITIONS "HWY_DISABLED_TARGETS=((((HWY_SSE2<<1)-1)&~(${targets}))|HWY_SVE2)")
if(NOT lowest STREQUAL "HWY_SSE2" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # Highway insists on a baseline. Claiming one that the compiler flags do not have works with gcc and clang, since every
  # target's code carries its own attribute; but such a binary needs a CPU that has it, so it is for sanitizer builds.
  list(APPEND SKIPATTN_HWY_DEFINITIONS "HWY_BASELINE_TARGETS=${lowest}")
endif()

set(SKIPATTN_HWY_OBJECTS "")
if(TARGET hwy::hwy)
  set(SKIPATTN_HWY hwy::hwy)
elseif(TARGET hwy)
  set(SKIPATTN_HWY hwy)
else()
  find_package(hwy 1.2 CONFIG QUIET)
  if(hwy_FOUND)
    set(SKIPATTN_HWY hwy::hwy)
  else()
    skipattn_add_highway()
    set(SKIPATTN_HWY hwy)
    set(SKIPATTN_HWY_OBJECTS $<TARGET_OBJECTS:hwy>)
  endif()
endif()
