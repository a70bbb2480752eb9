// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/packer.h"

#include <algorithm>
#include <map>

#include "core/data/read_report.h"

namespace titan {
namespace {

struct Piece {
  std::shared_ptr<const Sample> sample;
  PieceState state;

  int64_t size() const { return state.end - state.begin; }
};

// Samples as pieces, those too long as the recipe says.
class PieceReader {
 public:
  PieceReader(const Source& source, int64_t lane)
      : source_(source), reader_(source, lane) {}

  bool next(Piece& piece) {
    const int64_t first_turn = reader_.position().turn;
    Sample sample;
    while (reader_.next(sample, piece.state.place)) {
      piece.state.begin = 0;
      piece.state.end = sample.num_inputs();
      if (!fit(piece.state.end)) {
        check_progress(first_turn);
        continue;
      }
      if (std::find(sample.is_target.begin(), sample.is_target.end(), 1) ==
              sample.is_target.end() &&
          !sample.is_target.empty())
        source_.report->count(&ReadCounts::num_without_target);
      piece.sample = std::make_shared<const Sample>(std::move(sample));
      return true;
    }
    return false;
  }

  const SamplePlace& position() const { return reader_.position(); }

  // Samples of several pieces, each read once, in the order of the files.
  std::map<SamplePlace, std::shared_ptr<const Sample>> fetch(
      const PackerState& state) {
    std::map<SamplePlace, std::shared_ptr<const Sample>> samples;
    if (state.carry) samples[state.carry->place];
    for (const auto& row : state.open_rows)
      for (const PieceState& piece : row) samples[piece.place];
    for (auto& [place, sample] : samples)
      sample = std::make_shared<const Sample>(reader_.fetch(place));
    reader_.seek(state.next);
    return samples;
  }

 private:
  // Applies too_long; false: leave the sample out.
  bool fit(int64_t& size) {
    if (size <= source_.seq_len || source_.too_long == TooLong::kSplit)
      return true;
    if (source_.too_long == TooLong::kDrop) {
      source_.report->count(&ReadCounts::num_dropped);
      return false;
    }
    source_.report->count(&ReadCounts::num_truncated);
    size = source_.seq_len;
    return true;
  }

  void check_progress(int64_t first_turn) const {
    TITAN_USER_CHECK(reader_.position().turn - first_turn <=
                         source_.order.turns_to_meet_all(),
                     "[data.too_long] every sample is longer than a row and "
                     "left out: expected some of at most ",
                     source_.seq_len,
                     " tokens. Raise training.seq_len, or set data.too_long: "
                     "split");
  }

  const Source& source_;
  SampleReader reader_;
};

void append(const Piece& piece, Row& row) {
  append_segment(*piece.sample, piece.state.begin, piece.state.end, row);
}

Piece restore_piece(
    const PieceState& state,
    const std::map<SamplePlace, std::shared_ptr<const Sample>>& samples) {
  Piece piece{samples.at(state.place), state};
  TITAN_USER_CHECK(state.begin >= 0 && state.begin < state.end &&
                       state.end <= piece.sample->num_inputs(),
                   "[data] the saved position is of other data: piece [",
                   state.begin,
                   ", ",
                   state.end,
                   ") of a sample of ",
                   piece.sample->num_inputs(),
                   " tokens");
  return piece;
}

// sequential, and none: the same with one piece a row.
class SequentialPacker final : public Packer {
 public:
  SequentialPacker(const Source& source, int64_t lane, bool one_piece)
      : source_(source), pieces_(source, lane), one_piece_(one_piece) {}

  bool next_row(Row& row) override {
    while (row.size() < source_.seq_len) {
      if (!carry_) {
        Piece piece;
        if (!pieces_.next(piece)) break;
        carry_ = std::move(piece);
      }
      PieceState& rest = carry_->state;
      const int64_t size =
          std::min(source_.seq_len - row.size(), carry_->size());
      append_segment(*carry_->sample, rest.begin, rest.begin + size, row);
      rest.begin += size;
      if (rest.begin == rest.end) carry_.reset();
      if (one_piece_) break;
    }
    return row.size() > 0;
  }

  PackerState state() const override {
    PackerState state{pieces_.position(), std::nullopt, {}};
    if (carry_) state.carry = carry_->state;
    return state;
  }

  void restore(const PackerState& state) override {
    const auto samples = pieces_.fetch(state);
    carry_.reset();
    if (state.carry) carry_ = restore_piece(*state.carry, samples);
  }

