// SPDX-License-Identifier: BSD-3-Clause
// Where plugins come from, and who wins when two files give one id.
#include "core/plugin/search.h"

#include <algorithm>

#include "tests/unit/core/plugin/test_plugins.h"

namespace titan::plugin::testing {
namespace {

namespace fs = std::filesystem;

/// Sets an environment variable for the life of the object.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { ::setenv(name_, old_.c_str(), 1); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::string old_;
};

/// Nothing of the real machine: HOME and the executable are in the folder.
struct Machine {
  TemporaryFolder folder;
  Environment home{"HOME", folder.file("home")};
  Environment path{"TITAN_PLUGIN_PATH", ""};
  SearchOptions options = [this] {
    SearchOptions out;
    out.executable = folder.file("prefix/bin/titan");
    return out;
  }();

  PluginStatus status_of(const PluginRegistry& registry,
                         const std::string& file) const {
    for (const PluginStatus& status : registry.list())
      if (status.path == folder.file(file)) return status;
    FAIL("not listed: " << file);
    return {};
  }
};

std::vector<std::string> names(const SearchResult& result) {
  std::vector<std::string> out;
  for (const FoundFile& file : result.files)
    out.push_back(fs::path(file.path).filename());
  return out;
}

}  // namespace

// Case PLG-04.
TEST_CASE("search goes from the explicit path to the built-in folders",
          "[unit]") {
  const Machine machine;
  const TemporaryFolder& folder = machine.folder;
  folder.copy("good", "prefix/plugins/f.so");
  folder.copy("good", "prefix/lib/titan/plugins/e.so");
  folder.copy("good", "home/.local/lib/titan/plugins/1/d.so");
  folder.copy("good", "environment/c.so");
  folder.copy("good", "recipe/b2.so");
  folder.copy("good", "recipe/b1.so");
  folder.write("recipe/.hidden.so", "x");
  folder.write("recipe/notes.txt", "x");
  const Environment path("TITAN_PLUGIN_PATH",
                         folder.file("environment") + "::relative");
  SearchOptions options = machine.options;
  options.relative_to = folder.path();
  options.folders = {"recipe", folder.file("absent")};
  options.files = {"./a.so"};
  const SearchResult result = search_plugins(options);
  CHECK(names(result) ==
        std::vector<std::string>{
            "a.so", "b1.so", "b2.so", "c.so", "d.so", "e.so", "f.so"});
  REQUIRE(result.folders.size() == 7);
  CHECK(result.folders[1].problem == "does not exist");
  CHECK_THAT(result.folders[3].problem,
             Catch::Contains("the working directory is never searched"));

  options.is_built_ins_only = true;
  options.files.clear();
  CHECK(names(search_plugins(options)) ==
        std::vector<std::string>{"e.so", "f.so"});
}

// Case PLG-04.
TEST_CASE("search takes no bare name and nothing relative to nowhere",
          "[unit]") {
  const Machine machine;
  SearchOptions options = machine.options;
  options.files = {"libgood.so"};
  Caught caught = catch_user_error([&] { search_plugins(options); });
  CHECK(caught.code == Code::kNotFound);
  CHECK_THAT(caught.text, Catch::Contains("bare names are not searched"));
  options.files = {"./libgood.so"};
  caught = catch_user_error([&] { search_plugins(options); });
  CHECK(caught.code == Code::kNotFound);
}

// Case PLG-04.
TEST_CASE("two files of one level with one id are ambiguous, both are named",
          "[unit]") {
  const Machine machine;
  const std::string one = machine.folder.copy("good", "one/a.so");
  const std::string two = machine.folder.copy("same_id", "two/b.so");
  SearchOptions options = machine.options;
  options.folders = {machine.folder.file("one"), machine.folder.file("two")};
  PluginRegistry registry(
      &bare_host(), gather_host_facts(), options_in(machine.folder));
  registry.load_all(options);
  for (const char* file : {"one/a.so", "two/b.so"}) {
    const PluginStatus status = machine.status_of(registry, file);
    CHECK(status.code == static_cast<int>(Code::kAmbiguous));
    CHECK_THAT(status.reason, Catch::Contains(one) && Catch::Contains(two));
  }
  CHECK(registry.components("").empty());
  const Caught caught = catch_user_error(
      [&] { registry.find("titan.parallel/1", "test.good.planner"); });
  CHECK_THAT(caught.text, Catch::Contains("AMBIGUOUS (102)"));

  // Naming one of them settles it.
  options.files = {two};
  registry.load_all(options);
  CHECK(registry.find("titan.parallel/1", "test.good.planner").owner->path ==
        two);
}

