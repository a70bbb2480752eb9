// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/loop.h"

#include <chrono>
#include <cmath>

#include <ATen/ATen.h>

#include <titan/error.h>

#include "core/checkpoint/checkpoint_folder.h"
#include "core/generate/generate.h"
#include "core/observe/log.h"
#include "core/observe/profiler.h"
#include "core/observe/signals.h"
#include "core/observe/spans.h"
#include "core/train/adapter.h"
#include "core/train/data_log.h"
#include "core/train/export_hf.h"
#include "core/train/first_values.h"
#include "core/train/metrics_log.h"
#include "core/train/result_file.h"
#include "core/train/run_saver.h"
#include "core/train/run_state.h"
#include "core/train/step.h"
#include "core/train/validation.h"

namespace titan::train {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

struct Run {
  Run(Session& of,
      Training& with,
      const RunSettings& as,
      const LoopOptions& how)
      : session(of), training(with), settings(as), options(how) {}

  Session& session;
  Training& training;
  const RunSettings& settings;
  const LoopOptions& options;
  checkpoint::FileSystem& files = checkpoint::real_file_system();
  std::unique_ptr<checkpoint::FileSystem> storage;  // null: files
  RunRecord record;
  std::unique_ptr<MetricsLog> metrics;  // rank 0
  std::unique_ptr<Profiler> profiler;   // rank 0
  std::unique_ptr<RunSaver> saver;      // null: checkpoint.enabled is false
  DataLog data_log;
  int64_t last_saved_step = -1;
  int64_t num_saves = 0;  // by this process

