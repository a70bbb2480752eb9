// SPDX-License-Identifier: BSD-3-Clause
// Legend: B sequences of S tokens. A row of --tokens has S + 1: inputs and, one
// further, labels.
#include "core/train/benchmark.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>

#include <ATen/ATen.h>
#include <time.h>
#include <unistd.h>

#include <titan/error.h>

#include "core/checkpoint/safetensors.h"
#include "core/observe/memory.h"
#include "core/op/kernel_timing.h"
#include "core/train/assemble.h"
#include "core/train/first_values.h"
#include "core/train/npy.h"
#include "core/train/run_settings.h"
#include "core/train/step.h"
#include "core/train/tensor_bytes.h"

namespace titan::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Age of this process by the kernel's clock, so that loading libraries counts.
double process_age_s() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  // After the command's ')', field 3 follows; starttime is field 22.
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string word;
  for (int i = 3; i <= 22; ++i) fields >> word;
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const double uptime =
      static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  return uptime - std::stod(word) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void replace_all(std::string& text,
                 const std::string& from,
                 const std::string& to) {
  if (const size_t at = text.find(from); at != std::string::npos)
    text.replace(at, from.size(), to);
}

// TorchTitan before its fused projection module and ours.
std::string name_in_peer(std::string fqn) {
  replace_all(fqn, "lm_head.weight", "output.weight");
  replace_all(fqn, ".qkv_linear.", ".");
  return fqn;
}

void load_init(Training& training, const std::filesystem::path& path) {
  const checkpoint::SafetensorsFile file(path);
  std::map<std::string, at::Tensor> tensors;
  for (const checkpoint::TensorView& view : file.tensors())
    tensors[view.name] = tensor_of(view);
  for (const parallel::LocalPart& part : training.engine->parts()) {
    const std::string name = name_in_peer(part.parameter->fqn);
    const auto found = tensors.find(name);
    TITAN_USER_CHECK(found != tensors.end(),
                     "[",
                     path.string(),
                     "] tensor: expected '",
                     name,
                     "', got none");
    TITAN_USER_CHECK(
        found->second.sizes() == at::IntArrayRef(part.parameter->shape),
        "[",
        path.string(),
        "] ",
        name,
        " shape: expected ",
        part.parameter->shape,
        ", got ",
        found->second.sizes());
    training.engine->scatter(
        part, found->second, training.engine->master(part));
    tensors.erase(found);
  }
  TITAN_USER_CHECK(tensors.empty(),
                   "[",
                   path.string(),
                   "] expected the model's tensors only, got also '",
                   tensors.empty() ? "" : tensors.begin()->first,
                   "'");
  training.engine->invalidate();
}

Microbatch microbatch_of(const int32_t* rows_BS1, int64_t count, int64_t len) {
  Microbatch batch;
  for (int64_t row = 0; row < count; ++row) {
    const int32_t* tokens = rows_BS1 + row * (len + 1);
    batch.cu_seqlens.push_back(static_cast<int32_t>(row * len));
    for (int64_t i = 0; i < len; ++i) {
      batch.tokens.push_back(tokens[i]);
      batch.labels.push_back(tokens[i + 1]);
      batch.loss_weight.push_back(1.0F);
      batch.doc_id.push_back(static_cast<int32_t>(row));
      batch.positions.push_back(static_cast<int32_t>(i));
      batch.global_index.push_back(row * len + i);
    }
  }
  batch.cu_seqlens.push_back(static_cast<int32_t>(count * len));
  batch.n_valid = count * len;
  return batch;
}

void check_tokens(const IntegerArray& array,
                  const Training& training,
                  const std::filesystem::path& path) {
  const int64_t len = training.options.seq_len;
  TITAN_USER_CHECK(array.shape.size() == 3 && array.shape[0] > 0 &&
                       array.shape[2] == len + 1,
                   "[",
                   path.string(),
                   "] shape: expected (steps, sequences, training.seq_len + 1 "
                   "= ",
                   len + 1,
                   "), got ",
                   array.shape);
  TITAN_USER_CHECK(array.shape[1] % training.options.microbatches == 0,
                   "[",
                   path.string(),
                   "] sequences: expected a multiple of the ",
                   training.options.microbatches,
                   " microbatches of a step, got ",
                   array.shape[1]);
  const int64_t vocabulary = model_vocab(*training.model);
  for (int32_t token : array.values)
    TITAN_USER_CHECK(token >= 0 && token < vocabulary,
                     "[",
                     path.string(),
                     "] token: expected 0 to ",
                     vocabulary - 1,
                     ", got ",
                     token);
}

StepBatch batch_of(const IntegerArray& array,
                   const Training& training,
                   int64_t step) {
  const int64_t len = training.options.seq_len;
  const int64_t rows = array.shape[1] / training.options.microbatches;
  const int64_t first = (step % array.shape[0]) * array.shape[1];
  StepBatch batch;
  for (int64_t i = 0; i < training.options.microbatches; ++i)
    batch.add(microbatch_of(
        array.values.data() + (first + i * rows) * (len + 1), rows, len));
  return batch;
}

}  // namespace

double BenchmarkResult::ms_median() const {
  return op::median_of(ms_steps);
}

double BenchmarkResult::ms_min() const {
  return *std::min_element(ms_steps.begin(), ms_steps.end());
}

double BenchmarkResult::tokens_per_second() const {
  return static_cast<double>(tokens_per_step) / ms_median() * 1e3;
}

BenchmarkResult benchmark_training(Session& session,
                                   const BenchmarkOptions& options) {
  const config::Recipe& recipe = session.recipe();
  const RunSettings settings = read_run_settings(recipe);
  const bool has_tokens = !options.tokens.empty();
  dist::Mesh mesh = dist::Mesh::single();
  mesh_shape(recipe, 1);
  std::shared_ptr<const Tokenizer> tokenizer;
  if (!has_tokens) tokenizer = load_tokenizer(settings.tokenizer);
  const auto training = assemble(
      session, mesh, tokenizer, has_tokens ? DataUse::kNone : DataUse::kOpen);
  if (options.init.empty()) {
    set_first_values(*training, settings, {}, checkpoint::real_file_system());
  } else {
    load_init(*training, options.init);
  }
  IntegerArray array;
  if (has_tokens) {
    array = read_npy(options.tokens);
    check_tokens(array, *training, options.tokens);
  }
  BenchmarkResult result;
  result.num_parameters = training->model->tree().num_parameters();
  for (int64_t step = 0; step < options.warmup + options.steps; ++step) {
    const auto start = Clock::now();
    const StepReport report =
        has_tokens ? train_step_on(
                         *training, step, batch_of(array, *training, step), {})
                   : train_step(*training, step);
    const double seconds = seconds_since(start);
    result.losses.push_back(report.loss);
    result.tokens_per_step = report.num_tokens;
    if (step >= options.warmup) result.ms_steps.push_back(seconds * 1e3);
    if (step > 0) continue;
    result.first_step_s = seconds;
    result.startup_s = process_age_s();
  }
  result.peak_rss_mb =
      static_cast<double>(read_memory_use().peak_resident_bytes) /
      (1024.0 * 1024.0);
  return result;
}

}  // namespace titan::train
