// SPDX-License-Identifier: BSD-3-Clause
// LibTorch's CPU memory, taken so that what is freed can be used again. See
// cpu_allocator.cpp for what the default does.
#pragma once

namespace titan::op {

/// Makes LibTorch allocate CPU tensors through it, in the whole process from
/// now on. Once, before threads; again it does nothing.
void install_cpu_allocator();

}  // namespace titan::op
