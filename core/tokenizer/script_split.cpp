// SPDX-License-Identifier: BSD-3-Clause
// UnicodeScripts: cuts where the script changes, with Japanese as one script
// and spaces as any. Scripts are those that `tokenizers` knows
// (unicode_scripts/scripts.rs, Unicode 10), asked of PCRE2's tables.
#include <array>
#include <atomic>
#include <mutex>
#include <sstream>

#include "core/tokenizer/pre_tokenizer.h"

namespace titan {
namespace {

constexpr const char* kScripts =
    "Common Latin Han Hiragana Katakana Adlam Ahom AnatolianHieroglyphs "
    "Arabic Armenian Avestan Balinese Bamum BassaVah Batak Bengali "
    "Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid CanadianAboriginal "
    "Carian CaucasianAlbanian Chakma Cham Cherokee Coptic Cuneiform Cypriot "
    "Cyrillic Deseret Devanagari Duployan EgyptianHieroglyphs Elbasan "
    "Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gurmukhi "
    "Hangul Hanunoo Hatran Hebrew ImperialAramaic Inherited "
    "InscriptionalPahlavi InscriptionalParthian Javanese Kaithi Kannada "
    "KayahLi Kharoshthi Khmer Khojki Khudawadi Lao Lepcha Limbu LinearA "
    "LinearB Lisu Lycian Lydian Mahajani Malayalam Mandaic Manichaean "
    "Marchen MeeteiMayek MendeKikakui MeroiticCursive MeroiticHieroglyphs "
    "Miao Modi Mongolian Mro Multani Myanmar Nabataean NewTaiLue Newa Nko "
    "Ogham OlChiki OldHungarian OldItalic OldNorthArabian OldPermic "
    "OldPersian OldSouthArabian OldTurkic Oriya Osage Osmanya PahawhHmong "
    "Palmyrene PauCinHau PhagsPa Phoenician PsalterPahlavi Rejang Runic "
    "Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala "
    "SoraSompeng Sundanese SylotiNagri Syriac Tagalog Tagbanwa TaiLe "
    "TaiTham TaiViet Takri Tamil Tangut Telugu Thaana Thai Tibetan Tifinagh "
    "Tirhuta Ugaritic Vai WarangCiti Yi ";

constexpr size_t kNumCodePoints = 0x110000;
constexpr uint8_t kAny = 1;  // No script of the list, and the space.

// Script numbers of characters, found on first use: a text has few different
// characters, and all at once would take a second.
class ScriptTable {
 public:
  ScriptTable() {
    std::istringstream names(kScripts);
    for (std::string name; names >> name;)
      patterns_.push_back(SplitPattern::from_pcre2("\\p{sc:" + name + "}",
                                                   "[UnicodeScripts] " + name));
  }

  uint8_t script_of(uint32_t c) {
    const uint8_t known = numbers_[c].load(std::memory_order_relaxed);
    if (known != 0) return known;
    const uint8_t found = find(c);
    numbers_[c].store(found, std::memory_order_relaxed);
    return found;
  }

 private:
  // Positions in kScripts that become one (IsValidSentencePiece).
  static constexpr size_t kHan = 2;
  static constexpr size_t kKatakana = 4;
  static constexpr uint32_t kProlongedSound = 0x30FC;

  uint8_t find(uint32_t c) {
    if (c == ' ') return kAny;
    if (c == kProlongedSound) return kAny + 1 + kHan;
    std::string character;
    append_utf8(character, c);
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < patterns_.size(); ++i) {
      spans_.clear();
      patterns_[i].append_matches(character, scratch_, spans_);
      if (!spans_[0].is_match) continue;
      const size_t script = i > kHan && i <= kKatakana ? kHan : i;
      return static_cast<uint8_t>(kAny + 1 + script);
    }
    return kAny;
  }

  std::mutex mutex_;
  std::vector<SplitPattern> patterns_;
  SplitPattern::Scratch scratch_;
  std::vector<MatchSpan> spans_;
  std::array<std::atomic<uint8_t>, kNumCodePoints> numbers_{};
};

// Leading spaces belong to no piece and vanish: so does pre_tokenizer.rs.
class ScriptSplit final : public PreTokenizer {
 public:
  void apply(PieceList& list) const override {
    static const std::unique_ptr<ScriptTable> table =
        std::make_unique<ScriptTable>();
    list.split(SplitBehavior::kIsolated,
               [](std::string_view text, std::vector<MatchSpan>& spans) {
                 uint8_t last = 0;
                 for (size_t i = 0; i < text.size();) {
                   const size_t begin = i;
                   const uint8_t script =
                       table->script_of(next_code_point(text, i));
                   if (script == kAny) continue;
                   if (script != last) {
                     if (!spans.empty()) spans.back().end = begin;
                     spans.push_back({begin, text.size(), true});
                   }
                   last = script;
                 }
               });
  }
};

}  // namespace

std::unique_ptr<PreTokenizer> make_script_split() {
  return std::make_unique<ScriptSplit>();
}

}  // namespace titan
