// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/text_pattern.h"

#include "core/tokenizer/json_node.h"

namespace titan {

TextPattern::TextPattern(const JsonNode& node) {
  if (!node.is_object()) node.fail("{\"String\": ...} or {\"Regex\": ...}");
  node.only_keys({"String", "Regex"});
  if (node.has("String") == node.has("Regex"))
    node.fail("either String or Regex");
  if (node.has("Regex")) {
    regex_.emplace(node["Regex"].string(), node["Regex"].where());
    return;
  }
  literal_ = node["String"].string();
  if (literal_.empty()) node["String"].fail("a text that is not empty");
}

void TextPattern::append_matches(std::string_view text,
                                 std::vector<MatchSpan>& spans) const {
  if (regex_) {
    SplitPattern::Scratch scratch;
    return regex_->append_matches(text, scratch, spans);
  }
  size_t done = 0;
  for (size_t found = text.find(literal_); found != text.npos;
       found = text.find(literal_, done)) {
    if (found > done) spans.push_back({done, found, false});
    done = found + literal_.size();
    spans.push_back({found, done, true});
  }
  if (done < text.size()) spans.push_back({done, text.size(), false});
}

std::string TextPattern::replace_all(std::string_view text,
                                     std::string_view content) const {
  if (!regex_) return replace_literal(text, literal_, content);
  std::vector<MatchSpan> spans;
  append_matches(text, spans);
  std::string out;
  out.reserve(text.size());
  for (const MatchSpan& span : spans)
    out.append(span.is_match ? content
                             : text.substr(span.begin, span.end - span.begin));
  return out;
}

std::string replace_literal(std::string_view text,
                            std::string_view literal,
                            std::string_view content) {
  std::string out;
  out.reserve(text.size());
  size_t done = 0;
  for (size_t found = text.find(literal); found != text.npos;
       found = text.find(literal, done)) {
    out.append(text.substr(done, found - done)).append(content);
    done = found + literal.size();
  }
  return out.append(text.substr(done));
}

}  // namespace titan
