// SPDX-License-Identifier: BSD-3-Clause
#include "core/observe/metrics.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "tests/unit/core/observe/captured_log.h"
#include "tests/unit/core/observe/scratch_folder.h"

using titan::MetricRecord;
using titan::MetricSinks;
using titan::test::CapturedLog;

namespace {

MetricRecord record_of(int64_t step) {
  MetricRecord record;
  record.step = step;
  record.add("loss", 1.0 / static_cast<double>(step));
  return record;
}

class CollectingSink : public titan::MetricSink {
 public:
  explicit CollectingSink(std::vector<int64_t>& steps) : steps_(steps) {}
  std::string_view name() const override { return "collecting"; }
  void write(const MetricRecord& record) override {
    steps_.push_back(record.step);
  }

 private:
  std::vector<int64_t>& steps_;
};

// Refuses some steps: what a disk does that is full for a while.
class FailingSink : public titan::MetricSink {
 public:
  explicit FailingSink(std::vector<int64_t>& offered) : offered_(offered) {}
  std::string_view name() const override { return "failing"; }
  void write(const MetricRecord& record) override {
    offered_.push_back(record.step);
    if (record.step == 4) throw 7;  // plugins may throw anything
    throw std::runtime_error("disk full");
  }
  void flush() override { throw std::runtime_error("disk full"); }

 private:
  std::vector<int64_t>& offered_;
};

}  // namespace

TEST_CASE("every sink gets every step though one fails each time (UX-01)",
          "[unit]") {
  CapturedLog captured;
  std::vector<int64_t> first, offered, last;
  MetricSinks sinks;
  sinks.add(std::make_unique<CollectingSink>(first));
  sinks.add(std::make_unique<FailingSink>(offered));
  sinks.add(std::make_unique<CollectingSink>(last));
  for (int64_t step = 1; step <= 5; ++step) sinks.write(record_of(step));
  sinks.flush();

  const std::vector<int64_t> all = {1, 2, 3, 4, 5};
  CHECK(first == all);
  CHECK(offered == all);
  CHECK(last == all);
  REQUIRE(captured.lines.size() == 1);
  CHECK(captured.levels[0] == titan::log::Level::kWarn);
  CHECK_THAT(captured.lines[0],
             Catch::StartsWith("[metrics failing] a record was not written: "
                               "disk full"));
}

TEST_CASE("the JSON line and TensorBoard sinks both get all steps (UX-01)",
          "[unit]") {
  const titan::test::ScratchFolder folder;
  MetricSinks sinks;
  sinks.add(titan::make_jsonl_sink(folder.path() / "metrics.jsonl", 0));
  sinks.add(titan::make_tensorboard_sink(folder.path() / "tb", 0));
  for (int64_t step = 1; step <= 3; ++step) sinks.write(record_of(step));
  // Nothing was flushed or closed: a kill now must lose no record.
  const std::string log_text = folder.read("metrics.jsonl");
  const auto lines = titan::split_lines(log_text);
  REQUIRE(lines.size() == 3);
  CHECK(nlohmann::json::parse(lines[2])["step"] == 3);
  CHECK(nlohmann::json::parse(lines[1])["loss"] == 0.5);
  const auto files = std::filesystem::directory_iterator(folder.path() / "tb");
  CHECK(std::filesystem::file_size(files->path()) > 100);
}

TEST_CASE("a metric line keeps order, exact numbers and non-finite values",
          "[unit]") {
  MetricRecord record;
  record.step = 7;
  record.add("loss", 0.1);
  record.add("grad_norm", std::nan(""));
  record.add("max", -std::numeric_limits<double>::infinity());
  record.texts.emplace_back("note", "a \"b\"\n\xff");
  CHECK(titan::metric_json_line(record) ==
        "{\"step\":7,\"loss\":0.1,\"grad_norm\":\"NaN\","
        "\"max\":\"-Infinity\",\"note\":\"a \\\"b\\\"\\n\xef\xbf\xbd\"}");
}

TEST_CASE("resuming drops the later steps and a torn line from the log",
          "[unit]") {
  CapturedLog captured;
  const titan::test::ScratchFolder folder;
  const auto path = folder.write("run/metrics.jsonl",
                                 "{\"step\":1,\"loss\":3.0}\n"
                                 "{\"step\":2,\"loss\":2.0}\n"
                                 "{\"step\":3,\"loss\":1.5}\n"
                                 "{\"step\":4,\"lo");
  auto sink = titan::make_jsonl_sink(path, 2);
  sink->write(record_of(3));
  CHECK(folder.read("run/metrics.jsonl") ==
        "{\"step\":1,\"loss\":3.0}\n{\"step\":2,\"loss\":2.0}\n" +
            titan::metric_json_line(record_of(3)) + "\n");
  REQUIRE(captured.lines.size() == 1);
  CHECK_THAT(captured.lines[0],
             Catch::EndsWith("dropped 2 lines beyond the resumed step 2"));
}

