// SPDX-License-Identifier: BSD-3-Clause
#include "core/cli/check_report.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include <titan/text.h>

#include "core/chat/unicode_text.h"
#include "core/cli/text_table.h"

namespace titan::cli {
namespace {

using CheckJson = nlohmann::ordered_json;

std::string dumped(const CheckJson& json) {
  return json.dump(-1, ' ', false, CheckJson::error_handler_t::replace);
}

CheckJson check_json(const Check& check) {
  return {{"component", check.component},
          {"check", check.name},
          {"outcome", outcome_name(check.outcome)},
          {"detail", check.detail}};
}

/// XML has no place for control characters, not even as references.
std::string escaped_xml(std::string words) {
  for (char& c : words)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return chat::escape_html(words);
}

}  // namespace

std::string outcome_name(CheckOutcome outcome) {
  switch (outcome) {
    case CheckOutcome::kPassed:
      return "passed";
    case CheckOutcome::kFailed:
      return "FAILED";
    case CheckOutcome::kNotRun:
      break;
  }
  return "not run";
}

int CheckReport::count(CheckOutcome outcome) const {
  return static_cast<int>(std::count_if(
      checks.begin(), checks.end(), [outcome](const Check& check) {
        return check.outcome == outcome;
      }));
}

std::string report_text(const CheckReport& report) {
  std::vector<std::vector<std::string>> table = {
      {"COMPONENT", "CHECK", "OUTCOME", "DETAIL"}};
  for (const Check& check : report.checks)
    table.push_back({check.component,
                     check.name,
                     outcome_name(check.outcome),
                     check.detail});
  return text(table_text(table),
              report.count(CheckOutcome::kPassed),
              " passed, ",
              report.count(CheckOutcome::kFailed),
              " failed, ",
              report.count(CheckOutcome::kNotRun),
              " not run; the same again: titan plugin test ",
              report.file,
              " --seed ",
              report.seed,
              '\n');
}

std::string report_json(const CheckReport& report) {
  CheckJson out = {{"file", report.file},
                   {"seed", report.seed},
                   {"passes", report.passes()},
                   {"checks", CheckJson::array()}};
  for (const Check& check : report.checks)
    out["checks"].push_back(check_json(check));
  return dumped(out) + '\n';
}

std::string report_junit(const CheckReport& report) {
  std::string out = text("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
                         "<testsuite name=\"",
                         escaped_xml(report.file),
                         "\" tests=\"",
                         report.checks.size(),
                         "\" failures=\"",
                         report.count(CheckOutcome::kFailed),
                         "\" skipped=\"",
                         report.count(CheckOutcome::kNotRun),
                         "\">\n");
  for (const Check& check : report.checks) {
    out += text("  <testcase classname=\"",
                escaped_xml(check.component),
                "\" name=\"",
                escaped_xml(check.name),
                "\">");
    if (check.outcome == CheckOutcome::kFailed)
      out += text("<failure message=\"", escaped_xml(check.detail), "\"/>");
    if (check.outcome == CheckOutcome::kNotRun)
      out += text("<skipped message=\"", escaped_xml(check.detail), "\"/>");
    out += "</testcase>\n";
  }
  return out + "</testsuite>\n";
}

std::string check_line(const Check& check) {
  return dumped(check_json(check));
}

bool read_check_line(const std::string& line, Check& check) {
  const auto json =
      nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("outcome")) return false;
  check.component = json.value("component", "");
  check.name = json.value("check", "");
  check.detail = json.value("detail", "");
  const std::string outcome = json.value("outcome", "");
  check.outcome = outcome == "passed"   ? CheckOutcome::kPassed
                  : outcome == "FAILED" ? CheckOutcome::kFailed
                                        : CheckOutcome::kNotRun;
  return true;
}

}  // namespace titan::cli
