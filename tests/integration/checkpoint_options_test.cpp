// SPDX-License-Identifier: BSD-3-Clause
// The recipe's checkpoint section on the whole program: saves in the
// background, what they hold, which stay, what a failure looks like.
#include <cstdlib>

#include <catch2/catch.hpp>
#include <signal.h>
#include <sys/resource.h>  // setrlimit
#include <sys/wait.h>      // WEXITSTATUS

#include "core/checkpoint/checkpoint_reader.h"
#include "core/checkpoint/safetensors_folder.h"
#include "tests/integration/tiny_run.h"

using namespace titan::integration;
namespace ckpt = titan::checkpoint;

namespace fs = std::filesystem;

namespace {

// A quota on the size of files for this process and its children: a write
// beyond it fails as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t size_bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {size_bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_ = {};
};

}  // namespace

TEST_CASE("saves in the background hold the same bytes", "[integration]") {
  const TinyRun run;
  const TinyRun other;
  const Settings often = {"checkpoint.interval=1"};
  Settings background = often;
  background.emplace_back("checkpoint.async=true");
  const Finished plain = run.train(often);
  const Finished async = other.train(background);
  INFO(async.err);
  REQUIRE(plain.exit_code == 0);
  REQUIRE(async.exit_code == 0);
  CHECK(says(async, "ms, training waited "));
  REQUIRE(steps_in(other.checkpoints()).size() == 12);
  // Case CKP-05: step N's file has the values of step N.
  for (const std::int64_t step : steps_in(other.checkpoints()))
    CHECK(state_files(other.checkpoint(step)) ==
          state_files(run.checkpoint(step)));
  const std::string metrics = get_file(other.run() / "metrics.jsonl");
  CHECK(metrics.find("\"checkpoint_blocked_s\":") != std::string::npos);
  CHECK(metrics.find("\"checkpoint_step\":12") != std::string::npos);
  // And a resumed run goes on to the same end.
  other.cut_after(7);
  CHECK(other.train(background).out == plain.out);
  CHECK(state_files(other.checkpoint(12)) == state_files(run.checkpoint(12)));
}

// Case CKP-05.
TEST_CASE("a background write that fails ends the run with its reason",
          "[integration]") {
  const TinyRun run;
  // Files of 13 MB: the limit lets plugins be staged, which are smaller even
  // under a sanitizer.
  const Settings large = {"model.config.hidden_dim=16384"};
  Settings first = large;
  first.emplace_back("training.steps=4");
  REQUIRE(run.train(first).exit_code == 0);
  const auto before = state_files(run.checkpoint(4));
  for (const char* interval : {"1", "12"}) {  // 12: the last save of the run
    const FileSizeLimit limit(12 << 20);
    Settings settings = large;
    settings.insert(settings.end(),
                    {"checkpoint.async=true",
                     std::string("checkpoint.interval=") + interval});
    const Finished result = run.train(settings);
    INFO(result.err);
    CHECK(result.exit_code == 75);
    CHECK(says(result, "write: expected success, got File too large"));
    CHECK(says(result, "written in the background"));
    CHECK_FALSE(says(result, "saved "));
    CHECK(result.out.empty());
  }
  CHECK(steps_in(run.checkpoints()) == std::vector<std::int64_t>{4});
  CHECK(state_files(run.checkpoint(4)) == before);
}

// Case CKP-05: a file in the way, and places that take none.
TEST_CASE("a folder that cannot be made ends the run with exit code 2",
          "[integration]") {
  const TinyRun run;
  for (const char* folder : {"/dev/full/checkpoints", "/proc/checkpoints"}) {
    const Finished result =
        run.train({"checkpoint.async=true",
                   "checkpoint.interval=1",
                   std::string("checkpoint.folder=") + folder});
    INFO(result.err);
    CHECK(result.exit_code == 2);
    CHECK(says(result, std::string("[checkpoint ") + folder + "] "));
    CHECK(result.out.empty());
  }
}

