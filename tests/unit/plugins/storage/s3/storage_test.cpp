// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/storage/s3/storage.h"

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "tests/unit/plugins/storage/s3/bucket_server.h"

using namespace titan::s3;
using Catch::Contains;

namespace {

Settings settings_of(const BucketServer& server) {
  Settings settings;
  settings.endpoint = server.endpoint();
  settings.region = "us-test-1";
  settings.bucket = "bucket";
  settings.is_path_style = true;
  settings.credentials = kTestCredentials;
  settings.first_pause_milliseconds = 0;
  return settings;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string read(S3Storage& storage,
                 const std::string& key,
                 std::uint64_t offset,
                 std::size_t size) {
  std::string out(size, '?');
  storage.read(key, offset, std::as_writable_bytes(std::span(out)));
  return out;
}

void put(S3Storage& storage, const std::string& key, std::string_view content) {
  const auto writer = storage.open_writer(key);
  writer->append(bytes_of(content));
  writer->finish();
}

using Names = std::vector<std::pair<std::string, bool>>;

Names list(S3Storage& storage, const std::string& key) {
  Names names;
  const titan_storage_sink sink = {
      sizeof(sink),
      0,
      &names,
      [](void* self, titan_str name, int32_t is_folder) {
        static_cast<Names*>(self)->emplace_back(
            std::string(name.data, name.size), is_folder != 0);
      }};
  storage.list(key, titan::NameSink(sink));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("objects are written whole, read in ranges and removed", "[unit]") {
  BucketServer server;
  S3Storage storage(settings_of(server), 1000);
  put(storage, "runs/a b/c+d", "hello world");
  CHECK(server.objects().at("runs/a b/c+d") == "hello world");
  CHECK(storage.size("runs/a b/c+d") == 11);
  CHECK(storage.size("runs/none") == std::nullopt);
  CHECK(read(storage, "runs/a b/c+d", 0, 11) == "hello world");
  CHECK(read(storage, "runs/a b/c+d", 6, 5) == "world");
  CHECK_THROWS_AS(read(storage, "runs/a b/c+d", 6, 50), titan::DeviceError);
  storage.remove("runs/a b/c+d");
  storage.remove("runs/a b/c+d");
  CHECK(server.objects().empty());
}

TEST_CASE("parts become one object when the upload is completed", "[unit]") {
  BucketServer server;
  S3Storage storage(settings_of(server), 10);
  for (const std::size_t size : {0, 1, 9, 10, 11, 20, 35}) {
    INFO("size " << size);
    std::string content;
    for (std::size_t i = 0; i < size; ++i)
      content += static_cast<char>('a' + i % 26);
    const auto writer = storage.open_writer("object");
    for (std::size_t at = 0; at < size; at += 4)
      writer->append(bytes_of(std::string_view(content).substr(at, 4)));
    CHECK_FALSE(server.objects().contains("object"));
    writer->finish();
    CHECK(server.objects().at("object") == content);
    CHECK(server.num_uploads() == 0);
    storage.remove("object");
  }
}

TEST_CASE("parts of an object go up at the same time, and in order", "[unit]") {
  BucketServer server;
  server.num_to_meet = 3;
  S3Storage storage(settings_of(server), 10, 3);
  std::string content;
  for (int i = 0; i < 95; ++i) content += static_cast<char>('a' + i % 26);
  put(storage, "object", content);
  CHECK_FALSE(server.has_missed);
  CHECK(server.objects().at("object") == content);
  CHECK(server.num_uploads() == 0);
}

TEST_CASE("a part that fails ends the upload, whatever else is under way",
          "[unit]") {
  BucketServer server;
  Settings settings = settings_of(server);
  settings.max_attempts = 1;
  S3Storage storage(settings, 10, 3);
  {
    const auto writer = storage.open_writer("object");
    writer->append(bytes_of(std::string(15, 'a')));  // the first is on its way
    writer->append(bytes_of(std::string(10, 'b')));
    while (server.num_requests < 3) std::this_thread::yield();
    server.num_to_refuse = 1;
    writer->append(bytes_of(std::string(10, 'c')));
    CHECK_THROWS_AS(writer->finish(), titan::DeviceError);
  }
  CHECK(server.objects().empty());
  CHECK(server.num_uploads() == 0);
}

TEST_CASE("a write that is given up leaves nothing", "[unit]") {
  BucketServer server;
  S3Storage storage(settings_of(server), 10);
  put(storage, "object", "before");
  {
    const auto writer = storage.open_writer("object");
    writer->append(bytes_of("0123456789012345"));
    CHECK(server.num_uploads() == 1);
  }
  CHECK(server.num_uploads() == 0);
  CHECK(server.objects().at("object") == "before");
}

TEST_CASE("lists name what is directly below, page by page", "[unit]") {
  BucketServer server;
  S3Storage storage(settings_of(server), 1000);
  for (const char* key :
       {"r/a", "r/b/1", "r/b/2", "r/c d", "r/e/f/g", "rx", "q"})
    server.put(key, "x");
  CHECK(list(storage, "r") ==
        Names{{"a", false}, {"b", true}, {"c d", false}, {"e", true}});
  CHECK(list(storage, "") == Names{{"q", false}, {"r", true}, {"rx", false}});
  CHECK(list(storage, "none").empty());
}

TEST_CASE("a server that is busy is asked again, not for ever", "[unit]") {
  BucketServer server;
  S3Storage storage(settings_of(server), 1000);
  server.num_to_refuse = 4;
  put(storage, "object", "content");
  CHECK(server.num_requests == 5);
  CHECK(server.objects().at("object") == "content");
  server.num_to_refuse = 5;
  CHECK_THROWS_WITH(storage.size("object"),
                    Contains("[titan.s3 HEAD s3://bucket/object] answer: "
                             "expected success within 5 attempts, got HTTP "
                             "503"));
}

TEST_CASE("a wrong key is the user's error, with the server's words",
          "[unit]") {
  BucketServer server;
  Settings settings = settings_of(server);
  settings.credentials.secret_key = "another";
  S3Storage storage(settings, 1000);
  CHECK_THROWS_AS(put(storage, "object", "x"), titan::UserError);
  CHECK_THROWS_WITH(put(storage, "object", "x"),
                    Contains("got HTTP 403 SignatureDoesNotMatch: not yours"));
  CHECK(server.num_requests == 2);
}

TEST_CASE("nobody listening is a device error that names the object",
          "[unit]") {
  Settings settings;
  {
    BucketServer gone;
    settings = settings_of(gone);
  }
  settings.max_attempts = 2;
  S3Storage storage(settings, 1000);
  CHECK_THROWS_AS(storage.size("object"), titan::DeviceError);
  settings.endpoint = "ftp://x";
  CHECK_THROWS_WITH(S3Storage(settings, 1000),
                    Contains("expected http://HOST or https://HOST"));
}
