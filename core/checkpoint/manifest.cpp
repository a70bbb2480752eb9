// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/manifest.h"

#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/checkpoint/checksum.h"
#include "core/checkpoint/safetensors_folder.h"  // is_plain_file_name
#include "core/checkpoint/strict_json.h"

namespace titan::checkpoint {
namespace {

// Ordered: texts of other components come back with their keys as given.
using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kFormat = "titan.checkpoint/1";
constexpr std::string_view kReportFormat = "titan.rank_report/1";
// Recipes nest as deep as their authors like; this only bounds a hostile one.
constexpr int kManifestDepth = 64;

std::string first_line(std::string_view format, std::string_view rest) {
  return text("{\"format\": \"",
              format,
              "\", \"checksum\": \"",
              checksum_text(compute_checksum(std::as_bytes(std::span(rest)))),
              "\",\n");
}

// Throws UserError unless the first line is that of `format` and its checksum
// is the one of what follows.
void require_seal(const std::string& where,
                  std::string_view format,
                  std::string_view text) {
  const std::size_t line_bytes = first_line(format, "").size();
  const std::string_view line = text.substr(0, line_bytes);
  const std::string_view rest = text.substr(line.size());
  const std::string expected = first_line(format, rest);
  // Up to the checksum's digits, quote, comma and newline.
  const std::string_view prefix =
      std::string_view(expected).substr(0, line_bytes - 19);
  TITAN_USER_CHECK(line.starts_with(prefix),
                   '[',
                   where,
                   "] format: expected a first line with ",
                   format,
                   ", got another");
  TITAN_USER_CHECK(line == expected,
                   '[',
                   where,
                   "] manifest is damaged or was edited: expected checksum ",
                   line.substr(prefix.size(), 16),
                   ", got ",
                   expected.substr(prefix.size(), 16));
}

OrderedJson file_json(const FileRecord& file) {
  return {{"name", file.name},
          {"size", file.size_bytes},
          {"checksum", checksum_text(file.checksum)}};
}

OrderedJson tensor_json(const TensorRecord& tensor) {
  OrderedJson json = {{"name", tensor.name},
                      {"role", tensor.role},
                      {"dtype", dtype_name(tensor.dtype)},
                      {"shape", tensor.shape},
                      {"file", tensor.file},
                      {"key", tensor.key}};
  if (tensor.region != whole_region(tensor.shape)) {
    json["offset"] = tensor.region.offset;
    json["extent"] = tensor.region.extent;
  }
  return json;
}

// Appends `"key": [` ... `]` with one item a line, so that text tools can show
// and compare manifests.
template <typename Items, typename ToText>
void append_list(std::string& out,
                 std::string_view key,
                 const Items& items,
                 const ToText& to_text) {
  append_text(out, text("\"", key, "\": ["));
  std::string_view separator = "\n";
  for (const auto& item : items) {
    out += text(separator, to_text(item));
    separator = ",\n";
  }
  out += "\n],\n";
}

const std::string& checked_json(const std::string& json) {
  try {
    require_strict_json("checkpoint state", json, kManifestDepth - 2);
  } catch (const UserError& error) {
    throw BugError(error.what());
  }
  return json;
}

// Typed access to untrusted JSON; `where` tags errors.
class FieldReader {
 public:
  FieldReader(std::string where, const OrderedJson& json)
      : where_(std::move(where)), json_(json) {
    check(json.is_object(), "entry", "an object", json);
  }

  const OrderedJson& at(const char* key) const {
    const auto it = json_.find(key);
    TITAN_USER_CHECK(it != json_.end(),
                     '[',
                     where_,
                     "] key: expected \"",
                     key,
                     "\", got none");
    return *it;
  }

  std::string string(const char* key) const {
    check(at(key).is_string(), key, "a string", at(key));
    return at(key).get<std::string>();
  }

  std::uint64_t number(const char* key) const {
    check(at(key).is_number_unsigned(), key, "a count", at(key));
    return at(key).get<std::uint64_t>();
  }

