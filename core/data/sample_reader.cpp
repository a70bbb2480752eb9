// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/sample_reader.h"

#include <algorithm>

#include "core/data/hash.h"
#include "core/data/permutation.h"
#include "core/data/read_report.h"

namespace titan {

SampleReader::SampleReader(const Source& source, int64_t lane)
    : source_(source), lane_(lane) {}

void SampleReader::seek(const SamplePlace& place) {
  // What is before at_ has been taken out of memory; what is behind it in the
  // same block has not.
  const bool is_ahead =
      place >= at_ && place.turn == at_.turn && place.block == at_.block;
  has_block_ = has_block_ && is_ahead;
  has_samples_ = has_samples_ && has_block_ && place.record == at_.record;
  at_ = place;
}

void SampleReader::next_turn() {
  at_ = {.turn = at_.turn + 1};
  has_block_ = has_samples_ = false;
  TITAN_USER_CHECK(++turns_without_sample_ <= source_.order.turns_to_meet_all(),
                   "[data] nothing to train on: expected at least one sample "
                   "in the files, got none. Is it the right field, split and "
                   "on_bad_line?");
}

// False where the turn has nothing to read.
bool SampleReader::open_unit() {
  const bool goes_on =
      unit_ && unit_turn_ == at_.turn && next_block_ <= at_.block;
  if (!goes_on) {
    const auto turn = source_.order.at(lane_ + at_.turn * source_.num_lanes);
    if (turn->unit < 0) return false;
    unit_ = source_.dataset->open(turn->unit);
    unit_turn_ = at_.turn;
    next_block_ = 0;
  }
  if (!unit_->skip_to(next_block_, at_.block)) return false;
  next_block_ = at_.block;
  return true;
}

// Reads block at_.block of turn at_.turn; false where there is none.
bool SampleReader::load_block() {
  records_.clear();
  has_samples_ = false;
  if (!open_unit() || !unit_->next_block(records_)) {
    unit_.reset();
    return false;
  }
  next_block_ = unit_->name_behind(at_.block);
  has_block_ = true;
  if (source_.shuffles && records_.size() > 1) {
    const auto size = static_cast<int64_t>(records_.size());
    // The turn names epoch and unit, so each epoch has an order of its own.
    const Permutation order(
        size,
        combine_hash(source_.seed, static_cast<uint64_t>(lane_)),
        static_cast<int64_t>(combine_hash(static_cast<uint64_t>(at_.turn),
                                          static_cast<uint64_t>(at_.block))));
    std::vector<Record> shuffled;
    shuffled.reserve(records_.size());
    for (int64_t i = 0; i < size; ++i)
      shuffled.push_back(std::move(records_[static_cast<size_t>(order(i))]));
    records_ = std::move(shuffled);
  }
  return true;
}

void SampleReader::check_ids(const Sample& sample,
                             const RecordPlace& place) const {
  const auto [least, largest] =
      std::minmax_element(sample.ids.begin(), sample.ids.end());
  TITAN_USER_CHECK(*least >= 0,
                   '[',
                   source_.dataset->describe(place),
                   "] token id: expected a non-negative number, got ",
                   *least);
  TITAN_USER_CHECK(source_.vocab_size == 0 || *largest < source_.vocab_size,
                   "[data] the data has token id ",
                   *largest,
                   ", but the model's vocabulary is smaller: expected at "
                   "least ",
                   *largest + 1,
                   ", got ",
                   source_.vocab_size,
                   " (",
                   source_.dataset->describe(place),
                   ')');
}

void SampleReader::map_record() {
  samples_.clear();
  has_samples_ = true;
  Record& record = records_[static_cast<size_t>(at_.record)];
  const RecordPlace place = record.place;
  try {
    source_.mapper->map(record, samples_);
  } catch (const BadRecord& bad) {
    samples_.clear();
    source_.report->add_bad(*source_.dataset, place, bad.what());
  }
  for (const Sample& sample : samples_) {
    TITAN_CHECK(sample.is_target.empty() ||
                    sample.is_target.size() == sample.ids.size(),
                "[sample] is_target and ids differ in size");
    if (!sample.ids.empty()) check_ids(sample, place);
  }
}

bool SampleReader::next(Sample& sample, SamplePlace& place) {
  while (true) {
    if (!has_block_) {
      if (!source_.order.at(lane_ + at_.turn * source_.num_lanes)) return false;
      if (!load_block()) {
        next_turn();
        continue;
      }
    }
    // Beyond the end only where a saved place is of other data.
    if (at_.record >= static_cast<int64_t>(records_.size())) {
      at_ = {.turn = at_.turn, .block = next_block_};
      has_block_ = false;
      continue;
    }
    if (!has_samples_) map_record();
    if (at_.sample < static_cast<int64_t>(samples_.size())) {
      place = at_;
      sample = std::move(samples_[static_cast<size_t>(at_.sample++)]);
      if (sample.num_inputs() <= 0) continue;
      turns_without_sample_ = 0;
      return true;
    }
    ++at_.record;
    at_.sample = 0;
    has_samples_ = false;
  }
}

Sample SampleReader::fetch(const SamplePlace& place) {
  seek(place);
  Sample sample;
  SamplePlace found;
  const bool has_sample = next(sample, found);
  TITAN_USER_CHECK(has_sample && found == place,
                   "[data] the saved position is of other data: the files "
                   "have changed since. Restore them, or start anew from the "
                   "weights with --from");
  return sample;
}

}  // namespace titan
