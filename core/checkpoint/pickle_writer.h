// SPDX-License-Identifier: BSD-3-Clause
// Writes pickles, protocol 2 without a memo: the opcodes that records of
// tensors take. The caller keeps the order of the stack machine: what a call
// or a tuple takes comes before it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace titan::checkpoint {

class PickleWriter {
 public:
  PickleWriter() : out_("\x80\x02") {}

  void text(std::string_view value);
  void number(std::int64_t value);
  void boolean(bool value) { out_ += value ? '\x88' : '\x89'; }
  void none() { out_ += 'N'; }
  /// A class or function by name.
  void global(std::string_view module, std::string_view name);
  /// A tuple of integers.
  void numbers(const std::vector<std::int64_t>& values);

  /// Opens what end_tuple, end_items or end_appends closes.
  void mark() { out_ += '('; }
  void end_tuple() { out_ += 't'; }
  void empty_tuple() { out_ += ')'; }
  void empty_dict() { out_ += '}'; }
  void end_items() { out_ += 'u'; }  ///< key, value, ... into the dict
  void empty_list() { out_ += ']'; }
  void end_appends() { out_ += 'e'; }  ///< values into the list
  /// global, tuple -> its call.
  void call() { out_ += 'R'; }
  /// id -> what load() makes of it: a reference out of the pickle.
  void persistent() { out_ += 'Q'; }
  /// global -> an object of that class, which build() fills.
  void object() { out_ += ")\x81"; }
  /// object, state -> the object.
  void build() { out_ += 'b'; }

  /// The pickle; the last value is its root.
  std::string finish() && { return std::move(out_) + '.'; }

 private:
  std::string out_;
};

}  // namespace titan::checkpoint