TEST_CASE("resuming at the last step leaves the log's bytes alone", "[unit]") {
  CapturedLog captured;
  const titan::test::ScratchFolder folder;
  const std::string content = "{\"step\":1, \"loss\":3.0}\n{\"step\":2}\n";
  const auto path = folder.write("metrics.jsonl", content);
  titan::make_jsonl_sink(path, 2);
  CHECK(folder.read("metrics.jsonl") == content);
  CHECK(captured.lines.empty());
}

TEST_CASE("a new run moves the log of an earlier one aside", "[unit]") {
  CapturedLog captured;
  const titan::test::ScratchFolder folder;
  const auto path = folder.write("metrics.jsonl", "{\"step\":9}\n");
  titan::make_jsonl_sink(path, 0)->write(record_of(1));
  CHECK(folder.read("metrics.jsonl") ==
        titan::metric_json_line(record_of(1)) + "\n");
  CHECK(folder.read("metrics.jsonl.previous") == "{\"step\":9}\n");
}

TEST_CASE("a log that cannot be opened is the user's error", "[unit]") {
  const titan::test::ScratchFolder folder;
  folder.write("file", "");
  CHECK_THROWS_AS(titan::make_jsonl_sink(folder.path() / "file" / "m.jsonl", 0),
                  titan::UserError);
}

TEST_CASE("the terminal line reads as documented", "[unit]") {
  MetricRecord record;
  record.step = 100;
  record.add("eta_seconds", 80);
  record.add("loss", 5.12341);
  record.add("grad_norm", 1.234);
  record.add("lr", 8e-4);
  record.add("tokens_s", 4512.4);
  record.add("tflops_s", 0.12);
  record.add("mfu_percent", 31.21);
  record.add("memory_mib", 812.3);
  record.add("some_plugin_metric", 1);
  CHECK(titan::terminal_line(record, 800) ==
        "step 100/800  loss 5.1234  grad_norm 1.23  lr 8.0e-4  tok/s 4,512  "
        "TFLOP/s 0.12  MFU 31.2%  mem 812 MiB  eta 1m20s");
}

TEST_CASE("terminal line names the terms of a loss that has several",
          "[unit]") {
  MetricRecord record;
  record.step = 3;
  record.add("loss", 5.25);
  record.add("grad_norm", 1.5);
  record.add("loss/main", 5.0);
  record.add("loss/balance", 0.25);
  CHECK(titan::terminal_line(record, 0) ==
        "step 3  loss 5.2500 (main 5.0000 balance 0.2500)  grad_norm 1.50");
}

TEST_CASE("terminal numbers stay readable at the extremes", "[unit]") {
  const auto column = [](const char* name, double value) {
    MetricRecord record;
    record.add(name, value);
    const std::string line = titan::terminal_line(record, 0);
    return line.substr(line.rfind("  ") + 2);
  };
  CHECK(column("tokens_s", 1234567) == "tok/s 1,234,567");
  CHECK(column("tokens_s", 999) == "tok/s 999");
  CHECK(column("tokens_s", std::nan("")) == "tok/s nan");
  CHECK(column("loss", std::nan("")) == "loss nan");
  CHECK(column("lr", 0) == "lr 0.0e0");
  CHECK(column("lr", 1.5e-12) == "lr 1.5e-12");
  CHECK(column("eta_seconds", 59) == "eta 59s");
  CHECK(column("eta_seconds", 11100) == "eta 3h05m");
  CHECK(column("eta_seconds", 187200) == "eta 2d04h");
  CHECK(column("eta_seconds", std::nan("")) == "eta ?");
}

TEST_CASE("full lines come at step 1, each interval and the last step",
          "[unit]") {
  CapturedLog captured;
  const auto sink = titan::make_terminal_sink({25, 10});
  for (int64_t step = 1; step <= 25; ++step) sink->write(record_of(step));
  REQUIRE(captured.lines.size() == 4);
  CHECK_THAT(captured.lines[0], Catch::StartsWith("step 1/25"));
  CHECK_THAT(captured.lines[1], Catch::StartsWith("step 10/25"));
  CHECK_THAT(captured.lines[2], Catch::StartsWith("step 20/25"));
  CHECK_THAT(captured.lines[3], Catch::StartsWith("step 25/25"));
}

TEST_CASE("a record without a column of its own makes no terminal line",
          "[unit]") {
  CapturedLog captured;
  titan::MetricRecord validation;
  validation.step = 10;
  validation.add("validation_loss", 2.5);
  titan::make_terminal_sink({25, 10})->write(validation);
  CHECK(captured.lines.empty());
}
