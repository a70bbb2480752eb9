// SPDX-License-Identifier: BSD-3-Clause
// Reads the small part of Python's pickle format that files of tensors use. It
// builds records and executes nothing: a class or function is a name, a call
// is that name with its arguments, and a name outside the caller's list ends
// the read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace titan::checkpoint {

enum class PickleKind : std::uint8_t {
  kNone,
  kBool,
  kInt,
  kFloat,
  kText,
  kTuple,
  kList,
  kDict,        // items: key, value, key, value, ...
  kGlobal,      // text: "module.name"
  kCall,        // text: what is called; items: its arguments
  kPersistent,  // items: the one id, a reference out of the pickle
};

using PickleIndex = std::uint32_t;
inline constexpr PickleIndex kNoPickleValue = ~PickleIndex{0};

/// One value; others refer to it by its index in the document, so that shared
/// and even cyclic values cost nothing and are freed together.
struct PickleValue {
  PickleKind kind = PickleKind::kNone;
  std::int64_t number = 0;  // kBool, kInt
  double real = 0;          // kFloat
  std::string text{};       // kText, kGlobal, kCall
  std::vector<PickleIndex> items{};
  PickleIndex state = kNoPickleValue;  // kCall: what BUILD gave it
};

/// Values are shared, so a walk along `items` may meet one value many times
/// and for ever: walks bound their depth and count.
struct PickleDocument {
  std::vector<PickleValue> values;
  PickleIndex root = 0;

  const PickleValue& at(PickleIndex index) const { return values[index]; }
  /// The value of a text key in a kDict; null when absent.
  const PickleValue* find(const PickleValue& dict, std::string_view key) const;
};

inline constexpr std::size_t kMaxPickleBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMaxPickleValues = std::size_t{16} << 20;

using PickleGlobals = std::set<std::string, std::less<>>;

/// Reads one pickle of protocol 2 to 5. `where` ("checkpoint file") heads the
/// errors. Throws UserError for a global that is not in `allowed`, an opcode
/// that data does not need, truncation, and anything over the limits.
PickleDocument read_pickle(std::string_view where,
                           std::span<const std::byte> bytes,
                           const PickleGlobals& allowed);

}  // namespace titan::checkpoint
