// SPDX-License-Identifier: BSD-3-Clause
// Tensors across the plugin boundary. A titan_tensor is a heap at::Tensor*, the
// same object as LibTorch's AtenTensorHandle.
#pragma once

#include <ATen/core/Tensor.h>

#include <titan/abi/host.h>

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

/// Fills `error` from the exception being handled; returns its code. To be
/// called in a catch block of a function that a plugin calls.
int32_t report_exception(titan_error* error, const char* where) noexcept;

/// Throws the kind of error that `code` (not 0) means, with the plugin's text.
[[noreturn]] void throw_plugin_error(int32_t code,
                                     const titan_error& error,
                                     std::string_view where);

}  // namespace titan::op
