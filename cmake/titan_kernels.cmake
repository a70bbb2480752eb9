# titan_add_kernels(<name> TARGET cpu_avx512 [NO_INSTALL] SOURCES ...): kernels of
# one hardware target as a plugin. Sources know no target: they are Highway's,
# compiled for the one named.
function(titan_add_kernels name)
  cmake_parse_arguments(ARG "NO_INSTALL" "TARGET" "SOURCES" ${ARGN})
  if(NOT ARG_TARGET STREQUAL "cpu_avx512")
    message(FATAL_ERROR
      "titan_add_kernels TARGET: expected cpu_avx512, got ${ARG_TARGET}")
  endif()
  set(options)
  if(ARG_NO_INSTALL)
    set(options NO_INSTALL)
  endif()
  titan_add_plugin(${name} ${options} SOURCES ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  # x86-64-v4: AVX-512 F, BW, CD, DQ, VL. GCC 12 sees overlapping copies in its
  # own std::string (PR 105651).
  target_compile_options(${name} PRIVATE -Wno-restrict
    -O3 -march=x86-64-v4 -maes -mpclmul -fno-math-errno -fno-trapping-math)
endfunction()
