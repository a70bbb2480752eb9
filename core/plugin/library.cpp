// SPDX-License-Identifier: BSD-3-Clause
// Boost.DLL loads a bare name from the working directory and re-opens a library
// by path when copied; so it gets absolute staged paths only, and one object
// per library that is never copied nor destroyed.
#include "core/plugin/library.h"

#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <vector>

#include <dlfcn.h>
#include <link.h>

#define BOOST_DLL_USE_STD_FS
#include <boost/dll/shared_library.hpp>

#include <titan/error.h>

#include "core/plugin/error_code.h"
#include "core/plugin/mapped_object.h"

namespace titan::plugin {
namespace {

constexpr const char* kEntry = "titan_plugin_entry_v1";

using Library = boost::dll::shared_library;

/// Reachable for ever, so that leak checkers know it is meant.
void keep_for_ever(std::unique_ptr<Library> library) {
  static std::mutex mutex;
  static auto& libraries = *new std::vector<std::unique_ptr<Library>>();
  const std::lock_guard lock(mutex);
  libraries.push_back(std::move(library));
}

std::string replace_all(std::string words,
                        std::string_view from,
                        std::string_view to) {
  for (std::size_t at = words.find(from); at != std::string::npos;
       at = words.find(from, at + to.size()))
    words.replace(at, from.size(), to);
  return words;
}

std::unique_ptr<Library> map_library(const StagedFile& staged,
                                     const std::string& file) {
  try {
    return std::make_unique<Library>(
        staged.path,
        boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
  } catch (const std::system_error& error) {
    // The text has the staged path; the person knows the file by its own.
    throw_code(Code::kDlopen,
               file,
               text("the system's loader refused ",
                    file,
                    ": expected it to load, got '",
                    replace_all(error.what(), staged.path, file),
                    "'. ",
                    code_info(Code::kDlopen).hint));
  }
}

struct BuildIdQuery {
  const void* base;
  std::string build_id;
};

int match_object(dl_phdr_info* object, std::size_t, void* out) {
  auto& query = *static_cast<BuildIdQuery*>(out);
  if (reinterpret_cast<const void*>(object->dlpi_addr) != query.base) return 0;
  query.build_id = mapped_build_id(*object);
  return 1;
}

void verify_image(const void* entry,
                  const StagedFile& staged,
                  const std::string& build_id,
                  const std::string& file) {
  Dl_info info{};
  const bool is_known = ::dladdr(entry, &info) != 0;
  const std::string mapped = is_known ? info.dli_fname : "an unknown object";
  if (!is_known || mapped != staged.path)
    throw_code(Code::kStaleImage,
               file,
               text("another object answered for this file: expected ",
                    staged.path,
                    ", got ",
                    mapped,
                    ". ",
                    code_info(Code::kStaleImage).hint));
  BuildIdQuery query{info.dli_fbase, {}};
  ::dl_iterate_phdr(match_object, &query);
  if (!build_id.empty() && query.build_id != build_id)
    throw_code(Code::kStaleImage,
               file,
               text("the mapped image is of another build: expected build id ",
                    build_id,
                    ", got ",
                    query.build_id,
                    ". ",
                    code_info(Code::kStaleImage).hint));
}

}  // namespace

titan_plugin_entry_fn open_library(const StagedFile& staged,
                                   const std::string& build_id,
                                   const std::string& file) {
  std::unique_ptr<Library> library = map_library(staged, file);
  void* entry = ::dlsym(library->native(), kEntry);
  if (entry != nullptr) verify_image(entry, staged, build_id, file);
  keep_for_ever(std::move(library));
  if (entry == nullptr)
    throw_code(Code::kNoEntry,
               file,
               text("there is no way in: expected the symbol ",
                    kEntry,
                    ", got none. ",
                    code_info(Code::kNoEntry).hint));
  return reinterpret_cast<titan_plugin_entry_fn>(entry);
}

}  // namespace titan::plugin