  /// Where the run's own checkpoints lie.
  checkpoint::FileSystem& checkpoints() { return storage ? *storage : files; }
  bool is_first_rank() const { return training.mesh.rank() == 0; }
};

// A path that somebody named may be local where the run's own are not.
checkpoint::FileSystem& holder_of(Run& run, const fs::path& path) {
  return fs::exists(path) ? run.files : run.checkpoints();
}

// Where to continue; null = from the start.
std::optional<checkpoint::CheckpointReader> find_checkpoint(Run& run) {
  const LoopOptions& options = run.options;
  if (options.resume == ResumeMode::kNever) return std::nullopt;
  const bool is_named = !options.resume_from.empty();
  const fs::path path =
      is_named ? options.resume_from : run.settings.checkpoint_folder;
  auto found = checkpoint::find_checkpoint(
      is_named ? holder_of(run, path) : run.checkpoints(), path);
  for (const std::string& reason : found.rejected)
    log::warn(text(reason, " Using the one before it."));
  TITAN_USER_CHECK(found.reader || options.resume != ResumeMode::kRequired,
                   "[--resume] ",
                   path.string(),
                   ": expected a complete checkpoint, got none");
  return std::move(found.reader);
}

void start_from(Run& run) {
  const bool may_resume =
      run.options.resume == ResumeMode::kRequired ||
      (run.settings.saves_checkpoints && run.settings.resumes);
  auto reader = may_resume ? find_checkpoint(run) : std::nullopt;
  if (reader) {
    restore_run(run.training, *reader);
    run.last_saved_step = run.training.steps_done;
    log::info(text("resumed from ",
                   reader->path().string(),
                   " at step ",
                   run.training.steps_done));
  } else {
    const fs::path from = first_weights(run.settings, run.options.from);
    set_first_values(run.training, run.settings, from, holder_of(run, from));
  }
  if (run.training.ema && !reader) run.training.ema->reset();
}

// Checkpoints beyond this step are of another try (--resume DIR, --resume
// never, damaged ones): left in place, the next start would continue from them,
// and checkpoint.keep would delete this run's instead of theirs.
void set_aside_other_tries(Run& run,
                           checkpoint::FileSystem& files,
                           const fs::path& folder) {
  if (!run.is_first_rank()) return;
  for (const fs::path& path :
       checkpoint::set_aside_later(files, folder, run.training.steps_done))
    log::warn(text(path.string(),
                   " is beyond this run: moved to ",
                   path.filename().string(),
                   ".previous"));
}

std::string milliseconds(double seconds) {
  return text(std::llround(seconds * 1000), " ms");
}

// Tells of saves that have ended. What made one fail is thrown here, at the
// next step boundary at the latest.
void report_saves(Run& run) {
  if (!run.saver) return;
  while (const auto saved = run.saver->poll()) {
    if (!run.metrics) continue;
    run.metrics->add_checkpoint(run.training.steps_done, *saved);
    log::info(text(
        "saved ",
        saved->path.string(),
        " in ",
        milliseconds(saved->total_seconds),
        run.settings.saves_in_background
            ? text(", training waited ", milliseconds(saved->blocked_seconds))
            : ""));
  }
}

void wait_for_saves(Run& run) {
  if (run.saver) run.saver->wait();
  report_saves(run);
}

void save(Run& run) {
  const auto start = Clock::now();
  if (run.num_saves == 0)
    set_aside_other_tries(
        run, run.checkpoints(), run.settings.checkpoint_folder);
  ++run.num_saves;
  run.saver->start();
  run.last_saved_step = run.training.steps_done;
  report_saves(run);
  if (run.metrics) run.metrics->exclude(Clock::now() - start);
}

std::unique_ptr<RunSaver> make_saver(Run& run) {
  const RunSettings& settings = run.settings;
  RunSaveOptions options;
  options.saver.is_async = settings.saves_in_background;
  if (settings.checkpoints_kept > 0)
    options.saver.retention =
        checkpoint::Retention{.keep = settings.checkpoints_kept,
                              .keep_every = settings.checkpoints_kept_every};
  options.content = settings.checkpoint_content;
  options.dtype = settings.weights_dtype;
  return std::make_unique<RunSaver>(run.training,
                                    run.checkpoints(),
                                    settings.checkpoint_folder,
                                    run.record,
                                    options);
}

std::optional<double> validate_now(Run& run) {
  if (!run.training.validation) return std::nullopt;
  const auto start = Clock::now();
  const ValidationReport report = [&] {
    // The averages take the place of weights that a save may still read.
    if (run.saver) run.saver->wait_until_copied();
    const AveragedWeights averaged(
        run.settings.validates_ema ? run.training.ema.get() : nullptr);
    return validate(run.training, run.settings.validation_batches);
  }();
  if (run.metrics) {
    run.metrics->add_validation(run.training.steps_done, report.loss);
    run.metrics->exclude(Clock::now() - start);
    log::info(
        text("validation at step ",
             run.training.steps_done,
             ": loss ",
             report.loss,
             " over ",
             report.num_targets,
             " tokens",
             run.settings.validates_ema ? ", of the averaged weights" : ""));
  }
  return report.loss;
}

// All ranks act on one answer: a signal reaches them at different moments.
StopRequest agreed_stop(const dist::Mesh& mesh) {
  const auto mine = static_cast<int64_t>(stop_requested());
  if (mesh.world() == 1) return static_cast<StopRequest>(mine);
  at::Tensor vote = at::tensor({mine});
  mesh.group("world").all_reduce_max(vote);
  return static_cast<StopRequest>(vote.item<int64_t>());
}

StepReport run_step(Run& run) {
  const int64_t step = run.training.steps_done;
  set_span_step(step + 1);
  if (run.profiler) run.profiler->begin_step(step + 1);
  StepReport report;
  try {
    const Span span("step");
    report = train_step(run.training, step);
  } catch (const NonFiniteError& error) {
    wait_for_saves(run);
    const fs::path folder = run.settings.folder / "non_finite";
    set_aside_other_tries(run, run.files, folder);
    throw NonFiniteError(
        text(error.what(),
             " Replay: --resume ",
             save_run(run.training, run.files, folder, run.record).string()));
  }
  if (run.profiler) run.profiler->end_step(step + 1);
  if (report.outcome == StepOutcome::kEndOfData) return report;
  if (run.metrics) run.metrics->add_step(report);
  run.data_log.update(*run.training.data);
  return report;
}

void after_step(Run& run) {
  const RunSettings& settings = run.settings;
  const int64_t step = run.training.steps_done;
  const bool is_last = step == settings.num_steps;
  const auto& interval = settings.validation_interval;
  report_saves(run);
  if (interval && step % *interval == 0 && !is_last) validate_now(run);
  if (settings.saves_checkpoints &&
      (is_last || step % settings.checkpoint_interval == 0))
    save(run);
}

std::string sample_text(Run& run) {
  if (!run.settings.samples_at_end) return "";
  return valid_utf8(generate::continue_text(*run.training.executor,
                                            *run.training.tokenizer,
                                            run.settings.prompt,
                                            run.settings.sampling));
}

void export_weights(Run& run) {
  const AveragedWeights averaged(
      run.settings.exports_ema ? run.training.ema.get() : nullptr);
  if (run.settings.exports_adapter) {
    const fs::path path = run.settings.folder / "adapter";
    save_adapter(run.training, run.files, path, run.settings.weights_dtype);
    if (run.is_first_rank()) log::info(text("exported ", path.string()));
  }
  if (!run.settings.exports_hf) return;
  const std::string& tokenizer = run.settings.tokenizer;
  const fs::path path = run.settings.folder / "hf";
  export_hf(run.training,
            run.files,
            path,
            tokenizer == "bytes" ? fs::path() : fs::path(tokenizer),
            run.settings.weights_dtype);
  if (run.is_first_rank()) log::info(text("exported ", path.string()));
}

RunResult finish(Run& run, int exit_code) {
  RunResult result;
  result.step = run.training.steps_done;
  result.train_loss = run.training.last_loss;
  result.exit_code = exit_code;
  if (run.training.skipped_steps > 0 && run.is_first_rank())
    log::warn(text("not finite and skipped: ",
                   run.training.skipped_steps,
                   " of ",
                   run.training.steps_done,
                   " steps"));
  if (exit_code != 0) return result;
  if (run.settings.validates_at_end) result.validation_loss = validate_now(run);
  export_weights(run);
  result.sample = sample_text(run);
  return result;
}

// How much of the model is trained, where it is not all.
void log_trained(const module::ModuleTree& tree) {
  int64_t trained = 0;
  for (const auto& parameter : tree.parameters())
    if (parameter->is_trainable) trained += parameter->num_elements();
  const int64_t all = tree.num_parameters();
  if (trained == all) return;
  log::info(text("trains ", trained, " of ", all, " parameters"));
}

// What only runs after the last step must not fail there.
void check_end(const RunSettings& settings, const Training& training) {
  if (settings.exports_adapter) adapter_keys(*training.model);
  if (settings.exports_hf) training.model->config_to_hf();
  const dist::Mesh& mesh = training.mesh;
  if (mesh.size("pp") == 1) return;
  TITAN_USER_CHECK(!settings.exports_adapter,
                   "[adapter.export] expected one pipeline stage, got ",
                   mesh.size("pp"),
                   ". Set it to false.");
  TITAN_USER_CHECK(!settings.exports_hf,
                   "[checkpoint.export_hf] expected one pipeline stage, got ",
                   mesh.size("pp"),
                   ". Set it to false and export from the checkpoint.");
  TITAN_USER_CHECK(!settings.samples_at_end,
                   "[generate.at_end] expected one pipeline stage, got ",
                   mesh.size("pp"),
                   ". Set it to false and use `titan generate`.");
}

// The epochs of the recipe are done: the run is complete, if shorter.
void end_with_the_data(Run& run) {
  const int64_t step = run.training.steps_done;
  TITAN_USER_CHECK(step > 0,
                   "[data] the training split has no token to predict: "
                   "expected some in its epochs, got none");
  if (run.is_first_rank())
    log::warn(text("the data ended after step ",
                   step,
                   " of ",
                   run.settings.num_steps,
                   ": its epochs are done"));
  if (run.settings.saves_checkpoints && run.last_saved_step != step) save(run);
}

void save_before_leaving(Run& run) {
  if (run.settings.saves_checkpoints) {
    if (run.last_saved_step != run.training.steps_done) save(run);
  } else if (run.is_first_rank()) {
    log::warn(text("stopped after step ",
                   run.training.steps_done,
                   "; nothing was saved: checkpoint.enabled is false"));
  }
}

}  // namespace

