// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include <titan/sdk/functions.hpp>

#include "tests/unit/plugin_api/symbolic_host.h"

using titan::Tensor;

namespace {

Tensor tensor(std::string name) {
  titan::detail::set_host(&symbolic::host_api());
  return Tensor::adopt(symbolic::make(std::move(name)));
}

std::string text(const Tensor& tensor) {
  return symbolic::expression_of(tensor.handle());
}

}  // namespace

TEST_CASE("tensor expressions become ATen calls with typed arguments",
          "[unit]") {
  const Tensor a = tensor("a");
  const Tensor b = tensor("b");
  CHECK(text((2 * a + b).view({2, -1})) ==
        "view(add.Tensor(mul.Scalar(a, 2), b), [2, -1])");
  CHECK(text(1.0 - a / 3) == "rsub.Scalar(div.Scalar(a, 3), 1d)");
  CHECK(text(a.sum(-1, true)) == "sum.dim_IntList(a, [-1], true)");
  CHECK(text(a.gelu("tanh")) == "gelu(a, \"tanh\")");
  CHECK(text(a.to(titan::Dtype::kBF16)) == "to.dtype(a, dtype 15)");
  CHECK(text(titan::cat({a, b}, -1)) == "cat([a, b], -1)");
  CHECK(text(titan::einsum("td,ed->te", {a, b})) ==
        "einsum(\"td,ed->te\", [a, b])");
  CHECK(text(titan::aten("aten::erf", a)) == "erf(a)");
  CHECK(text(titan::aten("aten::clamp", a, titan::none, 2)) ==
        "clamp(a, none, 2)");
}

TEST_CASE("ops with several results and with lists unpack", "[unit]") {
  const Tensor a = tensor("a");
  const auto [values, indices] = a.topk(2);
  CHECK(text(values) == "topk(a, 2, -1, true, true)#0");
  CHECK(text(indices) == "topk(a, 2, -1, true, true)#1");
  const auto parts = a.chunk(3, -1);
  REQUIRE(parts.size() == 3);
  CHECK(text(parts[2]) == "chunk(a, 3, -1)#2");
}

TEST_CASE("tensors give back every reference they took", "[unit]") {
  const int64_t before = symbolic::live_references();
  {
    Tensor a = tensor("a");
    Tensor copy = a;
    const Tensor moved = std::move(copy);
    a = moved + a;
    std::vector<Tensor> parts = a.split(1);
    parts[0] = parts[1];
    CHECK(symbolic::live_references() > before);
  }
  CHECK(symbolic::live_references() == before);
}

TEST_CASE("tensor metadata reads like PyTorch's", "[unit]") {
  const Tensor a = tensor("a");
  CHECK(a.dim() == 2);
  CHECK(a.size(-1) == 6);
  CHECK(a.numel() == 24);
  CHECK_THROWS_AS(a.size(2), titan::BugError);
}

TEST_CASE("host errors arrive as exceptions of their kind with their code",
          "[unit]") {
  const Tensor a = tensor("a");
  try {
    titan::aten("aten::throws", a);
    FAIL("no exception");
  } catch (const titan::BugError& error) {
    CHECK(error.code() == titan::kTorchFault);
    CHECK(std::string(error.what()) == "[aten] shapes differ");
  }
  CHECK_THROWS_WITH(titan::aten("aten::nope", a),
                    "[aten] no such op: got aten::nope");
}

TEST_CASE("exceptions leave as codes and text, cut to the error's size",
          "[unit]") {
  titan_error error{};
  const auto code_of = [&](auto body) {
    return titan::detail::guard(&error, body);
  };
  CHECK(code_of([] {}) == 0);
  CHECK(code_of([] { throw titan::UserError("u", 503); }) == 503);
  CHECK(code_of([] { throw titan::BugError("b"); }) == titan::kInternal);
  CHECK(code_of([] { throw titan::DeviceError("d"); }) == titan::kDeviceFault);
  CHECK(code_of([] { throw std::bad_alloc(); }) == titan::kOutOfMemory);
  CHECK(code_of([] { throw 7; }) == titan::kException);
  CHECK(code_of([] { throw titan::UserError(std::string(5000, 'x')); }) ==
        titan::kInvalidArgument);
  CHECK(std::string(error.message) == std::string(943, 'x'));
}

TEST_CASE("parallel_for covers the range and rethrows a piece's exception",
          "[unit]") {
  titan::detail::set_host(&symbolic::host_api());
  int64_t sum = 0;
  titan::parallel_for(0, 10, 3, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i;
  });
  CHECK(sum == 45);
  CHECK_THROWS_WITH(
      titan::parallel_for(
          0, 10, 3, [](int64_t, int64_t) { throw titan::UserError("piece"); }),
      "piece");
}
