// SPDX-License-Identifier: BSD-3-Clause
// YAML text -> Value. The only user of yaml-cpp, through its events: its node
// tree keeps duplicate keys silently, ignores `<<` and reads `no` as a boolean.
// Every fault of the text is a UserError `file:line:column: [yaml] ...`.
//
// Accepted: one document; BOM; CRLF; anchors, aliases, merge keys (`<<: *a` or
// `<<: [*a, *b]`: keys of the map itself win, then the earlier of the list).
// Refused: duplicate keys, tabs in indentation, several documents, an empty
// file, keys that are not scalars, tags other than the core ones, bytes that
// are not UTF-8, control characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/config/value.h"

namespace titan::config {

/// Bounds for untrusted text. A recipe has some hundred nodes.
struct DocumentLimits {
  std::size_t size_bytes = std::size_t{1} << 20;
  std::size_t depth = 64;
  std::size_t nodes = 20'000;
  std::size_t alias_nodes = 10'000;  ///< copied by aliases and merge keys
  /// YAML wants keys within 1024 characters of one line, and quoting can make
  /// six of one: what is printed must read back.
  std::size_t key_bytes = 128;
};

/// Parses one document. `name` is the file as messages shall show it.
Value parse_yaml(std::string_view text,
                 const std::string& name,
                 const DocumentLimits& limits = {});

/// Reads and parses a file; UserError if it cannot be read.
Value read_yaml_file(const std::string& path,
                     const DocumentLimits& limits = {});

}  // namespace titan::config