// Case CKP-05: a file system of 1.5 MB fills up after three saves, and one that
// is mounted read-only takes none. In a namespace, where nobody needs rights.
TEST_CASE("a full or read-only file system keeps what was saved before",
          "[integration]") {
  const TinyRun run;
  const fs::path disk = run.folder() / "disk";
  const std::string log = (run.folder() / "log").string();
  fs::create_directory(disk);
  // The exit code of a run on a disk mounted so, then its checkpoints.
  const auto run_on = [&](const std::string& mount_options) {
    std::string command = "unshare -rm sh -c 'mount -t tmpfs -o " +
                          mount_options + " none " + disk.string() +
                          " || exit 99; " TITAN_BINARY;
    for (const std::string& word :
         run.words({"checkpoint.async=true",
                    "checkpoint.interval=1",
                    "checkpoint.folder=" + (disk / "c").string()}))
      command += " \"" + word + '"';
    command += "; code=$?; " TITAN_BINARY " checkpoint verify " +
               (disk / "c").string() + "; exit $code' >" + log + " 2>&1";
    const int status = std::system(command.c_str());
    return WEXITSTATUS(status);
  };
  const int code = run_on("size=1500k");
  const std::string said = get_file(log);
  INFO(said);
  if (code == 99 || said.find("unshare failed") != std::string::npos) {
    WARN("not tried: no namespace to mount a small disk in");
    return;
  }
  CHECK(code == 75);
  CHECK(said.find("got No space left on device") != std::string::npos);
  CHECK(said.find("step_00000003: good") != std::string::npos);
  CHECK(said.find("step_00000004: good") == std::string::npos);
  CHECK(run_on("ro") == 2);
  CHECK(get_file(log).find("got Read-only file system") != std::string::npos);
}

TEST_CASE("SIGTERM waits for the save in the background", "[integration]") {
  const TinyRun run;
  TitanProcess process(run.words({"training.steps=100000",
                                  "schedule.decay=none",
                                  "checkpoint.async=true",
                                  "checkpoint.interval=3"}));
  REQUIRE(process.wait_for_log("saved "));
  process.send(SIGTERM);
  const Finished stopped = process.finish();
  INFO(stopped.err);
  CHECK(stopped.exit_code == 143);
  const auto steps = steps_in(run.checkpoints());
  REQUIRE_FALSE(steps.empty());
  CHECK_NOTHROW(ckpt::verify_checkpoint(run.checkpoint(steps.back()),
                                        ckpt::Verification::kChecksums));
  // Nothing half-written is left.
  for (const auto& entry : fs::directory_iterator(run.checkpoints()))
    CHECK(entry.path().filename().string().front() != '.');
}

// Case CKP-07.
TEST_CASE("the newest k complete checkpoints stay, whatever else lies there",
          "[integration]") {
  for (const int keep : {0, 1, 2}) {
    const TinyRun run;
    const fs::path folder = run.folder() / "not" / "there" / "yet";
    const auto steps_of = [&] { return steps_in(folder); };
    const Settings settings = {"checkpoint.keep=" + std::to_string(keep),
                               "checkpoint.interval=1",
                               "checkpoint.async=true",
                               "parallel.dp_shard=2",
                               "training.steps=3",
                               "checkpoint.folder=" + folder.string()};
    REQUIRE(run.train(settings, {"--sim-ranks", "2"}).exit_code == 0);
    put_file(folder / "notes.txt", "mine");
    fs::create_directory(folder / "step-x");
    Settings more = settings;
    more.emplace_back("training.steps=6");
    const Finished rest = run.train(more, {"--sim-ranks", "2"});
    INFO(rest.err);
    CHECK(rest.exit_code == 0);
    CHECK(says(rest, "at step 3"));
    const std::vector<std::vector<std::int64_t>> expected = {
        {1, 2, 3, 4, 5, 6}, {6}, {5, 6}};
    CHECK(steps_of() == expected[static_cast<size_t>(keep)]);
    CHECK(get_file(folder / "notes.txt") == "mine");
    CHECK(fs::exists(folder / "step-x"));
    CHECK(fs::exists(folder / "step_00000006" / "model-rank1.safetensors"));
  }
}

TEST_CASE("keep_every leaves milestones, at_start leaves step 0",
          "[integration]") {
  const TinyRun run;
  const Finished result = run.train({"checkpoint.interval=1",
                                     "checkpoint.keep=1",
                                     "checkpoint.keep_every=5",
                                     "checkpoint.at_start=true"});
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK(steps_in(run.checkpoints()) == std::vector<std::int64_t>{0, 5, 10, 12});
}

