// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/pickle_writer.h"

#include <titan/text.h>

#include "core/checkpoint/zip_writer.h"  // put_number

namespace titan::checkpoint {

void PickleWriter::text(std::string_view value) {
  out_ += 'X';
  put_number(out_, value.size(), 4);
  out_ += value;
}

void PickleWriter::number(std::int64_t value) {
  out_ += "\x8a\x08";  // LONG1 of 8 bytes
  put_number(out_, static_cast<std::uint64_t>(value), 8);
}

void PickleWriter::global(std::string_view module, std::string_view name) {
  out_ += titan::text('c', module, '\n', name, '\n');
}

void PickleWriter::numbers(const std::vector<std::int64_t>& values) {
  mark();
  for (const std::int64_t value : values) number(value);
  end_tuple();
}

}  // namespace titan::checkpoint
