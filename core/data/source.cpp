// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/source.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxBadLinesKept = 5;

void check_files(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::error_code error;
    TITAN_USER_CHECK(std::filesystem::is_regular_file(file, error),
                     "[data] no such file: ",
                     file);
    TITAN_USER_CHECK(std::filesystem::file_size(file, error) > 0,
                     "[data] file is empty: ",
                     file);
  }
}

std::ifstream open(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  TITAN_USER_CHECK(file, "[data] file cannot be read: ", path);
  return file;
}

class TextSource final : public DocumentSource {
 public:
  explicit TextSource(std::vector<std::string> files)
      : files_(std::move(files)) {
    check_files(files_);
  }

  bool next(Document& document) override {
    if (next_file_ == files_.size()) return false;
    document.location = files_[next_file_++];
    std::ifstream file = open(document.location);
    document.text.assign(std::istreambuf_iterator<char>(file), {});
    ++report_.num_documents;
    return true;
  }

 private:
  std::vector<std::string> files_;
  size_t next_file_ = 0;
};

// A document's text, or why the line has none.
struct ParsedLine {
  std::string text;
  std::string problem;
};

ParsedLine problem(std::string what) {
  return {{}, std::move(what)};
}

ParsedLine parse_line(std::string_view line, const std::string& field) {
  if (const auto bad = find_invalid_utf8(line))
    return problem(
        text("line is not UTF-8: ill-formed byte at column ", *bad + 1));
  Json json;
  try {
    json = Json::parse(line);
  } catch (const Json::exception& error) {
    // Among these is the lone surrogate: no text of Unicode has one.
    return problem(text("line is not JSON: ", error.what()));
  }
  if (!json.is_object())
    return problem(text("expected an object, got ", json.type_name()));
  const auto value = json.find(field);
  if (value == json.end()) return problem(text("no field \"", field, '"'));
  if (!value->is_string())
    return problem(text(
        "field \"", field, "\": expected a string, got ", value->type_name()));
  return {std::move(value->get_ref<std::string&>()), {}};
}

class JsonlSource final : public DocumentSource {
 public:
  JsonlSource(std::vector<std::string> files,
              std::string field,
              OnBadLine on_bad_line)
      : files_(std::move(files)),
        field_(std::move(field)),
        on_bad_line_(on_bad_line) {
    check_files(files_);
  }

  bool next(Document& document) override {
    while (read_line()) {
      if (line_.find_first_not_of(" \t\r") == std::string::npos) {
        ++report_.num_blank_lines;
        continue;
      }
      ParsedLine parsed = parse_line(line_, field_);
      if (!parsed.problem.empty()) {
        on_bad_line(parsed.problem);
      } else if (parsed.text.empty()) {
        ++report_.num_empty_documents;
      } else {
        document.text = std::move(parsed.text);
        document.location = location();
        ++report_.num_documents;
        return true;
      }
    }
    return false;
  }

 private:
  std::string location() const {
    return text(files_[next_file_ - 1], ':', line_number_);
  }

  // The next line of any file. A last line without LF counts: getline fails
  // only where nothing is left.
  bool read_line() {
    while (!file_.is_open() || !std::getline(file_, line_)) {
      TITAN_USER_CHECK(!file_.is_open() || !file_.bad(),
                       "[data] reading stopped with an error after ",
                       location());
      if (next_file_ == files_.size()) return false;
      file_ = open(files_[next_file_++]);
      line_number_ = 0;
    }
    ++line_number_;
    // Editors on Windows begin UTF-8 files with a byte order mark.
    if (line_number_ == 1 && line_.starts_with("\xEF\xBB\xBF"))
      line_.erase(0, 3);
    return true;
  }

  void on_bad_line(const std::string& what) {
    const std::string message = text(location(), ": [data] ", what);
    if (on_bad_line_ == OnBadLine::kError)
      throw UserError(message + ". Repair it or set data.on_bad_line: skip");
    ++report_.num_bad_lines;
    if (report_.first_bad_lines.size() < kMaxBadLinesKept)
      report_.first_bad_lines.push_back(message);
  }

  std::vector<std::string> files_;
  std::string field_;
  OnBadLine on_bad_line_;
  size_t next_file_ = 0;
  std::ifstream file_;
  std::string line_;
  int64_t line_number_ = 0;
};

}  // namespace

OnBadLine parse_on_bad_line(const std::string& name) {
  if (name == "error") return OnBadLine::kError;
  TITAN_USER_CHECK(
      name == "skip", "[data.on_bad_line] expected error or skip, got ", name);
  return OnBadLine::kSkip;
}

std::unique_ptr<DocumentSource> make_text_source(
    std::vector<std::string> files) {
  return std::make_unique<TextSource>(std::move(files));
}

std::unique_ptr<DocumentSource> make_jsonl_source(
    std::vector<std::string> files,
    std::string field,
    OnBadLine on_bad_line) {
  return std::make_unique<JsonlSource>(
      std::move(files), std::move(field), on_bad_line);
}

}  // namespace titan
