// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/value_json.h"

#include <limits>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/chat/problem.h"
#include "core/checkpoint/strict_json.h"

namespace titan::chat {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kMaxJsonDepth = 64;

Value value_of(const OrderedJson& json) {
  switch (json.type()) {
    case OrderedJson::value_t::boolean:
      return json.get<bool>();
    case OrderedJson::value_t::number_unsigned:
      if (json.get<uint64_t>() > std::numeric_limits<int64_t>::max())
        fail("expected integers of 64 bits, got ", json.get<uint64_t>());
      return json.get<int64_t>();
    case OrderedJson::value_t::number_integer:
      return json.get<int64_t>();
    case OrderedJson::value_t::number_float:
      return json.get<double>();
    case OrderedJson::value_t::string:
      return json.get_ref<const std::string&>();
    case OrderedJson::value_t::array: {
      List items;
      for (const OrderedJson& item : json) items.push_back(value_of(item));
      return Value::list(std::move(items));
    }
    case OrderedJson::value_t::object: {
      Dict dict;
      for (const auto& [key, item] : json.items())
        dict.set(key, value_of(item));
      return dict;
    }
    default:
      return {};
  }
}

}  // namespace

Value parse_json(std::string_view where, std::string_view text) {
  checkpoint::require_strict_json(where, text, kMaxJsonDepth);
  try {
    return value_of(OrderedJson::parse(text));
  } catch (const OrderedJson::exception& error) {
    throw UserError(titan::text('[', where, "] JSON text: ", error.what()));
  } catch (const Problem& problem) {
    throw UserError(titan::text('[', where, "] ", problem.what()));
  }
}

}  // namespace titan::chat