  std::int64_t signed_number(const char* key) const {
    check(std::in_range<std::int64_t>(number(key)), key, "below 2^63", at(key));
    return static_cast<std::int64_t>(number(key));
  }

  std::vector<std::int64_t> numbers(const char* key) const {
    std::vector<std::int64_t> found;
    for (const OrderedJson& item : list(key)) {
      check(item.is_number_unsigned() &&
                std::in_range<std::int64_t>(item.get<std::uint64_t>()),
            key,
            "counts",
            item);
      found.push_back(item.get<std::int64_t>());
    }
    return found;
  }

  const OrderedJson& list(const char* key) const {
    check(at(key).is_array(), key, "a list", at(key));
    return at(key);
  }

  std::uint64_t checksum(const char* key) const {
    const std::string digits = string(key);
    std::uint64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    check(checksum_text(value) == digits, key, "16 hex digits", at(key));
    return value;
  }

  void check(bool condition,
             std::string_view key,
             std::string_view expected,
             const OrderedJson& got) const {
    TITAN_USER_CHECK(condition,
                     '[',
                     where_,
                     "] ",
                     key,
                     ": expected ",
                     expected,
                     ", got ",
                     got.is_primitive() ? got.dump() : got.type_name());
  }

  bool contains(const char* key) const { return json_.contains(key); }
  const std::string& where() const { return where_; }

