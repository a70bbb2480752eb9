// SPDX-License-Identifier: BSD-3-Clause
// titan.rope_complex/1 (pairs of adjacent dims, as a complex product) and
// titan.rope_cos_sin/1 (pairs j, j + R/2: "rotate half"). Computed in
// acc(dtype), rounded once. Backward is the rotation by the negative angle. On
// the CPU one loop that reads strided heads (slices of a fused qkv) in place:
// view_as_complex on debug-model shapes took 5 times as long, in inner loops of
// 8 elements. Legend: T tokens, N heads, H head dim, R rotary dims.
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>

#include "core/op/reference/rope_tables.h"

namespace titan::op::reference {
namespace {

enum Input { kX, kPositions };

int64_t rotary_dim_of(const Attributes& attributes, int64_t head_dim) {
  const int64_t given = attributes.get_int("rotary_dim");
  return given == 0 ? head_dim : given;
}

Shapes shape(const Attributes& attributes, const std::vector<TensorMeta>& in) {
  expect_floating(in[kX], "x");
  expect_num_dims(in[kX], "x", 3);
  expect_integer(in[kPositions], "positions");
  expect_num_dims(in[kPositions], "positions", 1);
  expect_dim(in[kPositions], "positions", 0, in[kX].sizes[0]);
  const int64_t head_dim = in[kX].sizes[2];
  const int64_t rotary_dim = rotary_dim_of(attributes, head_dim);
  TITAN_USER_CHECK(
      rotary_dim >= 0 && rotary_dim <= head_dim && rotary_dim % 2 == 0,
      "rotary_dim: expected an even number up to the head dim ",
      head_dim,
      ", got ",
      rotary_dim);
  return {{in[kX]}, {}};
}

/// One call of the loop below.
template <typename Element, typename Acc>
struct Rotation {
  const Element* x;
  Element* y;  // contiguous [T, N, H]
  const Acc* cos;
  const Acc* sin;
  const int64_t* positions;
  int64_t num_heads, head_dim, half;  // half = R/2
  int64_t stride_T, stride_N;         // of x; its last dim has stride 1
  Acc direction;                      // 1 forward, -1 backward

  /// Pair j of a head is (j, j + R/2).
  void rotate_token(int64_t t) const {
    const Acc* cos_row = cos + positions[t] * half;
    const Acc* sin_row = sin + positions[t] * half;
    for (int64_t n = 0; n < num_heads; ++n) {
      const Element* in = x + t * stride_T + n * stride_N;
      Element* out = y + (t * num_heads + n) * head_dim;
      for (int64_t j = 0; j < half; ++j) {
        const Acc a = static_cast<Acc>(in[j]);
        const Acc b = static_cast<Acc>(in[j + half]);
        const Acc c = cos_row[j];
        const Acc s = sin_row[j] * direction;
        out[j] = static_cast<Element>(a * c - b * s);
        out[j + half] = static_cast<Element>(a * s + b * c);
      }
      for (int64_t j = 2 * half; j < head_dim; ++j) out[j] = in[j];
    }
  }
};

template <typename Element, typename Acc>
void rotate_all(const Rotation<Element, Acc>& rotation, int64_t num_tokens) {
  const int64_t per_token =
      std::max<int64_t>(1, rotation.num_heads * rotation.head_dim);
  const int64_t grain = std::max<int64_t>(1, 16384 / per_token);
  at::parallel_for(0, num_tokens, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) rotation.rotate_token(t);
  });
}

at::Tensor rotate_halves_on_cpu(const at::Tensor& given_TNH,
                                const at::Tensor& positions_T,
                                const RopeTable& table,
                                double direction) {
  const at::Tensor x_TNH =
      given_TNH.stride(2) == 1 ? given_TNH : given_TNH.contiguous();
  at::Tensor y_TNH = at::empty(x_TNH.sizes(), x_TNH.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kBFloat16, at::kHalf, x_TNH.scalar_type(), "rope", [&] {
        using Acc = at::opmath_type<scalar_t>;
        Rotation<scalar_t, Acc> rotation{};
        rotation.x = x_TNH.const_data_ptr<scalar_t>();
        rotation.y = y_TNH.mutable_data_ptr<scalar_t>();
        rotation.cos = table.cos_PR2.const_data_ptr<Acc>();
        rotation.sin = table.sin_PR2.const_data_ptr<Acc>();
        rotation.positions = positions_T.const_data_ptr<int64_t>();
        rotation.num_heads = x_TNH.size(1);
        rotation.head_dim = x_TNH.size(2);
        rotation.half = table.cos_PR2.size(1);
        rotation.stride_T = x_TNH.stride(0);
        rotation.stride_N = x_TNH.stride(1);
        rotation.direction = static_cast<Acc>(direction);
        rotate_all(rotation, x_TNH.size(0));
      });
  return y_TNH;
}

