// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/strict_json.h"

#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <titan/error.h>

namespace titan::checkpoint {
namespace {

using Json = nlohmann::json;

// Event receiver: builds nothing, so that a hostile text costs no memory.
class StrictReader : public nlohmann::json_sax<Json> {
 public:
  explicit StrictReader(int max_depth) : max_depth_(max_depth) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(Json::number_integer_t) override { return true; }
  bool number_unsigned(Json::number_unsigned_t) override { return true; }
  bool number_float(Json::number_float_t, const std::string&) override {
    return true;
  }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }

  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

  bool key(std::string& name) override {
    if (keys_.back().insert(name).second) return true;
    problem_ = titan::text("expected each key once, got \"", name, "\" twice");
    return false;
  }

  bool parse_error(std::size_t position,
                   const std::string&,
                   const Json::exception&) override {
    problem_ =
        titan::text("expected JSON, got a syntax error at byte ", position);
    return false;
  }

  const std::string& problem() const { return problem_; }

 private:
  bool enter() {
    keys_.emplace_back();
    if (keys_.size() <= static_cast<std::size_t>(max_depth_)) return true;
    problem_ =
        titan::text("expected nesting of at most ", max_depth_, ", got more");
    return false;
  }

  bool leave() {
    keys_.pop_back();
    return true;
  }

  int max_depth_;
  std::vector<std::set<std::string>> keys_;
  std::string problem_;
};

}  // namespace

void require_strict_json(std::string_view where,
                         std::string_view text,
                         int max_depth) {
  StrictReader reader(max_depth);
  const bool is_good = Json::sax_parse(text.begin(), text.end(), &reader);
  TITAN_USER_CHECK(is_good, '[', where, "] JSON text: ", reader.problem());
}

}  // namespace titan::checkpoint
