// SPDX-License-Identifier: BSD-3-Clause
// Numbers are little-endian, as is every machine that Titan runs on.
#include "core/data/token_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include <titan/error.h>

#include "core/checkpoint/checksum.h"

namespace titan {
namespace {

constexpr std::string_view kMagic = "TITANTOK";
constexpr int64_t kHeaderBytes = 16;
constexpr int64_t kFooterBytes = 40;
constexpr uint32_t kVersion = 1;

// llm.c, dev/data/data_common.py: 256 numbers of four bytes, then the ids.
constexpr int64_t kLlmCHeaderBytes = 1024;
struct LlmCKind {
  int32_t magic;
  int32_t version;
  int token_bytes;
};
constexpr std::array kLlmCKinds = {LlmCKind{20240520, 1, 2},   // GPT-2
                                   LlmCKind{20240801, 7, 4}};  // Llama 3

template <typename Number>
Number number_at(std::span<const std::byte> bytes, int64_t offset) {
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof(number));
  return number;
}

template <typename Number>
void put(std::vector<std::byte>& bytes, Number number) {
  const auto* from = reinterpret_cast<const std::byte*>(&number);
  bytes.insert(bytes.end(), from, from + sizeof(number));
}

int64_t padded(int64_t size) {
  return (size + 7) / 8 * 8;
}

std::string temporary_path(const std::string& path) {
  const std::filesystem::path wanted(path);
  return (wanted.parent_path() / (".tmp-" + wanted.filename().string()))
      .string();
}

}  // namespace

TokenFile::TokenFile(const std::string& path) : path_(path), file_(path) {
  if (file_.text().starts_with(kMagic))
    open_titan();
  else if (!open_llm_c())
    open_raw();
  TITAN_USER_CHECK(
      num_tokens_ > 0, "[data] token file without tokens: ", path_);
}

void TokenFile::open_titan() {
  const auto bytes = file_.bytes();
  const auto size = static_cast<int64_t>(bytes.size());
  TITAN_USER_CHECK(size >= kHeaderBytes + kFooterBytes,
                   "[data] token file is cut short: ",
                   path_);
  TITAN_USER_CHECK(number_at<uint32_t>(bytes, 8) == kVersion,
                   "[data] token file of another version: expected ",
                   kVersion,
                   ", got ",
                   number_at<uint32_t>(bytes, 8),
                   ": ",
                   path_);
  const int64_t footer = size - kFooterBytes;
  const auto sealed =
      bytes.subspan(static_cast<size_t>(footer), kFooterBytes - 8);
  TITAN_USER_CHECK(number_at<uint64_t>(bytes, size - 8) ==
                       checkpoint::compute_checksum(sealed),
                   "[data] token file is damaged or cut short: its footer's "
                   "checksum differs: ",
                   path_,
                   ". Prepare it again");
  const auto width = number_at<uint32_t>(bytes, 12);
  const auto tokens = number_at<uint64_t>(bytes, footer);
  const auto documents = number_at<uint64_t>(bytes, footer + 8);
  // Both are bounded before they are multiplied.
  const auto limit = static_cast<uint64_t>(size);
  TITAN_USER_CHECK(
      (width == 2 || width == 4) && tokens <= limit && documents <= tokens,
      "[data] token file contradicts itself: ",
      path_);
  token_bytes_ = static_cast<int>(width);
  num_tokens_ = static_cast<int64_t>(tokens);
  num_documents_ = static_cast<int64_t>(documents);
  tokens_begin_ = kHeaderBytes;
  starts_begin_ = kHeaderBytes + padded(num_tokens_ * token_bytes_);
  TITAN_USER_CHECK(starts_begin_ + 8 * num_documents_ == footer,
                   "[data] token file's size contradicts its counts: "
                   "expected ",
                   starts_begin_ + 8 * num_documents_ + kFooterBytes,
                   " bytes, got ",
                   size,
                   ": ",
                   path_);
  TITAN_USER_CHECK(num_documents_ == 0 || document_start(0) == 0,
                   "[data] token file's first document does not begin at its "
                   "first token: ",
                   path_);
}

bool TokenFile::open_llm_c() {
  const auto bytes = file_.bytes();
  const auto size = static_cast<int64_t>(bytes.size());
  if (size < kLlmCHeaderBytes) return false;
  const auto magic = number_at<int32_t>(bytes, 0);
  const auto kind =
      std::find_if(kLlmCKinds.begin(), kLlmCKinds.end(), [&](const auto& k) {
        return k.magic == magic;
      });
  if (kind == kLlmCKinds.end()) return false;
  TITAN_USER_CHECK(number_at<int32_t>(bytes, 4) == kind->version,
                   "[data] token file of llm.c: expected version ",
                   kind->version,
                   ", got ",
                   number_at<int32_t>(bytes, 4),
                   ": ",
                   path_);
  token_bytes_ = kind->token_bytes;
  num_tokens_ = number_at<int32_t>(bytes, 8);
  tokens_begin_ = kLlmCHeaderBytes;
  TITAN_USER_CHECK(
      num_tokens_ >= 0 && kLlmCHeaderBytes + num_tokens_ * token_bytes_ == size,
      "[data] token file of llm.c: its size contradicts its header: expected ",
      num_tokens_,
      " ids of ",
      token_bytes_,
      " bytes behind ",
      kLlmCHeaderBytes,
      ", got ",
      size,
      " bytes in all: ",
      path_);
  return true;
}

