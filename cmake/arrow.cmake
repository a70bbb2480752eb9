# Arrow C++ (libarrow, libparquet) from the wheel of pyarrow, for the plugin
# titan.parquet alone, and only where it is. TITAN_ARROW: CMake variable, then
# environment, then the cache that `scripts/setup --with parquet` fills.
set(TITAN_ARROW "" CACHE PATH "Arrow folder with lib/ and include/ (26)")
set(_arrow "${TITAN_ARROW}")
if(NOT _arrow)
  set(_arrow "$ENV{TITAN_ARROW}")
endif()
set(_is_given "${_arrow}")
if(NOT _arrow)
  set(_cache "$ENV{TITAN_CACHE}")
  if(NOT _cache)
    set(_cache "$ENV{HOME}/.cache/titan")
  endif()
  set(_arrow "${_cache}/arrow-26.0.1")
endif()
# Read by scripts/build, which configures again where this has changed.
set(TITAN_ARROW_FOUND "" CACHE INTERNAL "Arrow folder in use")
if(NOT EXISTS "${_arrow}/include/parquet/arrow/reader.h")
  if(_is_given)
    message(FATAL_ERROR "[TITAN_ARROW] expected an Arrow folder with "
      "include/parquet/arrow/reader.h, got '${_arrow}'.")
  endif()
  return()
endif()
file(GLOB _libarrow "${_arrow}/lib/libarrow.so.*")
file(GLOB _libparquet "${_arrow}/lib/libparquet.so.*")
if(NOT _libarrow OR NOT _libparquet)
  message(FATAL_ERROR
    "[TITAN_ARROW] expected lib/libarrow.so.* and lib/libparquet.so.*, got "
    "none in '${_arrow}'. Run scripts/setup --with parquet again.")
endif()
list(GET _libarrow 0 _libarrow)
list(GET _libparquet 0 _libparquet)
set(TITAN_ARROW_FOUND "${_arrow}" CACHE INTERNAL "Arrow folder in use")
message(STATUS "Arrow: ${_arrow}")

cmake_path(GET _libarrow FILENAME _arrow_soname)
cmake_path(GET _libparquet FILENAME _parquet_soname)
add_library(titan::parquet INTERFACE IMPORTED)
target_include_directories(titan::parquet SYSTEM INTERFACE "${_arrow}/include")
target_compile_definitions(titan::parquet INTERFACE
  TITAN_ARROW_SONAME="${_arrow_soname}" TITAN_PARQUET_SONAME="${_parquet_soname}")
target_link_libraries(titan::parquet INTERFACE "${_libparquet}" "${_libarrow}")

# Beside LibTorch, where an installed titan finds it.
install(PROGRAMS "${_libarrow}" "${_libparquet}" DESTINATION lib)
