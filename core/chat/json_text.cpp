// SPDX-License-Identifier: BSD-3-Clause
// json.dumps, to the byte: templates print tools with it and models were
// trained on what it wrote.
#include <algorithm>
#include <cmath>

#include "core/chat/problem.h"
#include "core/chat/python_text.h"
#include "core/tokenizer/utf8.h"

namespace titan::chat {
namespace {

void append_code_unit(uint32_t unit, std::string& out) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4)
    out += "0123456789abcdef"[unit >> shift & 15];
}

std::string_view short_escape(uint32_t code_point) {
  switch (code_point) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\f':
      return "\\f";
    case '\b':
      return "\\b";
    default:
      return {};
  }
}

void append_string(std::string_view text, bool ensure_ascii, std::string& out) {
  out += '"';
  for (size_t position = 0; position < text.size();) {
    const size_t begin = position;
    const uint32_t code_point = next_code_point(text, position);
    const std::string_view escape = short_escape(code_point);
    if (!escape.empty()) {
      out += escape;
    } else if (code_point >= 0x20 && (code_point < 0x7F || !ensure_ascii)) {
      out.append(text, begin, position - begin);
    } else if (code_point <= 0xFFFF) {
      append_code_unit(code_point, out);
    } else {
      append_code_unit(0xD800 + ((code_point - 0x10000) >> 10), out);
      append_code_unit(0xDC00 + ((code_point - 0x10000) & 0x3FF), out);
    }
  }
  out += '"';
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return float_text(value);
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, Budget& budget)
      : style_(style), budget_(budget) {}

  void write(const Value& value) {
    budget_.step();
    if (value.is_string())
      write_string(value.string());
    else if (value.is_kind(SequenceKind::kList) ||
             value.is_kind(SequenceKind::kTuple))
      write_list(value.items());
    else if (value.is_mapping())
      write_dict(value.dict());
    else
      out_ += scalar_text(value);
  }

  std::string take() { return std::move(out_); }

 private:
  static std::string scalar_text(const Value& value) {
    if (value.is_none()) return "null";
    if (value.is_boolean()) return value.boolean() ? "true" : "false";
    if (value.is_integer()) return text(value.integer());
    if (value.is_float()) return number_text(value.number());
    if (value.is_undefined()) fail("tojson: ", value.undefined_text());
    fail("tojson: a ", value.type_name(), " is not a value of JSON");
  }

  void write_string(const std::string& value) {
    budget_.charge_bytes(value.size());
    append_string(value, style_.ensure_ascii, out_);
  }

  void break_line() {
    if (!style_.indent) return;
    out_ += '\n';
    for (int i = 0; i < level_; ++i) out_ += *style_.indent;
    budget_.charge_bytes(1 + level_ * style_.indent->size());
  }

  void separate(bool& is_first) {
    if (!is_first) out_ += style_.item_separator;
    is_first = false;
    budget_.charge_bytes(style_.item_separator.size());
    break_line();
  }

  void write_list(const List& items) {
    out_ += '[';
    ++level_;
    bool is_first = true;
    for (const Value& item : items) {
      separate(is_first);
      write(item);
    }
    --level_;
    if (!items.empty()) break_line();
    out_ += ']';
  }

  void write_dict(const Dict& dict) {
    std::vector<const Dict::Entry*> entries;
    for (const Dict::Entry& entry : dict.entries()) entries.push_back(&entry);
    if (style_.sort_keys)
      std::stable_sort(entries.begin(), entries.end(), [](auto* a, auto* b) {
        return is_less(a->first, b->first);
      });
    out_ += '{';
    ++level_;
    bool is_first = true;
    for (const Dict::Entry* entry : entries) {
      separate(is_first);
      const Value& key = entry->first;
      write_string(key.is_string() ? key.string() : scalar_text(key));
      out_ += style_.key_separator;
      budget_.charge_bytes(style_.key_separator.size());
      write(entry->second);
    }
    --level_;
    if (!entries.empty()) break_line();
    out_ += '}';
  }

  const JsonStyle& style_;
  Budget& budget_;
  std::string out_;
  int level_ = 0;
};

}  // namespace

std::string to_json(const Value& value,
                    const JsonStyle& style,
                    Budget& budget) {
  JsonWriter writer(style, budget);
  writer.write(value);
  return writer.take();
}

}  // namespace titan::chat
