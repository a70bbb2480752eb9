// SPDX-License-Identifier: BSD-3-Clause
// Writes what torch.save would: a zip of stored entries, each at a multiple of
// 64 bytes, with the sizes and checksums in data descriptors, since bytes
// stream through. Zip64 throughout, so that no size needs a case of its own.
#include <algorithm>
#include <memory>
#include <utility>

#include <zlib.h>  // crc32

#include <titan/error.h>

#include "core/checkpoint/torch_file.h"

namespace titan::checkpoint {
namespace {

constexpr std::uint64_t kRecordAlignment = 64;
constexpr std::uint64_t kHasDescriptorAndUtf8 = 0x0808;
constexpr std::uint64_t kVersionNeeded = 45;  // zip64
constexpr std::uint64_t kAllOnes32 = 0xffffffff;
constexpr std::uint64_t kPaddingExtra = 0x4246;  // "FB", as PyTorch marks it
constexpr std::uint64_t kNewYear1980 = 33;       // a fixed date: same bytes

void put_number(std::string& out, std::uint64_t value, int num_bytes) {
  for (int i = 0; i < num_bytes; ++i)
    out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

class ZipWriter {
 public:
  ZipWriter(FileSystem& files, const std::filesystem::path& path)
      : file_(files.create(path)) {}

  void begin(std::string name) {
    current_ = {std::move(name), offset_, 0, 0};
    std::string header;
    put_number(header, 0x04034b50, 4);
    put_number(header, kVersionNeeded, 2);
    put_number(header, kHasDescriptorAndUtf8, 2);
    put_number(header, 0, 2);  // stored
    put_number(header, 0, 2);  // time
    put_number(header, kNewYear1980, 2);
    put_number(header, 0, 4);           // checksum: in the descriptor
    put_number(header, kAllOnes32, 4);  // sizes: in the zip64 extra
    put_number(header, kAllOnes32, 4);
    put_number(header, current_.name.size(), 2);
    const std::uint64_t fixed =
        offset_ + header.size() + 2 + current_.name.size() + 20 + 4;
    const std::uint64_t padding =
        (kRecordAlignment - fixed % kRecordAlignment) % kRecordAlignment;
    put_number(header, 20 + 4 + padding, 2);
    header += current_.name;
    put_number(header, 1, 2);  // zip64: 16 bytes, known in the descriptor
    put_number(header, 16, 2);
    put_number(header, 0, 8);
    put_number(header, 0, 8);
    put_number(header, kPaddingExtra, 2);
    put_number(header, padding, 2);
    header.append(padding, 'Z');
    put(header);
    current_.data_offset = offset_;
    checksum_ = 0;
  }

  void append(std::span<const std::byte> bytes) {
    checksum_ = ::crc32_z(
        checksum_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    file_->append(bytes);
    offset_ += bytes.size();
  }

  void end() {
    current_.size = offset_ - current_.data_offset;
    std::string descriptor;
    put_number(descriptor, 0x08074b50, 4);
    put_number(descriptor, checksum_, 4);
    put_number(descriptor, current_.size, 8);
    put_number(descriptor, current_.size, 8);
    put(descriptor);
    add_to_directory();
  }

  void entry(const std::string& name, std::string_view content) {
    begin(name);
    append(std::as_bytes(std::span(content)));
    end();
  }

  void finish() {
    const std::uint64_t begin = offset_;
    put(directory_);
    const std::uint64_t record = offset_;
    std::string end;
    put_number(end, 0x06064b50, 4);
    put_number(end, 44, 8);  // the rest of this record
    put_number(end, kVersionNeeded, 2);
    put_number(end, kVersionNeeded, 2);
    put_number(end, 0, 8);  // disks
    put_number(end, count_, 8);
    put_number(end, count_, 8);
    put_number(end, directory_.size(), 8);
    put_number(end, begin, 8);
    put_number(end, 0x07064b50, 4);
    put_number(end, 0, 4);
    put_number(end, record, 8);
    put_number(end, 1, 4);
    put_number(end, 0x06054b50, 4);
    put_number(end, 0, 4);
    put_number(end, 0xffff, 2);
    put_number(end, 0xffff, 2);
    put_number(end, kAllOnes32, 4);
    put_number(end, kAllOnes32, 4);
    put_number(end, 0, 2);
    put(end);
    file_->sync();
    file_->close();
  }

 private:
  struct Entry {
    std::string name;
    std::uint64_t header_offset = 0;
    std::uint64_t data_offset = 0;
    std::uint64_t size = 0;
  };

  void put(std::string_view bytes) {
    file_->append(std::as_bytes(std::span(bytes)));
    offset_ += bytes.size();
  }

  void add_to_directory() {
    std::string& out = directory_;
    put_number(out, 0x02014b50, 4);
    put_number(out, kVersionNeeded, 2);
    put_number(out, kVersionNeeded, 2);
    put_number(out, kHasDescriptorAndUtf8, 2);
    put_number(out, 0, 2);
    put_number(out, 0, 2);
    put_number(out, kNewYear1980, 2);
    put_number(out, checksum_, 4);
    put_number(out, kAllOnes32, 4);
    put_number(out, kAllOnes32, 4);
    put_number(out, current_.name.size(), 2);
    put_number(out, 28, 2);
    put_number(out, 0, 10);  // comment, disk, attributes
    put_number(out, kAllOnes32, 4);
    out += current_.name;
    put_number(out, 1, 2);
    put_number(out, 24, 2);
    put_number(out, current_.size, 8);
    put_number(out, current_.size, 8);
    put_number(out, current_.header_offset, 8);
    ++count_;
  }

  std::unique_ptr<WritableFile> file_;
  std::uint64_t offset_ = 0;
  std::uint64_t count_ = 0;
  Entry current_;
  uLong checksum_ = 0;
  std::string directory_;
};

// Protocol 2, without a memo.
class StateDictPickle {
 public:
  StateDictPickle() {
    out_ = "\x80\x02";
    out_ += "}(";
  }

  void add(const TensorSpec& spec, std::size_t index) {
    const TorchType& type = type_of(spec);
    const bool is_typed = !type.storage.empty();
    put_text(spec.name);
    put_global("torch._utils",
               is_typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    out_ += "((";
    put_text("storage");
    if (is_typed)
      put_global("torch", type.storage);
    else
      put_global("torch.storage", "UntypedStorage");
    put_text(text(index));
    put_text("cpu");
    put_int(spec_size_bytes(spec) /
            (is_typed ? dtype_size_bytes(spec.dtype) : 1));
    out_ += "tQ";
    put_int(0);
    put_numbers(spec.shape);
    put_numbers(row_major_strides(spec.shape));
    out_ += '\x89';  // requires no gradient
    put_global("collections", "OrderedDict");
    out_ += ")R";
    if (!is_typed) put_global("torch", type.name);
    out_ += "tR";
  }

  std::string finish() { return std::move(out_) + "u."; }

 private:
  static const TorchType& type_of(const TensorSpec& spec) {
    const auto types = torch_types();
    const auto found = std::ranges::find(types, spec.dtype, &TorchType::dtype);
    TITAN_CHECK(found != types.end(),
                "[checkpoint] PyTorch's type of \"",
                spec.name,
                "\": expected one, got none for ",
                dtype_name(spec.dtype));
    return *found;
  }

  static std::vector<std::int64_t> row_major_strides(
      const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;)
      strides[i - 1] = strides[i] * std::max<std::int64_t>(shape[i], 1);
    return strides;
  }

  void put_text(std::string_view text) {
    out_ += 'X';
    put_number(out_, text.size(), 4);
    out_ += text;
  }

  void put_global(std::string_view module, std::string_view name) {
    out_ += text('c', module, '\n', name, '\n');
  }

  void put_int(std::int64_t number) {
    out_ += "\x8a\x08";  // LONG1 of 8 bytes
    put_number(out_, static_cast<std::uint64_t>(number), 8);
  }

  void put_numbers(const std::vector<std::int64_t>& numbers) {
    out_ += '(';
    for (const std::int64_t number : numbers) put_int(number);
    out_ += 't';
  }

  std::string out_;
};

void write_entries(FileSystem& files,
                   const std::filesystem::path& path,
                   const std::vector<TensorSource>& tensors) {
  const std::string folder = "archive/";
  StateDictPickle pickle;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    pickle.add(tensors[i].spec, i);
  ZipWriter zip(files, path);
  zip.entry(folder + "data.pkl", pickle.finish());
  zip.entry(folder + "byteorder", "little");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::int64_t got = 0;
    zip.begin(text(folder, "data/", i));
    tensors[i].bytes([&](std::span<const std::byte> bytes) {
      zip.append(bytes);
      got += static_cast<std::int64_t>(bytes.size());
    });
    zip.end();
    TITAN_CHECK_EQ(got,
                   spec_size_bytes(tensors[i].spec),
                   "[checkpoint] bytes of \"",
                   tensors[i].spec.name,
                   '"');
  }
  zip.entry(folder + "version", "3\n");
  zip.finish();
}

}  // namespace

void write_torch_file(FileSystem& files,
                      const std::filesystem::path& path,
                      const std::vector<TensorSource>& tensors) {
  const std::filesystem::path parent = parent_folder(path);
  const std::filesystem::path temporary =
      parent / (".tmp-" + path.filename().string());
  make_folders(files, parent);
  write_entries(files, temporary, tensors);
  files.rename(temporary, path);
  files.sync_folder(parent);
}

}  // namespace titan::checkpoint
