// SPDX-License-Identifier: BSD-3-Clause
// The order of candidates and the reasons of refusals.
#include "core/op/select.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <mutex>
#include <set>

#include <titan/error.h>

namespace titan::op {

struct KernelSelector::Used {
  std::mutex mutex;
  std::vector<bool> overrides;
};

namespace {

/// Rank of a candidate: lower is better. Pins and preferences come first.
struct Ranked {
  std::shared_ptr<const Kernel> kernel;
  Candidate candidate;
  int64_t preference = 0;
  bool is_accepted = false;
};

constexpr int64_t kNotPreferred = 1'000'000;
constexpr int64_t kReferenceLast = 2'000'000;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const TensorMeta* first_float(const std::vector<TensorMeta>& inputs) {
  for (const TensorMeta& input : inputs)
    if (input.is_defined && at::isFloatingType(input.dtype)) return &input;
  return nullptr;
}

constexpr std::pair<uint64_t, const char*> kFeatureNames[] = {
    {TITAN_CPU_AVX2, "avx2"},
    {TITAN_CPU_FMA, "fma"},
    {TITAN_CPU_AVX512F, "avx512f"},
    {TITAN_CPU_AVX512BW, "avx512bw"},
    {TITAN_CPU_AVX512VL, "avx512vl"},
    {TITAN_CPU_AVX512DQ, "avx512dq"},
    {TITAN_CPU_AVX512_BF16, "avx512_bf16"},
    {TITAN_CPU_AMX_TILE, "amx_tile"},
    {TITAN_CPU_AMX_BF16, "amx_bf16"},
    {TITAN_CPU_AMX_INT8, "amx_int8"}};

std::string feature_names(uint64_t features) {
  std::string out;
  for (const auto& [bit, name] : kFeatureNames) {
    if (!(features & bit)) continue;
    if (!out.empty()) out += ' ';
    out += name;
  }
  return out;
}

/// Empty when the kernel may run on this hardware with these types.
std::string static_refusal(const KernelMatch& match,
                           const std::vector<TensorMeta>& inputs,
                           const Hardware& hardware) {
  const TensorMeta* lead = first_float(inputs);
  const auto device = lead ? lead->device : at::Device(at::kCPU);
  if (static_cast<int32_t>(device.type()) != match.device_type)
    return text("runs on device type ",
                match.device_type,
                ", the tensors are on ",
                device.str());
  if (lead && match.dtype_mask != 0 &&
      !(match.dtype_mask >> static_cast<int>(lead->dtype) & 1))
    return text("does not take ", dtype_name(lead->dtype));
  if (device.is_cpu()) {
    const uint64_t missing = match.cpu_features & ~hardware.cpu_features;
    if (missing != 0) return text("this CPU lacks ", feature_names(missing));
    return "";
  }
  const uint32_t arch = hardware.cuda_arch;
  if ((match.arch_min != 0 && arch < match.arch_min) ||
      (match.arch_max != 0 && arch > match.arch_max))
    return text("needs sm_",
                match.arch_min,
                " to sm_",
                match.arch_max,
                ", this device is sm_",
                arch);
  return "";
}

std::string rule_refusal(const KernelRule& rule, const Kernel& kernel) {
  if (contains(rule.deny, kernel.id()))
    return text("denied by ", rule.origin.empty() ? "policy" : rule.origin);
  const uint32_t missing = rule.require_flags & ~kernel.match().flags;
  if (missing & TITAN_KERNEL_BATCH_INVARIANT) return "is not batch invariant";
  if (missing & TITAN_KERNEL_DETERMINISTIC) return "is not deterministic";
  if (missing & TITAN_KERNEL_GRAPH_SAFE) return "is not graph safe";
  if (missing & TITAN_KERNEL_HAS_BACKWARD) return "has no backward";
  if (missing != 0) return text("lacks the required flags ", missing);
  return "";
}

int64_t preference_of(const KernelRule& rule, const std::string& id) {
  const auto found = std::find(rule.prefer.begin(), rule.prefer.end(), id);
  if (found != rule.prefer.end()) return found - rule.prefer.begin();
  return id == kReferenceKernel ? kReferenceLast : kNotPreferred;
}

bool is_better(const Ranked& a, const Ranked& b) {
  if (a.is_accepted != b.is_accepted) return a.is_accepted;
  if (a.preference != b.preference) return a.preference < b.preference;
  if (a.candidate.score != b.candidate.score)
    return a.candidate.score > b.candidate.score;
  if (a.candidate.priority != b.candidate.priority)
    return a.candidate.priority > b.candidate.priority;
  return a.candidate.kernel_id < b.candidate.kernel_id;
}

bool name_matches(std::string_view pattern, std::string_view name) {
  // Classic glob over one name: remembers the last star.
  size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::pair<std::string_view, std::string_view> split_first(
    std::string_view dotted) {
  const size_t dot = dotted.find('.');
  if (dot == std::string_view::npos) return {dotted, {}};
  return {dotted.substr(0, dot), dotted.substr(dot + 1)};
}

void require_known(const KernelRegistry& registry,
                   const std::string& op_id,
                   const std::string& kernel_id,
                   std::string_view where) {
  std::vector<std::string> known;
  for (const auto& kernel : registry.kernels_of(op_id))
    known.push_back(kernel->id());
  known.emplace_back(kReferenceKernel);
  if (contains(known, kernel_id)) return;
  const std::string nearest = nearest_name(kernel_id, known);
  throw UserError(text(where,
                       " unknown kernel for ",
                       op_id,
                       ": expected one of ",
                       known,
                       ", got \"",
                       kernel_id,
                       "\".",
                       nearest.empty() ? "" : " Did you mean \"",
                       nearest,
                       nearest.empty() ? "" : "\"?"));
}

void check_rule(const KernelRegistry& registry,
                const std::string& op_id,
                const KernelRule& rule) {
  const std::string where =
      text('[', rule.origin.empty() ? "kernels" : rule.origin, ']');
  if (!rule.use.empty()) require_known(registry, op_id, rule.use, where);
  for (const std::string& name : rule.prefer)
    require_known(registry, op_id, name, where);
  for (const std::string& name : rule.deny)
    require_known(registry, op_id, name, where);
}

void merge(KernelRule& into, const KernelRule& from) {
  if (!from.use.empty()) into.use = from.use;
  if (!from.prefer.empty()) into.prefer = from.prefer;
  if (!from.deny.empty()) into.deny = from.deny;
  into.require_flags |= from.require_flags;
  if (!from.origin.empty()) into.origin = from.origin;
}

}  // namespace

void KernelPolicy::force(std::string_view list) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    list = comma == std::string_view::npos ? "" : list.substr(comma + 1);
    const size_t equals = item.find('=');
    TITAN_USER_CHECK(
        equals != std::string_view::npos && equals > 0 &&
            equals + 1 < item.size(),
        "[TITAN_FORCE_KERNEL] expected op=kernel,op=kernel, got \"",
        item,
        "\"");
    forced[std::string(item.substr(0, equals))] = item.substr(equals + 1);
  }
}

