// SPDX-License-Identifier: BSD-3-Clause
// Owns a thread, a thread_local with a destructor and a static object with one:
// everything that crashes a process which unmaps its plugins.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "planner.h"

MANIFEST_NOTE(MANIFEST("test.threaded", "test.threaded.planner", 1, 0, 0, ""));
COMPONENT("test.threaded.planner");

namespace {

struct Owner {
  std::string words = std::string(100, 'x');
  ~Owner() { words.clear(); }
};

Owner global;
thread_local Owner per_thread;
std::atomic<int> num_beats{0};

const void* start_thread(titan_str) {
  std::thread([] {
    for (;;) {
      num_beats += static_cast<int>(per_thread.words.size());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }).detach();
  return &num_beats;
}

}  // namespace

extern "C" EXPORT int32_t titan_plugin_entry_v1(const titan_host_api*,
                                                titan_plugin* out,
                                                titan_error*) {
  FILL(out, "test.threaded");
  per_thread.words += global.words.substr(0, 1);
  out->get_interface = start_thread;
  return 0;
}
