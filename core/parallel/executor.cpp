// SPDX-License-Identifier: BSD-3-Clause
#include "core/parallel/executor.h"

#include <algorithm>
#include <optional>
#include <set>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <titan/error.h>

#include "core/dispatch/mode_stack.h"
#include "core/dispatch/selective_recompute.h"
#include "core/observe/spans.h"
#include "core/op/catalogue.h"
#include "core/op/select.h"

namespace titan::parallel {
namespace {

using module::BatchTensors;
using module::CarrySpec;
using module::Context;
using module::Parameter;

// Tags of point-to-point messages: microbatch * kMaxCarry + tensor.
constexpr int64_t kMaxCarry = 64;

constexpr std::string_view kLossOp = "titan.fused_linear_cross_entropy/1";

std::unique_ptr<op::Slot> make_loss_slot(const module::ModuleTree& tree) {
  const module::Output& output = tree.output();
  if (output.kind != TITAN_OUTPUT_LANGUAGE_MODEL) return nullptr;
  return std::make_unique<op::Slot>(
      op::find_op(kLossOp),
      output.head->fqn,
      "loss",
      op::Attributes{{"logit_scale", output.logit_scale},
                     {"logit_cap", output.logit_cap}},
      tree.selector());
}

RecomputeRule recompute_rule(const Plan& plan, const std::string& fqn) {
  RecomputeRule found;
  for (const RecomputeRule& rule : plan.recompute)
    if (op::fqn_matches(rule.match, fqn)) found = rule;
  return found;
}

bool is_float(const at::Tensor& tensor) {
  return tensor.defined() && at::isFloatingType(tensor.scalar_type());
}

// "titan.attention/1" -> "titan::attention"; ATen ops are named as they are.
std::set<std::string> dispatcher_names(const std::vector<std::string>& ids) {
  std::set<std::string> names;
  for (const std::string& id : ids)
    names.insert(id.find("::") != std::string::npos
                     ? id
                     : text("titan::", op::find_op(id).name()));
  return names;
}

// Full recompute keeps nothing, so no mode stands between caller and kernel.
std::optional<dispatch::ModeGuard> scope_of(const RecomputeRule& rule,
                                            dispatch::Mode& mode) {
  if (rule.mode != Recompute::kSelective) return std::nullopt;
  return std::optional<dispatch::ModeGuard>(std::in_place, mode);
}

// A fresh leaf over the same memory: where one item's graph ends and the next
// one's begins.
at::Tensor cut(const at::Tensor& tensor, bool requires_grad) {
  at::Tensor leaf = tensor.detach();
  if (requires_grad && is_float(leaf)) leaf.requires_grad_(true);
  return leaf;
}

}  // namespace

struct Executor::StageItem {
  std::string name;
  module::Module* module = nullptr;
  std::vector<CarrySpec> carry;  // what it passes on
  std::vector<std::string> batch_inputs;
  std::vector<Parameter*> parameters;
  RecomputeRule recompute;
  bool is_output = false;
  const char* forward_span = "";  // names in traces
  const char* backward_span = "";
};

struct Executor::ItemRun {
  std::vector<at::Tensor> inputs;   // leaves
  std::vector<at::Tensor> outputs;  // with their graph, unless recomputed
  std::vector<module::AddedLoss> added;
  dispatch::RecomputeCache kept;  // selective recompute: outputs of save_ops
};

struct Executor::MicrobatchRun {
  MicrobatchRun(ParameterEngine& engine, int32_t mode)
      : context(engine, mode) {}
  const BatchTensors* batch = nullptr;
  int64_t index = 0;
  Context context;
  std::vector<ItemRun> items;
  std::vector<at::Tensor> carry;  // between items
  bool with_gradients = false;
};

Executor::~Executor() = default;

std::vector<std::string> Executor::item_names(const module::ModuleTree& tree) {
  std::vector<std::string> names;
  for (const module::Item& item : tree.root_sequence().items)
    names.push_back(item.module->fqn);
  if (tree.output().kind == TITAN_OUTPUT_LANGUAGE_MODEL)
    names.push_back(tree.output().head->fqn);
  return names;
}

const StagePlan& Executor::stage() const {
  return plan_.stages[static_cast<size_t>(mesh_.coordinate("pp"))];
}

Executor::Executor(module::ModuleTree& tree,
                   const Plan& plan,
                   ParameterEngine& engine,
                   const dist::Mesh& mesh)
    : tree_(tree),
      plan_(plan),
      engine_(engine),
      mesh_(mesh),
      tensor_parallel_(tree, plan, mesh, engine),
      loss_slot_(make_loss_slot(tree)) {
  TITAN_USER_CHECK(tree.sequences().size() == 1,
                   "[model] sequences: expected one (towers cannot be executed "
                   "yet, only built), got ",
                   tree.sequences().size());
  const auto& mine = stage().items;
  const std::vector<CarrySpec>* before = nullptr;
  for (const module::Item& item : tree.root_sequence().items) {
    const bool is_mine =
        std::find(mine.begin(), mine.end(), item.module->fqn) != mine.end();
    if (is_mine) {
      if (items_.empty() && before != nullptr) received_ = *before;
      items_.push_back({item.module->fqn,
                        item.module,
                        item.carry,
                        item.batch_inputs,
                        tree.parameters_of(*item.module),
                        recompute_rule(plan, item.module->fqn),
                        false,
                        intern_span_name("forward " + item.module->fqn),
                        intern_span_name("backward " + item.module->fqn)});
    }
    before = &item.carry;
  }
  const module::Output& output = tree.output();
  if (output.head != nullptr &&
      std::find(mine.begin(), mine.end(), output.head->fqn) != mine.end()) {
    if (items_.empty() && before != nullptr) received_ = *before;
    items_.push_back({output.head->fqn,
                      output.head,
                      {},
                      {},
                      tree.parameters_of(*output.head),
                      {},
                      true,
                      intern_span_name("forward " + output.head->fqn),
                      intern_span_name("backward " + output.head->fqn)});
  }
}

std::unique_ptr<Executor::MicrobatchRun>
Executor::start(const BatchTensors& batch, int64_t index, int32_t mode) {
  auto run = std::make_unique<MicrobatchRun>(engine_, mode);
  run->batch = &batch;
  run->index = index;
  run->context.set_batch(&batch);
  if (tensor_parallel_.is_active())
    run->context.set_transitions(&tensor_parallel_);
  if (observer_) run->context.set_observer(observer_);
  run->items.resize(items_.size());
  return run;
}

at::Tensor Executor::loss(const BatchTensors& batch, const at::Tensor& hidden) {
  const module::Output& output = tree_.output();
  const Parameter& weight = *output.head->parameters.front();
  if (tensor_parallel_.is_vocabulary_parallel(*output.head)) {
    TITAN_USER_CHECK(output.head->parameters.size() == 1,
                     "[parallel.tp] ",
                     output.head->fqn,
                     ": expected a head without bias, got one with");
    return tensor_parallel_.cross_entropy(hidden,
                                          engine_.compute(weight),
                                          batch.labels,
                                          batch.loss_weight,
                                          output.logit_scale,
                                          output.logit_cap);
  }
  const at::Tensor bias = output.head->parameters.size() > 1
                              ? engine_.compute(*output.head->parameters[1])
                              : at::Tensor();
  return op::invoke_one(
      *loss_slot_,
      {hidden, engine_.compute(weight), bias, batch.labels, batch.loss_weight});
}

std::vector<at::Tensor> Executor::compute_item(
    StageItem& item,
    MicrobatchRun& run,
    const std::vector<at::Tensor>& carry) {
  if (item.is_output) {
    at::Tensor sum = loss(*run.batch, carry.front());
    if (observer_) observer_("loss", sum);
    return {sum};
  }
  std::vector<at::Tensor> in = carry;
  for (const std::string& name : item.batch_inputs) {
    in.push_back(run.batch->find(name));
    TITAN_USER_CHECK(in.back().defined(),
                     "[model ",
                     item.name,
                     "] batch input '",
                     name,
                     "': expected a field of the batch, got none");
  }
  std::vector<at::Tensor> out =
      run.context.call(*item.module, std::move(in), item.carry.size());
  TITAN_USER_CHECK(out.size() == item.carry.size(),
                   "[model ",
                   item.name,
                   "] outputs: expected ",
                   item.carry.size(),
                   " carry tensors, got ",
                   out.size());
  return out;
}

void Executor::run_item(StageItem& item, MicrobatchRun& run, ItemRun& record) {
  const Span span(item.forward_span, {{"microbatch", run.index}});
  engine_.unshard(item.parameters);
  record.inputs.clear();
  for (const at::Tensor& tensor : run.carry)
    record.inputs.push_back(cut(tensor, run.with_gradients));
  run.context.added_losses().clear();
  if (!run.with_gradients) {
    run.carry = compute_item(item, run, record.inputs);
  } else if (item.recompute.mode == Recompute::kNone) {
    at::AutoGradMode with(true);
    record.outputs = compute_item(item, run, record.inputs);
    record.added = run.context.added_losses();
    run.carry = record.outputs;
  } else {
    at::NoGradGuard without;
    dispatch::SaveOutputs saving(dispatcher_names(item.recompute.save_ops),
                                 record.kept);
    const auto scope = scope_of(item.recompute, saving);
    run.carry = compute_item(item, run, record.inputs);
  }
  engine_.release(item.parameters, false);
}

std::vector<at::Tensor> Executor::receive_carry(const MicrobatchRun& run) {
  dist::Group& pp = mesh_.group("pp");
  std::vector<at::Tensor> carry;
  for (size_t i = 0; i < received_.size(); ++i) {
    std::vector<int64_t> dims = received_[i].dims;
    for (int64_t& extent : dims)
      if (extent == TITAN_DIM_TOKENS) extent = run.batch->tokens.size(0);
    const auto dtype = received_[i].dtype == TITAN_DTYPE_COMPUTE
                           ? engine_.precision().compute
                           : static_cast<at::ScalarType>(received_[i].dtype);
    at::Tensor tensor = at::empty(dims, dtype);
    pp.receive(
        tensor, pp.rank() - 1, run.index * kMaxCarry + static_cast<int64_t>(i));
    carry.push_back(tensor);
  }
  return carry;
}

void Executor::send_carry(const MicrobatchRun& run) {
  dist::Group& pp = mesh_.group("pp");
  for (size_t i = 0; i < run.carry.size(); ++i)
    pp.send(run.carry[i].detach(),
            pp.rank() + 1,
            run.index * kMaxCarry + static_cast<int64_t>(i));
}

void Executor::forward(MicrobatchRun& run, bool with_gradients) {
  run.with_gradients = with_gradients;
  const int64_t stages = mesh_.size("pp"), mine = mesh_.coordinate("pp");
  if (mine > 0) run.carry = receive_carry(run);
  for (size_t i = 0; i < items_.size(); ++i)
    run_item(items_[i], run, run.items[i]);
  if (mine + 1 < stages) send_carry(run);
}

std::vector<at::Tensor> Executor::backward_item(
    StageItem& item,
    MicrobatchRun& run,
    ItemRun& record,
    const std::vector<at::Tensor>& grad_outputs,
    const std::map<std::string, double>& normalisers) {
  const Span span(item.backward_span, {{"microbatch", run.index}});
  engine_.unshard(item.parameters);
  at::AutoGradMode with(true);
  if (record.outputs.empty()) {
    run.context.set_recompute(true);
    run.context.added_losses().clear();
    {
      dispatch::ReuseOutputs reusing(dispatcher_names(item.recompute.save_ops),
                                     record.kept);
      const auto scope = scope_of(item.recompute, reusing);
      record.outputs = compute_item(item, run, record.inputs);
    }
    record.added = run.context.added_losses();
    run.context.set_recompute(false);
  }
  std::vector<at::Tensor> outputs, seeds;
  for (size_t i = 0; i < record.outputs.size(); ++i) {
    if (!grad_outputs[i].defined() || !record.outputs[i].requires_grad())
      continue;
    outputs.push_back(record.outputs[i]);
    seeds.push_back(grad_outputs[i]);
  }
  for (const module::AddedLoss& added : record.added) {
    const auto count = normalisers.find(added.normaliser);
    TITAN_USER_CHECK(count != normalisers.end(),
                     "[model ",
                     item.name,
                     "] loss '",
                     added.name,
                     "' normaliser: expected a named "
                     "count of the batch, got '",
                     added.normaliser,
                     "'");
    if (!added.sum.requires_grad()) continue;
    outputs.push_back(added.sum);
    seeds.push_back(at::full_like(added.sum, 1.0 / count->second));
  }
  std::vector<at::Tensor> wanted;
  for (const at::Tensor& input : record.inputs)
    if (input.requires_grad()) wanted.push_back(input);
  const size_t num_inputs = wanted.size();
  std::vector<Parameter*> trained;
  for (Parameter* parameter : item.parameters) {
    if (!parameter->is_trainable) continue;
    trained.push_back(parameter);
    wanted.push_back(engine_.compute(*parameter));
  }
  std::vector<at::Tensor> gradients(wanted.size());
  if (!outputs.empty() && !wanted.empty())
    gradients = torch::autograd::grad(outputs,
                                      wanted,
                                      seeds,
                                      /*retain_graph=*/false,
                                      /*create_graph=*/false,
                                      /*allow_unused=*/true);
  outputs.clear();
  record.outputs.clear();
  record.added.clear();
  std::vector<at::Tensor> input_gradients;
  size_t next = 0;
  for (const at::Tensor& input : record.inputs)
    input_gradients.push_back(
        input.requires_grad() ? std::move(gradients[next++]) : at::Tensor());
  record.inputs.clear();
  gradients.erase(gradients.begin(),
                  gradients.begin() + static_cast<std::ptrdiff_t>(num_inputs));
  if (gradient_observer_)
    for (size_t i = 0; i < trained.size(); ++i)
      gradient_observer_(*trained[i], gradients[i]);
  engine_.accumulate(item.name, trained, gradients);
  engine_.release(item.parameters, true);
  return input_gradients;
}

void Executor::backward(MicrobatchRun& run,
                        const std::map<std::string, double>& normalisers) {
  const int64_t stages = mesh_.size("pp"), mine = mesh_.coordinate("pp");
  dist::Group& pp = mesh_.group("pp");
  std::vector<at::Tensor> gradients;
  if (mine + 1 == stages) {
    TITAN_USER_CHECK(items_.back().is_output,
                     "[model] output: expected a language model head, got a "
                     "tensor output. Training needs a loss.");
    gradients = {
        at::full_like(run.carry.front(), 1.0 / normalisers.at("tokens"))};
  } else {
    for (size_t i = 0; i < run.carry.size(); ++i) {
      gradients.emplace_back();
      if (!is_float(run.carry[i])) continue;  // ids have no gradient
      gradients.back() = at::empty_like(run.carry[i]);
      pp.receive(gradients.back(),
                 pp.rank() + 1,
                 run.index * kMaxCarry + static_cast<int64_t>(i));
    }
  }
  run.carry.clear();
  std::vector<at::Tensor> received = run.items.front().inputs;
  for (size_t i = items_.size(); i-- > 0;)
    gradients =
        backward_item(items_[i], run, run.items[i], gradients, normalisers);
  if (mine == 0) return;
  for (size_t i = 0; i < received.size(); ++i) {
    if (!is_float(received[i])) continue;
    // A stage that did not use a carry still owes its zero.
    const at::Tensor gradient =
        gradients[i].defined() ? gradients[i] : at::zeros_like(received[i]);
    pp.send(gradient,
            pp.rank() - 1,
            run.index * kMaxCarry + static_cast<int64_t>(i));
  }
}

StageResult Executor::train(const std::vector<BatchTensors>& microbatches,
                            const std::map<std::string, double>& normalisers) {
  StageResult result;
  result.loss_sum = at::zeros({}, at::kDouble);
  const bool is_last = mesh_.coordinate("pp") + 1 == mesh_.size("pp");
  std::map<int64_t, std::unique_ptr<MicrobatchRun>> runs;
  for (const Action& action : stage().actions) {
    if (action.kind == Action::Kind::kForward) {
      auto run = start(microbatches[static_cast<size_t>(action.microbatch)],
                       action.microbatch,
                       TITAN_MODE_TRAIN);
      forward(*run, true);
      if (is_last) result.loss_sum += run->carry.front().detach();
      for (const auto& [name, value] : run->context.metrics())
        result.metrics[name] = value;
      runs[action.microbatch] = std::move(run);
    } else {
      backward(*runs.at(action.microbatch), normalisers);
      runs.erase(action.microbatch);
    }
  }
  return result;
}

at::Tensor Executor::evaluate(const BatchTensors& batch) {
  at::NoGradGuard no_grad;
  auto run = start(batch, 0, TITAN_MODE_EVAL);
  forward(*run, false);
  const bool is_last = mesh_.coordinate("pp") + 1 == mesh_.size("pp");
  return is_last ? run->carry.front().to(at::kDouble)
                 : at::zeros({}, at::kDouble);
}

at::Tensor Executor::logits(const BatchTensors& batch,
                            int32_t mode,
                            module::KeyValueCache* cache,
                            bool last_token_only) {
  TITAN_USER_CHECK(mesh_.size("pp") == 1,
                   "[parallel.pp] logits: expected 1 stage, got ",
                   mesh_.size("pp"));
  at::NoGradGuard no_grad;
  auto run = start(batch, 0, mode);
  run->context.set_cache(cache);
  for (size_t i = 0; i + 1 < items_.size(); ++i)
    run_item(items_[i], *run, run->items[i]);
  StageItem& head = items_.back();
  engine_.unshard(head.parameters);
  at::Tensor hidden_TD = run->carry.front();
  if (last_token_only)
    hidden_TD = hidden_TD.narrow(0, hidden_TD.size(0) - 1, 1);
  at::Tensor logits_TV = run->context.call(*head.module, {hidden_TD}).front();
  const module::Output& output = tree_.output();
  if (tensor_parallel_.is_vocabulary_parallel(*output.head))
    logits_TV = tensor_parallel_.gather_logits(logits_TV);
  if (output.logit_scale != 1.0) logits_TV = logits_TV * output.logit_scale;
  if (output.logit_cap != 0.0)
    logits_TV = at::tanh(logits_TV / output.logit_cap) * output.logit_cap;
  engine_.release(head.parameters, false);
  return logits_TV;
}

}  // namespace titan::parallel
