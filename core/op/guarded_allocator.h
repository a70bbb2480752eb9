// SPDX-License-Identifier: BSD-3-Clause
// Memory for tensors in which a write outside one ends the process: the page
// behind a tensor cannot be touched, and the bytes between are looked at when
// the tensor goes. For checking kernels; a system call per tensor.
#pragma once

namespace titan::op {

/// For every CPU tensor made from now on, in place of install_cpu_allocator.
void install_guarded_allocator();

}  // namespace titan::op
