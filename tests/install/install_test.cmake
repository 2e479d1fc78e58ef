# One way of using the library from outside, from building it to running a program with it:
#   cmake -D WAY=static|shared|no_openmp|subdirectory -D ... -P install_test.cmake
# SOURCE_DIR, BUILD_DIR, CONFIG  the project, its build folder (all built) and the configuration to install
# GENERATOR, MAKE_PROGRAM, CC, CXX, NM, READELF, DEPS_DIR, VERSION  as they are there
# Works in BUILD_DIR/install_test/WAY, which is emptied first.
cmake_minimum_required(VERSION 3.22)

set(work ${BUILD_DIR}/install_test/${WAY})
set(consumer ${SOURCE_DIR}/tests/install/consumer)
set(c_consumer ${SOURCE_DIR}/tests/install/c_consumer)
file(REMOVE_RECURSE ${work})

# Builds that are made here alone are small and quick: what they compute is tested elsewhere.
set(quick -DCMAKE_BUILD_TYPE=Debug "-DSKIPATTN_X86_TARGETS=SSE2\\;AVX2" -DSKIPATTN_DEPS_DIR=${DEPS_DIR})

# Runs a command; its output is shown if it fails, and given in `output`.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(failed)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${out}\n${failed}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

# Configures and builds `source` in `build`.
function(build_project source build)
  run(${CMAKE_COMMAND} -S ${source} -B ${build} -G ${GENERATOR} -DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}
      -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX} ${ARGN})
  run(${CMAKE_COMMAND} --build ${build})
endfunction()

# Runs a program that was linked with the library and says so.
function(run_consumer program)
  run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${libdir} ${program})
  if(NOT output MATCHES "^skipattn ${VERSION} works")
    message(FATAL_ERROR "${program} said: ${output}")
  endif()
endfunction()

# Builds the library in a folder of its own.
function(build_library)
  build_project(${SOURCE_DIR} ${work}/build ${quick} -DSKIPATTN_BUILD_TESTS=OFF -DSKIPATTN_BUILD_CLI=OFF ${ARGN})
endfunction()

# Installs a build folder, then moves what was installed: nothing may know where it was. Sets `prefix` and `libdir`.
function(install_and_move build config)
  run(${CMAKE_COMMAND} --install ${build} --prefix ${work}/installed --config ${config})
  file(RENAME ${work}/installed ${work}/moved)
  file(GLOB_RECURSE config ${work}/moved/skipattn-config.cmake)
  cmake_path(GET config PARENT_PATH folder)
  cmake_path(APPEND folder ../.. OUTPUT_VARIABLE libdir)
  cmake_path(NORMAL_PATH libdir)
  set(prefix ${work}/moved PARENT_SCOPE)
  set(libdir ${libdir} PARENT_SCOPE)
endfunction()

function(use_with_find_package)
  foreach(name IN ITEMS consumer c_consumer)
    build_project(${${name}} ${work}/${name} -DCMAKE_PREFIX_PATH=${prefix} -DSKIPATTN_VERSION=${VERSION} ${ARGN})
    run_consumer(${work}/${name}/consumer)
  endforeach()
endfunction()

# The compiler alone, with what pkg-config says.
function(use_with_pkg_config)
  find_program(pkg_config NAMES pkg-config pkgconf)
  if(NOT pkg_config)
    message("no pkg-config here: not tried")
    return()
  endif()
  run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${libdir}/pkgconfig ${pkg_config} --cflags --libs ${ARGN} skipattn)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run(${CXX} -std=c++17 ${consumer}/consumer.cc -o ${work}/pkg_config_consumer ${flags})
  run_consumer(${work}/pkg_config_consumer)
  run(${CC} -std=c99 ${c_consumer}/consumer.c -o ${work}/pkg_config_c_consumer ${flags})
  run_consumer(${work}/pkg_config_c_consumer)
endfunction()

# Public names and no others, all of C's among them, under a name that changes where the interface does.
function(check_shared_library)
  set(library ${libdir}/libskipattn.so)
  run(${NM} --dynamic --defined-only --demangle ${library})
  string(REGEX REPLACE ";" "," output "${output}")
  string(REGEX MATCHALL "[^\n]+" lines "${output}")
  list(LENGTH lines count)
  if(count LESS 20)
    message(FATAL_ERROR "too few symbols for the whole interface:\n${output}")
  endif()
  file(READ ${prefix}/include/skipattn/skipattn.h header)
  string(REGEX MATCHALL "SKIPATTN_API[^;(]*" declared "${header}")
  foreach(declaration IN LISTS declared)
    string(REGEX MATCH "skipattn_[a-z0-9_]+$" name "${declaration}")
    list(FILTER lines EXCLUDE REGEX "^[0-9a-f]+ T ${name}$")
    math(EXPR count "${count} - 1")
    list(LENGTH lines left)
    if(NOT left EQUAL count)
      message(FATAL_ERROR "declared in C, not exported: ${name}")
    endif()
  endforeach()
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^[0-9a-f]+ . skipattn::" OR line MATCHES "^[0-9a-f]+ . skipattn::[a-z0-9:]*internal::")
      message(SEND_ERROR "exported, though not public: ${line}")
    endif()
  endforeach()
  string(REGEX MATCH "^[0-9]+" major ${VERSION})
  run(${READELF} --dynamic ${library})
  if(NOT output MATCHES "soname: \\[libskipattn.so.${major}\\]" OR NOT EXISTS ${library}.${major} OR
     NOT EXISTS ${library}.${VERSION})
    message(FATAL_ERROR "soname, links or files are wrong:\n${output}")
  endif()
endfunction()

if(WAY STREQUAL "static")  # what is built here already
  install_and_move(${BUILD_DIR} ${CONFIG})
  use_with_find_package(-DSTATIC=ON)
  use_with_pkg_config()
  use_with_pkg_config(--static)
  if(EXISTS ${prefix}/bin/skipattn)
    run(${prefix}/bin/skipattn info)
  endif()
elseif(WAY STREQUAL "shared")
  build_library(-DBUILD_SHARED_LIBS=ON)
  install_and_move(${work}/build Debug)
  check_shared_library()
  use_with_find_package(-DCMAKE_DISABLE_FIND_PACKAGE_OpenMP=ON)
  use_with_pkg_config()
elseif(WAY STREQUAL "no_openmp")
  build_library(-DSKIPATTN_OPENMP=OFF)
  install_and_move(${work}/build Debug)
  use_with_find_package(-DSTATIC=ON -DCMAKE_DISABLE_FIND_PACKAGE_OpenMP=ON)
  use_with_pkg_config()
elseif(WAY STREQUAL "subdirectory")  # in a project with flags that must not reach the arithmetic
  build_project(${consumer} ${work}/build ${quick} -DSKIPATTN_SOURCE=${SOURCE_DIR}
                -DCMAKE_CXX_FLAGS=-ffast-math)
  run_consumer(${work}/build/consumer)
  foreach(unwanted IN ITEMS skipattn/bin skipattn/tests)
    if(EXISTS ${work}/build/${unwanted})
      message(FATAL_ERROR "${unwanted}: a part of another project builds neither tests nor the command")
    endif()
  endforeach()
else()
  message(FATAL_ERROR "WAY is \"${WAY}\"")
endif()