void KernelPolicy::force_from_environment() {
  if (const char* list = std::getenv("TITAN_FORCE_KERNEL")) force(list);
}

void check_fqn_pattern(std::string_view pattern, std::string_view where) {
  const auto is_glob = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
           c == '-' || c == '*';
  };
  const auto require = [&](bool is_good, std::string_view got) {
    TITAN_USER_CHECK(is_good,
                     where,
                     " pattern '",
                     pattern,
                     "': expected names joined by dots, * for a part of one "
                     "name and ** for any number of names, got ",
                     got);
  };
  require(!pattern.empty(), "nothing");
  for (std::string_view rest = pattern;;) {
    const size_t dot = rest.find('.');
    const std::string_view name = rest.substr(0, dot);
    require(!name.empty(), "a name without letters");
    require(name == "**" || name.find("**") == std::string_view::npos,
            "** inside a name");
    for (const char c : name) require(is_glob(c), text('\'', c, '\''));
    if (dot == std::string_view::npos) return;
    rest = rest.substr(dot + 1);
  }
}

bool fqn_matches(std::string_view pattern, std::string_view fqn) {
  if (pattern == "**") return true;
  if (pattern.empty() || fqn.empty()) return pattern.empty() && fqn.empty();
  const auto [head, rest] = split_first(pattern);
  if (head == "**") {
    for (std::string_view tail = fqn;; tail = split_first(tail).second) {
      if (fqn_matches(rest, tail)) return true;
      if (tail.empty()) return false;
    }
  }
  const auto [name, tail] = split_first(fqn);
  return name_matches(head, name) && fqn_matches(rest, tail);
}

KernelSelector::KernelSelector(std::shared_ptr<const KernelRegistry> registry,
                               KernelPolicy policy,
                               Hardware hardware)
    : registry_(std::move(registry)),
      policy_(std::move(policy)),
      hardware_(hardware),
      used_(std::make_shared<Used>()) {
  if (!registry_) registry_ = std::make_shared<KernelRegistry>();
  used_->overrides.resize(policy_.overrides.size());
  for (const auto& [op_id, rule] : policy_.ops)
    check_rule(*registry_, op_id, rule);
  for (const KernelOverride& entry : policy_.overrides)
    check_rule(*registry_, entry.op_id, entry.rule);
  for (const auto& [op_id, kernel_id] : policy_.forced)
    require_known(*registry_, op_id, kernel_id, "[TITAN_FORCE_KERNEL]");
}

