// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/byte_reader.h"

#include <array>
#include <fstream>
#include <vector>

#include <zlib.h>
#include <zstd.h>

#include <titan/error.h>

namespace titan {
namespace {

std::ifstream open_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  TITAN_USER_CHECK(file, "[data] file cannot be read: ", path);
  return file;
}

class PlainReader final : public ByteReader {
 public:
  PlainReader(const std::string& path, int64_t offset)
      : path_(path), file_(open_file(path)) {
    file_.seekg(offset);
  }

  size_t read(std::span<char> out) override {
    file_.read(out.data(), static_cast<std::streamsize>(out.size()));
    TITAN_USER_CHECK(
        !file_.bad(), "[data] reading stopped with an error: ", path_);
    return static_cast<size_t>(file_.gcount());
  }

 private:
  std::string path_;
  std::ifstream file_;
};

// The compressed bytes, read ahead.
class Input {
 public:
  explicit Input(const std::string& path) : file_(path, 0), bytes_(1 << 16) {}

  // More bytes where all are used up; false at the end of the file.
  bool fill() {
    if (used_ < size_) return true;
    size_ = file_.read(bytes_);
    used_ = 0;
    return size_ > 0;
  }
  const char* data() const { return bytes_.data() + used_; }
  size_t size() const { return size_ - used_; }
  void use(size_t amount) { used_ += amount; }

 private:
  PlainReader file_;
  std::vector<char> bytes_;
  size_t size_ = 0;
  size_t used_ = 0;
};

[[noreturn]] void throw_damaged(const std::string& path, const char* what) {
  throw UserError(text("[data] compressed file is damaged or cut short: ",
                       path,
                       " (",
                       what,
                       "). Fetch it again"));
}

class GzipReader final : public ByteReader {
 public:
  explicit GzipReader(const std::string& path) : path_(path), input_(path) {
    // 15: the largest window; + 16: a gzip header is expected.
    TITAN_CHECK(inflateInit2(&stream_, 15 + 16) == Z_OK, "[data] zlib");
  }
  ~GzipReader() override { inflateEnd(&stream_); }
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  size_t read(std::span<char> out) override {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    while (stream_.avail_out == out.size()) {
      if (!input_.fill()) {
        if (!is_member_complete_) throw_damaged(path_, "it ends too early");
        return 0;
      }
      if (is_member_complete_) inflateReset(&stream_);
      is_member_complete_ = false;
      // zlib does not write to its input.
      stream_.next_in =
          reinterpret_cast<Bytef*>(const_cast<char*>(input_.data()));
      stream_.avail_in = static_cast<uInt>(input_.size());
      const int code = inflate(&stream_, Z_NO_FLUSH);
      input_.use(input_.size() - stream_.avail_in);
      is_member_complete_ = code == Z_STREAM_END;
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        throw_damaged(path_, stream_.msg != nullptr ? stream_.msg : "zlib");
    }
    return out.size() - stream_.avail_out;
  }

 private:
  std::string path_;
  Input input_;
  z_stream stream_{};
  bool is_member_complete_ = true;
};

class ZstdReader final : public ByteReader {
 public:
  explicit ZstdReader(const std::string& path)
      : path_(path), input_(path), stream_(ZSTD_createDStream()) {
    TITAN_CHECK(stream_ != nullptr, "[data] zstd");
  }
  ~ZstdReader() override { ZSTD_freeDStream(stream_); }
  ZstdReader(const ZstdReader&) = delete;
  ZstdReader& operator=(const ZstdReader&) = delete;

  size_t read(std::span<char> out) override {
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    while (output.pos == 0) {
      const bool has_input = input_.fill();
      ZSTD_inBuffer input{input_.data(), has_input ? input_.size() : 0, 0};
      if (!has_input && is_frame_complete_) return 0;
      const size_t code = ZSTD_decompressStream(stream_, &output, &input);
      input_.use(input.pos);
      if (ZSTD_isError(code)) throw_damaged(path_, ZSTD_getErrorName(code));
      is_frame_complete_ = code == 0;
      // Without input a decoder may still hold output; with neither, the
      // file has ended inside a frame.
      if (!has_input && output.pos == 0 && !is_frame_complete_)
        throw_damaged(path_, "it ends too early");
    }
    return output.pos;
  }

 private:
  std::string path_;
  Input input_;
  ZSTD_DStream* stream_;
  bool is_frame_complete_ = true;
};

}  // namespace

Compression detect_compression(const std::string& path) {
  std::array<char, 4> head{};
  std::ifstream file = open_file(path);
  file.read(head.data(), head.size());
  const std::string_view bytes(head.data(), head.size());
  if (bytes.starts_with("\x1F\x8B")) return Compression::kGzip;
  if (bytes == "\x28\xB5\x2F\xFD") return Compression::kZstd;
  return Compression::kNone;
}

std::unique_ptr<ByteReader> open_plain(const std::string& path,
                                       int64_t offset) {
  return std::make_unique<PlainReader>(path, offset);
}

std::unique_ptr<ByteReader> open_compressed(const std::string& path,
                                            Compression compression) {
  if (compression == Compression::kGzip)
    return std::make_unique<GzipReader>(path);
  return std::make_unique<ZstdReader>(path);
}

}  // namespace titan
