// SPDX-License-Identifier: BSD-3-Clause
// What a SentencePiece .model file says (sentencepiece_model.proto), checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/charsmap.h"

namespace titan {

struct SentencePieceFile {
  enum class Kind {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6,
  };
  struct Piece {
    std::string text;
    float score = 0;
    Kind kind = Kind::kNormal;
  };

  std::string name;           ///< For messages.
  std::vector<Piece> pieces;  ///< The position is the id.
  bool is_bpe = false;        ///< Else Unigram.
  bool byte_fallback = false;
  bool treat_whitespace_as_suffix = false;
  int64_t unk_id = 0;  ///< Of a piece of kind kUnknown.
  int64_t bos_id = 1;  ///< Negative: none; so are eos_id and pad_id.
  int64_t eos_id = 2;
  int64_t pad_id = -1;
  std::string unk_surface = " \xE2\x81\x87 ";
  Charsmap charsmap;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

/// Whether `bytes` look like such a file, not like a text.
bool is_sentencepiece(std::string_view bytes);

/// UserError (tag `name`): the bytes are not such a file, pieces are missing,
/// empty, double or not UTF-8, or the model is of another type than Unigram
/// and BPE or has unused pieces.
SentencePieceFile parse_sentencepiece(std::string_view bytes,
                                      const std::string& name);

}  // namespace titan
