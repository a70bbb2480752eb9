// SPDX-License-Identifier: BSD-3-Clause
// Reads Hugging Face's config.json as transformers does: a key that is absent
// has the default of the family's configuration class, null is a value like
// others, which most keys cannot have, and a value of a wrong type is an error
// that names its key.
#pragma once

#include <string>
#include <string_view>

#include <titan/json.hpp>
#include <titan/sdk/config.hpp>

#include "plugins/models/layers/options.hpp"

namespace titan::layers {

class HfConfig {
 public:
  /// `where`: what errors call the map, which must outlive this.
  explicit HfConfig(const Json& json, std::string where = "")
      : json_(&json), where_(std::move(where)) {}

  const Json& json() const { return *json_; }
  /// True for a value that is not null.
  bool has(std::string_view key) const { return json_->has(key); }
  bool is_null(std::string_view key) const {
    return json_->find(key) != nullptr && !json_->has(key);
  }

  int64_t i64(std::string_view key, int64_t otherwise) const {
    const Json* const found = json_->find(key);
    if (found == nullptr) return otherwise;
    check(found->is_int(), key, "an integer");
    return found->i64();
  }
  /// An integer that counts something.
  int64_t size(std::string_view key, int64_t otherwise) const {
    const int64_t value = i64(key, otherwise);
    check(value > 0, key, "1 or more");
    return value;
  }
  double f64(std::string_view key, double otherwise) const {
    return json_->find(key) == nullptr ? otherwise : f64(key);
  }
  /// The same for a key that must be there.
  double f64(std::string_view key) const {
    const Json* const found = json_->find(key);
    check(found != nullptr && found->is_number(), key, "a number");
    return found->f64();
  }
  bool flag(std::string_view key, bool otherwise) const {
    const Json* const found = json_->find(key);
    if (found == nullptr) return otherwise;
    check(found->is_bool(), key, "true or false");
    return found->flag();
  }
  std::string str(std::string_view key, std::string_view otherwise) const {
    const Json* const found = json_->find(key);
    if (found == nullptr) return std::string(otherwise);
    check(found->is_string(), key, "a name");
    return found->str();
  }

  // Where null stands for a value.
  int64_t i64(std::string_view key, int64_t otherwise, int64_t null) const {
    return is_null(key) ? null : i64(key, otherwise);
  }
  double f64(std::string_view key, double otherwise, double null) const {
    return is_null(key) ? null : f64(key, otherwise);
  }
  bool flag(std::string_view key, bool otherwise, bool null) const {
    return is_null(key) ? null : flag(key, otherwise);
  }
  std::string str(std::string_view key,
                  std::string_view otherwise,
                  std::string_view null) const {
    return is_null(key) ? std::string(null) : str(key, otherwise);
  }

  /// The value of a key that has two names, of which a file has one.
  int64_t i64_named(std::string_view key,
                    std::string_view other,
                    int64_t otherwise) const {
    const int64_t value = i64(key, i64(other, otherwise));
    TITAN_USER_CHECK(i64(other, value) == value,
                     "[config.json ",
                     where_,
                     other,
                     "] is another name of ",
                     key,
                     ": expected ",
                     value,
                     ", got ",
                     i64(other, value));
    return value;
  }

  /// Refuses a key that the network has no use for, unless its value says so:
  /// `expected`, which an absent key means too.
  template <typename Type>
  void require(std::string_view key,
               const Type& expected,
               std::string_view why) const {
    const Json* const found = json_->find(key);
    const Json wanted(expected);
    if (found == nullptr || is_equal(*found, wanted)) return;
    refuse(key, why, text_of(wanted));
  }

  [[noreturn]] void refuse(std::string_view key,
                           std::string_view why,
                           std::string_view expected) const {
    throw UserError(text("[config.json ",
                         where_,
                         key,
                         "] ",
                         why,
                         ": expected ",
                         expected,
                         ", got ",
                         text_of(json_->find(key))));
  }

 private:
  void check(bool is_right,
             std::string_view key,
             std::string_view expected) const {
    TITAN_USER_CHECK(is_right,
                     "[config.json ",
                     where_,
                     key,
                     "] expected ",
                     expected,
                     ", got ",
                     text_of(json_->find(key)));
  }
  static std::string text_of(const Json& value) {
    return value.is_string() ? value.str() : value.dump();
  }
  static std::string text_of(const Json* value) {
    return value == nullptr ? "none" : text_of(*value);
  }

  const Json* json_;
  std::string where_;
};

}  // namespace titan::layers
