// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/batch.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include <titan/error.h>

#include "core/tokenizer/tokenizer.h"

namespace titan {
namespace {

// Documents differ in length, so threads fetch the next one when they are done.
class Batch {
 public:
  Batch(const Tokenizer& tokenizer,
        std::span<const std::string_view> texts,
        const BatchOptions& options)
      : tokenizer_(tokenizer),
        texts_(texts),
        options_(options),
        ids_(texts.size()),
        errors_(texts.size()) {}

  void work() {
    for (size_t i = next_++; i < texts_.size(); i = next_++) {
      try {
        ids_[i] =
            tokenizer_.encode(texts_[i], options_.add_bos, options_.add_eos);
      } catch (...) {
        errors_[i] = std::current_exception();
      }
    }
  }

  std::vector<std::vector<int32_t>> take() {
    for (const std::exception_ptr& error : errors_)
      if (error) std::rethrow_exception(error);
    return std::move(ids_);
  }

 private:
  const Tokenizer& tokenizer_;
  std::span<const std::string_view> texts_;
  BatchOptions options_;
  std::vector<std::vector<int32_t>> ids_;
  std::vector<std::exception_ptr> errors_;
  std::atomic<size_t> next_ = 0;
};

}  // namespace

std::vector<std::vector<int32_t>> encode_batch(
    const Tokenizer& tokenizer,
    std::span<const std::string_view> texts,
    const BatchOptions& options) {
  TITAN_USER_CHECK(options.num_threads >= 0,
                   "[tokenizer] number of threads: expected 0 or more, got ",
                   options.num_threads);
  const size_t wanted = options.num_threads > 0
                            ? static_cast<size_t>(options.num_threads)
                            : std::max(1u, std::thread::hardware_concurrency());
  Batch batch(tokenizer, texts, options);
  std::vector<std::jthread> others;
  for (size_t i = 1; i < std::min(wanted, texts.size()); ++i)
    others.emplace_back([&batch] { batch.work(); });
  batch.work();
  others.clear();  // Joins.
  return batch.take();
}

}  // namespace titan