 private:
  std::string where_;
  const OrderedJson& json_;
};

std::vector<FileRecord> read_files(const FieldReader& fields) {
  std::vector<FileRecord> files;
  std::set<std::string> names;
  for (const OrderedJson& json : fields.list("files")) {
    const FieldReader entry(fields.where() + " files", json);
    FileRecord file{
        entry.string("name"), entry.number("size"), entry.checksum("checksum")};
    entry.check(is_plain_file_name(file.name) && names.insert(file.name).second,
                "name",
                "plain file names, each once",
                json["name"]);
    files.push_back(std::move(file));
  }
  return files;
}

TensorRecord read_tensor(const FieldReader& entry, const OrderedJson& json) {
  TensorRecord tensor;
  tensor.name = entry.string("name");
  tensor.role = entry.string("role");
  const std::optional<Dtype> dtype = dtype_from_name(entry.string("dtype"));
  entry.check(dtype.has_value(), "dtype", "a known type", json["dtype"]);
  tensor.dtype = *dtype;
  tensor.shape = entry.numbers("shape");
  tensor.file = entry.string("file");
  tensor.key = entry.string("key");
  tensor.region = whole_region(tensor.shape);
  if (entry.contains("offset"))
    tensor.region = {entry.numbers("offset"), entry.numbers("extent")};
  return tensor;
}

std::vector<TensorRecord> read_tensors(const FieldReader& fields,
                                       const std::vector<FileRecord>& files) {
  std::set<std::string_view> names;
  for (const FileRecord& file : files) names.insert(file.name);
  std::vector<TensorRecord> tensors;
  for (const OrderedJson& json : fields.list("tensors")) {
    const FieldReader entry(fields.where() + " tensors", json);
    tensors.push_back(read_tensor(entry, json));
    entry.check(names.contains(tensors.back().file),
                "file",
                "one of the manifest's files",
                json["file"]);
  }
  require_complete_tensors(fields.where(), tensors);
  return tensors;
}

}  // namespace

std::string manifest_text(const Manifest& manifest) {
  std::string rest = text("\"step\": ",
                          manifest.step,
                          ",\n\"world_size\": ",
                          manifest.world_size,
                          ",\n");
  const auto dump_file = [](const auto& item) {
    return file_json(item).dump();
  };
  const auto dump_tensor = [](const auto& item) {
    return tensor_json(item).dump();
  };
  append_list(rest, "files", manifest.files, dump_file);
  append_list(rest, "tensors", manifest.tensors, dump_tensor);
  append_list(rest, "ranks", manifest.rank_states, checked_json);
  rest += text("\"layout\": ",
               checked_json(manifest.state.layout),
               ",\n\"recipe\": ",
               checked_json(manifest.state.recipe),
               ",\n\"plugins\": ",
               checked_json(manifest.state.plugins),
               ",\n\"trainer\": ",
               checked_json(manifest.state.trainer),
               "\n}\n");
  return first_line(kFormat, rest) + rest;
}

Manifest parse_manifest(std::string_view text, std::string_view file) {
  const std::string where = titan::text("checkpoint ", file);
  require_seal(where, kFormat, text);
  require_strict_json(where, text, kManifestDepth);
  const OrderedJson json = OrderedJson::parse(text);
  const FieldReader fields(where, json);
  Manifest manifest;
  manifest.step = fields.signed_number("step");
  manifest.world_size = fields.signed_number("world_size");
  manifest.files = read_files(fields);
  manifest.tensors = read_tensors(fields, manifest.files);
  for (const OrderedJson& state : fields.list("ranks"))
    manifest.rank_states.push_back(state.dump());
  fields.check(std::cmp_equal(manifest.rank_states.size(), manifest.world_size),
               "ranks",
               "one state for each of world_size",
               json["world_size"]);
  manifest.state = {fields.at("trainer").dump(),
                    fields.at("recipe").dump(),
                    fields.at("plugins").dump(),
                    fields.at("layout").dump()};
  return manifest;
}

std::string rank_report_text(const RankReport& report) {
  const auto dump_file = [](const auto& item) {
    return file_json(item).dump();
  };
  const auto dump_tensor = [](const auto& item) {
    return tensor_json(item).dump();
  };
  std::string rest =
      text("\"step\": ", report.step, ",\n\"rank\": ", report.rank, ",\n");
  append_list(rest, "files", report.files, dump_file);
  append_list(rest, "tensors", report.tensors, dump_tensor);
  rest += text("\"state\": ", checked_json(report.state), "\n}\n");
  return first_line(kReportFormat, rest) + rest;
}

RankReport parse_rank_report(std::string_view text, std::string_view file) {
  const std::string where = titan::text("checkpoint ", file);
  require_seal(where, kReportFormat, text);
  require_strict_json(where, text, kManifestDepth);
  const OrderedJson json = OrderedJson::parse(text);
  const FieldReader fields(where, json);
  RankReport report;
  report.step = fields.signed_number("step");
  report.rank = fields.signed_number("rank");
  report.files = read_files(fields);
  for (const OrderedJson& tensor : fields.list("tensors"))
    report.tensors.push_back(read_tensor(FieldReader(where, tensor), tensor));
  report.state = fields.at("state").dump();
  return report;
}

void require_complete_tensors(std::string_view where,
                              const std::vector<TensorRecord>& tensors) {
  std::map<std::pair<std::string_view, std::string_view>,
           std::vector<const TensorRecord*>>
      pieces_of;
  for (const TensorRecord& tensor : tensors)
    pieces_of[{tensor.role, tensor.name}].push_back(&tensor);
  for (const auto& entry : pieces_of) {
    const std::vector<const TensorRecord*>& pieces = entry.second;
    const TensorRecord& first = *pieces.front();
    const auto check = [&](bool condition, std::string_view expected) {
      TITAN_USER_CHECK(condition,
                       '[',
                       where,
                       "] pieces of ",
                       first.role,
                       " tensor \"",
                       first.name,
                       "\": expected ",
                       expected,
                       ", got ",
                       pieces.size(),
                       " that are not. Whole shape ",
                       first.shape);
    };
    check(tensor_size_bytes(first.dtype, first.shape).has_value(),
          "a size below 2^63 bytes");
    std::vector<Region> regions;
    for (const TensorRecord* piece : pieces) {
      check(piece->dtype == first.dtype && piece->shape == first.shape,
            "one dtype and shape");
      check(is_within(piece->region, first.shape), "regions inside the shape");
      regions.push_back(piece->region);
    }
    check(is_partition(std::move(regions), first.shape),
          "regions that hold each element once");
  }
}

}  // namespace titan::checkpoint
