// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/torch_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <titan/error.h>

#include "core/checkpoint/zip_archive.h"

namespace titan::checkpoint {
namespace {

constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxVisited = std::size_t{1} << 21;
constexpr std::size_t kMaxDims = 64;
constexpr std::size_t kGatherBytes = std::size_t{1} << 20;

constexpr auto kTypes = std::to_array<TorchType>({
    {"float64", "DoubleStorage", Dtype::kF64},
    {"float32", "FloatStorage", Dtype::kF32},
    {"float16", "HalfStorage", Dtype::kF16},
    {"bfloat16", "BFloat16Storage", Dtype::kBf16},
    {"complex64", "ComplexFloatStorage", Dtype::kC64},
    {"int64", "LongStorage", Dtype::kI64},
    {"int32", "IntStorage", Dtype::kI32},
    {"int16", "ShortStorage", Dtype::kI16},
    {"int8", "CharStorage", Dtype::kI8},
    {"uint8", "ByteStorage", Dtype::kU8},
    {"bool", "BoolStorage", Dtype::kBool},
    {"float8_e4m3fn", "", Dtype::kF8E4M3},
    {"float8_e5m2", "", Dtype::kF8E5M2},
    {"float8_e8m0fnu", "", Dtype::kF8E8M0},
    {"uint64", "", Dtype::kU64},
    {"uint32", "", Dtype::kU32},
    {"uint16", "", Dtype::kU16},
});

constexpr std::string_view kRebuildV2 = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kRebuildV3 = "torch._utils._rebuild_tensor_v3";
constexpr std::string_view kRebuildParameter =
    "torch._utils._rebuild_parameter";
constexpr std::string_view kUntyped = "torch.storage.UntypedStorage";

const PickleGlobals& allowed_globals() {
  static const PickleGlobals kGlobals = [] {
    PickleGlobals globals{"collections.OrderedDict",
                          "torch.Size",
                          std::string(kRebuildV2),
                          std::string(kRebuildV3),
                          std::string(kRebuildParameter),
                          std::string(kUntyped)};
    for (const TorchType& type : kTypes) {
      globals.insert(text("torch.", type.name));
      if (!type.storage.empty()) globals.insert(text("torch.", type.storage));
    }
    return globals;
  }();
  return kGlobals;
}

std::optional<Dtype> storage_dtype(std::string_view global) {
  for (const TorchType& type : kTypes)
    if (!type.storage.empty() && global == text("torch.", type.storage))
      return type.dtype;
  return std::nullopt;
}

bool is_zip(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), "PK\3\4", 4) == 0;
}

// Builds tensors out of the records of one file.
class TensorCollector {
 public:
  TensorCollector(std::string_view where, std::span<const std::byte> bytes)
      : where_(where) {
    check(is_zip(bytes),
          "format: expected the zip format of torch.save, got other bytes. A "
          "file of before PyTorch 1.6: load it there and save it again.");
    entries_ = read_zip(where, bytes);
    find_folder();
    document_ = read_pickle(where, entry("data.pkl"), allowed_globals());
  }

  TorchContent collect(std::string_view key) {
    const PickleIndex start = select(key);
    walk(start, "", 0);
    return std::move(content_);
  }

 private:
  template <typename... Parts>
  void check(bool condition, const Parts&... parts) const {
    TITAN_USER_CHECK(condition, '[', where_, "] ", titan::text(parts...));
  }

  // All entries lie in one folder, whose name is the file's when written.
  void find_folder() {
    for (const auto& [name, bytes] : entries_) {
      const std::size_t slash = name.find('/');
      if (slash != std::string::npos && name.substr(slash) == "/data.pkl")
        folder_ = name.substr(0, slash + 1);
    }
    check(!folder_.empty(),
          "entries: expected <folder>/data.pkl, got none. This zip is not "
          "from torch.save.");
    const auto order = entries_.find(folder_ + "byteorder");
    if (order == entries_.end()) return;
    const auto* const letters =
        reinterpret_cast<const char*>(order->second.data());
    check(std::string_view(letters, order->second.size()) == "little",
          "byteorder: expected little, got another");
  }

  std::span<const std::byte> entry(const std::string& name) const {
    const auto found = entries_.find(folder_ + name);
    check(found != entries_.end(), "entry: expected ", name, ", got none");
    return found->second;
  }

  const PickleValue& at(PickleIndex index) const { return document_.at(index); }

  const PickleValue& item(const PickleValue& value,
                          std::size_t index,
                          PickleKind kind,
                          const char* what) const {
    check(index < value.items.size() && at(value.items[index]).kind == kind,
          "tensor record: expected ",
          what,
          " as item ",
          index,
          ", got another kind or none");
    return at(value.items[index]);
  }

