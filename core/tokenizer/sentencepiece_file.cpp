// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/sentencepiece_file.h"

#include <cmath>
#include <unordered_set>

#include <titan/error.h>

#include "core/tokenizer/protobuf_reader.h"
#include "core/tokenizer/tokenizer_config.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

using Piece = SentencePieceFile::Piece;
using Kind = SentencePieceFile::Kind;

// Field numbers of sentencepiece_model.proto.
namespace model {
enum { kPieces = 1, kTrainer = 2, kNormalizer = 3, kDenormalizer = 5 };
}
namespace piece {
enum { kText = 1, kScore = 2, kKind = 3 };
}
namespace trainer {
enum {
  kModelType = 3,
  kWhitespaceAsSuffix = 24,
  kByteFallback = 35,
  kUnkId = 40,
  kBosId = 41,
  kEosId = 42,
  kPadId = 43,
  kUnkSurface = 44
};
}
namespace normalizer {
enum {
  kCharsmap = 2,
  kAddDummyPrefix = 3,
  kRemoveExtraWhitespaces = 4,
  kEscapeWhitespaces = 5
};
}

Piece read_piece(std::string_view bytes, const std::string& where) {
  Piece out;
  ProtobufReader reader(bytes, where);
  while (reader.next()) {
    if (reader.field() == piece::kText) out.text = reader.bytes();
    if (reader.field() == piece::kScore) out.score = reader.float32();
    if (reader.field() != piece::kKind) continue;
    TITAN_USER_CHECK(reader.varint() >= 1 && reader.varint() <= 6,
                     '[',
                     where,
                     "] type: expected 1 to 6, got ",
                     reader.varint());
    out.kind = static_cast<Kind>(reader.varint());
  }
  TITAN_USER_CHECK(!out.text.empty() && !find_invalid_utf8(out.text),
                   '[',
                   where,
                   "] expected a text in UTF-8 that is not empty, got ",
                   out.text.size(),
                   " bytes");
  TITAN_USER_CHECK(std::isfinite(out.score),
                   '[',
                   where,
                   "] score: expected a finite number, got ",
                   out.score);
  TITAN_USER_CHECK(out.kind != Kind::kUnused,
                   '[',
                   where,
                   "] not implemented: a piece of type UNUSED, got ",
                   out.text);
  return out;
}

int64_t to_id(uint64_t varint) {
  return static_cast<int32_t>(static_cast<uint32_t>(varint));
}

void read_trainer(std::string_view bytes, SentencePieceFile& out) {
  ProtobufReader reader(bytes, out.name + ": trainer_spec");
  while (reader.next()) switch (reader.field()) {
      case trainer::kModelType:
        TITAN_USER_CHECK(reader.varint() == 1 || reader.varint() == 2,
                         '[',
                         out.name,
                         ": trainer_spec.model_type] not implemented: expected "
                         "1 (unigram) or 2 (bpe), got ",
                         reader.varint());
        out.is_bpe = reader.varint() == 2;
        break;
      case trainer::kWhitespaceAsSuffix:
        out.treat_whitespace_as_suffix = reader.varint() != 0;
        break;
      case trainer::kByteFallback:
        out.byte_fallback = reader.varint() != 0;
        break;
      case trainer::kUnkId:
        out.unk_id = to_id(reader.varint());
        break;
      case trainer::kBosId:
        out.bos_id = to_id(reader.varint());
        break;
      case trainer::kEosId:
        out.eos_id = to_id(reader.varint());
        break;
      case trainer::kPadId:
        out.pad_id = to_id(reader.varint());
        break;
      case trainer::kUnkSurface:
        out.unk_surface = reader.bytes();
        break;
      default:  // Says how it was trained.
        break;
    }
}

void read_normalizer(std::string_view bytes, SentencePieceFile& out) {
  const std::string where = out.name + ": normalizer_spec";
  ProtobufReader reader(bytes, where);
  while (reader.next()) switch (reader.field()) {
      case normalizer::kCharsmap:
        out.charsmap = Charsmap(std::string(reader.bytes()), where);
        break;
      case normalizer::kAddDummyPrefix:
        out.add_dummy_prefix = reader.varint() != 0;
        break;
      case normalizer::kRemoveExtraWhitespaces:
        out.remove_extra_whitespaces = reader.varint() != 0;
        break;
      case normalizer::kEscapeWhitespaces:
        out.escape_whitespaces = reader.varint() != 0;
        break;
      default:  // Its name and its rules before they were compiled.
        break;
    }
}

void read_denormalizer(std::string_view bytes, const std::string& name) {
  ProtobufReader reader(bytes, name + ": denormalizer_spec");
  while (reader.next())
    TITAN_USER_CHECK(
        reader.field() != normalizer::kCharsmap || reader.bytes().empty(),
        '[',
        name,
        ": denormalizer_spec] not implemented: a character map for decoding, "
        "got ",
        reader.bytes().size(),
        " bytes");
}

void check_pieces(SentencePieceFile& file) {
  std::unordered_set<std::string> seen;
  int64_t unknown = -1;
  for (size_t id = 0; id < file.pieces.size(); ++id) {
    const Piece& one = file.pieces[id];
    TITAN_USER_CHECK(seen.insert(one.text).second,
                     '[',
                     file.name,
                     ": pieces[",
                     id,
                     "]] expected each text once, got ",
                     one.text);
    if (one.kind == Kind::kUnknown) unknown = static_cast<int64_t>(id);
  }
  TITAN_USER_CHECK(unknown >= 0,
                   '[',
                   file.name,
                   ": pieces] expected one of type UNKNOWN, got none among ",
                   file.pieces.size());
  file.unk_id = unknown;
  const auto num_pieces = static_cast<int64_t>(file.pieces.size());
  for (const int64_t id : {file.bos_id, file.eos_id, file.pad_id})
    TITAN_USER_CHECK(id < num_pieces,
                     '[',
                     file.name,
                     ": trainer_spec] id of a special piece: expected less "
                     "than ",
                     num_pieces,
                     ", got ",
                     id);
}

}  // namespace

// The first field is a piece: key 0A. A text of base64 cannot begin with a
// line feed.
bool is_sentencepiece(std::string_view bytes) {
  return bytes.starts_with('\x0A');
}

SentencePieceFile parse_sentencepiece(std::string_view bytes,
                                      const std::string& name) {
  SentencePieceFile file;
  file.name = name;
  ProtobufReader reader(bytes, name);
  while (reader.next()) {
    if (reader.field() == model::kPieces) {
      TITAN_USER_CHECK(file.pieces.size() <= static_cast<size_t>(kMaxTokenId),
                       '[',
                       name,
                       "] pieces: expected at most ",
                       kMaxTokenId + 1,
                       ", got more");
      file.pieces.push_back(read_piece(
          reader.bytes(), text(name, ": pieces[", file.pieces.size(), ']')));
    }
    if (reader.field() == model::kTrainer) read_trainer(reader.bytes(), file);
    if (reader.field() == model::kNormalizer)
      read_normalizer(reader.bytes(), file);
    if (reader.field() == model::kDenormalizer)
      read_denormalizer(reader.bytes(), name);
  }
  check_pieces(file);
  return file;
}

}  // namespace titan
