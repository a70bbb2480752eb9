// SPDX-License-Identifier: BSD-3-Clause
// As much XML as S3 answers with: the text between two tags. Answers are
// untrusted; nothing is expanded but the five entities and percent signs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace titan::s3 {

/// What lies inside each `<tag>...</tag>`, in order, not decoded.
std::vector<std::string_view> elements(std::string_view xml,
                                       std::string_view tag);

/// The text of the first one, entities decoded; empty when there is none.
std::string element_text(std::string_view xml, std::string_view tag);

/// Decodes "%2F" (list with encoding-type=url). Broken ones stay as they are.
std::string percent_decode(std::string_view text);

}  // namespace titan::s3