/// [T, 1, R/2] of one half of the table, the sine turned by `direction`.
std::pair<at::Tensor, at::Tensor> rows_of(const RopeTable& table,
                                          const at::Tensor& positions_T,
                                          double direction) {
  const auto rows = [&positions_T](const at::Tensor& half) {
    return half.index_select(0, positions_T).unsqueeze(1);
  };
  return {rows(table.cos_PR2), rows(table.sin_PR2) * direction};
}

at::Tensor rotate_adjacent(const at::Tensor& x_TNR,
                           const at::Tensor& cos_T1R,
                           const at::Tensor& sin_T1R) {
  const bool is_viewable = x_TNR.stride(2) == 1 && x_TNR.stride(1) % 2 == 0 &&
                           x_TNR.stride(0) % 2 == 0 &&
                           x_TNR.storage_offset() % 2 == 0;
  const at::Tensor pairs = is_viewable ? x_TNR : x_TNR.contiguous();
  const at::Tensor x_complex =
      at::view_as_complex(pairs.unflatten(2, {x_TNR.size(2) / 2, 2}));
  return at::view_as_real(x_complex * at::complex(cos_T1R, sin_T1R)).flatten(2);
}

at::Tensor rotate_halves(const at::Tensor& x_TNR,
                         const at::Tensor& cos_T1R,
                         const at::Tensor& sin_T1R) {
  const at::Tensor a = x_TNR.narrow(2, 0, x_TNR.size(2) / 2);
  const at::Tensor b = x_TNR.narrow(2, x_TNR.size(2) / 2, x_TNR.size(2) / 2);
  return at::cat({a * cos_T1R - b * sin_T1R, a * sin_T1R + b * cos_T1R}, 2);
}

at::Tensor rotate_by_ops(const at::Tensor& x_TNH,
                         const at::Tensor& positions_T,
                         const RopeTable& table,
                         RopePairs pairs,
                         double direction) {
  // view_as_complex refuses an empty slice at an odd offset.
  if (x_TNH.numel() == 0) return at::empty_like(x_TNH);
  const int64_t rotary_dim = 2 * table.cos_PR2.size(1);
  const int64_t rest = x_TNH.size(2) - rotary_dim;
  const auto [cos_T1R, sin_T1R] = rows_of(table, positions_T, direction);
  const at::Tensor x_TNR =
      x_TNH.narrow(2, 0, rotary_dim).to(table.cos_PR2.scalar_type());
  const auto rotate_pairs =
      pairs == RopePairs::kAdjacent ? rotate_adjacent : rotate_halves;
  at::Tensor turned =
      rotate_pairs(x_TNR, cos_T1R, sin_T1R).to(x_TNH.scalar_type());
  if (rest == 0) return turned;
  return at::cat({turned, x_TNH.narrow(2, rotary_dim, rest)}, 2);
}

at::Tensor rotate(const Attributes& attributes,
                  const at::Tensor& x_TNH,
                  const at::Tensor& positions,
                  RopePairs pairs,
                  double direction) {
  const int64_t rotary_dim = rotary_dim_of(attributes, x_TNH.size(2));
  const RopeTable table = rope_table(
      attributes, rotary_dim, positions, acc_type(x_TNH.scalar_type()));
  const at::Tensor positions_T = positions.to(at::kLong).contiguous();
  if (pairs == RopePairs::kHalves && x_TNH.device().is_cpu())
    return rotate_halves_on_cpu(x_TNH, positions_T, table, direction);
  return rotate_by_ops(x_TNH, positions_T, table, pairs, direction);
}

