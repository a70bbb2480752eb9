// SPDX-License-Identifier: BSD-3-Clause
// A component's `config` section, after the schema's defaults. Valid during the
// call that received it: read what is needed into members.
#pragma once

#include <string>
#include <string_view>

#include <titan/json.hpp>
#include <titan/sdk/host.hpp>

namespace titan {

/// Reads by dotted path: config.i64("rope.factor"). A wrong type or a missing
/// key is a UserError with the recipe's file and line.
class Config {
 public:
  explicit Config(const titan_config* handle) : handle_(handle) {}

  /// False for an absent key and for null.
  bool has(std::string_view path) const {
    return api().has(handle_, detail::str(path)) != 0;
  }
  int64_t i64(std::string_view path) const {
    return read<int64_t>(api().get_int, path);
  }
  double f64(std::string_view path) const {
    return read<double>(api().get_double, path);
  }
  bool flag(std::string_view path) const {
    return read<int32_t>(api().get_bool, path) != 0;
  }
  std::string str(std::string_view path) const {
    return std::string(detail::view(read<titan_str>(api().get_string, path)));
  }
  /// Length of a list or number of keys of a map.
  int64_t size(std::string_view path) const {
    return static_cast<int64_t>(read<uint64_t>(api().get_size, path));
  }
  /// The value at `path` ("" = all) for lists and maps.
  Json json(std::string_view path = "") const {
    return Json::parse(detail::view(read<titan_str>(api().get_json, path)));
  }
  std::vector<int64_t> ints(std::string_view path) const {
    const Json list = json(path);
    std::vector<int64_t> out;
    for (const Json& item : list.items()) out.push_back(item.i64());
    return out;
  }

 private:
  static const titan_config_api& api() { return *host().config; }
  template <typename Out, typename Getter>
  Out read(Getter getter, std::string_view path) const {
    Out out{};
    detail::HostError error;
    detail::check(getter(handle_, detail::str(path), &out, error), error);
    return out;
  }
  const titan_config* handle_;
};

namespace detail {

inline void write_text(const titan_text_sink& sink, std::string_view text) {
  sink.write(sink.self, str(text));
}

}  // namespace detail
}  // namespace titan
