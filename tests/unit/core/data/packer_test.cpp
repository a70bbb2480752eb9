// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/packer.h"

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/data/hash.h"
#include "core/data/read_report.h"

namespace {

using Ids = std::vector<int32_t>;
using titan::Packing;
using titan::Row;
using titan::TooLong;
constexpr auto kNone = static_cast<int32_t>(titan::kNoTarget);

// A dataset in memory: one unit, one block.
class ListedDataset final : public titan::Dataset {
 public:
  explicit ListedDataset(std::vector<Ids> documents)
      : documents_(std::move(documents)) {}

  int64_t num_units() const override { return 1; }
  uint64_t fingerprint() const override { return 0; }
  std::string describe(const titan::RecordPlace& place) const override {
    return titan::text("document ", place.offset);
  }
  std::unique_ptr<titan::UnitReader> open(int64_t) const override {
    struct Reader final : titan::UnitReader {
      explicit Reader(const std::vector<Ids>& list) : documents(list) {}
      bool next_block(std::vector<titan::Record>& records) override {
        if (is_read) return false;
        is_read = true;
        for (const Ids& ids : documents) {
          titan::Record record;
          record.ids = ids;
          record.place.offset = static_cast<int64_t>(records.size());
          records.push_back(record);
        }
        return true;
      }
      const std::vector<Ids>& documents;
      bool is_read = false;
    };
    return std::make_unique<Reader>(documents_);
  }

 private:
  std::vector<Ids> documents_;
};

// Ids as they are; a negative one is a target that is masked.
class PlainMapper final : public titan::SampleMapper {
 public:
  void map(titan::Record& record,
           std::vector<titan::Sample>& samples) const override {
    titan::Sample sample;
    bool is_masked = false;
    for (const int32_t id : record.ids) {
      sample.ids.push_back(std::abs(id));
      sample.is_target.push_back(id < 0 ? 0 : 1);
      is_masked = is_masked || id < 0;
    }
    if (!is_masked) sample.is_target.clear();
    samples.push_back(std::move(sample));
  }
  uint64_t fingerprint() const override { return 0; }
};

struct PackedTokens {
  PackedTokens(std::vector<Ids> documents,
               int64_t seq_len,
               Packing with,
               TooLong too_long = TooLong::kSplit,
               int64_t max_epochs = 1)
      : source{.dataset = std::make_unique<ListedDataset>(std::move(documents)),
               .mapper = std::make_shared<PlainMapper>(),
               .order = titan::UnitOrder(1, 1, false, 0, max_epochs),
               .shuffles = false,
               .too_long = too_long,
               .seq_len = seq_len,
               .report = &report},
        packing(with),
        packer(titan::make_packer(with, source, 0)) {}

  std::vector<Row> rows() {
    std::vector<Row> out;
    for (Row row; packer->next_row(row); row = {}) out.push_back(row);
    return out;
  }

  titan::ReadReport report{titan::OnBadRecord::kError};
  titan::Source source;
  Packing packing;
  std::unique_ptr<titan::Packer> packer;
};

}  // namespace

// R.9 of the reference: [a b c], [d e] in a row of five.
TEST_CASE("two documents share a row and restart positions", "[unit]") {
  PackedTokens fixture({{1, 2, 3}, {4, 5}}, 5, Packing::kSequential);
  const auto rows = fixture.rows();
  REQUIRE(rows.size() == 1);
  titan::Microbatch batch;
  titan::begin_batch(batch, 5);
  titan::write_row(rows[0], 5, 0, 100, batch);
  using Longs = std::vector<int64_t>;
  CHECK(batch.positions == Ids{0, 1, 2, 0, 1});
  CHECK(batch.tokens == Longs{1, 2, 3, 4, 5});
  CHECK(batch.labels == Longs{2, 3, kNone, 5, kNone});
  CHECK(batch.loss_weight == std::vector<float>{1, 1, 0, 1, 0});
  CHECK(batch.doc_id == Ids{0, 0, 0, 1, 1});
  CHECK(batch.cu_seqlens == Ids{0, 3, 5});
  CHECK(batch.global_index == Longs{100, 101, 102, 103, 104});
  CHECK(batch.n_valid == 3);
}

TEST_CASE("a long document goes on in the next row and loses no target",
          "[unit]") {
  PackedTokens fixture({{1, 2, 3, 4, 5, 6, 7}}, 3, Packing::kSequential);
  const auto rows = fixture.rows();
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].labels == Ids{2, 3, 4});
  CHECK(rows[1].labels == Ids{5, 6, 7});
  CHECK(rows[2].tokens == Ids{7});
  CHECK(rows[2].labels == Ids{kNone});
  titan::Microbatch batch;
  titan::begin_batch(batch, 3);
  titan::write_row(rows[2], 3, 0, 0, batch);
  CHECK(batch.cu_seqlens == Ids{0, 1, 3});
  CHECK(batch.positions == Ids{0, 0, 1});
  CHECK(batch.labels == std::vector<int64_t>(3, kNone));
}

TEST_CASE("a masked id is no target wherever the row is cut", "[unit]") {
  PackedTokens fixture({{1, -2, 3, -4, 5}}, 2, Packing::kSequential);
  const auto rows = fixture.rows();
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].labels == Ids{kNone, 3});
  CHECK(rows[1].labels == Ids{kNone, 5});
  CHECK(rows[0].n_valid + rows[1].n_valid + rows[2].n_valid == 2);
}

