// SPDX-License-Identifier: BSD-3-Clause
// In which LibTorch a function of the stable C shim first appeared, so that
// "undefined symbol" becomes "needs LibTorch >= 2.14". Made from the
// TORCH_FEATURE_VERSION guards of torch/csrc/stable/c/shim.h in the 2.15.0
// wheel; older functions are in every LibTorch that Titan supports.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/plugin/manifest.h"

namespace titan::plugin {

struct ShimSince {
  std::string_view name;
  std::uint32_t minor;  ///< of LibTorch 2
};

// clang-format off
inline constexpr ShimSince kShimSince[] = {
    {"aoti_torch_dtype_float4_e2m1fn_x2", 12},
    {"aoti_torch_dtype_float8_e8m0fnu", 12},
    {"torch_library_def_with_tags", 12},
    {"torch_tag_core", 12},
    {"torch_tag_cudagraph_unsafe", 12},
    {"torch_tag_data_dependent_output", 12},
    {"torch_tag_dynamic_output_shape", 12},
    {"torch_tag_flexible_layout", 12},
    {"torch_tag_generated", 12},
    {"torch_tag_inplace_view", 12},
    {"torch_tag_maybe_aliasing_or_mutating", 12},
    {"torch_tag_needs_contiguous_strides", 12},
    {"torch_tag_needs_exact_strides", 12},
    {"torch_tag_needs_fixed_stride_order", 12},
    {"torch_tag_nondeterministic_bitwise", 12},
    {"torch_tag_nondeterministic_seeded", 12},
    {"torch_tag_out_variant", 12},
    {"torch_tag_pointwise", 12},
    {"torch_tag_pt2_compliant_tag", 12},
    {"torch_tag_reduction", 12},
    {"torch_tag_view_copy", 12},
    {"torch_delete_generator", 13},
    {"torch_delete_stable_ivalue", 13},
    {"torch_exception_get_what", 13},
    {"torch_exception_get_what_without_backtrace", 13},
    {"torch_generator_get_device", 13},
    {"torch_library_set_python_module", 13},
    {"torch_new_generator_handle", 13},
    {"torch_new_stable_ivalue", 13},
    {"torch_stream_native_handle", 13},
    {"torch_has_storage", 14},
    {"torch_tensor_from_pyobject", 14},
    {"torch_tensor_to_pyobject", 14},
    {"torch_device_from_pyobject", 15},
    {"torch_device_to_pyobject", 15},
    {"torch_dtype_from_pyobject", 15},
    {"torch_dtype_to_pyobject", 15},
    {"torch_is_tensor_pyobject", 15},
};
// clang-format on

/// Nothing for a function of no table: older, or unknown to this build.
inline std::optional<TorchVersion> shim_since(std::string_view name) {
  const auto* found = std::find_if(
      std::begin(kShimSince), std::end(kShimSince), [name](const auto& row) {
        return row.name == name;
      });
  if (found == std::end(kShimSince)) return std::nullopt;
  return TorchVersion{2} << 32 | TorchVersion{found->minor} << 16;
}

}  // namespace titan::plugin
