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
endif()

# Without -fopenmp at::parallel_for is silently serial (a header template), so
# every core source that may see it is compiled with the flag.
add_library(titan_openmp INTERFACE)
target_compile_options(titan_openmp INTERFACE -fopenmp)

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
