// SPDX-License-Identifier: BSD-3-Clause
// The table behind docs/errors.md; a test holds both against each other.
#include "core/plugin/error_code.h"

#include <algorithm>

#include <titan/error.h>

namespace titan::plugin {
namespace {

// clang-format off
constexpr CodeInfo kCodes[] = {
    {Code::kNotFound, "NOT_FOUND", "discovery", false, "Check the path, or run `titan plugin list --all` for what was searched."},
    {Code::kAmbiguous, "AMBIGUOUS", "discovery", false, "Remove one of the two files, or name one by its path."},
    {Code::kUntrustedPath, "UNTRUSTED_PATH", "discovery", false, "Make it and its folders yours or root's, writable by nobody else."},
    {Code::kShaMismatch, "SHA_MISMATCH", "discovery", false, "Restore the pinned file, or write the new one's sha256 (`titan plugin inspect FILE` prints it) into plugins.load."},
    {Code::kNotPinned, "NOT_PINNED", "discovery", false, "Write its sha256 (`titan plugin inspect FILE` prints it) into plugins.load."},
    {Code::kSignature, "SIGNATURE", "discovery", false, "Get the file and its signature from the vendor again."},
    {Code::kNotAFile, "NOT_A_FILE", "discovery", false, "Name the .so file itself."},
    {Code::kUnreadable, "UNREADABLE", "discovery", false, "Give this user read permission."},
    {Code::kNotElf, "NOT_ELF", "format", false, "Name a shared library (.so), complete and unmodified."},
    {Code::kWrongArch, "WRONG_ARCH", "format", false, "Use the build of the plugin for this machine."},
    {Code::kNoNote, "NO_NOTE", "format", false, "Build it with the TITAN_PLUGIN macro of <titan/sdk.hpp>."},
    {Code::kBadManifest, "BAD_MANIFEST", "format", false, "Rebuild the plugin with an unmodified SDK."},
    {Code::kHardening, "HARDENING", "format", false, "Link it as titan_add_plugin does."},
    {Code::kAbiMajor, "ABI_MAJOR", "compatibility", false, "Use a plugin build for this Titan, or another Titan."},
    {Code::kAbiMinor, "ABI_MINOR", "compatibility", false, "Upgrade Titan, or rebuild the plugin for this one."},
    {Code::kGlibc, "GLIBC", "compatibility", false, "Rebuild the plugin on the older system."},
    {Code::kUnstableSymbol, "UNSTABLE_SYMBOL", "compatibility", false, "Use the function tables of <titan/sdk.hpp> instead."},
    {Code::kTorchTooOld, "TORCH_TOO_OLD", "compatibility", false, "Rebuild the plugin for this LibTorch, or upgrade LibTorch."},
    {Code::kMissingSymbol, "MISSING_SYMBOL", "compatibility", false, "Link the library that defines it and declare that in `needs`."},
    {Code::kTargetAbsent, "TARGET_ABSENT", "compatibility", false, "Run where the hardware is, or choose another component."},
    {Code::kKindRevision, "KIND_REVISION", "compatibility", false, "Upgrade Titan, or use an older build of the plugin."},
    {Code::kStringAbi, "STRING_ABI", "compatibility", false, "Rebuild the plugin with this host's setting."},
    {Code::kDlopen, "DLOPEN", "load", false, "Install what the system's loader names."},
    {Code::kNoEntry, "NO_ENTRY", "load", false, "Export titan_plugin_entry_v1 (the TITAN_PLUGIN macro does)."},
    {Code::kEntryFailed, "ENTRY_FAILED", "load", false, "Report it to the plugin's vendor."},
    {Code::kEntryTimeout, "ENTRY_TIMEOUT", "load", false, "Report it to the plugin's vendor: the entry must be pure."},
    {Code::kProbeCrash, "PROBE_CRASH", "load", false, "Report it to the plugin's vendor."},
    {Code::kDescMismatch, "DESC_MISMATCH", "load", false, "Rebuild the plugin: its note and its table differ."},
    {Code::kDuplicateId, "DUPLICATE_ID", "load", false, "Load one of the two."},
    {Code::kStaleImage, "STALE_IMAGE", "load", false, "Restart Titan: an older image of this file is mapped."},
    {Code::kBadTable, "BAD_TABLE", "load", false, "Report it to the plugin's vendor."},
    {Code::kUnknownKey, "UNKNOWN_KEY", "config", false, "Correct the key."},
    {Code::kType, "TYPE", "config", false, "Give a value of the named type."},
    {Code::kRange, "RANGE", "config", false, "Give a value in the named range."},
    {Code::kMissing, "MISSING", "config", false, "Add the key."},
    {Code::kUnusedKey, "UNUSED_KEY", "config", false, "Remove the key."},
    {Code::kConflict, "CONFLICT", "config", false, "Keep one of the two."},
    {Code::kSchemaInvalid, "SCHEMA_INVALID", "config", false, "Report it to the plugin's vendor."},
    {Code::kInvalidArgument, "INVALID_ARGUMENT", "runtime", false, "Report it to the plugin's vendor."},
    {Code::kUnsupported, "UNSUPPORTED", "runtime", false, "Choose another implementation."},
    {Code::kOutOfMemory, "OUT_OF_MEMORY", "runtime", true, "Lower training.tokens_per_microbatch or training.seq_len."},
    {Code::kDevice, "DEVICE", "runtime", false, "Restart from the last checkpoint; check the device's log."},
    {Code::kNumeric, "NUMERIC", "runtime", false, "Replay the saved step."},
    {Code::kCancelled, "CANCELLED", "runtime", false, "Nothing: the run was asked to stop."},
    {Code::kTimeout, "TIMEOUT", "runtime", true, "Try again."},
    {Code::kException, "EXCEPTION", "runtime", false, "Report it to the plugin's vendor."},
    {Code::kTorch, "TORCH", "runtime", false, "Restart from the last checkpoint."},
    {Code::kComm, "COMM", "runtime", true, "Restart from the last checkpoint; check the network."},
    {Code::kInternal, "INTERNAL", "runtime", false, "Report it as a bug of Titan."},
    {Code::kBusy, "BUSY", "lifecycle", false, "Wait for the step boundary."},
    {Code::kLeakedObjects, "LEAKED_OBJECTS", "lifecycle", false, "Report it to the plugin's vendor."},
    {Code::kNotUnloadable, "NOT_UNLOADABLE", "lifecycle", false, "Nothing: plugins stay mapped until the process ends."},
    {Code::kStuckMapped, "STUCK_MAPPED", "lifecycle", false, "Restart Titan."},
    {Code::kSwapRejected, "SWAP_REJECTED", "lifecycle", false, "Keep the current kernel."},
    {Code::kRankDivergence, "RANK_DIVERGENCE", "lifecycle", false, "Install the same plugins on every rank."},
    {Code::kGenerationLimit, "GENERATION_LIMIT", "lifecycle", false, "Restart Titan."},
};
// clang-format on

}  // namespace

std::span<const CodeInfo> all_codes() {
  return kCodes;
}

const CodeInfo& code_info(Code code) {
  const auto found = std::find_if(
      std::begin(kCodes), std::end(kCodes), [code](const CodeInfo& info) {
        return info.code == code;
      });
  TITAN_CHECK(found != std::end(kCodes),
              "[plugin] no such error code: got ",
              static_cast<int>(code));
  return *found;
}

std::string code_text(Code code, std::string_view file, std::string_view what) {
  const std::string_view name = file.substr(file.find_last_of('/') + 1);
  return text("[plugin ",
              name,
              "] ",
              code_info(code).name,
              " (",
              static_cast<int>(code),
              "): ",
              what);
}

void throw_code(Code code, std::string_view file, std::string_view what) {
  throw UserError(code_text(code, file, what), static_cast<int>(code));
}

}  // namespace titan::plugin
