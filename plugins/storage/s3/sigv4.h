// SPDX-License-Identifier: BSD-3-Clause
// AWS Signature Version 4: who sends a request proves it with a key that is not
// sent. Pure: the time is a parameter. Vectors: AWS's published examples
// (tests/unit/plugins/s3/sigv4_test.cpp).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace titan::s3 {

struct Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // empty: none
};

/// A request to be signed. Header names in lower case; "host" must be there.
struct SignedRequest {
  std::string method;
  std::string path;                          // not encoded, starts with '/'
  std::map<std::string, std::string> query;  // not encoded
  std::map<std::string, std::string> headers;
  std::string payload_sha256;  // hexadecimal, or "UNSIGNED-PAYLOAD"
};

struct Scope {
  std::string time;  // "20130524T000000Z"
  std::string region;
  std::string service = "s3";
};

/// RFC 3986, upper-case digits; '/' stays unless `encodes_slash`.
std::string percent_encode(std::string_view text, bool encodes_slash);

/// "a=1&b=2", encoded and in the order that is signed.
std::string query_text(const std::map<std::string, std::string>& query);

std::string sha256_hex(std::string_view bytes);

/// The request as text, whose hash is signed: for tests of each stage.
std::string canonical_request(const SignedRequest& request);
std::string string_to_sign(const SignedRequest& request, const Scope& scope);

/// Value of the header "authorization". `request.headers` must already have
/// x-amz-date, and x-amz-security-token where there is a session.
std::string authorization(const SignedRequest& request,
                          const Scope& scope,
                          const Credentials& credentials);

}  // namespace titan::s3
