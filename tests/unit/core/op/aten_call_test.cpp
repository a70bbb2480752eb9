// SPDX-License-Identifier: BSD-3-Clause
#include "core/op/aten_call.h"

#include <cstring>
#include <thread>

#include <ATen/ATen.h>
#include <catch2/catch.hpp>

#include "core/op/tensor_api.h"

namespace titan::op {
namespace {

using Catch::Matchers::Contains;

titan_value none() {
  return {};
}

titan_value value(const at::Tensor& tensor) {
  titan_value out{};
  out.kind = TITAN_VALUE_TENSOR;
  out.data = lend(tensor);
  return out;
}

titan_value value(int64_t number) {
  titan_value out{};
  out.kind = TITAN_VALUE_INT;
  out.integer = number;
  return out;
}

titan_value value(double number) {
  titan_value out{};
  out.kind = TITAN_VALUE_DOUBLE;
  out.real = number;
  return out;
}

titan_value value(const std::vector<int64_t>& list) {
  titan_value out{};
  out.kind = TITAN_VALUE_INT_LIST;
  out.data = list.data();
  out.size = list.size();
  return out;
}

titan_value value(const std::vector<titan_tensor>& list) {
  titan_value out{};
  out.kind = TITAN_VALUE_TENSOR_LIST;
  out.data = list.data();
  out.size = list.size();
  return out;
}

titan_value dtype(int64_t code) {
  titan_value out = value(code);
  out.kind = TITAN_VALUE_DTYPE;
  return out;
}

titan_aten_op* resolve(const char* name) {
  titan_error error{};
  titan_aten_op* op = nullptr;
  REQUIRE(aten_resolve({name, std::strlen(name)}, &op, &error) == 0);
  return op;
}

/// Results of a call that must succeed.
std::vector<titan_value> call(const char* name,
                              const std::vector<titan_value>& args,
                              size_t num_results = 1) {
  titan_error error{};
  std::vector<titan_value> results(num_results);
  const int32_t code = aten_call(resolve(name),
                                 args.data(),
                                 static_cast<uint32_t>(args.size()),
                                 results.data(),
                                 static_cast<uint32_t>(num_results),
                                 &error);
  INFO(name << ": " << error.message);
  REQUIRE(code == 0);
  return results;
}

at::Tensor take(const titan_value& result) {
  REQUIRE(result.kind == TITAN_VALUE_TENSOR);
  const auto handle = static_cast<titan_tensor>(const_cast<void*>(result.data));
  at::Tensor tensor = borrow(handle);
  tensor_api().release(handle);
  return tensor;
}

at::Tensor call_one(const char* name, const std::vector<titan_value>& args) {
  return take(call(name, args)[0]);
}

std::string error_of(const char* name,
                     const std::vector<titan_value>& args,
                     uint32_t num_results = 1) {
  titan_error error{};
  std::vector<titan_value> results(num_results);
  REQUIRE(aten_call(resolve(name),
                    args.data(),
                    static_cast<uint32_t>(args.size()),
                    results.data(),
                    num_results,
                    &error) != 0);
  return error.message;
}

TEST_CASE("aten_call takes every argument type that LibTorch's shim refuses") {
  const at::Tensor x = at::arange(6, at::kFloat).view({2, 3});
  // Scalar from int and from double, defaults for the rest.
  CHECK(at::equal(call_one("aten::add.Tensor", {value(x), value(x)}), x + x));
  CHECK(at::equal(
      call_one("aten::add.Tensor", {value(x), value(x), value(int64_t{2})}),
      3 * x));
  CHECK(at::equal(call_one("aten::mul.Scalar", {value(x), value(0.5)}), x / 2));
  CHECK(at::equal(call_one("aten::clamp", {value(x), none(), value(2.0)}),
                  x.clamp_max(2)));
  const std::vector<int64_t> sizes = {2, 2};
  CHECK(at::equal(call_one("aten::full",
                           {value(sizes), value(1.5), dtype(TITAN_DTYPE_F64)}),
                  at::full({2, 2}, 1.5, at::kDouble)));
  CHECK(call_one("aten::to.dtype", {value(x), dtype(TITAN_DTYPE_BF16)})
            .scalar_type() == at::kBFloat16);
  CHECK(call("aten::item", {value(x.sum())})[0].real == 15.0);
  // SymInt[] and Tensor?[] with a None.
  const std::vector<int64_t> flat = {6};
  CHECK(call_one("aten::view", {value(x), value(flat)}).dim() == 1);
  const at::Tensor column = at::tensor(std::vector<int64_t>{2, 0});
  const std::vector<titan_tensor> index = {nullptr, lend(column)};
  CHECK(at::equal(call_one("aten::index.Tensor", {value(x), value(index)}),
                  x.index_select(1, column)));
  const std::vector<titan_tensor> pair = {lend(x), lend(x)};
  CHECK(call_one("aten::cat", {value(pair)}).size(0) == 4);
}

TEST_CASE("aten_call returns tuples and lists") {
  const at::Tensor x = at::arange(6, at::kFloat);
  const auto top = call("aten::topk", {value(x), value(int64_t{2})}, 2);
  CHECK(take(top[0])[0].item<double>() == 5);
  CHECK(take(top[1])[0].item<int64_t>() == 5);
  const auto parts = call("aten::split.Tensor", {value(x), value(int64_t{4})});
  REQUIRE(parts[0].kind == TITAN_VALUE_TENSOR_LIST);
  REQUIRE(parts[0].size == 2);
  const auto* handles = static_cast<const titan_tensor*>(parts[0].data);
  CHECK(tensor_api().num_elements(handles[1]) == 2);
  for (int i = 0; i < 2; ++i) tensor_api().release(handles[i]);
}

TEST_CASE("aten_call errors name op, argument and both types") {
  const at::Tensor x = at::ones({2, 3});
  CHECK(error_of("aten::linear", {value(x)}) ==
        "[aten::linear] argument weight is missing: expected Tensor, got 1 "
        "arguments and it has no default");
  CHECK(error_of("aten::linear", {value(x), value(1.0)}) ==
        "[aten::linear] argument weight: expected Tensor, got float");
  CHECK(error_of("aten::topk", {value(x), value(int64_t{1})}, 1) ==
        "[aten::topk] number of results: expected 2, got 1");
  CHECK_THAT(error_of("aten::mm", {value(x), value(x)}),
             Contains("cannot be multiplied"));
  CHECK_THAT(error_of("aten::relu", {value(x), value(x)}),
             Contains("expected at most 1, got 2"));
  titan_error error{};
  titan_aten_op* op = nullptr;
  CHECK(aten_resolve({"aten::nope", 10}, &op, &error) == 601);
  CHECK_THAT(error.message, Contains("got aten::nope"));
}

TEST_CASE("aten_call leaks no reference, also when it fails") {
  const at::Tensor x = at::ones({2, 3});
  const auto before = x.use_count();
  for (int i = 0; i < 10; ++i) {
    call_one("aten::add.Tensor", {value(x), value(x)});
    error_of("aten::mm", {value(x), value(x)});
    error_of("aten::where.self", {value(x), value(1.0), value(x)});
  }
  CHECK(x.use_count() == before);
}

TEST_CASE("aten_call records autograd") {
  const at::Tensor x = at::ones({3}).requires_grad_(true);
  call_one("aten::mul.Tensor", {value(x), value(x)}).sum().backward();
  CHECK(at::equal(x.grad(), at::full({3}, 2.0)));
}

TEST_CASE("aten_resolve and aten_call work from several threads at once") {
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&failures] {
      const at::Tensor x = at::ones({4});
      for (int j = 0; j < 50; ++j) {
        titan_error error{};
        titan_aten_op* op = nullptr;
        titan_value result{};
        const titan_value args[] = {value(x), value(x)};
        if (aten_resolve({"aten::sub.Tensor", 16}, &op, &error) != 0 ||
            aten_call(op, args, 2, &result, 1, &error) != 0) {
          ++failures;
          continue;
        }
        const auto handle =
            static_cast<titan_tensor>(const_cast<void*>(result.data));
        if (borrow(handle).sum().item<double>() != 0) ++failures;
        tensor_api().release(handle);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
}

TEST_CASE("the tensor table describes, shares and makes tensors") {
  const titan_tensor_api& api = tensor_api();
  const at::Tensor x = at::ones({2, 3}, at::kBFloat16).t();
  const titan_tensor handle = new_handle(x);
  CHECK(api.num_dims(handle) == 2);
  CHECK(api.sizes(handle)[0] == 3);
  CHECK(api.strides(handle)[1] == 3);
  CHECK(api.dtype(handle) == TITAN_DTYPE_BF16);
  CHECK(api.is_contiguous(handle) == 0);
  CHECK(api.data(handle) == x.data_ptr());
  titan_error error{};
  titan_tensor second = nullptr, made = nullptr;
  CHECK(api.retain(handle, &second, &error) == 0);
  const int64_t dims[] = {5};
  CHECK(api.empty(handle, TITAN_DTYPE_COMPUTE, dims, 1, &made, &error) == 0);
  CHECK(borrow(made).scalar_type() == at::kBFloat16);
  const int64_t negative[] = {-5};
  titan_tensor nothing = nullptr;
  CHECK(api.empty(handle, TITAN_DTYPE_F32, negative, 1, &nothing, &error) ==
        609);
  for (titan_tensor each : {handle, second, made}) api.release(each);
  CHECK(x.use_count() == 1);
}

}  // namespace
}  // namespace titan::op
