// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/difference.h"

#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "core/checkpoint/checkpoint_writer.h"
#include "tests/unit/core/checkpoint/saved_step.h"
#include "tests/unit/core/checkpoint/temporary_folder.h"

using namespace titan::checkpoint;

namespace {

using Floats = std::vector<float>;

TensorSource floats_of(const std::string& name, const Floats& values) {
  return {{name, Dtype::kF32, {static_cast<std::int64_t>(values.size())}},
          borrow_bytes(std::as_bytes(std::span(values)))};
}

CheckpointReader saved(const std::filesystem::path& folder,
                       const std::vector<TensorSource>& tensors,
                       const CheckpointState& state = {}) {
  CheckpointWriter writer(real_file_system(), {folder, 1});
  for (const TensorSource& tensor : tensors) writer.add_tensor("model", tensor);
  return CheckpointReader(writer.commit(state));
}

}  // namespace

TEST_CASE("equal checkpoints have no difference", "[unit]") {
  TemporaryFolder a;
  TemporaryFolder b;
  const Floats values = {1, 2};
  const auto difference =
      compare_checkpoints(saved(a.path(), {floats_of("w", values)}),
                          saved(b.path(), {floats_of("w", values)}));
  CHECK(difference.is_empty());
  CHECK(difference.num_equal == 1);
}

TEST_CASE("differences are measured and named, worst first", "[unit]") {
  TemporaryFolder a;
  TemporaryFolder b;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Floats small_a = {3, 4};
  const Floats small_b = {3, 4.5f};
  const Floats nan_a = {nan, nan};
  const Floats nan_b = {nan, 1};
  const Floats zero_a = {0.0f};
  const Floats zero_b = {-0.0f};
  const Floats three = {1, 2, 3};
  CheckpointState state;
  state.trainer = "{\"seed\":2}";
  const CheckpointReader reader_a = saved(a.path(),
                                          {floats_of("small", small_a),
                                           floats_of("nan", nan_a),
                                           floats_of("zero", zero_a),
                                           floats_of("shape", small_a),
                                           floats_of("only_a", small_a)});
  const CheckpointReader reader_b = saved(b.path(),
                                          {floats_of("small", small_b),
                                           floats_of("nan", nan_b),
                                           floats_of("zero", zero_b),
                                           floats_of("shape", three),
                                           floats_of("only_b", small_a)},
                                          state);
  const auto difference = compare_checkpoints(reader_a, reader_b);
  CHECK(difference.num_equal == 0);
  CHECK(difference.state_parts == std::vector<std::string>{"trainer"});
  const auto& tensors = difference.tensors;
  REQUIRE(tensors.size() == 6);
  CHECK((tensors[0].name == "only_a" && tensors[0].reason == "only in A"));
  CHECK((tensors[1].name == "only_b" && tensors[1].reason == "only in B"));
  CHECK((tensors[2].name == "shape" &&
         tensors[2].reason == "F32 (2) against F32 (3)"));
  CHECK((tensors[3].name == "nan" && std::isinf(tensors[3].max_abs)));
  CHECK(tensors[3].num_different == 1);
  CHECK((tensors[4].name == "small" && tensors[4].max_abs == 0.5));
  CHECK(tensors[4].relative_norm == Approx(0.5 / std::hypot(3, 4.5)));
  CHECK((tensors[5].name == "zero" && tensors[5].max_abs == 0));
  CHECK(tensors[5].num_different == 1);
}
