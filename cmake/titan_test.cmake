# titan_add_test(<name> LABEL unit SOURCES ... LIBRARIES ...): a Catch2 binary.
add_library(titan_catch_main STATIC ${CMAKE_SOURCE_DIR}/tests/catch_main.cpp)
target_link_libraries(titan_catch_main PUBLIC Catch2::Catch2)

# Tests spend their time in the libraries: -O1 compiles them faster (and GCC 12's
# -O2 sees an overflow in its own std::string that is not there, PR 105651).
add_library(titan_test_options INTERFACE)
target_compile_options(titan_test_options INTERFACE -O1)

# ATen and Catch2, precompiled once for every test binary that includes both.
file(WRITE ${CMAKE_BINARY_DIR}/generated/tensor_test_headers.cpp "")
add_library(titan_tensor_test_headers OBJECT
  ${CMAKE_BINARY_DIR}/generated/tensor_test_headers.cpp)
target_link_libraries(titan_tensor_test_headers PRIVATE Catch2::Catch2
  titan::torch titan_warnings titan_openmp titan_test_options)
target_precompile_headers(titan_tensor_test_headers
  PRIVATE <ATen/ATen.h> <catch2/catch.hpp>)

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
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL}
    SKIP_REGULAR_EXPRESSION "SKIPPED:")
endfunction()
