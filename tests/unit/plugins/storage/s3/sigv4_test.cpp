// SPDX-License-Identifier: BSD-3-Clause
// AWS's published examples of "Signature Calculations for the Authorization
// Header" (Amazon S3 API Reference, sig-v4-header-based-auth).
#include "plugins/storage/s3/sigv4.h"

#include <catch2/catch.hpp>

using namespace titan::s3;
using Catch::EndsWith;

namespace {

const Credentials kExample = {"AKIAIOSFODNN7EXAMPLE",
                              "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                              ""};
const Scope kScope = {"20130524T000000Z", "us-east-1"};

SignedRequest request_of(const std::string& method,
                         const std::string& path,
                         std::string_view payload = "") {
  SignedRequest request;
  request.method = method;
  request.path = path;
  request.payload_sha256 = sha256_hex(payload);
  request.headers = {{"host", "examplebucket.s3.amazonaws.com"},
                     {"x-amz-content-sha256", request.payload_sha256},
                     {"x-amz-date", kScope.time}};
  return request;
}

}  // namespace

TEST_CASE("signature of AWS's GET of an object", "[unit]") {
  SignedRequest request = request_of("GET", "/test.txt");
  request.headers["range"] = "bytes=0-9";
  CHECK(canonical_request(request) ==
        "GET\n/test.txt\n\nhost:examplebucket.s3.amazonaws.com\n"
        "range:bytes=0-9\n"
        "x-amz-content-sha256:"
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"
        "x-amz-date:20130524T000000Z\n\n"
        "host;range;x-amz-content-sha256;x-amz-date\n"
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(string_to_sign(request, kScope) ==
        "AWS4-HMAC-SHA256\n20130524T000000Z\n"
        "20130524/us-east-1/s3/aws4_request\n"
        "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972");
  CHECK(authorization(request, kScope, kExample) ==
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/"
        "s3/aws4_request,SignedHeaders=host;range;x-amz-content-sha256;"
        "x-amz-date,Signature="
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_CASE("signature of AWS's PUT of an object", "[unit]") {
  SignedRequest request =
      request_of("PUT", "/test$file.text", "Welcome to Amazon S3.");
  request.headers["date"] = "Fri, 24 May 2013 00:00:00 GMT";
  request.headers["x-amz-storage-class"] = "REDUCED_REDUNDANCY";
  CHECK_THAT(
      authorization(request, kScope, kExample),
      EndsWith("Signature="
               "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108"
               "bd"));
}

TEST_CASE("signature of AWS's GET of a bucket's lifecycle", "[unit]") {
  SignedRequest request = request_of("GET", "/");
  request.query = {{"lifecycle", ""}};
  CHECK_THAT(
      authorization(request, kScope, kExample),
      EndsWith("Signature="
               "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a01367835"
               "43"));
}

TEST_CASE("signature of AWS's list of a bucket", "[unit]") {
  SignedRequest request = request_of("GET", "/");
  request.query = {{"max-keys", "2"}, {"prefix", "J"}};
  CHECK_THAT(
      authorization(request, kScope, kExample),
      EndsWith("Signature="
               "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6"
               "f7"));
}

TEST_CASE("keys are encoded as RFC 3986 says", "[unit]") {
  CHECK(percent_encode("a/b c+\xc3\xa4~_-.=", false) ==
        "a/b%20c%2B%C3%A4~_-.%3D");
  CHECK(percent_encode("a/b", true) == "a%2Fb");
  CHECK(query_text({{"b", "1/2"}, {"a", ""}}) == "a=&b=1%2F2");
}