  std::string key_text(PickleIndex index) const {
    const PickleValue& key = at(index);
    check(key.kind == PickleKind::kText || key.kind == PickleKind::kInt,
          "dict key: expected a text or an integer, got another kind");
    return key.kind == PickleKind::kText ? key.text : text(key.number);
  }

  // The value under a dotted name; a key may itself hold dots.
  PickleIndex select(std::string_view key) const {
    PickleIndex current = document_.root;
    while (!key.empty()) {
      const PickleValue& dict = at(current);
      std::size_t used = 0;
      if (dict.kind == PickleKind::kDict)
        for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
          const std::string name = key_text(dict.items[i]);
          if (!key.starts_with(name) || name.empty()) continue;
          if (name.size() != key.size() && key[name.size()] != '.') continue;
          current = dict.items[i + 1];
          used = std::min(key.size(), name.size() + 1);
          break;
        }
      check(used != 0, "key: expected a dict with \"", key, "\", got none");
      key.remove_prefix(used);
    }
    return current;
  }

  static std::string join(const std::string& prefix, const std::string& name) {
    return prefix.empty() ? name : prefix + '.' + name;
  }

  void walk(PickleIndex index, const std::string& name, int depth) {
    check(depth <= kMaxDepth,
          "nesting: expected at most ",
          kMaxDepth,
          " levels, got more at \"",
          name.substr(0, 200),
          '"');
    check(++num_visited_ <= kMaxVisited,
          "values: expected at most ",
          kMaxVisited,
          ", got more");
    const PickleValue& value = at(index);
    if (value.kind == PickleKind::kDict) {
      for (std::size_t i = 0; i + 1 < value.items.size(); i += 2)
        walk(value.items[i + 1],
             join(name, key_text(value.items[i])),
             depth + 1);
    } else if (value.kind == PickleKind::kList ||
               value.kind == PickleKind::kTuple) {
      for (std::size_t i = 0; i < value.items.size(); ++i)
        walk(value.items[i], join(name, text(i)), depth + 1);
    } else if (value.kind == PickleKind::kCall) {
      content_.tensors.push_back(tensor(value, name));
    } else {
      content_.skipped.push_back(name);
    }
  }

  StridedTensor tensor(const PickleValue& call, const std::string& name) const {
    if (call.text == kRebuildParameter) {
      const PickleValue& inner = item(call, 0, PickleKind::kCall, "a tensor");
      check(inner.text != kRebuildParameter,
            "parameter \"",
            name,
            "\": expected a tensor, got another parameter");
      return tensor(inner, name);
    }
    check(call.text == kRebuildV2 || call.text == kRebuildV3,
          "value \"",
          name,
          "\": expected a tensor, got a call of ",
          call.text);
    StridedTensor tensor;
    tensor.spec.name = name;
    const PickleValue& reference =
        item(call, 0, PickleKind::kPersistent, "a storage");
    const PickleValue& storage =
        item(reference, 0, PickleKind::kTuple, "its id");
    tensor.spec.dtype = dtype_of(call, storage);
    tensor.spec.shape = numbers(item(call, 2, PickleKind::kTuple, "its shape"));
    tensor.strides = numbers(item(call, 3, PickleKind::kTuple, "its strides"));
    tensor.bytes = elements(
        tensor,
        entry("data/" + item(storage, 2, PickleKind::kText, "a key").text),
        item(call, 1, PickleKind::kInt, "its offset").number);
    return tensor;
  }

  Dtype dtype_of(const PickleValue& call, const PickleValue& storage) const {
    check(item(storage, 0, PickleKind::kText, "\"storage\"").text == "storage",
          "storage id: expected \"storage\", got another text");
    const std::string& kind =
        item(storage, 1, PickleKind::kGlobal, "a storage class").text;
    if (call.text == kRebuildV2) {
      const auto found = storage_dtype(kind);
      check(found.has_value(),
            "storage class: expected one of a known type, got ",
            kind);
      return *found;
    }
    const std::string& name = item(call, 6, PickleKind::kGlobal, "a type").text;
    const auto found =
        dtype_from_torch(std::string_view(name).substr(sizeof("torch.") - 1));
    check(found.has_value(), "type: expected a known one, got ", name);
    return *found;
  }

  std::vector<std::int64_t> numbers(const PickleValue& tuple) const {
    check(tuple.items.size() <= kMaxDims,
          "dimensions: expected at most ",
          kMaxDims,
          ", got ",
          tuple.items.size());
    std::vector<std::int64_t> found;
    for (std::size_t i = 0; i < tuple.items.size(); ++i) {
      found.push_back(item(tuple, i, PickleKind::kInt, "an integer").number);
      check(found.back() >= 0,
            "shape or stride: expected none below 0, got ",
            found.back());
    }
    return found;
  }

  // The bytes from the first element to the last. A tensor larger than its
  // storage (an expanded one) would let a small file grow without bound.
  std::span<const std::byte> elements(const StridedTensor& tensor,
                                      std::span<const std::byte> storage,
                                      std::int64_t offset) const {
    const std::vector<std::int64_t>& shape = tensor.spec.shape;
    const auto size = tensor_size_bytes(tensor.spec.dtype, shape);
    check(tensor.strides.size() == shape.size() && size.has_value() &&
              std::cmp_less_equal(*size, storage.size()) && offset >= 0,
          "tensor \"",
          tensor.spec.name,
          "\": expected at most the ",
          storage.size(),
          " bytes of its storage, got shape ",
          shape,
          ", strides ",
          tensor.strides);
    if (*size == 0) return {};
    std::int64_t last = 0;  // element, counted from the first
    bool is_inside = true;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::int64_t reach = 0;
      is_inside =
          is_inside &&
          !__builtin_mul_overflow(shape[i] - 1, tensor.strides[i], &reach) &&
          !__builtin_add_overflow(last, reach, &last);
    }
    const std::int64_t item_bytes = dtype_size_bytes(tensor.spec.dtype);
    const auto limit = static_cast<std::int64_t>(storage.size()) / item_bytes;
    check(is_inside && offset < limit && last < limit - offset,
          "tensor \"",
          tensor.spec.name,
          "\": expected it within ",
          limit,
          " elements, got offset ",
          offset,
          ", shape ",
          shape,
          ", strides ",
          tensor.strides);
    return storage.subspan(static_cast<std::size_t>(offset * item_bytes),
                           static_cast<std::size_t>((last + 1) * item_bytes));
  }

  std::string where_;
  ZipEntries entries_;
  std::string folder_;
  PickleDocument document_;
  TorchContent content_;
  std::size_t num_visited_ = 0;
};

