# LibTorch from the PyPI wheel (lib/ + include/). The wheel's own
# find_package(Torch) fails where no CUDA toolkit is, hence imported targets by
# hand. TITAN_LIBTORCH: CMake variable, then environment, then the cache that
# scripts/setup fills.
set(TITAN_LIBTORCH "" CACHE PATH "LibTorch folder with lib/ and include/ (2.11 to 2.15)")
set(_torch "${TITAN_LIBTORCH}")
if(NOT _torch)
  set(_torch "$ENV{TITAN_LIBTORCH}")
endif()
if(NOT _torch)
  set(_cache "$ENV{TITAN_CACHE}")
  if(NOT _cache)
    set(_cache "$ENV{HOME}/.cache/titan")
  endif()
  set(_torch "${_cache}/libtorch-2.11.0")
endif()
if(NOT EXISTS "${_torch}/lib/libtorch_cpu.so" OR NOT EXISTS "${_torch}/include/ATen/ATen.h")
  message(FATAL_ERROR
    "[TITAN_LIBTORCH] expected a LibTorch folder with lib/libtorch_cpu.so and include/, "
    "got '${_torch}'. Run scripts/setup, or pass -DTITAN_LIBTORCH=<dir>.")
endif()
file(READ "${_torch}/include/torch/headeronly/version.h" _version_h)
string(REGEX MATCH "TORCH_VERSION_MAJOR ([0-9]+)" _ "${_version_h}")
set(_major ${CMAKE_MATCH_1})
string(REGEX MATCH "TORCH_VERSION_MINOR ([0-9]+)" _ "${_version_h}")
set(TITAN_TORCH_VERSION "${_major}.${CMAKE_MATCH_1}")
if(TITAN_TORCH_VERSION VERSION_LESS 2.11 OR TITAN_TORCH_VERSION VERSION_GREATER_EQUAL 2.16)
  message(FATAL_ERROR
    "[TITAN_LIBTORCH] expected LibTorch 2.11 to 2.15, got ${TITAN_TORCH_VERSION} in '${_torch}'.")
endif()
set(TITAN_LIBTORCH_DIR "${_torch}")
message(STATUS "LibTorch ${TITAN_TORCH_VERSION}: ${_torch}")

add_library(titan::torch INTERFACE IMPORTED)
target_include_directories(titan::torch SYSTEM INTERFACE
  "${_torch}/include" "${_torch}/include/torch/csrc/api/include")
# libtorch_cpu needs libcudart.so.13 and libcupti.so.13; scripts/setup puts them
# beside it, so one rpath serves; CMake adds it, and replaces it on install.
# DT_RPATH (old tags) is searched for the dependencies of dependencies too,
# DT_RUNPATH is not.
target_link_libraries(titan::torch INTERFACE
  "${_torch}/lib/libtorch_cpu.so" "${_torch}/lib/libc10.so")
target_link_options(titan::torch INTERFACE
  "-Wl,--disable-new-dtags"
  "-Wl,--allow-shlib-undefined" "-Wl,-rpath-link,${_torch}/lib")
