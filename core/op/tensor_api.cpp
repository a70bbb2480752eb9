// SPDX-License-Identifier: BSD-3-Clause
// The titan_tensor_api table, and how exceptions become titan_error and back.
#include "core/op/tensor_api.h"

#include <algorithm>
#include <cstring>

#include <ATen/ATen.h>

#include <titan/error.h>

namespace titan::op {
namespace {

// Codes of docs/errors.md that a host function may report on its own.
constexpr int32_t kInvalidArgument = 601;
constexpr int32_t kOutOfMemory = 603;
constexpr int32_t kDevice = 604;
constexpr int32_t kTimeout = 607;
constexpr int32_t kException = 608;
constexpr int32_t kTorch = 609;
constexpr int32_t kComm = 610;
constexpr int32_t kInternal = 611;

void copy_text(char* to, size_t capacity, std::string_view from) {
  const size_t count = std::min(capacity - 1, from.size());
  std::memcpy(to, from.data(), count);
  to[count] = '\0';
}

int32_t retain(titan_tensor handle, titan_tensor* out, titan_error* error) {
  try {
    *out = new_handle(borrow(handle));
    return 0;
  } catch (...) {
    return report_exception(error, "tensor.retain");
  }
}

void release(titan_tensor handle) {
  delete reinterpret_cast<at::Tensor*>(handle);
}

int64_t num_dims(titan_tensor handle) {
  return borrow(handle).dim();
}

const int64_t* sizes(titan_tensor handle) {
  return borrow(handle).sizes().data();
}

const int64_t* strides(titan_tensor handle) {
  return borrow(handle).strides().data();
}

int64_t num_elements(titan_tensor handle) {
  return borrow(handle).numel();
}

int32_t dtype(titan_tensor handle) {
  return static_cast<int32_t>(borrow(handle).scalar_type());
}

int32_t device_type(titan_tensor handle) {
  return static_cast<int32_t>(borrow(handle).device().type());
}

int32_t device_index(titan_tensor handle) {
  return static_cast<int32_t>(borrow(handle).device().index());
}

int32_t is_contiguous(titan_tensor handle) {
  return borrow(handle).is_contiguous() ? 1 : 0;
}

void* data(titan_tensor handle) {
  const at::Tensor& tensor = borrow(handle);
  if (!tensor.has_storage() || tensor.storage().data() == nullptr)
    return nullptr;
  return tensor.data_ptr();
}

int32_t empty(titan_tensor like,
              int32_t dtype_code,
              const int64_t* dims,
              uint32_t dim_count,
              titan_tensor* out,
              titan_error* error) {
  try {
    const at::Tensor& model = borrow(like);
    const auto type = dtype_code == TITAN_DTYPE_COMPUTE
                          ? model.scalar_type()
                          : static_cast<at::ScalarType>(dtype_code);
    *out = new_handle(at::empty(at::IntArrayRef(dims, dim_count),
                                model.options().dtype(type)));
    return 0;
  } catch (...) {
    return report_exception(error, "tensor.empty");
  }
}

void fill_error(titan_error* error,
                int32_t code,
                const char* where,
                std::string_view message) noexcept {
  if (error == nullptr) return;
  error->code = code;
  copy_text(error->where, sizeof(error->where), where);
  copy_text(error->message, sizeof(error->message), message);
}

}  // namespace

const titan_tensor_api& tensor_api() {
  static const titan_tensor_api table = {sizeof(titan_tensor_api),
                                         0,
                                         retain,
                                         release,
                                         num_dims,
                                         sizes,
                                         strides,
                                         num_elements,
                                         dtype,
                                         device_type,
                                         device_index,
                                         is_contiguous,
                                         data,
                                         empty};
  return table;
}

titan_tensor new_handle(at::Tensor tensor) {
  return reinterpret_cast<titan_tensor>(new at::Tensor(std::move(tensor)));
}

int32_t report_exception(titan_error* error, const char* where) noexcept {
  int32_t code = kException;
  const auto code_or = [](const Error& caught, int32_t otherwise) {
    return caught.code() ? caught.code() : otherwise;
  };
  try {
    throw;
  } catch (const UserError& caught) {
    code = code_or(caught, kInvalidArgument);
    fill_error(error, code, where, caught.what());
  } catch (const DeviceError& caught) {
    code = code_or(caught, kDevice);
    fill_error(error, code, where, caught.what());
  } catch (const Error& caught) {
    code = code_or(caught, kInternal);
    fill_error(error, code, where, caught.what());
  } catch (const c10::Error& caught) {
    // Shapes and types that ATen refuses: its text without the C++ backtrace.
    code = kTorch;
    fill_error(error, code, where, caught.what_without_backtrace());
  } catch (const std::exception& caught) {
    fill_error(error, code, where, caught.what());
  } catch (...) {
    fill_error(error, code, where, "an exception that is no std::exception");
  }
  return code;
}

void throw_plugin_error(int32_t code,
                        const titan_error& error,
                        std::string_view where) {
  const auto bounded = [](const char* from, size_t capacity) {
    return std::string_view(from, ::strnlen(from, capacity));
  };
  const std::string_view origin = bounded(error.where, sizeof(error.where));
  std::string message = titan::text(where, ' ');
  if (!origin.empty()) message += titan::text(origin, ": ");
  message += bounded(error.message, sizeof(error.message));
  message += titan::text(" (code ", code, ')');
  switch (code) {
    case kOutOfMemory:
    case kDevice:
    case kTimeout:
    case kComm:
      throw DeviceError(message, code);
    case kException:
    case kInternal:
      throw BugError(message, code);
  }
  throw UserError(message, code);
}

}  // namespace titan::op
