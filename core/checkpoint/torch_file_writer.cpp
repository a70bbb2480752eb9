// SPDX-License-Identifier: BSD-3-Clause
// Writes what torch.save would: the pickle of a dict of tensors, or of one, and
// each storage as an entry of its own.
#include <algorithm>
#include <memory>
#include <utility>

#include <titan/error.h>

#include "core/checkpoint/pickle_writer.h"
#include "core/checkpoint/torch_file.h"
#include "core/checkpoint/zip_writer.h"

namespace titan::checkpoint {
namespace {

const std::string kFolder = "archive/";

std::vector<std::int64_t> row_major_strides(
    const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * std::max<std::int64_t>(shape[i], 1);
  return strides;
}

// The tensor over storage `index`.
void put_tensor(PickleWriter& pickle,
                const TensorSpec& spec,
                std::size_t index) {
  const TorchType& type = torch_type(spec);
  const bool is_typed = !type.storage.empty();
  pickle.global("torch._utils",
                is_typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
  pickle.mark();
  pickle.mark();
  pickle.text("storage");
  if (is_typed)
    pickle.global("torch", type.storage);
  else
    pickle.global("torch.storage", "UntypedStorage");
  pickle.text(text(index));
  pickle.text("cpu");
  pickle.number(spec_size_bytes(spec) /
                (is_typed ? dtype_size_bytes(spec.dtype) : 1));
  pickle.end_tuple();
  pickle.persistent();
  pickle.number(0);
  pickle.numbers(spec.shape);
  pickle.numbers(row_major_strides(spec.shape));
  pickle.boolean(false);  // requires no gradient
  pickle.global("collections", "OrderedDict");
  pickle.empty_tuple();
  pickle.call();
  if (!is_typed) pickle.global("torch", type.name);
  pickle.end_tuple();
  pickle.call();
}

std::string dict_pickle(const std::vector<TensorSource>& tensors) {
  PickleWriter pickle;
  pickle.empty_dict();
  pickle.mark();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    pickle.text(tensors[i].spec.name);
    put_tensor(pickle, tensors[i].spec, i);
  }
  pickle.end_items();
  return std::move(pickle).finish();
}

void put_storage(ZipWriter& zip,
                 const TensorSource& tensor,
                 std::size_t index) {
  std::int64_t got = 0;
  zip.begin(text(kFolder, "data/", index));
  tensor.bytes([&](std::span<const std::byte> bytes) {
    zip.append(bytes);
    got += static_cast<std::int64_t>(bytes.size());
  });
  zip.end();
  TITAN_CHECK_EQ(got,
                 spec_size_bytes(tensor.spec),
                 "[checkpoint] bytes of \"",
                 tensor.spec.name,
                 '"');
}

// The entries around the storages are those that torch.load asks for.
void put_head(ZipWriter& zip, const std::string& pickle) {
  zip.entry(kFolder + "data.pkl", pickle);
  zip.entry(kFolder + "byteorder", "little");
}

void put_tail(ZipWriter& zip) {
  zip.entry(kFolder + "version", "3\n");
  zip.finish();
}

}  // namespace

const TorchType& torch_type(const TensorSpec& spec) {
  const auto types = torch_types();
  const auto found = std::ranges::find(types, spec.dtype, &TorchType::dtype);
  TITAN_CHECK(found != types.end(),
              "[checkpoint] PyTorch's type of \"",
              spec.name,
              "\": expected one, got none for ",
              dtype_name(spec.dtype));
  return *found;
}

void write_torch_tensor(const ByteSink& sink, const TensorSource& tensor) {
  PickleWriter pickle;
  put_tensor(pickle, tensor.spec, 0);
  ZipWriter zip(sink);
  put_head(zip, std::move(pickle).finish());
  put_storage(zip, tensor, 0);
  put_tail(zip);
}

void write_torch_file(FileSystem& files,
                      const std::filesystem::path& path,
                      const std::vector<TensorSource>& tensors) {
  const std::filesystem::path parent = parent_folder(path);
  const std::filesystem::path temporary =
      parent / (".tmp-" + path.filename().string());
  make_folders(files, parent);
  const auto file = files.create(temporary);
  ZipWriter zip([&](std::span<const std::byte> bytes) { file->append(bytes); });
  put_head(zip, dict_pickle(tensors));
  for (std::size_t i = 0; i < tensors.size(); ++i)
    put_storage(zip, tensors[i], i);
  put_tail(zip);
  file->sync();
  file->close();
  files.rename(temporary, path);
  files.sync_folder(parent);
}

}  // namespace titan::checkpoint