TEST_CASE("an earlier folder shadows a later one and says so", "[unit]") {
  const Machine machine;
  machine.folder.copy("good", "recipe/a.so");
  machine.folder.copy("same_id", "environment/b.so");
  fs::create_symlink("a.so", machine.folder.file("recipe/link.so"));
  const Environment path("TITAN_PLUGIN_PATH",
                         machine.folder.file("environment"));
  SearchOptions options = machine.options;
  options.folders = {machine.folder.file("recipe")};
  PluginRegistry registry(
      &bare_host(), gather_host_facts(), options_in(machine.folder));
  registry.load_all(options);
  CHECK(machine.status_of(registry, "recipe/a.so").state == State::kLoaded);
  const PluginStatus hidden = machine.status_of(registry, "environment/b.so");
  CHECK(hidden.state == State::kShadowed);
  CHECK_THAT(hidden.reason, Catch::Contains("recipe/a.so (plugins.search)"));
  const PluginStatus link = machine.status_of(registry, "recipe/link.so");
  CHECK_THAT(link.reason, Catch::StartsWith("same bytes as"));
  CHECK(link.real_path == machine.folder.file("recipe/a.so"));
}

TEST_CASE("a plugin found by search may not take a built-in's id", "[unit]") {
  const Machine machine;
  const std::string mine = machine.folder.copy("same_id", "recipe/a.so");
  machine.folder.copy("good", "prefix/plugins/b.so");
  SearchOptions options = machine.options;
  options.folders = {machine.folder.file("recipe")};
  PluginRegistry searched(
      &bare_host(), gather_host_facts(), options_in(machine.folder));
  searched.scan(options);
  CHECK(machine.status_of(searched, "recipe/a.so").code ==
        static_cast<int>(Code::kDuplicateId));
  CHECK(machine.status_of(searched, "prefix/plugins/b.so").state ==
        State::kAvailable);

  options.files = {mine};
  options.folders.clear();
  PluginRegistry asked(
      &bare_host(), gather_host_facts(), options_in(machine.folder));
  asked.scan(options);
  CHECK(machine.status_of(asked, "recipe/a.so").state == State::kAvailable);
  CHECK(machine.status_of(asked, "prefix/plugins/b.so").state ==
        State::kShadowed);
}

// Case PLG-04.
TEST_CASE("an id that is not loaded comes with the file that has it",
          "[unit]") {
  const Machine machine;
  const std::string path = machine.folder.copy("good", "recipe/a.so");
  SearchOptions options = machine.options;
  options.folders = {machine.folder.file("recipe")};
  PluginRegistry registry(
      &bare_host(), gather_host_facts(), options_in(machine.folder));
  registry.scan(options);
  const auto text_for = [&](const char* kind, const char* id) {
    return catch_user_error([&] { registry.find(kind, id); }).text;
  };
  CHECK_THAT(text_for("titan.parallel/1", "test.good.planner"),
             Catch::Contains(path) &&
                 Catch::Contains("Add that path to plugins.load"));
  CHECK_THAT(text_for("titan.parallel/1", "test.good.plannr"),
             Catch::Contains("Did you mean 'test.good.planner'?"));
  CHECK_THAT(text_for("titan.model/1", "titan.llama3"),
             Catch::Contains("no plugin provides this kind") &&
                 Catch::Contains(machine.folder.file("recipe")));
  CHECK(registry.require("titan.parallel/1", "test.good.planner").owner->path ==
        path);
}

}  // namespace titan::plugin::testing
