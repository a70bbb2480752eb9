// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/lane.h"

namespace titan {

Lane::Lane(const LanePlan& plan, int64_t number)
    : plan_(plan), number_(number) {
  for (const Source& source : plan.sources)
    packers_.push_back(make_packer(plan.packing, source, number));
}

bool Lane::fill_from(int source, Row& row) {
  row.source = source;
  return packers_[static_cast<size_t>(source)]->next_row(row);
}

bool Lane::next_row(Row& row) {
  if (has_ended_) return false;
  bool has_row = false;
  if (plan_.mixture) {
    const int source =
        plan_.mixture->draw(num_rows_ * plan_.num_lanes + number_);
    has_row = fill_from(source, row);
    TITAN_USER_CHECK(has_row || !plan_.end_is_error,
                     "[data.on_exhausted] source ",
                     source,
                     " of data.sources is used up: expected more, got its last "
                     "epoch's end. Raise epochs, or set on_exhausted: stop");
  } else {
    const auto num_sources = static_cast<int>(packers_.size());
    while (current_ < num_sources && !(has_row = fill_from(current_, row)))
      ++current_;
  }
  if (has_row)
    ++num_rows_;
  else
    has_ended_ = true;
  return has_row;
}

LaneState Lane::state() const {
  LaneState state{num_rows_, has_ended_, {}};
  state.sources.reserve(packers_.size());
  for (const auto& packer : packers_) state.sources.push_back(packer->state());
  return state;
}

void Lane::restore(const LaneState& state) {
  TITAN_CHECK_EQ(state.sources.size(), packers_.size(), "[lane] sources");
  num_rows_ = state.num_rows;
  has_ended_ = state.has_ended;
  for (size_t i = 0; i < packers_.size(); ++i)
    packers_[i]->restore(state.sources[i]);
}

}  // namespace titan
