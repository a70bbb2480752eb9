# Warnings, optimisation, caching, linker. Everything that is a property of
# "how we compile" and not of one target.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# -O2: -O3 gave no measurable step time and costs compile time; kernels set
# their own flags per target.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")

find_program(TITAN_CCACHE ccache)
if(TITAN_CCACHE)
  # pch_defines,time_macros: what ccache's manual asks for with GCC's
  # precompiled headers. base_dir: two checkouts share objects.
  set(TITAN_CCACHE_LAUNCHER
      ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${TITAN_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${TITAN_CCACHE_LAUNCHER})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TITAN_CCACHE_LAUNCHER})
endif()

find_program(TITAN_MOLD mold)
if(TITAN_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_library(titan_warnings INTERFACE)
target_compile_options(titan_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 finds both in its own std::string (PR 105329, 105651), all the more
  # when its headers come precompiled.
  target_compile_options(titan_warnings INTERFACE
    -Wno-stringop-overflow -Wno-stringop-overread)
  # And, under a sanitizer, uninitialised memory in its own std::regex (105562).
  if(TITAN_SANITIZE)
    target_compile_options(titan_warnings INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

# Without -fopenmp at::parallel_for is silently serial (a header template), so
# every core source that may see it is compiled with the flag.
add_library(titan_openmp INTERFACE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # The fuzzers only: clang's OpenMP is another library than LibTorch's, and an
  # input is parsed on one thread.
  target_compile_options(titan_openmp INTERFACE -Wno-unknown-pragmas)
else()
  target_compile_options(titan_openmp INTERFACE -fopenmp)
endif()

# titan_precompile_headers(<target> <headers>): in this order. A precompiled file
# of another list goes first: where one lies, ccache asks for that one's bytes
# and not for the list, and hands out what another list once made of them.
function(titan_precompile_headers target)
  if(NOT "${TITAN_PRECOMPILED_${target}}" STREQUAL "${ARGN}")
    file(REMOVE
      ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.gch)
    set(TITAN_PRECOMPILED_${target} "${ARGN}" CACHE INTERNAL
      "Headers that ${target} precompiles")
  endif()
  target_precompile_headers(${target} PRIVATE ${ARGN})
endfunction()

# Of a source's two seconds, one goes to what its headers leave to instantiate:
# eight sources of a directory compiled as one pay it once. Off where single
# files are edited (dev) or read (tidy).
option(TITAN_UNITY "Compile the sources of a directory eight at a time" ON)

# titan_compile_together(<target>): unnamed namespaces of one directory share
# their names then. A source with the property SKIP_UNITY_BUILD_INCLUSION stays
# alone.
function(titan_compile_together target)
  if(NOT TITAN_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(path ${source} ABSOLUTE)
    get_filename_component(folder ${path} DIRECTORY)
    file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER ${folder} group)
    if(NOT DEFINED count_${group})
      set(count_${group} 0)
    endif()
    math(EXPR part "${count_${group}} / 8")
    math(EXPR count_${group} "${count_${group}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}_${part})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
