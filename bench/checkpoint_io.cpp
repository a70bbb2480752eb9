// SPDX-License-Identifier: BSD-3-Clause
// Saves and loads a state of so many bytes, one operation per line of standard
// input, seconds on standard output: checkpoint_io.py alternates it with
// torch.save, safetensors and DCP in one run. Nothing is removed in between:
// a file system mounted with `discard` makes the next fsync wait for it.
//   raw    write() of the same bytes into one file, fsync
//   save   a checkpoint: checksums, fsync, manifest, rename
//   async  the same in the background, the copy waited for: "<blocked> <total>"
//   behind the same behind 0.2 s of a step that only reads: "<blocked> <total>"
//   load   every tensor of the last checkpoint into memory
//   verify load after reading every checksum
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <fcntl.h>   // open
#include <unistd.h>  // fsync

#include <titan/error.h>

#include "core/checkpoint/checkpoint_reader.h"
#include "core/checkpoint/checkpoint_saver.h"
#include "core/checkpoint/checkpoint_writer.h"

namespace {

namespace fs = std::filesystem;
using namespace titan::checkpoint;
using Clock = std::chrono::steady_clock;

// As many as peer_io.py has.
constexpr std::int64_t kNumTensors = 16;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Bench {
 public:
  Bench(fs::path folder, std::int64_t size_bytes)
      : folder_(std::move(folder)), saver_(files_, {.is_async = true}) {
    const auto count = static_cast<std::size_t>(size_bytes / kNumTensors / 4);
    for (std::int64_t i = 0; i < kNumTensors; ++i) {
      tensors_.emplace_back(count);
      for (std::size_t j = 0; j < count; ++j)
        tensors_.back()[j] =
            static_cast<float>(j % 9973) + static_cast<float>(i);
    }
    loaded_ = tensors_;
    prepare_folder(files_, folder_);
  }

  std::string run(const std::string& operation) {
    if (operation == "raw") return write_raw();
    if (operation == "save") return save();
    if (operation == "async") return save_async(0);
    if (operation == "behind") return save_async(0.2);
    if (operation == "load") return load(Verification::kSizes);
    if (operation == "verify") return load(Verification::kChecksums);
    throw titan::UserError(
        "[bench] operation: expected raw, save, async, behind, load or "
        "verify, got " +
        operation);
  }

 private:
  static std::string name_of(std::size_t i) {
    return titan::text("layers.", i, ".w");
  }

  CheckpointWriter make_writer(std::int64_t step) {
    CheckpointWriter writer(files_, {folder_, step});
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      writer.add_tensor("model",
                        {{name_of(i),
                          Dtype::kF32,
                          {static_cast<std::int64_t>(tensors_[i].size())}},
                         borrow_bytes(std::as_bytes(std::span(tensors_[i])))});
    return writer;
  }

  std::string write_raw() {
    const fs::path path = folder_ / titan::text("raw_", ++num_raw_);
    const auto start = Clock::now();
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    for (const auto& tensor : tensors_) {
      auto bytes = std::as_bytes(std::span(tensor));
      while (!bytes.empty()) {
        const ssize_t count = ::write(file, bytes.data(), bytes.size());
        if (count <= 0) throw titan::DeviceError("[bench] write");
        bytes = bytes.subspan(static_cast<std::size_t>(count));
      }
    }
    if (::fsync(file) != 0) throw titan::DeviceError("[bench] fsync");
    ::close(file);
    return titan::text(seconds_since(start));
  }

  std::string save() {
    const auto start = Clock::now();
    last_ = make_writer(++step_).commit({});
    return titan::text(seconds_since(start));
  }

  std::string save_async(double step_seconds) {
    saver_.start(make_writer(++step_), {});
    const auto start = Clock::now();
    float sum = 0;
    while (seconds_since(start) < step_seconds)
      for (const float value : std::span(loaded_.front()).first(100'000))
        sum += value;
    is_sum_used_ = sum != 0;
    saver_.wait_until_copied();
    saver_.wait();
    const auto outcome = saver_.poll();
    last_ = outcome->path;
    return titan::text(outcome->blocked_seconds, ' ', outcome->total_seconds);
  }

  std::string load(Verification verification) {
    const auto start = Clock::now();
    const CheckpointReader reader(last_, verification);
    for (std::size_t i = 0; i < loaded_.size(); ++i)
      reader.read("model",
                  name_of(i),
                  {{0}, {static_cast<std::int64_t>(loaded_[i].size())}},
                  std::as_writable_bytes(std::span(loaded_[i])));
    const double seconds = seconds_since(start);
    if (loaded_ != tensors_)
      throw titan::DeviceError("[bench] what was loaded is not what was saved");
    return titan::text(seconds);
  }

  FileSystem& files_ = real_file_system();
  fs::path folder_;
  CheckpointSaver saver_;
  std::vector<std::vector<float>> tensors_;
  std::vector<std::vector<float>> loaded_;
  std::int64_t step_ = 0;
  int num_raw_ = 0;
  volatile bool is_sum_used_ = false;  // so that the step is not left out
  fs::path last_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: bench_checkpoint_io FOLDER BYTES < operations\n";
    return 2;
  }
  try {
    Bench bench(argv[1], std::atoll(argv[2]));
    std::cout << "ready" << std::endl;
    for (std::string operation; std::getline(std::cin, operation);)
      std::cout << bench.run(operation) << std::endl;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 70;
  }
  return 0;
}
