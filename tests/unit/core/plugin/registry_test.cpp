// SPDX-License-Identifier: BSD-3-Clause
// Loading for real: each plugin of tests/abi/plugins is wrong in one way, and
// each way has its own code and words.
#include "core/plugin/registry.h"

#include <filesystem>
#include <string>

#include <link.h>

#include "core/plugin/inspection.h"
#include "tests/unit/core/plugin/test_plugins.h"

namespace titan::plugin::testing {
namespace {

constexpr const char* kKind = "titan.parallel/1";

Caught load_failure(const std::string& path) {
  const TemporaryFolder folder;
  PluginRegistry registry(
      &bare_host(), gather_host_facts(), options_in(folder));
  const Caught caught = catch_user_error([&] { registry.load(path); });
  // All or nothing: a plugin that failed left no trace.
  CHECK(registry.components("").empty());
  return caught;
}

int objects_mapped() {
  int count = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info*, std::size_t, void* out) {
        ++*static_cast<int*>(out);
        return 0;
      },
      &count);
  return count;
}

struct BadPlugin {
  const char* name;
  Code code;
  const char* words;
};

}  // namespace

TEST_CASE("a good plugin loads and its table works", "[unit]") {
  const TemporaryFolder folder;
  PluginRegistry registry(
      &bare_host(), gather_host_facts(), options_in(folder));
  const auto plugin = registry.load(test_plugin("good"));
  CHECK(plugin->name == "test.good");
  CHECK(plugin->version == "1.0.0");
  CHECK(plugin->sha256.size() == 64);

  const Component& component = registry.find(kKind, "test.good.planner");
  CHECK(component.owner == plugin);
  CHECK(component.summary == "Plans nothing.");
  const auto& table = component.as<titan_parallel_table>();
  std::string plan;
  const titan_text_sink sink{
      sizeof sink, 0, &plan, [](void* self, titan_str piece) {
        static_cast<std::string*>(self)->append(piece.data, piece.size);
      }};
  CHECK(table.plan(nullptr, {"{}", 2}, &sink, nullptr) == 0);
  CHECK(plan == "{}");
}

TEST_CASE("many registries of a process share one image of a plugin",
          "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.fresh_copy("good", "good.so");
  const auto open = [&](const titan_host_api& host) {
    PluginRegistry registry(&host, gather_host_facts(), options_in(folder));
    registry.load(path);
    return registry.find(kKind, "test.good.planner");
  };
  const int before = objects_mapped();
  const Component first = open(bare_host());
  CHECK(objects_mapped() == before + 1);
  const Component second = open(bare_host());
  CHECK(objects_mapped() == before + 1);
  CHECK(second.table == first.table);
  CHECK(second.owner != first.owner);
  CHECK(second.owner->sha256 == first.owner->sha256);

  // The entry of an image sees one host table only.
  titan_host_api other = bare_host();
  other.log = [](titan_host*, int32_t, titan_str) {};
  CHECK(open(other).table != first.table);
  CHECK(objects_mapped() == before + 2);
}

// Case PLG-03.
TEST_CASE("every way to be wrong has its own code and words", "[unit]") {
  const auto bad = GENERATE(values<BadPlugin>({
      {"no_note", Code::kNoNote, "expected an ELF note of owner TITAN"},
      {"no_entry", Code::kNoEntry, "titan_plugin_entry_v1"},
      {"newer_major", Code::kAbiMajor, "expected major 1, got 2"},
      {"newer_minor", Code::kAbiMinor, "got 1.99"},
      {"newer_torch", Code::kTorchTooOld, "expected LibTorch >= 9.1.0"},
      {"missing_symbol",
       Code::kMissingSymbol,
       "acme_function_that_nobody_defines"},
      {"undefined_declared",
       Code::kDlopen,
       "undefined symbol: acme_function_that_nobody_defines"},
      {"needs_undeclared", Code::kBadManifest, "libpcre2-8.so.0"},
      {"unstable_symbol", Code::kUnstableSymbol, "_ZN2at5emptyEi"},
      {"registers_ops", Code::kUnstableSymbol, "aoti_torch_library_init_def"},
      {"too_new_shim", Code::kTorchTooOld, "torch_has_storage"},
      {"returns_error", Code::kEntryFailed, "'no licence for acme'"},
      {"throwing", Code::kEntryFailed, "'acme cannot start'"},
      {"null_table", Code::kBadTable, "at null"},
      {"absurd_table", Code::kBadTable, "got 1099511627776"},
      {"crashing", Code::kProbeCrash, "signal 11"},
      {"exiting", Code::kProbeCrash, "an exit with code 0"},
      {"other_table", Code::kDescMismatch, "test.other.planner"},
      {"exec_stack", Code::kHardening, "executable"},
      {"relative_rpath", Code::kHardening, "'lib/here'"},
  }));
  CAPTURE(bad.name);
  const Caught caught = load_failure(test_plugin(bad.name));
  CHECK(caught.code == bad.code);
  CHECK_THAT(caught.text, Catch::Contains(bad.words));
  CHECK_THAT(
      caught.text,
      Catch::StartsWith("[plugin lib" + std::string(bad.name) + ".so] " +
                        std::string(code_info(bad.code).name) + " (" +
                        std::to_string(static_cast<int>(bad.code)) + "): "));
}

