// SPDX-License-Identifier: BSD-3-Clause
// The collective inside is a dispatcher op, so that capture, counting and the
// fake run see it; the group crosses as an integer and outlives every graph.
#include "core/dist/functional.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace titan::dist {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

int64_t as_handle(Group& group) {
  return reinterpret_cast<int64_t>(&group);
}

at::Tensor all_reduce_kernel(const at::Tensor& x, int64_t group) {
  at::Tensor sum = x.clone(at::MemoryFormat::Contiguous);
  reinterpret_cast<Group*>(group)->all_reduce(sum);
  return sum;
}

TORCH_LIBRARY_FRAGMENT(titan, library) {
  library.def("group_all_reduce(Tensor x, int group) -> Tensor");
}
TORCH_LIBRARY_IMPL(titan, CompositeExplicitAutograd, library) {
  library.impl("group_all_reduce", all_reduce_kernel);
}

at::Tensor all_reduced(const at::Tensor& x, int64_t group) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("titan::group_all_reduce", "")
                             .typed<at::Tensor(const at::Tensor&, int64_t)>();
  at::AutoDispatchBelowADInplaceOrView below;
  return op.call(x, group);
}

struct CopyToGroup : torch::autograd::Function<CopyToGroup> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            int64_t group) {
    context->saved_data["group"] = group;
    return x.view_as(x);
  }
  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    return {all_reduced(gradients[0], context->saved_data["group"].toInt()),
            at::Tensor()};
  }
};

struct ReduceFromGroup : torch::autograd::Function<ReduceFromGroup> {
  static at::Tensor forward(AutogradContext*,
                            const at::Tensor& x,
                            int64_t group) {
    return all_reduced(x, group);
  }
  static variable_list backward(AutogradContext*, variable_list gradients) {
    return {gradients[0], at::Tensor()};
  }
};

}  // namespace

at::Tensor copy_to_group(const at::Tensor& x, Group& group) {
  return CopyToGroup::apply(x, as_handle(group));
}

at::Tensor reduce_from_group(const at::Tensor& x, Group& group) {
  return ReduceFromGroup::apply(x, as_handle(group));
}

}  // namespace titan::dist
