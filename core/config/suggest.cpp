// SPDX-License-Identifier: BSD-3-Clause
#include "core/config/suggest.h"

#include <algorithm>
#include <array>
#include <utility>

#include <titan/text.h>

#include "core/config/path.h"

namespace titan::config {
namespace {

// Longer names are not typing errors, and the distance is quadratic.
constexpr std::size_t kMaxWord = 64;
constexpr std::size_t kMaxListed = 16;

// Names of other trainers (TorchTitan, Hugging Face, DeepSpeed, Megatron) for
// keys of ours: people bring their recipes along.
constexpr std::array<std::pair<std::string_view, std::string_view>, 30>
    kForeignNames = {{
        {"learning_rate", "optimizer.config.lr"},
        {"lr", "optimizer.config.lr"},
        {"weight_decay", "optimizer.config.weight_decay"},
        {"betas", "optimizer.config.betas"},
        {"lr_scheduler", "schedule"},
        {"lr_scheduler_type", "schedule.decay"},
        {"decay_type", "schedule.decay"},
        {"min_lr_factor", "schedule.min_factor"},
        {"batch_size", "training.tokens_per_microbatch"},
        {"local_batch_size", "training.tokens_per_microbatch"},
        {"micro_batch_size", "training.tokens_per_microbatch"},
        {"per_device_train_batch_size", "training.tokens_per_microbatch"},
        {"global_batch_size", "training.tokens_per_step"},
        {"train_batch_size", "training.tokens_per_step"},
        {"gradient_accumulation_steps", "training.tokens_per_step"},
        {"max_steps", "training.steps"},
        {"num_train_epochs", "data.epochs"},
        {"max_seq_len", "training.seq_len"},
        {"max_norm", "training.max_grad_norm"},
        {"gradient_clipping", "training.max_grad_norm"},
        {"dataset", "data.files"},
        {"dataset_path", "data.files"},
        {"dataloader", "data"},
        {"activation_checkpoint", "recompute"},
        {"gradient_checkpointing", "recompute.mode"},
        {"parallelism", "parallel"},
        {"tensor_parallel_degree", "parallel.tp"},
        {"pipeline_parallel_degree", "parallel.pp"},
        {"data_parallel_shard_degree", "parallel.dp_shard"},
        {"validator", "validation"},
    }};

std::string normalized(std::string_view word) {
  std::string out(word.substr(0, kMaxWord));
  for (char& c : out) {
    if (c == '-') c = '_';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string last_step(const std::string& path) {
  const auto steps = parse_path(path);
  return steps.empty() ? std::string() : steps.back().key;
}

std::string list_some(std::vector<std::string> words) {
  const bool is_cut = words.size() > kMaxListed;
  if (is_cut) words.resize(kMaxListed);
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ", ";
    out += word;
  }
  return is_cut ? out + ", ..." : out;
}

std::vector<std::string> paths_ending_in(
    std::string_view key,
    const std::vector<std::string>& all_paths) {
  std::vector<std::string> out;
  for (const std::string& path : all_paths) {
    if (normalized(last_step(path)) == normalized(key)) out.push_back(path);
  }
  return out;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::string s = normalized(a);
  const std::string t = normalized(b);
  std::vector<std::size_t> before(t.size() + 1), last(t.size() + 1),
      row(t.size() + 1);
  for (std::size_t j = 0; j <= t.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= s.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= t.size(); ++j) {
      row[j] = std::min({last[j] + 1,
                         row[j - 1] + 1,
                         last[j - 1] + (s[i - 1] == t[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && s[i - 1] == t[j - 2] && s[i - 2] == t[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[t.size()];
}

std::string nearest(std::string_view word,
                    const std::vector<std::string>& options) {
  // A third of the letters may differ: more is another word.
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::string best;
  for (const std::string& option : options) {
    const std::size_t distance = edit_distance(word, option);
    if (distance < best_distance) {
      best_distance = distance;
      best = option;
    }
  }
  return best;
}

std::string suggest_key(std::string_view section,
                        std::string_view key,
                        const std::vector<std::string>& section_keys,
                        const std::vector<std::string>& all_paths) {
  const auto mean = [](const std::string& path) {
    return text("Did you mean ", path, "?");
  };
  // Another component may have the key at this very place.
  const std::string here = join_path(section, key);
  const std::string near = nearest(key, section_keys);
  if (!near.empty() && edit_distance(key, near) <= 1)
    return mean(join_path(section, near));
  auto elsewhere = paths_ending_in(key, all_paths);
  std::erase(elsewhere, here);
  if (!elsewhere.empty())
    return text(
        "This key belongs in another section: ", list_some(elsewhere), '.');
  for (const auto& [theirs, ours] : kForeignNames) {
    if (normalized(key) == theirs && ours != here)
      return mean(std::string(ours));
  }
  if (!near.empty()) return mean(join_path(section, near));
  for (const std::string& path : all_paths) {
    if (key.size() > 3 && path != here &&
        edit_distance(key, last_step(path)) <= 1)
      return mean(path);
  }
  if (section_keys.empty()) return "It takes no keys.";
  return text("Known keys: ", list_some(section_keys), '.');
}

}  // namespace titan::config
