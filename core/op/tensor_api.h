// SPDX-License-Identifier: BSD-3-Clause
// Tensors across the plugin boundary. A titan_tensor is a heap at::Tensor*, the
// same object as LibTorch's AtenTensorHandle.
#pragma once

#include <string_view>

#include <ATen/core/Tensor.h>

#include <titan/abi/host.h>
#include <titan/text.h>

#include "core/plugin/abi_call.h"

namespace titan::op {

/// titan_host_api.tensor. Static. [thread: any]
const titan_tensor_api& tensor_api();

/// The tensor behind a handle; the handle keeps its reference.
inline at::Tensor& borrow(titan_tensor handle) {
  return *reinterpret_cast<at::Tensor*>(handle);
}

/// Undefined tensor for null.
inline at::Tensor tensor_or_undefined(titan_tensor handle) {
  return handle ? borrow(handle) : at::Tensor();
}

/// A handle borrowed from `tensor` (null when undefined): for arguments of a
/// call, valid while `tensor` stays where it is.
inline titan_tensor lend(const at::Tensor& tensor) {
  return tensor.defined()
             ? reinterpret_cast<titan_tensor>(const_cast<at::Tensor*>(&tensor))
             : nullptr;
}

/// A new reference, given back with tensor_api().release.
titan_tensor new_handle(at::Tensor tensor);

/// plugin::guard_call for code that calls ATen: what ATen refuses (shapes,
/// types) is code 609 with its text, which gets `where` and no C++ backtrace.
template <typename Body>
int32_t guard_torch(titan_error* error,
                    std::string_view where,
                    Body&& body) noexcept {
  return plugin::guard_call(error, [&] {
    try {
      body();
    } catch (const c10::Error& caught) {
      throw BugError(text('[', where, "] ", caught.what_without_backtrace()),
                     kTorchFault);
    }
  });
}

}  // namespace titan::op
