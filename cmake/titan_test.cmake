# titan_add_test(<name> LABEL unit SOURCES ... LIBRARIES ...): a Catch2 binary.
add_library(titan_catch_main STATIC ${CMAKE_SOURCE_DIR}/tests/catch_main.cpp)
# Unoptimised: half the seconds to compile, none to run.
target_compile_options(titan_catch_main PRIVATE -O0)
target_link_libraries(titan_catch_main PUBLIC Catch2::Catch2)

# Tests spend their time in the libraries: -O1 compiles them faster (and GCC 12's
# -O2 sees overflows in its own std::string that are not there, PR 105651; its
# -Warray-bounds does at -O1).
add_library(titan_test_options INTERFACE)
target_compile_options(titan_test_options INTERFACE -O1 -Wno-array-bounds)

# Catch2 with ATen or with the standard library's usual headers, precompiled once
# for all test binaries.
function(titan_add_test_headers name)
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBRARIES" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/generated/${name}.cpp)
  file(WRITE ${source} "")
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE Catch2::Catch2 titan_warnings
    titan_openmp titan_test_options nlohmann_json::nlohmann_json ${ARG_LIBRARIES})
  # Catch2 last: LibTorch has a CHECK too.
  titan_precompile_headers(${name} ${ARG_HEADERS} <nlohmann/json.hpp>
    <catch2/catch.hpp>)
endfunction()
titan_add_test_headers(titan_tensor_test_headers
  HEADERS <ATen/ATen.h> LIBRARIES titan::torch)
titan_add_test_headers(titan_plain_test_headers
  HEADERS <algorithm> <filesystem> <fstream> <functional> <map> <memory>
    <optional> <sstream> <string> <vector>)

# GCC 12's leak check takes the word before a thread-local block of a plugin for
# glibc's header of it when the block begins 16 bytes into a page, and reads where
# that points (sanitizer_tls_get_addr.cpp). Unwatched, such blocks are still roots:
# the dynamic linker allocates them, and what it allocates is never a leak.
set(titan_test_environment "")
if(TITAN_SANITIZE MATCHES address)
  set(titan_test_environment ENVIRONMENT ASAN_OPTIONS=intercept_tls_get_addr=0)
endif()

function(titan_add_test name)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT ARG_SOURCES)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE titan_catch_main titan_warnings
    titan_openmp titan_test_options ${ARG_LIBRARIES})
  target_compile_definitions(${name} PRIVATE
    TITAN_SOURCE_DIR="${CMAKE_SOURCE_DIR}" TITAN_BINARY_DIR="${CMAKE_BINARY_DIR}")
  titan_compile_together(${name})
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL}
    SKIP_REGULAR_EXPRESSION "SKIPPED:" ${titan_test_environment})
endfunction()
