# TITAN_SANITIZE=address,undefined | thread. LibTorch is prebuilt and not
# instrumented: MSan is out, TSan needs tsan.supp.
set(TITAN_SANITIZE "" CACHE STRING "Comma list for -fsanitize=")
if(TITAN_SANITIZE)
  # Line numbers are all a report shows; full debug information
  # only costs time.
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
  add_compile_options(-fsanitize=${TITAN_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TITAN_SANITIZE})
endif()

# Coverage for libFuzzer in everything; its main() only in tests/fuzz.
option(TITAN_FUZZ "Build the fuzz targets (clang)" OFF)
if(TITAN_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
