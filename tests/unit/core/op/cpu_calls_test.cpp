// SPDX-License-Identifier: BSD-3-Clause
// What references call of LibTorch on the CPU where that decides their cost.
#include <set>
#include <string>

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <catch2/catch.hpp>
#include <torch/csrc/autograd/autograd.h>

#include "core/op/catalogue.h"
#include "core/op/reference/reference.h"
#include "core/op/slot.h"

namespace titan::op {
namespace {

using reference::random_normal;

/// Names of LibTorch's ops; of a product, the rows and inner size, too.
std::set<std::string>& seen_calls() {
  static std::set<std::string> calls;
  return calls;
}

std::unique_ptr<at::ObserverContext> note_call(const at::RecordFunction& call) {
  std::string text = call.name();
  if (text == "aten::mm")
    for (const c10::IValue& input : call.inputs().slice(0, 2))
      text += ' ' + std::to_string(input.toTensor().size(0));
  seen_calls().insert(text);
  return nullptr;
}

class CallRecorder {
 public:
  CallRecorder() {
    seen_calls().clear();
    handle_ = at::addGlobalCallback(
        at::RecordFunctionCallback(note_call).needsInputs(true).scopes(
            {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
  }
  ~CallRecorder() { at::removeCallback(handle_); }
  CallRecorder(const CallRecorder&) = delete;
  CallRecorder& operator=(const CallRecorder&) = delete;

 private:
  at::CallbackHandle handle_;
};

void run(const char* id, std::vector<at::Tensor> inputs) {
  std::vector<at::Tensor> wanted;
  for (at::Tensor& input : inputs)
    if (input.is_floating_point()) wanted.push_back(input.requires_grad_());
  Slot slot(find_op(id), "layer", "", {});
  const at::Tensor out = invoke(slot, inputs)[0];
  torch::autograd::grad({out}, wanted, {at::ones_like(out)});
}

}  // namespace

// oneDNN compiles and keeps a primitive for each (700 MiB of them).
TEST_CASE("experts in bf16 are computed in few numbers of rows") {
  const CallRecorder recorder;
  for (int64_t count = 1; count <= 256; ++count)
    run("titan.grouped_linear/1",
        {random_normal({count + 3, 4}, at::kBFloat16, 1),
         at::tensor({int64_t{0}, count, count + 3}, at::kInt),
         random_normal({2, 5, 4}, at::kBFloat16, 2)});
  size_t products = 0;
  for (const std::string& call : seen_calls())
    products += call.starts_with("aten::mm ");
  CAPTURE(products);
  CHECK(products > 0);
  CHECK(products <= 3 * 49);  // 1 to 16, then eight for each doubling
}

TEST_CASE("attention with values of another head dim runs the flash kernel") {
  const CallRecorder recorder;
  const at::Tensor bounds = at::tensor({0, 6}, at::kInt);
  run("titan.attention/1",
      {random_normal({6, 2, 12}, at::kFloat, 1),
       random_normal({6, 2, 12}, at::kFloat, 2),
       random_normal({6, 2, 8}, at::kFloat, 3),
       bounds});
  const std::string flash = "aten::_scaled_dot_product_flash_attention_for_cpu";
  CHECK(seen_calls().count(flash) == 1);
  CHECK(seen_calls().count(flash + "_backward") == 1);
}

}  // namespace titan::op
