// SPDX-License-Identifier: BSD-3-Clause
// A bucket of S3, or of anything that speaks its protocol, as a storage: what
// the host knows as keys are objects. A multipart upload appears whole when it
// is completed; a list sees all that was written before (S3 has both since
// 2020, MinIO and Ceph too).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <titan/sdk/config.hpp>
#include <titan/sdk/storage.hpp>

#include "plugins/storage/s3/client.h"

namespace titan::s3 {

class S3Storage {
 public:
  static constexpr std::string_view kSchema = R"json({
    "type": "object", "required": ["bucket"],
    "properties": {
      "bucket": {"type": "string", "description": "name of the bucket, which must exist"},
      "endpoint": {"type": ["string", "null"], "default": null,
        "description": "http(s)://HOST[:PORT] of another server than AWS; null: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or AWS"},
      "region": {"type": ["string", "null"], "default": null,
        "description": "null: AWS_REGION, AWS_DEFAULT_REGION or us-east-1"},
      "path_style": {"type": ["boolean", "null"], "default": null,
        "description": "bucket in the path instead of the host name; null: where an endpoint is given"},
      "part_mib": {"type": "integer", "minimum": 5, "maximum": 5120, "default": 64,
        "description": "size of the parts of a multipart upload"},
      "parallel_parts": {"type": "integer", "minimum": 1, "maximum": 64, "default": 4,
        "description": "parts of one object that go up at the same time; each is held in memory meanwhile"},
      "attempts": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5,
        "description": "of a request before it is given up"},
      "timeout_s": {"type": "integer", "minimum": 1, "default": 60,
        "description": "of an attempt in which no byte moves"}
    }})json";

  explicit S3Storage(const Config& config);
  S3Storage(Settings settings,
            std::size_t part_bytes,
            std::size_t num_parallel_parts = 4);

  class Writer {
   public:
    Writer(Client& client,
           std::string key,
           std::size_t part_bytes,
           std::size_t num_parallel_parts);
    /// Aborts what was not finished.
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    void append(std::span<const std::byte> bytes);
    void finish();

   private:
    void start_upload();
    void send_part();
    std::string upload_part(std::size_t number, std::string_view body);
    void wait_for_oldest();
    void complete_upload();

    Client& client_;
    std::string key_;
    std::size_t part_bytes_;
    std::size_t num_parallel_parts_;
    std::string part_;                // that is being filled
    std::size_t num_parts_ = 0;       // begun
    std::string upload_;              // id; empty: no multipart upload
    std::vector<std::string> etags_;  // of the parts that were sent
    std::deque<std::future<std::string>> in_flight_;  // the parts after them
    bool is_finished_ = false;
  };

  std::unique_ptr<Writer> open_writer(std::string_view key);
  std::optional<std::int64_t> size(std::string_view key);
  void read(std::string_view key,
            std::uint64_t offset,
            std::span<std::byte> out);
  void list(std::string_view key, const NameSink& add);
  void remove(std::string_view key);

 private:
  Client client_;
  std::size_t part_bytes_;
  std::size_t num_parallel_parts_;
};

}  // namespace titan::s3