RunResult run_training(Session& session,
                       Training& training,
                       const RunSettings& settings,
                       const LoopOptions& options) {
  check_end(settings, training);
  Run run(session, training, settings, options);
  run.record = {session.recipe().root().to_json(), session.plugin_lock()};
  run.storage =
      open_storage(session.host(), settings.storage, settings.storage_config);
  start_from(run);
  const bool was_complete = training.steps_done >= settings.num_steps;
  // A complete run answers from its record: the result of the same recipe and
  // step cannot change.
  const fs::path result_file = settings.folder / "result.json";
  if (was_complete)
    if (auto stored = read_result(
            result_file, run.record.recipe_json, training.steps_done)) {
      stored->was_finished = true;
      return *stored;
    }

  if (run.is_first_rank()) {
    log::info(training.data->describe());
    log_trained(training.model->tree());
    enable_spans(settings.records_spans);
    run.metrics = std::make_unique<MetricsLog>(
        settings, training, options.prints_json ? options.print_line : nullptr);
    run.profiler = std::make_unique<Profiler>(settings.profiler);
  }
  if (settings.saves_checkpoints) run.saver = make_saver(run);
  if (settings.saves_checkpoints && settings.saves_at_start &&
      training.steps_done == 0)
    save(run);
  if (run.metrics && !was_complete) run.metrics->start_first_step();
  int exit_code = 0;
  while (training.steps_done < settings.num_steps && exit_code == 0) {
    if (run_step(run).outcome == StepOutcome::kEndOfData) {
      end_with_the_data(run);
      break;
    }
    after_step(run);
    exit_code =
        exit_code_of(agreed_stop(training.mesh), options.is_under_launcher);
  }
  run.data_log.finish(*training.data);
  if (exit_code != 0) save_before_leaving(run);
  wait_for_saves(run);
  if (run.profiler) run.profiler->finish();
  RunResult result = finish(run, exit_code);
  result.was_finished = was_complete;
  if (run.metrics) run.metrics->flush();
  if (settings.records_spans && run.is_first_rank())
    write_span_lines(collect_spans(), settings.folder / "spans.jsonl");
  if (exit_code == 0 && run.is_first_rank())
    write_result(run.files, result_file, run.record.recipe_json, result);
  return result;
}

}  // namespace titan::train