ConformanceCase make_case(std::string name,
                          std::vector<int64_t> sizes,
                          Attributes attributes) {
  return {std::move(name),
          std::move(attributes),
          [=](at::ScalarType dtype, uint64_t seed) {
            return std::vector<at::Tensor>{
                random_normal(sizes, dtype, seed),
                random_ids({sizes[0]}, 5000, seed + 1)};
          }};
}

std::vector<ConformanceCase> make_cases() {
  const Attributes llama = {
      {"theta", 5e5}, {"scaling", std::string("llama")}, {"factor", 8.0}};
  const Attributes yarn = {{"scaling", std::string("yarn")},
                           {"factor", 40.0},
                           {"original_max_position", int64_t{64}}};
  const Attributes linear = {{"scaling", std::string("linear")},
                             {"factor", 2.0}};
  const Attributes partial = {{"rotary_dim", int64_t{34}}};
  return {make_case("prime tokens", {7, 3, 16}, {}),
          make_case("no tokens", {0, 2, 8}, {}),
          make_case("one pair", {5, 1, 2}, {}),
          make_case("partial",
                    {5, 2, 12},
                    {{"rotary_dim", int64_t{4}}, {"magnitude", 1.25}}),
          make_case("llama scaling", {11, 2, 64}, llama),
          make_case("yarn scaling", {11, 2, 64}, yarn),
          make_case("linear scaling", {11, 2, 64}, linear),
          make_case("tails of vectors", {5, 3, 38}, {}),
          make_case("several tasks", {211, 5, 66}, partial)};
}

}  // namespace

OpSpec rope_spec(RopePairs pairs) {
  OpSpec spec;
  const bool is_adjacent = pairs == RopePairs::kAdjacent;
  spec.id = is_adjacent ? "titan.rope_complex/1" : "titan.rope_cos_sin/1";
  spec.formula = text(
      "(a, b) -> magnitude (a cos - b sin, a sin + b cos), angle = position "
      "* f_j, "
      "f_j = theta^(-2j/R); pair j = ",
      is_adjacent ? "(x[2j], x[2j+1])" : "(x[j], x[j + R/2])");
  spec.inputs = {{"x", false, true, false}, {"positions", false, false, true}};
  spec.outputs = {{"y"}};
  spec.attributes = rope_attributes();
  spec.shape = shape;
  spec.grad_shapes = [](const Attributes&,
                        const std::vector<TensorMeta>& grad_outputs,
                        const std::vector<TensorMeta>&) {
    return std::vector<TensorMeta>{grad_outputs[0], TensorMeta()};
  };
  spec.forward = [pairs](const ForwardCall& call) -> ForwardResult {
    return {{rotate(call.attributes,
                    call.inputs[kX],
                    call.inputs[kPositions],
                    pairs,
                    1.0)},
            {}};
  };
  spec.backward = [pairs](const BackwardCall& call) {
    std::vector<at::Tensor> grads(2);
    if (call.want & 1 << kX)
      grads[kX] = rotate(call.attributes,
                         call.grad_outputs[0],
                         call.inputs[kPositions],
                         pairs,
                         -1.0);
    return grads;
  };
  spec.flops = [](const Attributes&, const std::vector<TensorMeta>& in) {
    return 3.0 * static_cast<double>(in[kX].num_elements());
  };
  spec.backward_flops_ratio = 1.0;
  spec.tolerances = rounding_tolerances(
      4, "rounding of table, products and result; slack 1.3");
  // Angles of the cases reach 5000 rad, so in float64 they are off by that many
  // unit roundoffs; the float64 table is exact enough for all other types.
  const double angle_error = 8192 * 0x1p-53;
  spec.tolerances[at::kDouble] = {
      angle_error, angle_error, "roundoff of an angle of 5000 rad; slack 1.6"};
  spec.cases = make_cases;
  return spec;
}

OpSpec rope_complex_spec() {
  return rope_spec(RopePairs::kAdjacent);
}

OpSpec rope_cos_sin_spec() {
  return rope_spec(RopePairs::kHalves);
}

}  // namespace titan::op::reference