// Moves to the next element, row-major; returns its distance from the first.
std::int64_t advance(std::vector<std::int64_t>& position,
                     const StridedTensor& tensor,
                     std::int64_t offset) {
  for (std::size_t i = position.size(); i-- > 0;) {
    offset += tensor.strides[i];
    if (++position[i] < tensor.spec.shape[i]) return offset;
    offset -= position[i] * tensor.strides[i];
    position[i] = 0;
  }
  return offset;
}

}  // namespace

bool StridedTensor::is_contiguous() const {
  std::int64_t expected = 1;
  for (std::size_t i = spec.shape.size(); i-- > 0;) {
    if (spec.shape[i] == 0) return true;
    if (spec.shape[i] != 1 && strides[i] != expected) return false;
    expected *= spec.shape[i];
  }
  return true;
}

void read_elements(const StridedTensor& tensor, const ByteSink& sink) {
  if (tensor.is_contiguous()) return sink(tensor.bytes);
  const auto item =
      static_cast<std::size_t>(dtype_size_bytes(tensor.spec.dtype));
  const auto total = static_cast<std::size_t>(spec_size_bytes(tensor.spec));
  std::vector<std::byte> gathered(std::min(total, kGatherBytes / item * item));
  std::vector<std::int64_t> position(tensor.spec.shape.size(), 0);
  std::int64_t offset = 0;
  std::size_t filled = 0;
  for (std::size_t done = 0; done < total; done += item) {
    std::memcpy(gathered.data() + filled,
                tensor.bytes.data() + static_cast<std::size_t>(offset) * item,
                item);
    filled += item;
    if (filled == gathered.size() || done + item == total) {
      sink(std::span(gathered).first(filled));
      filled = 0;
    }
    offset = advance(position, tensor, offset);
  }
}

TorchContent parse_torch(std::string_view where,
                         std::span<const std::byte> bytes,
                         std::string_view key) {
  return TensorCollector(where, bytes).collect(key);
}

TorchFile::TorchFile(const std::filesystem::path& path, std::string_view key)
    : file_(path),
      content_(
          parse_torch(text("checkpoint ", path.string()), file_.bytes(), key)) {
}

std::span<const TorchType> torch_types() {
  return kTypes;
}

std::optional<Dtype> dtype_from_torch(std::string_view name) {
  for (const TorchType& type : kTypes)
    if (type.name == name) return type.dtype;
  return std::nullopt;
}

}  // namespace titan::checkpoint
