# Writes skipattn.pc. It finds its files from where it lies, so that an installed copy can be moved.

# Sets `result` to what pkg-config reads for an installation folder: from the prefix unless it is absolute.
function(skipattn_pc_folder folder result)
  set(path "\${prefix}")
  cmake_path(APPEND path "${folder}")  # an absolute folder replaces the prefix
  set(${result} "${path}" PARENT_SCOPE)
endfunction()

# In: `openmp`, SKIPATTN_HWY_OBJECTS, the settings of the libraries. Out: skipattn.pc in the build folder, to be installed
# in `folder`.
function(skipattn_write_pc folder)
  set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
  if(NOT IS_ABSOLUTE "${folder}")
    cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}/${folder}" OUTPUT_VARIABLE up)
    set(pc_prefix "\${pcfiledir}")
    cmake_path(APPEND pc_prefix "${up}")
  endif()
  skipattn_pc_folder("${CMAKE_INSTALL_INCLUDEDIR}" pc_includedir)
  skipattn_pc_folder("${CMAKE_INSTALL_LIBDIR}" pc_libdir)

  # A static library leaves its dependencies to whoever links it: a C compiler does not know C++'s libraries. gcc's
  # runtime is found by name; others, whose folders no linker searches, by their paths.
  set(pc_requires "")
  set(pc_libs "")
  if(NOT BUILD_SHARED_LIBS)
    if(NOT SKIPATTN_HWY_OBJECTS)
      set(pc_requires "libhwy >= 1.2")
    endif()
    if(openmp)
      foreach(name IN LISTS OpenMP_CXX_LIB_NAMES)
        if(name MATCHES "^(gomp|pthread)$")
          string(APPEND pc_libs " -l${name}")
        else()
          string(APPEND pc_libs " ${OpenMP_${name}_LIBRARY}")
        endif()
      endforeach()
    endif()
    foreach(name IN LISTS CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
      if(name MATCHES "^(stdc\\+\\+|c\\+\\+|c\\+\\+abi|m)$")
        string(APPEND pc_libs " -l${name}")
      endif()
    endforeach()
  endif()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/skipattn.pc.in" skipattn.pc @ONLY)
endfunction()
