// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/storage/s3/client.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <utility>

#include <titan/sdk/error.hpp>
#include <titan/text.h>

#include "plugins/storage/s3/xml.h"

namespace titan::s3 {
namespace {

// Answers that are text: lists of a thousand keys have 300 KB.
constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;

std::string utc_time() {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  ::gmtime_r(&now, &utc);
  char out[32];
  const std::size_t size =
      std::strftime(out, sizeof(out), "%Y%m%dT%H%M%SZ", &utc);
  return {out, size};
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
  };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

struct Received {
  std::span<std::byte> out;
  Answer answer;
};

std::size_t receive(char* bytes, std::size_t, std::size_t size, void* self) {
  auto& received = *static_cast<Received*>(self);
  const auto used = static_cast<std::size_t>(received.answer.num_out_bytes);
  // An error's text must not land in a tensor: only what fits is taken for it,
  // and the status decides who reads which.
  if (!received.out.empty()) {
    const std::size_t taken = std::min(size, received.out.size() - used);
    std::memcpy(received.out.data() + used, bytes, taken);
    received.answer.num_out_bytes += static_cast<std::int64_t>(taken);
  }
  const bool keeps_text =
      received.out.empty() || received.answer.body.size() < std::size_t{4096};
  if (!keeps_text) return size;
  if (received.answer.body.size() + size > kMaxTextBytes) return 0;
  received.answer.body.append(bytes, size);
  return size;
}

std::size_t receive_header(char* bytes,
                           std::size_t,
                           std::size_t size,
                           void* self) {
  auto& received = *static_cast<Received*>(self);
  const std::string_view line(bytes, size);
  const std::size_t colon = line.find(':');
  if (colon != std::string_view::npos)
    received.answer.headers[lower(line.substr(0, colon))] =
        trimmed(line.substr(colon + 1));
  return size;
}

class HeaderList {
 public:
  ~HeaderList() { curl_slist_free_all(list_); }
  void add(const std::string& line) {
    list_ = curl_slist_append(list_, line.c_str());
  }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

bool may_pass(long status) {
  return status == 429 || status >= 500;
}

bool is_wanted(long status, std::initializer_list<long> expected) {
  if (expected.size() == 0) return status >= 200 && status < 300;
  return std::ranges::find(expected, status) != expected.end();
}

// "NoSuchBucket: The specified bucket does not exist"
std::string fault_text(const Answer& answer) {
  const std::string code = element_text(answer.body, "Code");
  // The answer to HEAD has no body.
  if (code.empty() && answer.status == 403)
    return "HTTP 403: wrong credentials, or no right to it";
  return text("HTTP ",
              answer.status,
              code.empty() ? "" : " ",
              code,
              code.empty() ? "" : ": ",
              element_text(answer.body, "Message"));
}

}  // namespace

struct Client::Attempt {
  CURLcode code = CURLE_OK;
  Answer answer;
};

Client::Client(Settings settings) : settings_(std::move(settings)) {
  const std::string_view endpoint = settings_.endpoint;
  const std::size_t colon = endpoint.find("://");
  scheme_ = colon == std::string_view::npos
                ? ""
                : std::string(endpoint.substr(0, colon + 3));
  TITAN_USER_CHECK(scheme_ == "https://" || scheme_ == "http://",
                   "[titan.s3 endpoint] expected http://HOST or https://HOST, "
                   "got \"",
                   endpoint,
                   '"');
  host_ = endpoint.substr(scheme_.size());
  while (host_.ends_with('/')) host_.pop_back();
  if (!settings_.is_path_style) host_ = settings_.bucket + "." + host_;
}

Client::~Client() = default;

std::string Client::path_of(const Request& request) const {
  std::string path = settings_.is_path_style ? "/" + settings_.bucket : "";
  if (path.empty() || !request.key.empty()) path += '/';
  return path + request.key;
}

std::string Client::where(const Request& request) const {
  return text("[titan.s3 ",
              request.method,
              " s3://",
              settings_.bucket,
              '/',
              request.key,
              "] ");
}

std::vector<std::string> Client::signed_headers(const Request& request) const {
  SignedRequest to_sign;
  to_sign.method = request.method;
  to_sign.path = path_of(request);
  to_sign.query = request.query;
  to_sign.headers = request.headers;
  to_sign.payload_sha256 = sha256_hex(request.body);
  const Scope scope = {utc_time(), settings_.region};
  to_sign.headers["host"] = host_;
  to_sign.headers["x-amz-date"] = scope.time;
  to_sign.headers["x-amz-content-sha256"] = to_sign.payload_sha256;
  if (!settings_.credentials.session_token.empty())
    to_sign.headers["x-amz-security-token"] =
        settings_.credentials.session_token;
  std::vector<std::string> lines;
  for (const auto& [name, value] : to_sign.headers)
    lines.push_back(text(name, ": ", value));
  if (!settings_.credentials.access_key.empty())
    lines.push_back("authorization: " +
                    authorization(to_sign, scope, settings_.credentials));
  // curl's own: a body is sent at once, of no particular type.
  lines.emplace_back("Expect:");
  lines.emplace_back("Content-Type:");
  return lines;
}

Client::Handle Client::take_handle() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      Handle handle = std::move(idle_.back());
      idle_.pop_back();
      curl_easy_reset(handle.get());  // keeps the connection
      return handle;
    }
  }
  Handle handle(curl_easy_init());
  if (!handle) throw DeviceError("[titan.s3] curl_easy_init: got none");
  return handle;
}

void Client::give_back(Handle handle) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(handle));
}

Client::Attempt Client::send_once(const Request& request) {
  Handle handle = take_handle();
  CURL* const curl = handle.get();
  HeaderList headers;
  for (const std::string& line : signed_headers(request)) headers.add(line);
  std::string url = scheme_ + host_ + percent_encode(path_of(request), false);
  if (!request.query.empty()) url += "?" + query_text(request.query);
  Received received{request.out, {}};
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, settings_.timeout_seconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, settings_.timeout_seconds);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &received);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, receive_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &received);
  if (request.method == "HEAD") curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  if (request.method == "PUT" || request.method == "POST") {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(curl,
                     CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  }
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  Attempt attempt;
  attempt.code = curl_easy_perform(curl);
  attempt.answer = std::move(received.answer);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &attempt.answer.status);
  if (attempt.code == CURLE_OK) give_back(std::move(handle));
  return attempt;
}

Answer Client::send(const Request& request,
                    std::initializer_list<long> expected) {
  std::int64_t pause = settings_.first_pause_milliseconds;
  std::string fault;
  for (int number = 1; number <= settings_.max_attempts; ++number) {
    if (number > 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(pause));
      pause *= 2;
    }
    Attempt attempt = send_once(request);
    if (attempt.code == CURLE_OK && is_wanted(attempt.answer.status, expected))
      return std::move(attempt.answer);
    fault = attempt.code == CURLE_OK ? fault_text(attempt.answer)
                                     : curl_easy_strerror(attempt.code);
    if (attempt.code == CURLE_OK && !may_pass(attempt.answer.status))
      throw UserError(
          text(where(request), "answer: expected success, got ", fault));
  }
  throw DeviceError(text(where(request),
                         "answer: expected success within ",
                         settings_.max_attempts,
                         " attempts, got ",
                         fault),
                    kCommunication);
}

}  // namespace titan::s3