TEST_CASE("an entry that never returns is ended by the time limit", "[unit]") {
  const TemporaryFolder folder;
  LoadOptions options = options_in(folder);
  options.probe_timeout = std::chrono::milliseconds(100);
  PluginRegistry registry(&bare_host(), gather_host_facts(), options);
  const Caught caught =
      catch_user_error([&] { registry.load(test_plugin("hanging")); });
  CHECK(caught.code == Code::kEntryTimeout);
  CHECK_THAT(caught.text, Catch::Contains("no answer after 100 ms"));
}

// Case PLG-01.
TEST_CASE("a plugin of another string ABI is refused with both settings",
          "[unit]") {
  const Caught caught = load_failure(test_plugin("other_string"));
  CHECK(caught.code == Code::kStringAbi);
  CHECK_THAT(caught.text, Catch::Contains("_GLIBCXX_USE_CXX11_ABI=1"));
  CHECK_THAT(caught.text, Catch::Contains("_GLIBCXX_USE_CXX11_ABI=0"));
  CHECK_THAT(caught.text, Catch::Contains("g++ 4.8"));

  // The reverse: the same host built the old way, a plugin built the new way.
  const TemporaryFolder folder;
  HostFacts old_host = gather_host_facts();
  old_host.cxx11_abi = 0;
  PluginRegistry registry(&bare_host(), old_host, options_in(folder));
  CHECK(registry.load(test_plugin("other_string"))->name == "test.good");
}

// Case PLG-07.
TEST_CASE("two plugins with the same exported names each see their own",
          "[unit]") {
  const TemporaryFolder folder;
  PluginRegistry registry(
      &bare_host(), gather_host_facts(), options_in(folder));
  const auto call = [](const LoadedPlugin& plugin) {
    return static_cast<const int*>(plugin.get_interface({nullptr, 0}));
  };
  const auto one = registry.load(test_plugin("version_one"));
  const auto two = registry.load(test_plugin("version_two"));
  call(*one);
  const int* of_one = call(*one);
  const int* of_two = call(*two);
  CHECK(of_one[0] == 1);  // int version()
  CHECK(of_two[0] == 2);
  CHECK(of_one[1] == 2);  // static counter, called twice and once
  CHECK(of_two[1] == 1);
  CHECK(of_one[2] == 12);  // exported counters of one name
  CHECK(of_two[2] == 21);
}

TEST_CASE("a pin is the hash that is loaded, or nothing is", "[unit]") {
  const TemporaryFolder folder;
  LoadOptions options = options_in(folder);
  options.is_pin_required = true;
  PluginRegistry registry(&bare_host(), gather_host_facts(), options);
  const std::string path = test_plugin("good");
  CHECK(catch_user_error([&] { registry.load(path); }).code ==
        Code::kNotPinned);
  const std::string wrong(64, '0');
  const Caught caught = catch_user_error([&] { registry.load(path, wrong); });
  CHECK(caught.code == Code::kShaMismatch);
  CHECK_THAT(caught.text, Catch::Contains("expected sha256 " + wrong));

  const std::string right =
      inspect_plugin_file(path, registry.facts(), Trust::kRequired).sha256;
  CHECK(registry.load(path, right)->sha256 == right);

  options.pins["test.good"] = right;
  PluginRegistry locked(&bare_host(), gather_host_facts(), options);
  CHECK(locked.load(path)->sha256 == right);
}