 private:
  const Source& source_;
  PieceReader pieces_;
  bool one_piece_;
  std::optional<Piece> carry_;
};

class BestFitPacker final : public Packer {
 public:
  BestFitPacker(const Source& source, int64_t lane)
      : source_(source), pieces_(source, lane) {}

  bool next_row(Row& row) override {
    Piece piece;
    while (next_piece(piece)) {
      if (piece.size() == source_.seq_len) {
        append(piece, row);
        return true;
      }
      if (OpenRow* open = find_best(piece.size())) {
        add(std::move(piece), *open);
        if (open->size == source_.seq_len) return close(*open, row);
      } else if (open_rows_.size() < kOpenRows) {
        add(std::move(piece), open_rows_.emplace_back());
      } else {
        OpenRow& fullest = *find_fullest();
        close_in_place(fullest, row);
        add(std::move(piece), fullest);
        return true;
      }
    }
    return !open_rows_.empty() && close(*find_fullest(), row);
  }

  PackerState state() const override {
    PackerState state{pieces_.position(), std::nullopt, {}};
    if (carry_) state.carry = carry_->state;
    for (const OpenRow& open : open_rows_) {
      auto& pieces = state.open_rows.emplace_back();
      for (const Piece& piece : open.pieces) pieces.push_back(piece.state);
    }
    return state;
  }

  void restore(const PackerState& state) override {
    const auto samples = pieces_.fetch(state);
    carry_.reset();
    if (state.carry) carry_ = restore_piece(*state.carry, samples);
    open_rows_.clear();
    for (const auto& pieces : state.open_rows) {
      OpenRow& open = open_rows_.emplace_back();
      for (const PieceState& piece : pieces)
        add(restore_piece(piece, samples), open);
      TITAN_USER_CHECK(open.size > 0 && open.size <= source_.seq_len,
                       "[data] the saved position is damaged: a row of ",
                       open.size,
                       " tokens");
    }
  }

 private:
  struct OpenRow {
    std::vector<Piece> pieces;
    int64_t size = 0;
  };

  // A whole sample, or the next seq_len tokens of a longer one.
  bool next_piece(Piece& piece) {
    if (!carry_) {
      Piece whole;
      if (!pieces_.next(whole)) return false;
      carry_ = std::move(whole);
    }
    piece = *carry_;
    piece.state.end =
        std::min(piece.state.end, piece.state.begin + source_.seq_len);
    carry_->state.begin = piece.state.end;
    if (carry_->size() == 0) carry_.reset();
    return true;
  }

  static void add(Piece piece, OpenRow& open) {
    open.size += piece.size();
    open.pieces.push_back(std::move(piece));
  }

  OpenRow* find_best(int64_t size) {
    OpenRow* best = nullptr;
    for (OpenRow& open : open_rows_)
      if (open.size + size <= source_.seq_len &&
          (best == nullptr || open.size > best->size))
        best = &open;
    return best;
  }

  OpenRow* find_fullest() {
    return &*std::max_element(
        open_rows_.begin(), open_rows_.end(), [](const auto& a, const auto& b) {
          return a.size < b.size;
        });
  }

  static void close_in_place(OpenRow& open, Row& row) {
    for (const Piece& piece : open.pieces) append(piece, row);
    open = {};
  }

  bool close(OpenRow& open, Row& row) {
    close_in_place(open, row);
    open_rows_.erase(open_rows_.begin() + (&open - open_rows_.data()));
    return true;
  }

  const Source& source_;
  PieceReader pieces_;
  std::optional<Piece> carry_;
  std::vector<OpenRow> open_rows_;
};

}  // namespace

Packing parse_packing(const std::string& name) {
  if (name == "sequential") return Packing::kSequential;
  if (name == "best_fit") return Packing::kBestFit;
  TITAN_USER_CHECK(name == "none",
                   "[data.packing] expected sequential, best_fit or none, got ",
                   name);
  return Packing::kNone;
}

TooLong parse_too_long(const std::string& name) {
  if (name == "split") return TooLong::kSplit;
  if (name == "truncate") return TooLong::kTruncate;
  TITAN_USER_CHECK(name == "drop",
                   "[data.too_long] expected split, truncate or drop, got ",
                   name);
  return TooLong::kDrop;
}

std::unique_ptr<Packer> make_packer(Packing packing,
                                    const Source& source,
                                    int64_t lane) {
  if (packing == Packing::kBestFit)
    return std::make_unique<BestFitPacker>(source, lane);
  return std::make_unique<SequentialPacker>(
      source, lane, packing == Packing::kNone);
}

}  // namespace titan
