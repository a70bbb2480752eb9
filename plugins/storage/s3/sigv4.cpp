// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/storage/s3/sigv4.h"

#include <array>

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>  // SHA256_DIGEST_LENGTH

#include <titan/error.h>

namespace titan::s3 {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string hex(std::string_view bytes) {
  std::string digits;
  for (const char c : bytes) {
    digits += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    digits += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return digits;
}

std::string hmac(std::string_view key, std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  unsigned int size = 0;
  const unsigned char* const made =
      HMAC(EVP_sha256(),
           key.data(),
           static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(text.data()),
           text.size(),
           digest.data(),
           &size);
  TITAN_CHECK(made != nullptr, "[s3] HMAC-SHA256");
  return {reinterpret_cast<const char*>(digest.data()), size};
}

// "host;x-amz-date"
std::string signed_headers(const SignedRequest& request) {
  std::string names;
  for (const auto& [name, value] : request.headers)
    names += (names.empty() ? "" : ";") + name;
  return names;
}

std::string scope_text(const Scope& scope) {
  return text(scope.time.substr(0, 8),
              '/',
              scope.region,
              '/',
              scope.service,
              "/aws4_request");
}

}  // namespace

std::string percent_encode(std::string_view text, bool encodes_slash) {
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                          c == '.' || c == '~' || (c == '/' && !encodes_slash);
    if (is_plain) {
      out += c;
    } else {
      out += '%';
      out += "0123456789ABCDEF"[static_cast<unsigned char>(c) >> 4];
      out += "0123456789ABCDEF"[static_cast<unsigned char>(c) & 15];
    }
  }
  return out;
}

// By encoded name, as the signature wants it; a map of plain names has the same
// order for the names that S3 has.
std::string query_text(const std::map<std::string, std::string>& query) {
  std::string out;
  for (const auto& [name, value] : query)
    out += text(out.empty() ? "" : "&",
                percent_encode(name, true),
                '=',
                percent_encode(value, true));
  return out;
}

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  const int done = EVP_Digest(bytes.data(),
                              bytes.size(),
                              digest.data(),
                              nullptr,
                              EVP_sha256(),
                              nullptr);
  TITAN_CHECK(done == 1, "[s3] SHA-256");
  return hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string canonical_request(const SignedRequest& request) {
  std::string headers;
  for (const auto& [name, value] : request.headers)
    headers += text(name, ':', value, '\n');
  return text(request.method,
              '\n',
              percent_encode(request.path, false),
              '\n',
              query_text(request.query),
              '\n',
              headers,
              '\n',
              signed_headers(request),
              '\n',
              request.payload_sha256);
}

std::string string_to_sign(const SignedRequest& request, const Scope& scope) {
  return text(kAlgorithm,
              '\n',
              scope.time,
              '\n',
              scope_text(scope),
              '\n',
              sha256_hex(canonical_request(request)));
}

std::string authorization(const SignedRequest& request,
                          const Scope& scope,
                          const Credentials& credentials) {
  const std::string date_key =
      hmac("AWS4" + credentials.secret_key, scope.time.substr(0, 8));
  const std::string key =
      hmac(hmac(hmac(date_key, scope.region), scope.service), "aws4_request");
  return text(kAlgorithm,
              " Credential=",
              credentials.access_key,
              '/',
              scope_text(scope),
              ",SignedHeaders=",
              signed_headers(request),
              ",Signature=",
              hex(hmac(key, string_to_sign(request, scope))));
}

}  // namespace titan::s3