TEST_CASE("best fit keeps whole what fits a row", "[unit]") {
  PackedTokens fixture(
      {{1, 1, 1}, {2, 2}, {3, 3, 3}, {4}, {5, 5}}, 4, Packing::kBestFit);
  const auto rows = fixture.rows();
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].tokens == Ids{1, 1, 1, 4});
  CHECK(rows[1].tokens == Ids{2, 2, 5, 5});
  CHECK(rows[2].tokens == Ids{3, 3, 3});
}

TEST_CASE("best fit cuts only documents longer than a row", "[unit]") {
  PackedTokens fixture(
      {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {20, 21}}, 4, Packing::kBestFit);
  const auto rows = fixture.rows();
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].labels == Ids{2, 3, 4, 5});
  CHECK(rows[1].labels == Ids{6, 7, 8, 9});
  CHECK(rows[2].tokens == Ids{9, 10, 20, 21});
  CHECK(rows[2].labels == Ids{10, kNone, 21, kNone});
}

TEST_CASE("best fit leaves hardly a place empty", "[unit]") {
  std::vector<Ids> documents;
  int64_t num_tokens = 0;
  for (int i = 0; i < 4000; ++i) {
    // Lengths of 1 to 1000, short ones more often.
    const auto size =
        static_cast<int32_t>(1 + titan::mix_bits(i) % 1000 *
                                     (titan::mix_bits(i + 9999) % 100) / 100);
    documents.emplace_back(static_cast<size_t>(size), 1);
    num_tokens += size;
  }
  PackedTokens fixture(std::move(documents), 1000, Packing::kBestFit);
  const auto num_rows = static_cast<int64_t>(fixture.rows().size());
  const double fill = static_cast<double>(num_tokens) /
                      (1000.0 * static_cast<double>(num_rows));
  INFO(fill);
  CHECK(fill > 0.98);
}

TEST_CASE("none pads every document to a row", "[unit]") {
  PackedTokens fixture({{1}, {2, 3, 4}, {5, 6}}, 2, Packing::kNone);
  const auto rows = fixture.rows();
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].labels == Ids{3, 4});
  CHECK(rows[2].tokens == Ids{4});
}

// DAT-16: never a tail that is trained on without its beginning.
TEST_CASE("what is longer than a row is cut, cut off or left out (DAT-16)",
          "[unit]") {
  const Ids long_one = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
  const std::vector<Ids> documents = {{20, 21}, long_one, {30}};
  PackedTokens truncated(documents, 10, Packing::kBestFit, TooLong::kTruncate);
  auto rows = truncated.rows();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].tokens.back() == 10);
  CHECK(rows[0].labels.back() == 11);
  CHECK(rows[1].tokens == Ids{20, 21, 30});
  CHECK(truncated.report.counts().num_truncated == 1);
  PackedTokens dropped(documents, 10, Packing::kNone, TooLong::kDrop);
  CHECK(dropped.rows().size() == 2);
  CHECK(dropped.report.counts().num_dropped == 1);
  PackedTokens nothing({long_one}, 10, Packing::kNone, TooLong::kDrop, 0);
  CHECK_THROWS_WITH(nothing.rows(),
                    Catch::Contains("[data.too_long] every sample"));
}

TEST_CASE("samples without a target are counted", "[unit]") {
  PackedTokens fixture({{-1, -2}, {3, 4}}, 4, Packing::kNone);
  CHECK(fixture.rows().size() == 2);
  CHECK(fixture.report.counts().num_without_target == 1);
}

TEST_CASE("a packer goes on from its state at any row", "[unit]") {
  std::vector<Ids> documents;
  for (int i = 0; i < 60; ++i)
    documents.emplace_back(static_cast<size_t>(1 + i * 7 % 23), i + 1);
  for (const Packing packing :
       {Packing::kSequential, Packing::kBestFit, Packing::kNone}) {
    PackedTokens straight(documents, 9, packing);
    const auto expected = straight.rows();
    for (size_t at = 0; at < expected.size(); at += 5) {
      PackedTokens first(documents, 9, packing);
      Row row;
      for (size_t i = 0; i < at; ++i, row = {}) first.packer->next_row(row);
      PackedTokens second(documents, 9, packing);
      second.packer->restore(first.packer->state());
      const auto rest = second.rows();
      REQUIRE(rest.size() == expected.size() - at);
      for (size_t i = 0; i < rest.size(); ++i) {
        REQUIRE(rest[i].tokens == expected[at + i].tokens);
        REQUIRE(rest[i].labels == expected[at + i].labels);
      }
    }
  }
}

TEST_CASE("a place that the data does not have is refused", "[unit]") {
  PackedTokens fixture({{1, 2, 3}}, 4, Packing::kBestFit);
  titan::PackerState state;
  state.carry = {{.record = 7}, 0, 2};
  CHECK_THROWS_WITH(fixture.packer->restore(state),
                    Catch::Contains("files have changed"));
  state.carry = {{}, 1, 9};
  CHECK_THROWS_WITH(fixture.packer->restore(state),
                    Catch::Contains("piece [1, 9) of a sample of 3 tokens"));
}

TEST_CASE("names of packings and of too_long are checked", "[unit]") {
  CHECK(titan::parse_packing("best_fit") == Packing::kBestFit);
  CHECK(titan::parse_too_long("drop") == TooLong::kDrop);
  CHECK_THROWS_AS(titan::parse_packing("first_fit"), titan::UserError);
  CHECK_THROWS_AS(titan::parse_too_long("cut"), titan::UserError);
}
