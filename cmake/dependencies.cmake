# Debian packages, each with the one directory that may include it (checked by
# scripts/check_layers).
find_package(Threads REQUIRED)
find_package(yaml-cpp 0.7 REQUIRED)        # core/config
find_package(spdlog 1.10 REQUIRED)         # core/observe, never with LibTorch
find_package(nlohmann_json 3.11 REQUIRED)  # core/*.cpp
find_package(CLI11 2.1 REQUIRED)           # core/cli
find_package(Boost 1.81 REQUIRED)          # core/plugin (DLL, header-only)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)  # core/tokenizer
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)  # core/tokenizer
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)  # core/checkpoint
pkg_check_modules(HTTPLIB QUIET IMPORTED_TARGET cpp-httplib)  # tests of plugins/storage/s3
find_package(CURL 7.85 QUIET)                                     # plugins/storage/s3
find_package(OpenSSL QUIET COMPONENTS Crypto)                 # plugins/storage/s3
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)         # core/data
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)      # core/data
if(TITAN_BUILD_TESTS)
  find_package(Catch2 2.13 REQUIRED)
endif()
