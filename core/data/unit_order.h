// SPDX-License-Identifier: BSD-3-Clause
// Which unit a lane reads when. The epochs of a source, each with the units in
// an order of its own, are one endless line of turns; lane l of L takes turns
// l, l + L, l + 2L, ... So an epoch reads every unit exactly once, every lane
// gets as many units as any other whether there are more units than lanes or
// fewer (then lanes begin in different epochs), and no state is needed: a
// number of turns is a position.
#pragma once

#include <cstdint>
#include <optional>

namespace titan {

struct UnitTurn {
  int64_t unit = -1;  ///< -1: nothing to read in this turn.
  int64_t epoch = 0;
};

class UnitOrder {
 public:
  /// `max_epochs` 0: no end. Without shuffle each epoch is in file order.
  UnitOrder(int64_t num_units,
            int64_t num_lanes,
            bool shuffles,
            uint64_t seed,
            int64_t max_epochs);

  /// The `turn`-th turn of all lanes together; nothing behind the last epoch.
  std::optional<UnitTurn> at(int64_t turn) const;

  /// After as many turns one lane has met every unit (shuffled: but for a
  /// chance of e^-32, with few units).
  int64_t turns_to_meet_all() const;

 private:
  int64_t num_units_;
  // Units and empty places, so that this has no factor in common with the
  // number of lanes: else a lane would meet only some of the units when the
  // order is the same in all epochs.
  int64_t places_;
  bool shuffles_;
  uint64_t seed_;
  int64_t max_epochs_;
};

}  // namespace titan