void TokenFile::open_raw() {
  const auto size = static_cast<int64_t>(file_.bytes().size());
  TITAN_USER_CHECK(size % 2 == 0,
                   "[data] token file without a header (nanoGPT's, ids of 2 "
                   "bytes): expected an even size, got ",
                   size,
                   " bytes: ",
                   path_);
  num_tokens_ = size / 2;
}

int64_t TokenFile::document_start(int64_t document) const {
  const auto start =
      number_at<uint64_t>(file_.bytes(), starts_begin_ + 8 * document);
  // The index is not read whole beforehand; what is used of it is checked.
  TITAN_USER_CHECK(start < static_cast<uint64_t>(num_tokens_),
                   "[data] token file's index is damaged: document ",
                   document,
                   " begins at ",
                   start,
                   " of ",
                   num_tokens_,
                   " tokens: ",
                   path_);
  return static_cast<int64_t>(start);
}

int64_t TokenFile::document_at(int64_t token) const {
  int64_t first = 0;
  int64_t last = num_documents_ - 1;
  while (first < last) {
    const int64_t middle = (first + last + 1) / 2;
    if (document_start(middle) <= token)
      first = middle;
    else
      last = middle - 1;
  }
  return first;
}

void TokenFile::read(int64_t begin,
                     int64_t end,
                     std::vector<int32_t>& ids) const {
  TITAN_CHECK(begin >= 0 && begin <= end && end <= num_tokens_,
              "[token file] read outside: ",
              begin);
  const auto bytes = file_.bytes();
  ids.reserve(ids.size() + static_cast<size_t>(end - begin));
  for (int64_t i = begin; i < end; ++i) {
    const int64_t at = tokens_begin_ + i * token_bytes_;
    ids.push_back(token_bytes_ == 2
                      ? number_at<uint16_t>(bytes, at)
                      : static_cast<int32_t>(number_at<uint32_t>(bytes, at)));
  }
}

void TokenFile::verify() const {
  if (tokens_begin_ != kHeaderBytes) return;  // Other formats have no sum.
  const auto bytes = file_.bytes();
  const auto footer = static_cast<int64_t>(bytes.size()) - kFooterBytes;
  const auto content = bytes.subspan(0, static_cast<size_t>(footer));
  TITAN_USER_CHECK(number_at<uint64_t>(bytes, footer + 16) ==
                       checkpoint::compute_checksum(content),
                   "[data] token file is damaged: its checksum differs: ",
                   path_,
                   ". Prepare it again");
}

struct TokenFileWriter::Sum {
  checkpoint::Checksum of_content;
};

TokenFileWriter::TokenFileWriter(checkpoint::FileSystem& files,
                                 const std::string& path,
                                 int token_bytes)
    : files_(files),
      path_(path),
      token_bytes_(token_bytes),
      file_(files.create(temporary_path(path))),
      sum_(std::make_unique<Sum>()) {
  TITAN_CHECK(token_bytes == 2 || token_bytes == 4, "[token file] width");
  bytes_.resize(kMagic.size());
  std::memcpy(bytes_.data(), kMagic.data(), kMagic.size());
  put(bytes_, kVersion);
  put(bytes_, static_cast<uint32_t>(token_bytes));
  write(bytes_);
}

TokenFileWriter::~TokenFileWriter() = default;

void TokenFileWriter::write(std::span<const std::byte> bytes) {
  sum_->of_content.update(bytes);
  file_->append(bytes);
}

void TokenFileWriter::append(std::span<const int32_t> ids,
                             bool begins_document) {
  if (ids.empty()) return;
  if (begins_document || starts_.empty())
    starts_.push_back(static_cast<uint64_t>(num_tokens_));
  bytes_.clear();
  for (const int32_t id : ids) {
    TITAN_CHECK(id >= 0 && (token_bytes_ == 4 || id <= 0xFFFF),
                "[token file] id does not fit ",
                token_bytes_,
                " bytes: ",
                id);
    if (token_bytes_ == 2)
      put(bytes_, static_cast<uint16_t>(id));
    else
      put(bytes_, static_cast<uint32_t>(id));
  }
  write(bytes_);
  num_tokens_ += static_cast<int64_t>(ids.size());
}

TokenFileFacts TokenFileWriter::finish() {
  bytes_.assign(static_cast<size_t>(padded(num_tokens_ * token_bytes_) -
                                    num_tokens_ * token_bytes_),
                std::byte{0});
  for (const uint64_t start : starts_) put(bytes_, start);
  write(bytes_);
  TokenFileFacts facts{num_tokens_,
                       static_cast<int64_t>(starts_.size()),
                       sum_->of_content.value()};
  bytes_.clear();
  put(bytes_, static_cast<uint64_t>(facts.num_tokens));
  put(bytes_, static_cast<uint64_t>(facts.num_documents));
  put(bytes_, facts.checksum);
  put(bytes_, uint64_t{0});
  put(bytes_, checkpoint::compute_checksum(bytes_));
  file_->append(bytes_);
  file_->sync();
  file_->close();
  files_.rename(temporary_path(path_), path_);
  files_.sync_folder(checkpoint::parent_folder(path_));
  return facts;
}

}  // namespace titan
