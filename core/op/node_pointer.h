// SPDX-License-Identifier: BSD-3-Clause
// Who owns an autograd node: std::shared_ptr up to LibTorch 2.14, an
// intrusive_ptr in 2.15. The type is read off Edge, so that no version number
// is needed.
#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>

namespace titan::op {

using NodePointer = decltype(torch::autograd::Edge::function);

/// A new node, freed the way the engine frees its own (deep graphs must not
/// recurse).
template <typename SomeNode, typename Pointer = NodePointer, typename... Args>
auto make_node(Args&&... args) {
  if constexpr (std::same_as<Pointer, std::shared_ptr<torch::autograd::Node>>) {
    return std::shared_ptr<SomeNode>(
        new SomeNode(std::forward<Args>(args)...),
        [](auto* node) { deleteNode(node); });  // found by argument
  } else {
    return c10::make_intrusive<SomeNode>(std::forward<Args>(args)...);
  }
}

/// The owning pointer of a node, from within it.
template <typename SomeNode, typename Pointer = NodePointer>
Pointer pointer_to(SomeNode& node) {
  if constexpr (std::same_as<Pointer, std::shared_ptr<torch::autograd::Node>>) {
    return node.shared_from_this();
  } else {
    return Pointer::reclaim_copy(&node);
  }
}

}  // namespace titan::op
