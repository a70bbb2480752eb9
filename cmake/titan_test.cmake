# titan_add_test(<name> LABEL unit SOURCES ... LIBRARIES ...): a Catch2 binary.
add_library(titan_catch_main STATIC ${CMAKE_SOURCE_DIR}/tests/catch_main.cpp)
target_link_libraries(titan_catch_main PUBLIC Catch2::Catch2)

function(titan_add_test name)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT ARG_SOURCES)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE titan_catch_main titan_warnings
    titan_openmp ${ARG_LIBRARIES})
  target_compile_definitions(${name} PRIVATE
    TITAN_SOURCE_DIR="${CMAKE_SOURCE_DIR}" TITAN_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL}
    SKIP_REGULAR_EXPRESSION "SKIPPED:")
endfunction()