TEST_CASE("a seed checkpoint starts another layout with the same bits",
          "[integration]") {
  const TinyRun run;
  REQUIRE(run.train({"checkpoint.at_start=true"}).exit_code == 0);
  const TinyRun two;
  const Finished result =
      two.train({"parallel.dp_shard=2",
                 "checkpoint.at_start=true",
                 "checkpoint.initial=" + run.checkpoint(0).string()},
                {"--sim-ranks", "2"});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const ckpt::CheckpointReader a(run.checkpoint(0));
  const ckpt::CheckpointReader b(two.checkpoint(0));
  for (const ckpt::TensorRecord& tensor : a.manifest().tensors) {
    const auto bytes_of_tensor = [&](const ckpt::CheckpointReader& reader) {
      std::vector<std::byte> bytes(static_cast<size_t>(
          *ckpt::tensor_size_bytes(tensor.dtype, tensor.shape)));
      reader.read(
          tensor.role, tensor.name, ckpt::whole_region(tensor.shape), bytes);
      return bytes;
    };
    CHECK(bytes_of_tensor(a) == bytes_of_tensor(b));
  }
}

// Case CKP-11.
TEST_CASE("a save of the model only starts runs and resumes none",
          "[integration]") {
  const TinyRun run;
  const Settings model_only = {"checkpoint.content=model",
                               "checkpoint.dtype=bf16",
                               "checkpoint.export_hf=true"};
  const Finished saved = run.train(model_only);
  INFO(saved.err);
  REQUIRE(saved.exit_code == 0);
  const ckpt::CheckpointReader reader(run.checkpoint(12));
  for (const ckpt::TensorRecord& tensor : reader.manifest().tensors) {
    CHECK(tensor.role == "model");
    CHECK(tensor.dtype == ckpt::Dtype::kBf16);
  }
  const ckpt::SafetensorsFolder exported(run.run() / "hf");
  for (const ckpt::TensorView* tensor : exported.tensors())
    CHECK(tensor->dtype == ckpt::Dtype::kBf16);

  const Finished resumed = run.train({"training.steps=20"});
  INFO(resumed.err);
  CHECK(resumed.exit_code == 2);
  CHECK(says(resumed, "expected model and optimizer, got the model only"));
  CHECK(says(resumed, "--from " + run.checkpoint(12).string()));

  const TinyRun next;
  const Finished started =
      next.train({"checkpoint.initial=" + run.checkpoint(12).string()});
  INFO(started.err);
  CHECK(started.exit_code == 0);
  CHECK(says(started, "weights from " + run.checkpoint(12).string()));
}

TEST_CASE("checkpoint.dtype without a use is refused", "[integration]") {
  const TinyRun run;
  const Finished result = run.train({"checkpoint.dtype=bf16"});
  INFO(result.err);
  CHECK(result.exit_code == 2);
  CHECK(says(result, "[checkpoint.dtype] expected checkpoint.content: model"));
}

// Case CKP-11.
TEST_CASE("the log says which source was loaded when there are two",
          "[integration]") {
  const TinyRun source;
  REQUIRE(source.train({"training.steps=4"}).exit_code == 0);
  const TinyRun run;
  const Settings both = {"checkpoint.initial=" + source.checkpoint(4).string()};
  REQUIRE(run.train(both).exit_code == 0);
  Settings longer = both;
  longer.emplace_back("training.steps=16");
  const Finished rest = run.train(longer);
  INFO(rest.err);
  CHECK(says(rest, "resumed from " + run.checkpoint(12).string()));
  CHECK_FALSE(says(rest, "weights from"));
}

TEST_CASE("a damaged checkpoint that is named is an error", "[integration]") {
  const TinyRun run;
  REQUIRE(run.train({}).exit_code == 0);
  const fs::path file = run.checkpoint(12) / "model-rank0.safetensors";
  std::string content = get_file(file);
  content[content.size() - 5] ^= 1;
  put_file(file, content);
  for (const char* option : {"--resume", "--from"}) {
    const Finished result =
        run.train({"training.steps=16"}, {option, run.checkpoint(12).string()});
    INFO(result.err);
    // --from where the folder has checkpoints: nothing is resumed, but asked.
    CHECK(result.exit_code == 2);
    CHECK(says(result, "step_00000012/model-rank0.safetensors"));
    CHECK(says(result, "file is damaged: expected checksum"));
    fs::remove_all(run.checkpoint(4));
    fs::remove_all(run.checkpoint(8));
  }
}
