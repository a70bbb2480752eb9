// SPDX-License-Identifier: BSD-3-Clause
// The numbers of docs/errors.md: one space of stable codes for everything that
// can go wrong with a plugin, from finding the file to leaving the process.
// Numbers are never reused. The table beside each number is what the text,
// `titan plugin inspect` and the document are made from.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace titan::plugin {

enum class Code : int {
  kNotFound = 101,
  kAmbiguous = 102,
  kUntrustedPath = 103,
  kShaMismatch = 104,
  kNotPinned = 105,
  kSignature = 106,
  kNotAFile = 107,
  kUnreadable = 108,
  kNotElf = 201,
  kWrongArch = 202,
  kNoNote = 203,
  kBadManifest = 204,
  kHardening = 205,
  kAbiMajor = 301,
  kAbiMinor = 302,
  kGlibc = 303,
  kUnstableSymbol = 304,
  kTorchTooOld = 305,
  kMissingSymbol = 306,
  kTargetAbsent = 307,
  kKindRevision = 308,
  kStringAbi = 309,
  kDlopen = 401,
  kNoEntry = 402,
  kEntryFailed = 403,
  kEntryTimeout = 404,
  kProbeCrash = 405,
  kDescMismatch = 406,
  kDuplicateId = 407,
  kStaleImage = 408,
  kBadTable = 409,
  kUnknownKey = 501,
  kType = 502,
  kRange = 503,
  kMissing = 504,
  kUnusedKey = 505,
  kConflict = 506,
  kSchemaInvalid = 507,
  kInvalidArgument = 601,
  kUnsupported = 602,
  kOutOfMemory = 603,
  kDevice = 604,
  kNumeric = 605,
  kCancelled = 606,
  kTimeout = 607,
  kException = 608,
  kTorch = 609,
  kComm = 610,
  kInternal = 611,
  kBusy = 701,
  kLeakedObjects = 702,
  kNotUnloadable = 703,
  kStuckMapped = 704,
  kSwapRejected = 705,
  kRankDivergence = 706,
  kGenerationLimit = 707,
};

struct CodeInfo {
  Code code;
  std::string_view name;   ///< "TORCH_TOO_OLD"
  std::string_view group;  ///< "compatibility"
  bool is_retryable;
  std::string_view hint;  ///< What to do, usually right; one sentence.
};

/// Every code, ascending.
std::span<const CodeInfo> all_codes();

/// The row of `code`; throws BugError for a number that is no code.
const CodeInfo& code_info(Code code);

/// "[plugin libacme.so] TORCH_TOO_OLD (305): <what>". `file` is a path or an
/// id; of a path only the last part is shown, so `what` names the whole path
/// where it matters.
std::string code_text(Code code, std::string_view file, std::string_view what);

/// Throws UserError with `code_text` and the code's number.
[[noreturn]] void throw_code(Code code,
                             std::string_view file,
                             std::string_view what);

}  // namespace titan::plugin
