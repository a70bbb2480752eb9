// SPDX-License-Identifier: BSD-3-Clause
// load_and_exit MODE CACHE_FOLDER PLUGIN...: loads every plugin 100 times, each
// time into a new registry, so 100 images of each are mapped; starts the
// threads that they own; then leaves the process as MODE says (normal, exit,
// exception, term). The exit code must be that of the work, whatever plugins
// left behind.
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include <unistd.h>

#include "core/plugin/registry.h"

namespace {

constexpr int kNumLoads = 100;
constexpr int kExitException = 70;
constexpr int kExitTerm = 143;

volatile std::sig_atomic_t was_asked_to_stop = 0;

void load_everything(int argc, char** argv) {
  static const titan_host_api host{};
  titan::plugin::LoadOptions options;
  options.probe_cache_folder = argv[2];
  for (int i = 0; i < kNumLoads; ++i) {
    titan::plugin::PluginRegistry registry(
        &host, titan::plugin::gather_host_facts(), options);
    for (int k = 3; k < argc; ++k) {
      const auto plugin = registry.load(argv[k]);
      if (i == 0 && plugin->get_interface) plugin->get_interface({nullptr, 0});
    }
  }
}

int leave(std::string_view mode) {
  if (mode == "exit") std::exit(3);
  if (mode == "exception") throw std::runtime_error("the work failed");
  if (mode != "term") return 0;
  ::kill(::getpid(), SIGTERM);
  while (!was_asked_to_stop) ::pause();
  return kExitTerm;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGTERM, [](int) { was_asked_to_stop = 1; });
  try {
    load_everything(argc, argv);
    return leave(argv[1]);
  } catch (const std::runtime_error&) {
    return kExitException;
  }
}
