// SPDX-License-Identifier: BSD-3-Clause
// {"rows": n, "ended": false, "sources": [{"next": P, "carry": P+[begin, end]
// or null, "open": [[P+[begin, end], ...], ...]}, ...]}, P = [turn, block,
// record, sample]. Comes out of checkpoint files: nothing in it is trusted.
#include <nlohmann/json.hpp>

#include "core/data/lane.h"

namespace titan {
namespace {

using Json = nlohmann::json;

Json json_of(const SamplePlace& place) {
  return {place.turn, place.block, place.record, place.sample};
}

Json json_of(const PieceState& piece) {
  Json json = json_of(piece.place);
  json.push_back(piece.begin);
  json.push_back(piece.end);
  return json;
}

Json json_of(const PackerState& state) {
  Json open = Json::array();
  for (const auto& row : state.open_rows) {
    Json pieces = Json::array();
    for (const PieceState& piece : row) pieces.push_back(json_of(piece));
    open.push_back(std::move(pieces));
  }
  return {{"next", json_of(state.next)},
          {"carry", state.carry ? json_of(*state.carry) : Json()},
          {"open", std::move(open)}};
}

// No run has more turns, records or tokens of a sample; sums and products of
// such numbers do not overflow.
constexpr uint64_t kLargest = uint64_t{1} << 40;

int64_t number_at(const Json& list, size_t index) {
  const Json& value = list.at(index);
  TITAN_USER_CHECK(
      value.is_number_unsigned() && value.get<uint64_t>() <= kLargest,
      "[data] the saved state is damaged: expected a number up to 2^40, got ",
      value.dump());
  return value.get<int64_t>();
}

SamplePlace place_of(const Json& json) {
  return {number_at(json, 0),
          number_at(json, 1),
          number_at(json, 2),
          number_at(json, 3)};
}

PieceState piece_of(const Json& json) {
  return {place_of(json), number_at(json, 4), number_at(json, 5)};
}

PackerState packer_of(const Json& json) {
  PackerState state;
  state.next = place_of(json.at("next"));
  if (!json.at("carry").is_null()) state.carry = piece_of(json.at("carry"));
  for (const Json& row : json.at("open")) {
    auto& pieces = state.open_rows.emplace_back();
    for (const Json& piece : row) pieces.push_back(piece_of(piece));
  }
  return state;
}

}  // namespace

std::string to_json(const LaneState& state) {
  Json sources = Json::array();
  for (const PackerState& source : state.sources)
    sources.push_back(json_of(source));
  return Json{{"rows", state.num_rows},
              {"ended", state.has_ended},
              {"sources", std::move(sources)}}
      .dump();
}

LaneState lane_state_from_json(const std::string& text, size_t num_sources) {
  try {
    const Json json = Json::parse(text);
    LaneState state;
    state.num_rows = number_at(Json::array({json.at("rows")}), 0);
    state.has_ended = json.at("ended").get<bool>();
    for (const Json& source : json.at("sources"))
      state.sources.push_back(packer_of(source));
    TITAN_USER_CHECK(state.sources.size() == num_sources,
                     "[data] the saved state has another number of sources: "
                     "expected ",
                     num_sources,
                     ", got ",
                     state.sources.size());
    return state;
  } catch (const Json::exception& error) {
    throw UserError(
        titan::text("[data] the saved state is damaged: ", error.what()));
  }
}

}  // namespace titan
