// SPDX-License-Identifier: BSD-3-Clause
// Signed requests to one bucket, with retries, over libcurl. Any thread may
// send: connections are taken from a pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <curl/curl.h>

#include "plugins/storage/s3/sigv4.h"

namespace titan::s3 {

struct Settings {
  std::string endpoint;  // "https://s3.eu-central-1.amazonaws.com"
  std::string region;
  std::string bucket;
  bool is_path_style = false;  // endpoint/bucket/key, else bucket.endpoint/key
  Credentials credentials;
  int max_attempts = 5;
  long timeout_seconds = 60;                    // without a byte moving
  std::int64_t first_pause_milliseconds = 200;  // doubles with each attempt
};

struct Request {
  std::string method;
  std::string key;  // empty: the bucket itself
  std::map<std::string, std::string> query = {};
  std::map<std::string, std::string> headers = {};  // lower case
  std::string_view body = {};
  /// Where the answer's body goes; empty: into Answer::body.
  std::span<std::byte> out = {};
};

struct Answer {
  long status = 0;
  std::string body;
  std::int64_t num_out_bytes = 0;
  std::map<std::string, std::string> headers;  // lower case
};

class Client {
 public:
  explicit Client(Settings settings);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// The answer, whose status is one of `expected` (or 2xx when empty). Retries
  /// what may pass: no connection, 429, 5xx. Throws UserError when the answer
  /// says that the request is wrong (4xx), DeviceError when no attempt brought
  /// one.
  Answer send(const Request& request,
              std::initializer_list<long> expected = {});

  const Settings& settings() const { return settings_; }

 private:
  struct Attempt;
  struct Close {
    void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  };
  using Handle = std::unique_ptr<CURL, Close>;

  Attempt send_once(const Request& request);
  std::vector<std::string> signed_headers(const Request& request) const;
  std::string path_of(const Request& request) const;
  std::string where(const Request& request) const;
  Handle take_handle();
  void give_back(Handle handle);

  Settings settings_;
  std::string scheme_;  // "https://"
  std::string host_;    // with the bucket and the port
  std::mutex mutex_;
  std::vector<Handle> idle_;
};

}  // namespace titan::s3
