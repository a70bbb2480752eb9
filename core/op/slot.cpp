// SPDX-License-Identifier: BSD-3-Clause
// Slots and bindings: from a call site and its inputs to a chosen kernel.
#include "core/op/slot.h"

#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include <ATen/ATen.h>

#include <titan/error.h>

#include "core/op/catalogue.h"
#include "core/op/registered_op.h"

namespace titan::op {
namespace {

struct BindingTable {
  std::shared_mutex mutex;
  std::unordered_map<int64_t, const Binding*> by_id;
  std::atomic<int64_t> next_id{1};
};

BindingTable& binding_table() {
  static auto* table = new BindingTable();  // outlives late autograd nodes
  return *table;
}

thread_local const Binding* current_binding = nullptr;
thread_local bool gradient_follows = false;

using ShapeKey = c10::SmallVector<int64_t, 48>;

/// Everything of the inputs that checks and selection depend on.
void append_key(ShapeKey& key, const at::Tensor& input, bool with_sizes) {
  if (!input.defined()) {
    key.push_back(-1);
    return;
  }
  const auto device = input.device();
  key.push_back(static_cast<int64_t>(input.scalar_type()) |
                static_cast<int64_t>(device.type()) << 8 |
                static_cast<int64_t>(device.index() + 1) << 16 |
                input.dim() << 32 |
                static_cast<int64_t>(input.is_contiguous()) << 48);
  if (with_sizes) {
    const auto sizes = input.sizes();
    key.append(sizes.begin(), sizes.end());
  }
}

bool any_wants_grad(const RegisteredOp& op, c10::ArrayRef<at::Tensor> inputs) {
  if (!at::GradMode::is_enabled() && !gradient_follows) return false;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (op.differentiable >> i & 1 && inputs[i].defined() &&
        (gradient_follows || inputs[i].requires_grad()))
      return true;
  return false;
}

}  // namespace

/// Two levels: `checked` by all sizes (inputs validated), `chosen` by shape
/// class (kernel selected), so that a new number of documents checks but does
/// not select.
struct Slot::Cache {
  // Decoding meets a new key length each step; beyond this all is forgotten.
  static constexpr size_t kMaxEntries = 4096;
  ShapeKey last_key;
  std::shared_ptr<Binding> last;
  std::map<std::vector<int64_t>, std::shared_ptr<Binding>> checked;
  std::map<std::vector<int64_t>, std::shared_ptr<Binding>> chosen;
};

std::string CallSite::where() const {
  std::string out = text('[', spec.id, " at ", fqn);
  if (!site.empty()) out += text('.', site);
  return out + ']';
}

Binding::~Binding() {
  BindingTable& table = binding_table();
  std::unique_lock lock(table.mutex);
  table.by_id.erase(id);
}

const Binding& find_binding(int64_t id) {
  if (current_binding && current_binding->id == id) return *current_binding;
  BindingTable& table = binding_table();
  std::shared_lock lock(table.mutex);
  const auto found = table.by_id.find(id);
  TITAN_CHECK(found != table.by_id.end(),
              "[op] no call site is bound to this id: expected a live "
              "Binding::id, got ",
              id);
  return *found->second;
}

CurrentBinding::CurrentBinding(const Binding& binding)
    : outer_(current_binding) {
  current_binding = &binding;
}

CurrentBinding::~CurrentBinding() {
  current_binding = outer_;
}

GradientFollows::GradientFollows()
    : outer_(std::exchange(gradient_follows, true)) {}

GradientFollows::~GradientFollows() {
  gradient_follows = outer_;
}

Slot::Slot(const OpSpec& spec,
           std::string fqn,
           std::string site,
           const Attributes& attributes,
           std::shared_ptr<const KernelSelector> selector)
    : cache_(std::make_unique<Cache>()) {
  CallSite made{
      spec, registered(spec), std::move(fqn), std::move(site), Attributes()};
  made.attributes = bind_attributes(spec, attributes, made.where());
  call_site_ = std::make_shared<const CallSite>(std::move(made));
  set_selector(std::move(selector));
}

Slot::~Slot() = default;

void Slot::set_selector(std::shared_ptr<const KernelSelector> selector) {
  selector_ = selector ? std::move(selector) : KernelSelector::reference_only();
  selector_->note_site(fqn(), spec().id);
  *cache_ = Cache();
}

const Binding& Slot::bind(c10::ArrayRef<at::Tensor> inputs) {
  const bool needs_backward = any_wants_grad(call_site_->registered, inputs);
  ShapeKey key{needs_backward};
  for (const at::Tensor& input : inputs) append_key(key, input, true);
  Cache& cache = *cache_;
  if (cache.last && key == cache.last_key) return *cache.last;
  const std::vector<int64_t> checked_key(key.begin(), key.end());
  auto& checked = cache.checked[checked_key];
  if (!checked) {
    std::vector<TensorMeta> metas;
    for (const at::Tensor& input : inputs)
      metas.push_back(TensorMeta::of(input));
    metas.resize(spec().inputs.size());
    infer_shapes(spec(), attributes(), metas, where());
    ShapeKey class_key{needs_backward};
    for (const at::Tensor& input : inputs)
      append_key(
          class_key, input, input.defined() && input.is_floating_point());
    auto& chosen =
        cache.chosen[std::vector<int64_t>(class_key.begin(), class_key.end())];
    if (!chosen) {
      auto made = std::make_shared<Binding>();
      made->call_site = call_site_;
      made->selection =
          selector_->select(spec(), attributes(), metas, fqn(), needs_backward);
      BindingTable& table = binding_table();
      made->id = table.next_id++;
      std::unique_lock lock(table.mutex);
      table.by_id[made->id] = made.get();
      chosen = std::move(made);
      ++counters_.num_selections;
    }
    checked = chosen;
  }
  cache.last = checked;
  cache.last_key = std::move(key);
  if (cache.checked.size() > Cache::kMaxEntries) {
    cache.checked.clear();
    cache.chosen.clear();
  }
  return *cache.last;
}

std::vector<const Binding*> Slot::bindings() const {
  std::vector<const Binding*> out;
  for (const auto& [key, binding] : cache_->chosen)
    out.push_back(binding.get());
  return out;
}

std::vector<at::Tensor> invoke(Slot& slot, c10::ArrayRef<at::Tensor> inputs) {
  const RegisteredOp& op = slot.call_site_->registered;
  const size_t num_inputs = op.spec.inputs.size();
  TITAN_USER_CHECK(inputs.size() <= num_inputs,
                   slot.where(),
                   " number of inputs: expected at most ",
                   num_inputs,
                   ", got ",
                   inputs.size());
  // Keeps the binding alive even if a nested call replaces the selector.
  const auto binding = slot.bind(inputs).shared_from_this();
  ++slot.counters_.num_calls;
  const CurrentBinding current(*binding);
  torch::jit::Stack stack;
  stack.reserve(2 + num_inputs);
  stack.emplace_back(binding->id);
  stack.emplace_back(int64_t{0});
  for (size_t i = 0; i < num_inputs; ++i) {
    if (i < inputs.size() && inputs[i].defined()) {
      stack.emplace_back(inputs[i]);
    } else {
      stack.emplace_back();
    }
  }
  op.forward->callBoxed(stack);
  std::vector<at::Tensor> outputs;
  const size_t num_outputs = op.spec.outputs.size();
  outputs.reserve(num_outputs);
  for (size_t i = 0; i < num_outputs; ++i)
    outputs.push_back(std::move(stack[i]).toTensor());
  return outputs;
}

at::Tensor invoke_one(Slot& slot, c10::ArrayRef<at::Tensor> inputs) {
  TITAN_CHECK_EQ(
      slot.spec().outputs.size(), size_t{1}, slot.where(), " outputs");
  return std::move(invoke(slot, inputs)[0]);
}

std::string explain(const Slot& slot) {
  std::string out = text(slot.where(), ' ', slot.attributes().text(), '\n');
  for (const Binding* binding : slot.bindings()) {
    for (const Candidate& candidate : binding->selection.candidates) {
      out += text(candidate.is_chosen ? "  runs    " : "  refused ",
                  candidate.kernel_id,
                  " (score ",
                  candidate.score,
                  ", priority ",
                  candidate.priority,
                  ')');
      if (!candidate.reason.empty()) out += text(": ", candidate.reason);
      out += '\n';
    }
  }
  return out;
}

}  // namespace titan::op
