// SPDX-License-Identifier: BSD-3-Clause
// A dataset in one file: sequences in FASTA files. A record is a sequence:
//   >sp|P69905 Hemoglobin subunit alpha
//   MVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHFDLSHGSAQVKGHG
// Copy it for a format of your own: what is FASTA in it is `Shard::next`.
#include <fstream>

#include <titan/sdk.hpp>

namespace {

class FastaDataset {
 public:
  static constexpr std::string_view kEndings = ".fasta .fa";
  static constexpr std::string_view kSchema = R"json({
    "type": "object",
    "properties": {
      "with_header": {"type": "boolean", "default": false,
        "description": "put the header's line before its sequence"}
    }})json";

  // The host has expanded data.files: files that are there, by our endings.
  FastaDataset(const titan::Config& config,
               const titan::DatasetRequest& request)
      : files_(request.files), with_header_(config.flag("with_header")) {}

  // A shard is a file. Cut large files into several shards where you can, so
  // that all lanes have one to read.
  int64_t num_shards() const { return static_cast<int64_t>(files_.size()); }

  class Shard {
   public:
    Shard(const std::string& file, bool with_header)
        : stream_(file), with_header_(with_header) {
      TITAN_USER_CHECK(stream_, "[acme.fasta ", file, "] cannot be read");
      // What is before the first header is no record.
      while (std::getline(stream_, header_) && !header_.starts_with('>')) {
      }
    }

    // One record, or none at the end. What is wrong with it goes to refuse:
    // data.on_bad_line says what then happens.
    void next(const titan::RecordSink& sink) {
      if (!stream_) return;
      std::string record = with_header_ ? header_.substr(1) + '\n' : "";
      const size_t begin = record.size();
      std::string line;
      while (std::getline(stream_, line) && !line.starts_with('>'))
        record += line;
      header_ = line;
      if (record.size() == begin)
        return sink.refuse("no sequence behind the header");
      sink.text(record);
    }

   private:
    std::ifstream stream_;
    std::string header_;
    bool with_header_;
  };

  std::unique_ptr<Shard> open(int64_t shard) const {
    return std::make_unique<Shard>(files_[static_cast<size_t>(shard)],
                                   with_header_);
  }

  // For messages about a record.
  std::string describe(int64_t shard, int64_t record) const {
    return titan::text(
        files_[static_cast<size_t>(shard)], ": sequence ", record);
  }

 private:
  std::vector<std::string> files_;
  bool with_header_;
};

}  // namespace

TITAN_PLUGIN({.name = "acme.fasta",
              .version = "1.0.0",
              .vendor = "Acme",
              .licence = "BSD-3-Clause"},
             titan::dataset<FastaDataset>("acme.fasta",
                                          "Sequences in FASTA files"))
