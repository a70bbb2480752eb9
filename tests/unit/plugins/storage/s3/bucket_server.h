// SPDX-License-Identifier: BSD-3-Clause
// An S3 bucket in memory behind HTTP on loopback, which checks every signature
// and can be told to refuse the next requests: what the hermetic tests of the
// plugin talk to.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include <httplib.h>

#include <titan/text.h>

#include "plugins/storage/s3/sigv4.h"

namespace titan::s3 {

inline const Credentials kTestCredentials = {"test-key", "test-secret", ""};

class BucketServer {
 public:
  BucketServer() {
    const auto handler = [this](const httplib::Request& request,
                                httplib::Response& response) {
      handle(request, response);
    };
    server_.Get(".*", handler);
    server_.Put(".*", handler);
    server_.Post(".*", handler);
    server_.Delete(".*", handler);
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~BucketServer() {
    server_.stop();
    thread_.join();
  }
  BucketServer(const BucketServer&) = delete;
  BucketServer& operator=(const BucketServer&) = delete;

  std::string endpoint() const { return text("http://127.0.0.1:", port_); }

  /// The next requests are answered 503.
  std::atomic<int> num_to_refuse = 0;
  std::atomic<int> num_requests = 0;
  std::atomic<std::int64_t> num_bytes_sent = 0;

  /// Parts of uploads are answered when so many have come at the same time.
  std::atomic<int> num_to_meet = 0;
  std::atomic<bool> has_missed = false;  // they did not come within a minute

  std::map<std::string, std::string> objects() const {
    const std::lock_guard lock(mutex_);
    return objects_;
  }
  void put(const std::string& key, std::string content) {
    const std::lock_guard lock(mutex_);
    objects_[key] = std::move(content);
  }
  void remove(const std::string& key) {
    const std::lock_guard lock(mutex_);
    objects_.erase(key);
  }
  std::size_t num_uploads() const {
    const std::lock_guard lock(mutex_);
    return uploads_.size();
  }

 private:
  static constexpr const char* kBucket = "/bucket";

  static bool is_signed(const httplib::Request& request) {
    SignedRequest again;
    again.method = request.method;
    again.path = request.path;
    for (const auto& [name, value] : request.params) again.query[name] = value;
    again.payload_sha256 = sha256_hex(request.body);
    const std::string given = request.get_header_value("authorization");
    const std::size_t begin = given.find("SignedHeaders=");
    if (begin == std::string::npos) return false;
    std::string names = given.substr(begin + 14);
    names = names.substr(0, names.find(','));
    for (std::size_t at = 0; at < names.size();) {
      const std::size_t end = std::min(names.find(';', at), names.size());
      const std::string name = names.substr(at, end - at);
      again.headers[name] = request.get_header_value(name.c_str());
      at = end + 1;
    }
    const Scope scope = {request.get_header_value("x-amz-date"), "us-test-1"};
    return again.headers["x-amz-content-sha256"] == again.payload_sha256 &&
           authorization(again, scope, kTestCredentials) == given;
  }

  void meet() {
    std::unique_lock lock(meeting_mutex_);
    ++num_met_;
    meeting_.notify_all();
    if (!meeting_.wait_for(lock, std::chrono::minutes(1), [this] {
          return num_met_ >= num_to_meet;
        }))
      has_missed = true;
  }

  void handle(const httplib::Request& request, httplib::Response& response) {
    ++num_requests;
    if (num_to_meet > 0 && request.has_param("partNumber")) meet();
    if (num_to_refuse > 0) {
      --num_to_refuse;
      response.status = 503;
      return response.set_content(
          "<Error><Code>SlowDown</Code><Message>later</Message></Error>",
          "application/xml");
    }
    if (!is_signed(request)) {
      response.status = 403;
      return response.set_content(
          "<Error><Code>SignatureDoesNotMatch</Code>"
          "<Message>not yours</Message></Error>",
          "application/xml");
    }
    const std::lock_guard lock(mutex_);
    std::string key = request.path.substr(std::string(kBucket).size());
    if (key.starts_with('/')) key.erase(0, 1);
    if (request.method == "POST") return post(request, response, key);
    if (request.method == "PUT") return put_object(request, response, key);
    if (request.method == "DELETE") return remove(request, response, key);
    if (key.empty()) return list(request, response);
    get(request, response, key);
  }

  void post(const httplib::Request& request,
            httplib::Response& response,
            const std::string& key) {
    if (request.has_param("uploads")) {
      const std::string id = text("upload-", ++num_started_);
      uploads_[id];
      return response.set_content("<R><UploadId>" + id + "</UploadId></R>",
                                  "application/xml");
    }
    const std::string id = request.get_param_value("uploadId");
    std::string whole;
    for (const auto& [number, part] : uploads_[id]) whole += part;
    objects_[key] = std::move(whole);
    uploads_.erase(id);
    response.set_content("<CompleteMultipartUploadResult/>", "application/xml");
  }

  void put_object(const httplib::Request& request,
                  httplib::Response& response,
                  const std::string& key) {
    if (!request.has_param("uploadId")) {
      objects_[key] = request.body;
      return;
    }
    uploads_[request.get_param_value("uploadId")]
            [std::stoi(request.get_param_value("partNumber"))] = request.body;
    response.set_header("ETag", "\"" + sha256_hex(request.body) + "\"");
  }

  void remove(const httplib::Request& request,
              httplib::Response& response,
              const std::string& key) {
    if (request.has_param("uploadId"))
      uploads_.erase(request.get_param_value("uploadId"));
    else
      objects_.erase(key);
    response.status = 204;
  }

  void get(const httplib::Request&,
           httplib::Response& response,
           const std::string& key) {
    const auto found = objects_.find(key);
    if (found == objects_.end()) {
      response.status = 404;
      return;
    }
    // httplib serves the range that was asked for, with status 206.
    num_bytes_sent += static_cast<std::int64_t>(found->second.size());
    response.set_content(found->second, "application/octet-stream");
  }

  // Two names a page, so that every test meets continuation.
  void list(const httplib::Request& request, httplib::Response& response) {
    const std::string prefix = request.get_param_value("prefix");
    std::set<std::string> entries;  // those of folders end in '/'
    for (const auto& [key, content] : objects_) {
      if (!key.starts_with(prefix)) continue;
      const std::size_t slash = key.find('/', prefix.size());
      entries.insert(slash == std::string::npos ? key
                                                : key.substr(0, slash + 1));
    }
    const std::string after = request.get_param_value("continuation-token");
    std::string xml = "<ListBucketResult>";
    int count = 0;
    std::string last;
    for (const std::string& entry : entries) {
      if (!after.empty() && entry <= after) continue;
      if (++count > 2) {
        xml += "<NextContinuationToken>" + last + "</NextContinuationToken>";
        break;
      }
      last = entry;
      const std::string name = percent_encode(entry, false);
      xml +=
          entry.ends_with('/')
              ? "<CommonPrefixes><Prefix>" + name + "</Prefix></CommonPrefixes>"
              : "<Contents><Key>" + name + "</Key></Contents>";
    }
    response.set_content(xml + "</ListBucketResult>", "application/xml");
  }

  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
  std::mutex meeting_mutex_;
  std::condition_variable meeting_;
  int num_met_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> objects_;
  std::map<std::string, std::map<int, std::string>> uploads_;
  int num_started_ = 0;
};

}  // namespace titan::s3
