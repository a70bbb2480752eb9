// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/unit_order.h"

#include <algorithm>
#include <numeric>

#include <titan/error.h>

#include "core/data/permutation.h"

namespace titan {

UnitOrder::UnitOrder(int64_t num_units,
                     int64_t num_lanes,
                     bool shuffles,
                     uint64_t seed,
                     int64_t max_epochs)
    : num_units_(num_units),
      places_(num_units),
      shuffles_(shuffles),
      seed_(seed),
      max_epochs_(max_epochs) {
  TITAN_CHECK(num_units > 0, "[unit order] no units");
  while (std::gcd(places_, num_lanes) != 1) ++places_;
}

int64_t UnitOrder::turns_to_meet_all() const {
  constexpr int64_t kFew = 4096;
  if (!shuffles_) return places_;
  return std::max(2 * places_, 32 * std::min(places_, kFew));
}

std::optional<UnitTurn> UnitOrder::at(int64_t turn) const {
  const int64_t epoch = turn / places_;
  if (max_epochs_ > 0 && epoch >= max_epochs_) return std::nullopt;
  int64_t place = turn % places_;
  if (shuffles_) place = Permutation(places_, seed_, epoch)(place);
  return UnitTurn{place < num_units_ ? place : -1, epoch};
}

}  // namespace titan
