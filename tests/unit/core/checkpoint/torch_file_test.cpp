// SPDX-License-Identifier: BSD-3-Clause
// Files that PyTorch wrote, files that we wrote, and files that somebody bent.
#include "core/checkpoint/torch_file.h"

#include <algorithm>
#include <map>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/checkpoint/decode.h"
#include "core/checkpoint/zip_archive.h"
#include "tests/unit/core/checkpoint/temporary_folder.h"

using namespace titan::checkpoint;
using Catch::Contains;
using namespace std::string_literals;

namespace {

const std::string kTorchFiles = TITAN_SOURCE_DIR "/tests/golden/torch_save/";

using Values = std::vector<double>;

std::vector<std::byte> elements_of(const StridedTensor& tensor) {
  std::vector<std::byte> bytes;
  read_elements(tensor, [&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  return bytes;
}

std::map<std::string, Values> values_of(const TorchContent& content) {
  std::map<std::string, Values> values;
  for (const StridedTensor& tensor : content.tensors)
    values[tensor.spec.name] = decode(tensor.spec.dtype, elements_of(tensor));
  return values;
}

void put_number(std::string& out, std::uint64_t value, int num_bytes) {
  for (int i = 0; i < num_bytes; ++i)
    out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

struct ZipPart {
  std::string name;
  std::string content;
  std::uint64_t claimed_size = ~std::uint64_t{0};  // all ones: the true one
  std::uint64_t offset = ~std::uint64_t{0};
  std::uint64_t method = 0;
};

std::string make_zip(const std::vector<ZipPart>& parts) {
  std::string zip;
  std::string directory;
  for (const ZipPart& part : parts) {
    const std::uint64_t offset =
        part.offset == ~std::uint64_t{0} ? zip.size() : part.offset;
    const std::uint64_t size = part.claimed_size == ~std::uint64_t{0}
                                   ? part.content.size()
                                   : part.claimed_size;
    zip += std::string("PK\3\4", 4) + std::string(22, '\0');
    put_number(zip, part.name.size(), 2);
    put_number(zip, 0, 2);
    zip += part.name + part.content;
    directory += std::string("PK\1\2", 4) + std::string(6, '\0');
    put_number(directory, part.method, 2);
    put_number(directory, 0, 8);
    put_number(directory, size, 4);
    put_number(directory, size, 4);
    put_number(directory, part.name.size(), 2);
    put_number(directory, 0, 12);
    put_number(directory, offset, 4);
    directory += part.name;
  }
  const std::size_t begin = zip.size();
  zip += directory + std::string("PK\5\6", 4) + std::string(4, '\0');
  put_number(zip, parts.size(), 2);
  put_number(zip, parts.size(), 2);
  put_number(zip, directory.size(), 4);
  put_number(zip, begin, 4);
  put_number(zip, 0, 2);
  return zip;
}

std::string with_pickle(const std::string& pickle) {
  return make_zip({{"a/data.pkl", pickle}, {"a/data/0", "12345678"}});
}

void parse_zip(const std::string& zip) {
  parse_torch("checkpoint x", bytes_of(zip));
}

std::string text_opcode(const std::string& text) {
  std::string out = "X";
  put_number(out, text.size(), 4);
  return out + text;
}

// A tensor of two floats with its offset, shape and strides.
std::string tensor_pickle(const std::string& numbers) {
  return "\x80\x02" + std::string("ctorch._utils\n_rebuild_tensor_v2\n((") +
         text_opcode("storage") + "ctorch\nFloatStorage\n" + text_opcode("0") +
         text_opcode("cpu") + "K\x02tQ" + numbers + "\x89NtR.";
}

}  // namespace

TEST_CASE("module's state dict is read in the order of its file", "[unit]") {
  const TorchFile file(kTorchFiles + "module.pt");
  const auto& tensors = file.content().tensors;
  REQUIRE(tensors.size() == 2);
  CHECK(tensors[0].spec.name == "weight");
  CHECK(tensors[0].spec.shape == std::vector<std::int64_t>{2, 3});
  CHECK(tensors[1].spec.name == "bias");
  const auto values = values_of(file.content());
  CHECK(values.at("weight") == Values{0, 1, 2, 3, 4, 5});
  CHECK(values.at("bias") == Values{7, 8});
}

TEST_CASE("every type of PyTorch is read", "[unit]") {
  const TorchFile file(kTorchFiles + "types.pt");
  const auto values = values_of(file.content());
  CHECK(values.size() == 16);
  for (const StridedTensor& tensor : file.content().tensors) {
    INFO(tensor.spec.name);
    CHECK(dtype_from_torch(tensor.spec.name) == tensor.spec.dtype);
    const bool is_float =
        tensor.spec.name.starts_with("float") || tensor.spec.name == "bfloat16";
    if (is_float) CHECK(values.at(tensor.spec.name) == Values{0, 1, -2, 1.5});
    if (tensor.spec.name.find("int") != std::string::npos)
      CHECK(values.at(tensor.spec.name) == Values{0, 1, 2, 100});
  }
  CHECK(values.at("bool") == Values{0, 1, 1, 1});
  CHECK(values.at("complex64") == Values{0, 0, 1, 0, -2, 0, 1.5, 0});
}

TEST_CASE("views into one storage are read row by row", "[unit]") {
  const TorchFile file(kTorchFiles + "views.pt");
  const auto values = values_of(file.content());
  CHECK(values.at("whole") == Values{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(values.at("transposed") ==
        Values{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  CHECK(values.at("columns") == Values{1, 2, 5, 6, 9, 10});
  CHECK(values.at("row") == Values{8, 9, 10, 11});
  CHECK(values.at("scalar") == Values{5});
  CHECK(values.at("empty").empty());
  CHECK(values.at("parameter") == Values{1, 2});
}

TEST_CASE("nested dicts become dotted names, a key selects one", "[unit]") {
  const TorchFile all(kTorchFiles + "training.pt");
  const auto values = values_of(all.content());
  CHECK(values.size() == 3);
  CHECK(values.at("model.a.w") == Values{1, 1});
  CHECK(values.at("optimizer.state.0.exp_avg") == Values{3, 3});
  CHECK(all.content().skipped ==
        std::vector<std::string>{"optimizer.groups.0.lr",
                                 "optimizer.groups.0.betas.0",
                                 "optimizer.groups.0.betas.1",
                                 "step",
                                 "name"});
  const TorchFile model(kTorchFiles + "training.pt", "model");
  CHECK(values_of(model.content()) ==
        std::map<std::string, Values>{{"a.w", {1, 1}}, {"b", {0}}});
  const TorchFile one(kTorchFiles + "training.pt", "model.a.w");
  CHECK(values_of(one.content()).at("") == Values{1, 1});
  CHECK_THROWS_WITH(TorchFile(kTorchFiles + "training.pt", "ema"),
                    Contains("expected a dict with \"ema\""));
}

TEST_CASE("pickles that would run code are refused by name", "[unit]") {
  CHECK_THROWS_WITH(TorchFile(kTorchFiles + "attack.pt"),
                    Contains("posix.system") && Contains("not executed"));
  CHECK_THROWS_WITH(parse_zip(with_pickle("\x80\x02"
                                          "cos\nsystem\n.")),
                    Contains("os.system"));
  CHECK_THROWS_WITH(parse_zip(with_pickle("\x80\x04\x8c\x08"
                                          "builtins\x8c\x04"
                                          "eval\x93.")),
                    Contains("builtins.eval"));
  CHECK_THROWS_WITH(parse_zip(with_pickle("\x80\x02i"
                                          "os\nsystem\n.")),
                    Contains("opcode"));
}

TEST_CASE("old and foreign formats are refused with the way out", "[unit]") {
  CHECK_THROWS_WITH(
      TorchFile(kTorchFiles + "legacy.pt"),
      Contains("before PyTorch 1.6") && Contains("save it again"));
  CHECK_THROWS_WITH(parse_zip(""), Contains("format"));
  CHECK_THROWS_WITH(parse_zip(make_zip({{"a/readme", "x"}})),
                    Contains("not from torch.save"));
  CHECK_THROWS_WITH(parse_zip(make_zip({{"a/data.pkl", "\x80\x02N."},
                                        {"a/byteorder", "big"}})),
                    Contains("little"));
}

TEST_CASE("file cut anywhere is refused", "[unit]") {
  const std::string whole = get_file(kTorchFiles + "views.pt");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    CHECK_THROWS_AS(parse_zip(whole.substr(0, size)), titan::UserError);
  }
}

TEST_CASE("file with any one byte changed is read or refused", "[unit]") {
  const std::string whole = get_file(kTorchFiles + "views.pt");
  std::size_t num_refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string bent = whole;
      bent[at] = static_cast<char>(bent[at] ^ change);
      try {
        values_of(parse_torch("checkpoint x", bytes_of(bent)));
      } catch (const titan::UserError&) {
        ++num_refused;
      }
    }
  CHECK(num_refused > 1000);
}

TEST_CASE("zip that lies is refused", "[unit]") {
  const ZipPart pickle{"a/data.pkl", "\x80\x02N."};
  CHECK_NOTHROW(parse_zip(make_zip({pickle})));
  CHECK_THROWS_WITH(
      parse_zip(make_zip({pickle, {"a/data/0", "x", 0xfffffff0}})),
      Contains("end before the directory"));
  CHECK_THROWS_WITH(
      parse_zip(make_zip({pickle, {"a/data/0", "x", 1, 0x7fffffff}})),
      Contains("header before the directory"));
  CHECK_THROWS_WITH(parse_zip(make_zip({pickle, pickle})), Contains("twice"));
  ZipPart again = pickle;
  again.offset = 0;
  CHECK_THROWS_AS(parse_zip(make_zip({pickle, again})), titan::UserError);
  ZipPart packed = pickle;
  packed.method = 8;
  CHECK_THROWS_WITH(parse_zip(make_zip({packed})), Contains("compressed"));
  // The first entry claims the second one's bytes.
  ZipPart wide = pickle;
  wide.claimed_size = 50;
  CHECK_THROWS_WITH(parse_zip(make_zip({wide, {"a/data/0", "12345678"}})),
                    Contains("overlap"));
}

TEST_CASE("pickle bombs are refused at once", "[unit]") {
  // 40 lists, each holding the one before twice: 2^40 paths.
  std::string memo_bomb = "\x80\x02]q";
  memo_bomb.push_back('\0');
  for (int i = 0; i < 30; ++i)
    memo_bomb += std::string("](h") + static_cast<char>(i) + 'h' +
                 static_cast<char>(i) + "eq" + static_cast<char>(i + 1);
  CHECK_THROWS_WITH(parse_zip(with_pickle(memo_bomb + '.')),
                    Contains("values"));
  // A list that holds itself.
  CHECK_THROWS_WITH(parse_zip(with_pickle("\x80\x02]q\x01h\x01"
                                          "a.")),
                    Contains("nesting"));
  std::string deep = "\x80\x02";
  for (int i = 0; i < 100'000; ++i) deep += "](";
  CHECK_THROWS_AS(parse_zip(with_pickle(deep + '.')), titan::UserError);
  std::string tuples = "\x80\x02N";
  for (int i = 0; i < 100'000; ++i) tuples += '\x85';
  CHECK_THROWS_WITH(parse_zip(with_pickle(tuples + '.')), Contains("nesting"));
  CHECK_THROWS_WITH(parse_zip(with_pickle("\x80\x02X\xff\xff\xff\x7f.")),
                    Contains("truncated"));
  CHECK_THROWS_WITH(parse_zip(with_pickle("\x80\x02t.")), Contains("mark"));
  CHECK_THROWS_WITH(parse_zip(with_pickle("\x80\x02.")), Contains("stack"));
  CHECK_THROWS_WITH(parse_zip(with_pickle("\x80\x02h\x05.")), Contains("memo"));
}

TEST_CASE("tensor larger than its storage is refused", "[unit]") {
  CHECK_NOTHROW(
      parse_zip(with_pickle(tensor_pickle("K\0K\x02\x85K\x01\x85"s))));
  for (const std::string& numbers :
       {"K\x01K\x02\x85K\x01\x85"s,              // reaches past the end
        "K\0K\x02\x85K\x02\x85"s,                // by its stride
        "K\0K\x03\x85K\0\x85"s,                  // expanded
        "K\0K\x02\x85)"s,                        // no strides
        "J\xff\xff\xff\xffK\x01\x85K\x01\x85"s,  // negative offset
        "K\0J\xff\xff\xff\xff\x85K\x01\x85"s,    // negative size
        "K\0\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85K\x01\x85"s,
        "K\0K\x02\x85\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85"s})
    CHECK_THROWS_AS(parse_zip(with_pickle(tensor_pickle(numbers))),
                    titan::UserError);
  CHECK_THROWS_WITH(TorchFile(kTorchFiles + "expanded.pt"),
                    Contains("of its storage"));
}

TEST_CASE("written file is read back, every type", "[unit]") {
  const TorchFile types(kTorchFiles + "types.pt");
  const TorchFile views(kTorchFiles + "views.pt");
  std::vector<TensorSource> sources;
  for (const TorchFile* file : {&types, &views})
    for (const StridedTensor& tensor : file->content().tensors)
      sources.push_back({tensor.spec, [&tensor](const ByteSink& sink) {
                           read_elements(tensor, sink);
                         }});
  TemporaryFolder folder;
  const auto path = folder.path() / "deep" / "out.pt";
  write_torch_file(real_file_system(), path, sources);
  const TorchFile written(path);
  auto expected = values_of(types.content());
  expected.merge(values_of(views.content()));
  CHECK(values_of(written.content()) == expected);
  const std::string bytes = get_file(path);
  const ZipEntries entries = read_zip("x", bytes_of(bytes));
  CHECK(entries.size() == sources.size() + 3);
  for (const auto& [name, content] : entries)
    CHECK((content.data() - bytes_of(bytes).data()) % 64 == 0);
}
