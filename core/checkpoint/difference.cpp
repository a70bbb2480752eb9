// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <titan/text.h>

#include "core/checkpoint/decode.h"

namespace titan::checkpoint {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::byte> read_whole(const CheckpointReader& reader,
                                  const TensorRecord& record) {
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(*tensor_size_bytes(record.dtype, record.shape)));
  reader.read(record.role, record.name, whole_region(record.shape), bytes);
  return bytes;
}

std::string type_text(const TensorRecord& record) {
  return text(dtype_name(record.dtype), ' ', record.shape);
}

double distance(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b) ? 0 : kInfinity;
  return a == b ? 0 : std::abs(a - b);  // equal infinities have no difference
}

void measure(Dtype dtype,
             const std::vector<std::byte>& a,
             const std::vector<std::byte>& b,
             TensorDifference& difference) {
  const auto item_bytes = static_cast<std::size_t>(dtype_size_bytes(dtype));
  difference.num_elements = static_cast<std::int64_t>(a.size() / item_bytes);
  for (std::size_t i = 0; i < a.size(); i += item_bytes)
    difference.num_different +=
        std::memcmp(a.data() + i, b.data() + i, item_bytes) != 0;
  const std::vector<double> values_a = decode(dtype, a);
  const std::vector<double> values_b = decode(dtype, b);
  double squared_difference = 0;
  double squared_norm = 0;
  for (std::size_t i = 0; i < values_a.size(); ++i) {
    const double apart = distance(values_a[i], values_b[i]);
    difference.max_abs = std::max(difference.max_abs, apart);
    squared_difference += apart * apart;
    if (std::isfinite(values_b[i])) squared_norm += values_b[i] * values_b[i];
  }
  if (squared_difference > 0)
    difference.relative_norm =
        squared_norm > 0 ? std::sqrt(squared_difference / squared_norm)
                         : kInfinity;
}

std::optional<TensorDifference> compare_tensors(const CheckpointReader& a,
                                                const CheckpointReader& b,
                                                const std::string& role,
                                                const std::string& name) {
  TensorDifference difference;
  difference.role = role;
  difference.name = name;
  const TensorRecord* const in_a = a.find(role, name);
  const TensorRecord* const in_b = b.find(role, name);
  if (in_a == nullptr || in_b == nullptr) {
    difference.reason = in_b == nullptr ? "only in A" : "only in B";
  } else if (in_a->dtype != in_b->dtype || in_a->shape != in_b->shape) {
    difference.reason = text(type_text(*in_a), " against ", type_text(*in_b));
  } else {
    const std::vector<std::byte> bytes_a = read_whole(a, *in_a);
    const std::vector<std::byte> bytes_b = read_whole(b, *in_b);
    if (bytes_a == bytes_b) return std::nullopt;
    measure(in_a->dtype, bytes_a, bytes_b, difference);
  }
  return difference;
}

std::vector<std::string> compare_states(const Manifest& a, const Manifest& b) {
  std::vector<std::string> parts;
  const auto compare = [&](const char* part, bool is_equal) {
    if (!is_equal) parts.emplace_back(part);
  };
  compare("step", a.step == b.step);
  compare("trainer", a.state.trainer == b.state.trainer);
  compare("recipe", a.state.recipe == b.state.recipe);
  compare("plugins", a.state.plugins == b.state.plugins);
  compare("layout", a.state.layout == b.state.layout);
  compare("ranks", a.rank_states == b.rank_states);
  return parts;
}

}  // namespace

CheckpointDifference compare_checkpoints(const CheckpointReader& a,
                                         const CheckpointReader& b) {
  std::set<std::pair<std::string, std::string>> ids;
  for (const CheckpointReader* reader : {&a, &b})
    for (const TensorRecord& record : reader->manifest().tensors)
      ids.emplace(record.role, record.name);
  CheckpointDifference difference;
  for (const auto& [role, name] : ids) {
    auto found = compare_tensors(a, b, role, name);
    if (found)
      difference.tensors.push_back(std::move(*found));
    else
      ++difference.num_equal;
  }
  // Structural differences first, then by error.
  std::ranges::stable_sort(
      difference.tensors, std::greater(), [](const TensorDifference& tensor) {
        return std::pair(!tensor.reason.empty(), tensor.relative_norm);
      });
  difference.state_parts = compare_states(a.manifest(), b.manifest());
  return difference;
}

}  // namespace titan::checkpoint
