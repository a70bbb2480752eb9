// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/storage/s3/storage.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include <titan/error.h>

#include "plugins/storage/s3/xml.h"

namespace titan::s3 {
namespace {

// The first of the variables that is set.
std::string environment(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* value = std::getenv(name); value != nullptr && *value != 0)
      return value;
  return {};
}

// Keys never stand in a recipe: it is stored with every checkpoint.
Settings settings_of(const Config& config) {
  Settings settings;
  settings.bucket = config.str("bucket");
  settings.region = config.has("region")
                        ? config.str("region")
                        : environment({"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (settings.region.empty()) settings.region = "us-east-1";
  settings.endpoint =
      config.has("endpoint")
          ? config.str("endpoint")
          : environment({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  const bool is_aws = settings.endpoint.empty();
  if (is_aws)
    settings.endpoint = "https://s3." + settings.region + ".amazonaws.com";
  settings.is_path_style =
      config.has("path_style") ? config.flag("path_style") : !is_aws;
  settings.credentials = {environment({"AWS_ACCESS_KEY_ID"}),
                          environment({"AWS_SECRET_ACCESS_KEY"}),
                          environment({"AWS_SESSION_TOKEN"})};
  TITAN_USER_CHECK(!settings.credentials.access_key.empty() &&
                       !settings.credentials.secret_key.empty(),
                   "[titan.s3] credentials: expected AWS_ACCESS_KEY_ID and "
                   "AWS_SECRET_ACCESS_KEY in the environment, got none");
  settings.max_attempts = static_cast<int>(config.i64("attempts"));
  settings.timeout_seconds = config.i64("timeout_s");
  return settings;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

S3Storage::S3Storage(const Config& config)
    : S3Storage(settings_of(config),
                static_cast<std::size_t>(config.i64("part_mib")) << 20,
                static_cast<std::size_t>(config.i64("parallel_parts"))) {}

S3Storage::S3Storage(Settings settings,
                     std::size_t part_bytes,
                     std::size_t num_parallel_parts)
    : client_(std::move(settings)),
      part_bytes_(part_bytes),
      num_parallel_parts_(num_parallel_parts) {}

S3Storage::Writer::Writer(Client& client,
                          std::string key,
                          std::size_t part_bytes,
                          std::size_t num_parallel_parts)
    : client_(client),
      key_(std::move(key)),
      part_bytes_(part_bytes),
      num_parallel_parts_(num_parallel_parts) {}

S3Storage::Writer::~Writer() {
  if (is_finished_ || upload_.empty()) return;
  // A part that arrives after the abort would stay, and be paid for.
  in_flight_.clear();
  try {
    client_.send({"DELETE", key_, {{"uploadId", upload_}}}, {204, 404});
  } catch (...) {
    // The bucket's own rule for incomplete uploads has to remove it.
  }
}

void S3Storage::Writer::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t taken =
        std::min(bytes.size(), part_bytes_ - part_.size());
    part_.append(text_of(bytes.first(taken)));
    bytes = bytes.subspan(taken);
    // The last part may be of any size, so a full one waits for a byte more.
    if (part_.size() == part_bytes_ && !bytes.empty()) send_part();
  }
}

void S3Storage::Writer::start_upload() {
  const Answer answer = client_.send({"POST", key_, {{"uploads", ""}}});
  upload_ = element_text(answer.body, "UploadId");
  if (upload_.empty())
    throw DeviceError(
        text("[titan.s3 ", key_, "] upload: expected an UploadId, got none"));
}

// One connection brings 50 to 100 MB/s from S3's servers, however fast the
// network is.
void S3Storage::Writer::send_part() {
  if (upload_.empty()) start_upload();
  if (in_flight_.size() == num_parallel_parts_) wait_for_oldest();
  in_flight_.push_back(std::async(
      std::launch::async,
      [this, number = ++num_parts_, body = std::exchange(part_, {})] {
        return upload_part(number, body);
      }));
  part_.reserve(part_bytes_);
}

std::string S3Storage::Writer::upload_part(std::size_t number,
                                           std::string_view body) {
  Request request{"PUT", key_};
  request.query = {{"partNumber", text(number)}, {"uploadId", upload_}};
  request.body = body;
  const Answer answer = client_.send(request);
  const auto etag = answer.headers.find("etag");
  if (etag == answer.headers.end())
    throw DeviceError(
        text("[titan.s3 ", key_, "] part: expected an ETag, got none"));
  return etag->second;
}

void S3Storage::Writer::wait_for_oldest() {
  std::future<std::string> oldest = std::move(in_flight_.front());
  in_flight_.pop_front();
  etags_.push_back(oldest.get());
}

void S3Storage::Writer::complete_upload() {
  std::string body = "<CompleteMultipartUpload>";
  for (std::size_t i = 0; i < etags_.size(); ++i)
    body += text("<Part><PartNumber>",
                 i + 1,
                 "</PartNumber><ETag>",
                 etags_[i],
                 "</ETag></Part>");
  body += "</CompleteMultipartUpload>";
  Request request{"POST", key_, {{"uploadId", upload_}}};
  request.body = body;
  const Answer answer = client_.send(request);
  // S3 may answer 200 and tell of the failure in the body, which it writes
  // while it works.
  if (!elements(answer.body, "Error").empty() ||
      answer.body.find("<Error") != std::string::npos)
    throw DeviceError(text("[titan.s3 ",
                           key_,
                           "] completion: expected success, got ",
                           element_text(answer.body, "Code"),
                           ": ",
                           element_text(answer.body, "Message")));
}

void S3Storage::Writer::finish() {
  if (upload_.empty()) {
    Request request{"PUT", key_};
    request.body = part_;
    client_.send(request);
  } else {
    if (!part_.empty()) send_part();
    while (!in_flight_.empty()) wait_for_oldest();
    complete_upload();
  }
  is_finished_ = true;
}

std::unique_ptr<S3Storage::Writer> S3Storage::open_writer(
    std::string_view key) {
  return std::make_unique<Writer>(
      client_, std::string(key), part_bytes_, num_parallel_parts_);
}

std::optional<std::int64_t> S3Storage::size(std::string_view key) {
  const Answer answer = client_.send({"HEAD", std::string(key)}, {200, 404});
  if (answer.status == 404) return std::nullopt;
  std::int64_t bytes = -1;
  const auto length = answer.headers.find("content-length");
  if (length != answer.headers.end())
    std::from_chars(length->second.data(),
                    length->second.data() + length->second.size(),
                    bytes);
  if (bytes < 0)
    throw DeviceError(
        text("[titan.s3 ", key, "] size: expected a number, got none"));
  return bytes;
}

void S3Storage::read(std::string_view key,
                     std::uint64_t offset,
                     std::span<std::byte> out) {
  if (out.empty()) return;
  Request request{"GET", std::string(key)};
  request.headers["range"] =
      text("bytes=", offset, '-', offset + out.size() - 1);
  request.out = out;
  const Answer answer = client_.send(request, {206});
  if (std::cmp_not_equal(answer.num_out_bytes, out.size()))
    throw DeviceError(text("[titan.s3 ",
                           key,
                           "] bytes: expected ",
                           out.size(),
                           " from ",
                           offset,
                           " on, got ",
                           answer.num_out_bytes));
}

void S3Storage::list(std::string_view key, const NameSink& add) {
  const std::string prefix = key.empty() ? "" : std::string(key) + "/";
  Request request{"GET", ""};
  request.query = {{"list-type", "2"},
                   {"delimiter", "/"},
                   {"encoding-type", "url"},
                   {"prefix", prefix}};
  const auto name_of = [&](std::string_view encoded) {
    std::string name = percent_decode(encoded);
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
    if (name.ends_with('/')) name.pop_back();
    return name;
  };
  for (;;) {
    const Answer answer = client_.send(request);
    for (const std::string_view entry : elements(answer.body, "Contents")) {
      const std::string name = name_of(element_text(entry, "Key"));
      if (!name.empty()) add(name, false);
    }
    for (const std::string_view entry :
         elements(answer.body, "CommonPrefixes")) {
      const std::string name = name_of(element_text(entry, "Prefix"));
      if (!name.empty()) add(name, true);
    }
    const std::string next = element_text(answer.body, "NextContinuationToken");
    if (next.empty()) return;
    request.query["continuation-token"] = next;
  }
}

void S3Storage::remove(std::string_view key) {
  client_.send({"DELETE", std::string(key)}, {204, 200, 404});
}

}  // namespace titan::s3
