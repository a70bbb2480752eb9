// SPDX-License-Identifier: BSD-3-Clause
// `titan train` with its checkpoints in moto's S3, which others wrote: parts,
// lists and ranges as they are understood elsewhere. Skipped without moto
// (pip install 'moto[server]').
#include <cstdlib>
#include <iostream>
#include <thread>

#include <catch2/catch.hpp>
#include <fcntl.h>  // O_WRONLY
#include <httplib.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>  // close

#include "tests/integration/storage/bucket_run.h"

extern char** environ;

using namespace titan::integration;

namespace {

// One that nobody has at the moment.
int free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(probe, generic, size) == 0);
  REQUIRE(::getsockname(probe, generic, &size) == 0);
  ::close(probe);
  return ntohs(address.sin_port);
}

// moto_server on a port of its own; none when it is not installed.
class MotoServer {
 public:
  MotoServer() {
    port_ = free_port();
    std::string port = std::to_string(port_);
    const char* given = std::getenv("TITAN_MOTO_SERVER");
    std::string program = given != nullptr ? given : "moto_server";
    char* words[] = {program.data(),
                     const_cast<char*>("-H"),
                     const_cast<char*>("127.0.0.1"),
                     const_cast<char*>("-p"),
                     port.data(),
                     nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (::posix_spawnp(
            &child_, program.c_str(), &actions, nullptr, words, environ) != 0)
      child_ = -1;
    posix_spawn_file_actions_destroy(&actions);
  }
  ~MotoServer() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  // Makes the bucket once the server answers; false when it never does.
  bool make_bucket() const {
    if (child_ <= 0) return false;
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline) {
      if (::waitpid(child_, nullptr, WNOHANG) != 0) return false;
      httplib::Client client("127.0.0.1", port_);
      const auto answer = client.Put("/bucket", "", "text/plain");
      if (answer && answer->status == 200) return true;
      std::this_thread::yield();
    }
    return false;
  }
  std::string endpoint() const {
    return "http://127.0.0.1:" + std::to_string(port_);
  }

 private:
  int port_ = 0;
  pid_t child_ = -1;
};

}  // namespace

TEST_CASE("a run saves into moto's S3 and resumes from it", "[integration]") {
  const MotoServer moto;
  if (!moto.make_bucket()) {
    std::cout << "SKIPPED: moto_server is not installed\n";
    return;
  }
  const TinyRun plain;
  // 13 MB a file: three parts.
  const Settings large = {"model.config.hidden_dim=16384",
                          "checkpoint.storage.config.part_mib=5"};
  const BucketRun bucket(moto.endpoint());
  Settings settings = large;
  settings.insert(settings.end(),
                  {"training.steps=4",
                   "checkpoint.interval=1",
                   "checkpoint.keep=2",
                   "checkpoint.async=true"});
  const Finished first = bucket.train(settings);
  INFO(first.err);
  REQUIRE(first.exit_code == 0);
  settings.emplace_back("training.steps=6");
  const Finished rest = bucket.train(settings);
  INFO(rest.err);
  CHECK(rest.exit_code == 0);
  CHECK(rest.err.find("resumed from /ckpt/step_00000004 at step 4") !=
        std::string::npos);
  const Finished whole =
      plain.train({"model.config.hidden_dim=16384", "training.steps=6"});
  CHECK(whole.exit_code == 0);
}