KernelRule KernelSelector::rule_for(std::string_view fqn,
                                    std::string_view op_id) const {
  KernelRule rule;
  const auto general = policy_.ops.find(std::string(op_id));
  if (general != policy_.ops.end()) rule = general->second;
  for (const KernelOverride& entry : policy_.overrides)
    if (entry.op_id == op_id && fqn_matches(entry.pattern, fqn))
      merge(rule, entry.rule);
  const auto forced = policy_.forced.find(std::string(op_id));
  if (forced != policy_.forced.end()) {
    rule.use = forced->second;
    rule.origin = "TITAN_FORCE_KERNEL";
  }
  rule.require_flags |= policy_.require_flags;
  return rule;
}

Selection KernelSelector::select(const OpSpec& spec,
                                 const Attributes& attributes,
                                 const std::vector<TensorMeta>& inputs,
                                 std::string_view fqn,
                                 bool needs_backward) const {
  KernelRule rule = rule_for(fqn, spec.id);
  if (needs_backward) rule.require_flags |= TITAN_KERNEL_HAS_BACKWARD;
  auto kernels = registry_->kernels_of(spec.id);
  kernels.push_back(reference_kernel(spec));
  std::vector<Ranked> ranked;
  for (auto& kernel : kernels) {
    Ranked entry;
    entry.candidate.kernel_id = kernel->id();
    entry.candidate.priority = kernel->match().priority;
    entry.preference = preference_of(rule, kernel->id());
    std::string& reason = entry.candidate.reason;
    const bool is_reference = kernel->id() == kReferenceKernel;
    reason = rule_refusal(rule, *kernel);
    if (reason.empty() && !is_reference)
      reason = static_refusal(kernel->match(), inputs, hardware_);
    if (reason.empty()) {
      entry.candidate.score = kernel->score(inputs, attributes, &reason);
      entry.is_accepted = entry.candidate.score > 0;
      if (!entry.is_accepted && reason.empty())
        reason = "refused these shapes without saying why";
    }
    if (entry.is_accepted) reason.clear();
    if (!rule.use.empty() && kernel->id() != rule.use) {
      entry.is_accepted = false;
      if (reason.empty()) reason = text("not the pinned ", rule.use);
    }
    entry.kernel = std::move(kernel);
    ranked.push_back(std::move(entry));
  }
  std::sort(ranked.begin(), ranked.end(), is_better);
  if (!ranked.front().is_accepted) {
    std::string reasons;
    for (const Ranked& entry : ranked)
      reasons += text(
          ' ', entry.candidate.kernel_id, ": ", entry.candidate.reason, ';');
    throw UserError(text('[',
                         rule.origin.empty() ? "kernels" : rule.origin,
                         "] no kernel of ",
                         spec.id,
                         " can run at ",
                         fqn,
                         ": expected ",
                         rule.use.empty() ? "any" : rule.use,
                         ", but",
                         reasons));
  }
  Selection selection;
  selection.kernel = ranked.front().kernel;
  ranked.front().candidate.is_chosen = true;
  for (Ranked& entry : ranked) {
    if (entry.candidate.reason.empty() && !entry.candidate.is_chosen)
      entry.candidate.reason = "a better one was accepted";
    selection.candidates.push_back(std::move(entry.candidate));
  }
  return selection;
}

void KernelSelector::note_site(std::string_view fqn,
                               std::string_view op_id) const {
  for (size_t i = 0; i < policy_.overrides.size(); ++i) {
    const KernelOverride& entry = policy_.overrides[i];
    if (entry.op_id != op_id || !fqn_matches(entry.pattern, fqn)) continue;
    std::lock_guard lock(used_->mutex);
    used_->overrides[i] = true;
  }
}

void KernelSelector::check_all_used() const {
  std::lock_guard lock(used_->mutex);
  for (size_t i = 0; i < policy_.overrides.size(); ++i) {
    const KernelOverride& entry = policy_.overrides[i];
    TITAN_USER_CHECK(
        used_->overrides[i],
        '[',
        entry.rule.origin.empty() ? "overrides" : entry.rule.origin,
        "] pattern matches no call site of ",
        entry.op_id,
        ": expected at least one, got none for \"",
        entry.pattern,
        "\"");
  }
}

std::shared_ptr<const KernelSelector> KernelSelector::reference_only() {
  KernelPolicy policy;
  policy.force_from_environment();
  return std::make_shared<KernelSelector>(nullptr, std::move(policy));
}

}  // namespace titan::op