TEST_CASE("the same bytes load once, another file with the id is refused",
          "[unit]") {
  const TemporaryFolder folder;
  PluginRegistry registry(
      &bare_host(), gather_host_facts(), options_in(folder));
  const auto first = registry.load(test_plugin("good"));
  CHECK(registry.load(folder.copy("good", "copy.so")) == first);
  const Caught caught =
      catch_user_error([&] { registry.load(test_plugin("same_id")); });
  CHECK(caught.code == Code::kDuplicateId);
  CHECK_THAT(caught.text,
             Catch::Contains(test_plugin("good")) &&
                 Catch::Contains(test_plugin("same_id")));
  CHECK(registry.find(kKind, "test.good.planner").owner == first);
}

TEST_CASE("a good probe is remembered, a build's own plugins need none",
          "[unit]") {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  HostFacts facts = gather_host_facts();
  facts.build_id = "of-this-test";
  PluginRegistry registry(&bare_host(), facts, options_in(folder));
  const std::string probed =
      registry.load(folder.fresh_copy("good", "good.so"))->sha256;
  CHECK(fs::exists(folder.file("probed/" + probed + "-of-this-test")));

  fs::remove_all(folder.file("probed"));
  const std::string own =
      folder.fresh_copy("good", "prefix/plugins/libgood.so");
  const std::string sha256 =
      inspect_plugin_file(own, facts, Trust::kRequired).sha256;
  folder.write("prefix/plugins/manifest.json",
               "{\"libgood.so\": \"" + sha256 + "\"}");
  SearchOptions search;
  search.use_environment = false;
  search.executable = folder.file("prefix/bin/titan");
  PluginRegistry built(&bare_host(), facts, options_in(folder));
  built.load_all(search);
  CHECK(built.find(kKind, "test.good.planner").owner->level == Level::kBuiltIn);
  CHECK_FALSE(fs::exists(folder.file("probed")));
}

TEST_CASE("a plugin staged in a folder is mapped from there", "[unit]") {
  const TemporaryFolder folder;
  LoadOptions options = options_in(folder);
  options.stage_folder = folder.path();
  PluginRegistry registry(&bare_host(), gather_host_facts(), options);
  const auto plugin = registry.load(folder.fresh_copy("good", "good.so"));
  int num_staged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    num_staged += entry.path().filename().string().starts_with(plugin->sha256);
  CHECK(num_staged == 1);
}

TEST_CASE("one bad plugin of a folder does not keep the others out", "[unit]") {
  const TemporaryFolder folder;
  folder.copy("crashing", "search/a.so");
  folder.copy("version_one", "search/b.so");
  folder.copy("no_note", "search/c.so");
  SearchOptions search;
  search.use_environment = false;
  search.executable = folder.file("prefix/bin/titan");
  search.folders = {folder.file("search")};
  PluginRegistry registry(
      &bare_host(), gather_host_facts(), options_in(folder));
  registry.load_all(search);
  const auto plugins = registry.list();
  REQUIRE(plugins.size() == 3);
  CHECK(plugins[0].code == static_cast<int>(Code::kProbeCrash));
  CHECK(plugins[1].state == State::kLoaded);
  CHECK(plugins[2].code == static_cast<int>(Code::kNoNote));
}

// Each of these passes inspection and fails later: in its probe, at mapping.
TEST_CASE("a plugin asked for by path that fails late stops the start",
          "[unit]") {
  const auto [name, code] = GENERATE(
      table<const char*, Code>({{"crashing", Code::kProbeCrash},
                                {"undefined_declared", Code::kDlopen},
                                {"returns_error", Code::kEntryFailed}}));
  CAPTURE(name);
  const TemporaryFolder folder;
  SearchOptions search;
  search.use_environment = false;
  search.executable = folder.file("prefix/bin/titan");
  search.files = {test_plugin(name)};
  PluginRegistry registry(
      &bare_host(), gather_host_facts(), options_in(folder));
  CHECK(catch_user_error([&] { registry.load_all(search); }).code == code);
}

TEST_CASE("a probe works in a process with many open files", "[unit]") {
  std::vector<std::ifstream> files;
  for (int i = 0; i < 1100; ++i) files.emplace_back("/dev/null");
  if (!files.back().is_open()) {
    WARN("SKIPPED: needs 1100 descriptors");
    return;
  }
  const TemporaryFolder folder;
  PluginRegistry registry(
      &bare_host(), gather_host_facts(), options_in(folder));
  CHECK_NOTHROW(registry.load(test_plugin("good")));
}

}  // namespace titan::plugin::testing
