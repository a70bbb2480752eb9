# core/version.cpp from the project's version and git's commit. Each commit
# configures anew (git's log of HEAD changes), so that --version never lies.
set(TITAN_GIT_COMMIT unknown)
find_package(Git QUIET)
if(GIT_FOUND)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} rev-parse --short=12 HEAD
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    OUTPUT_VARIABLE _commit OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE _no_git ERROR_QUIET)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} rev-parse --git-path logs/HEAD
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    OUTPUT_VARIABLE _log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT _no_git)
    set(TITAN_GIT_COMMIT ${_commit})
    get_filename_component(_log "${_log}" ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
    if(EXISTS "${_log}")
      set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY
        CMAKE_CONFIGURE_DEPENDS "${_log}")
    endif()
  endif()
endif()
configure_file(${CMAKE_SOURCE_DIR}/core/version.cpp.in
  ${CMAKE_BINARY_DIR}/generated/version.cpp @ONLY)
