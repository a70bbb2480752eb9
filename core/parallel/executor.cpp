// SPDX-License-Identifier: BSD-3-Clause
#include "core/parallel/executor.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <titan/error.h>

#include "core/dispatch/mode_stack.h"
#include "core/dispatch/selective_recompute.h"
#include "core/observe/spans.h"
#include "core/op/catalogue.h"
#include "core/op/slot.h"
#include "core/parallel/stage_link.h"
#include "core/plugin/abi_call.h"

namespace titan::parallel {
namespace {

using module::BatchTensors;
using module::CarrySpec;
using module::Context;
using module::Parameter;

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
  if (requires_grad) leaf.requires_grad_(true);
  return leaf;
}

}  // namespace

struct Executor::ItemRun {
  std::vector<at::Tensor> inputs;   // leaves: carry, then side inputs
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
  std::vector<at::Tensor> carry;     // between items
  std::vector<at::Tensor> received;  // from the stage before
  std::vector<at::Tensor> towers;    // their outputs, as far as they are known
  std::vector<at::Tensor> tower_gradients;  // summed over users
  bool with_gradients = false;
};

Executor::~Executor() = default;

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
      parts_(
          stage_items(tree, plan, static_cast<size_t>(mesh.coordinate("pp")))),
      loss_slot_(make_loss_slot(tree)) {}

std::unique_ptr<Executor::MicrobatchRun>
Executor::start(const BatchTensors& batch, int64_t index, int32_t mode) {
  auto run = std::make_unique<MicrobatchRun>(engine_, mode);
  run->batch = &batch;
  run->index = index;
  run->context.set_batch(&batch);
  run->context.set_buffers(&engine_.buffers());
  if (tensor_parallel_.is_active())
    run->context.set_transitions(&tensor_parallel_);
  if (observer_) run->context.set_observer(observer_);
  run->items.resize(parts_.items.size());
  run->towers.resize(parts_.tower_outputs.size());
  run->tower_gradients.resize(parts_.tower_outputs.size());
  return run;
}

at::Tensor Executor::loss(const BatchTensors& batch, const at::Tensor& hidden) {
  const module::Output& output = tree_.output();
  const Parameter& weight = *output.head->parameters.front();
  if (tensor_parallel_.is_vocabulary_parallel(*output.head)) {
    TITAN_USER_CHECK(output.head->parameters.size() == 1,
                     "[parallel.tp] the head ",
                     output.head->fqn,
                     " has a bias: expected tp 1 with it, got more");
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
    const std::vector<at::Tensor>& inputs) {
  if (item.is_output) {
    at::Tensor sum = loss(*run.batch, inputs.front());
    if (observer_) observer_("loss", sum);
    return {sum};
  }
  const auto num_carry =
      static_cast<std::ptrdiff_t>(inputs.size() - item.side_inputs.size());
  std::vector<at::Tensor> in(inputs.begin(), inputs.begin() + num_carry);
  run.context.side_inputs().clear();
  for (size_t i = 0; i < item.side_inputs.size(); ++i)
    run.context.side_inputs()[item.side_inputs[i].name] =
        inputs[static_cast<size_t>(num_carry) + i];
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

void Executor::cut_inputs(const StageItem& item,
                          MicrobatchRun& run,
                          ItemRun& record) {
  record.inputs.clear();
  const auto add = [&](const at::Tensor& value, const CarrySpec& spec) {
    record.inputs.push_back(
        cut(value, run.with_gradients && has_gradient(spec, value)));
  };
  for (size_t i = 0; i < run.carry.size(); ++i)
    add(run.carry[i], item.carry_in[i]);
  for (const StageItem::SideInput& side : item.side_inputs)
    add(run.towers[side.tower_output],
        parts_.tower_outputs[side.tower_output].spec);
}

void Executor::run_item(StageItem& item, MicrobatchRun& run, ItemRun& record) {
  const Span span(item.forward_span, {{"microbatch", run.index}});
  engine_.unshard(item.parameters);
  cut_inputs(item, run, record);
  run.context.added_losses().clear();
  if (!run.with_gradients || !item.is_reached) {
    at::NoGradGuard without;
    run.carry = compute_item(item, run, record.inputs);
  } else if (item.recompute.mode == Recompute::kNone) {
    at::AutoGradMode with(true);
    record.outputs = compute_item(item, run, record.inputs);
    record.added = run.context.added_losses();
    run.carry = record.outputs;
  } else {
    at::NoGradGuard without;
    const op::GradientFollows follows;
    dispatch::SaveOutputs saving(dispatcher_names(item.recompute.save_ops),
                                 record.kept);
    const auto scope = scope_of(item.recompute, saving);
    run.carry = compute_item(item, run, record.inputs);
  }
  if (item.ends_tower) {
    for (size_t i = 0; i < run.carry.size(); ++i)
      run.towers[item.first_tower_output + i] = run.carry[i].detach();
    run.carry.clear();
  }
  engine_.release(item.parameters, false);
}

std::vector<CarrySpec> Executor::crossing(
    const std::vector<CarrySpec>& carry,
    const std::vector<size_t>& sides) const {
  std::vector<CarrySpec> specs = carry;
  for (const size_t side : sides)
    specs.push_back(parts_.tower_outputs[side].spec);
  return specs;
}

void Executor::receive_inputs(MicrobatchRun& run) {
  dist::Group& pp = mesh_.group("pp");
  StageLink link(pp, pp.rank() - 1, run.index);
  run.received = link.receive(crossing(parts_.received, parts_.received_sides),
                              run.batch->tokens.size(0),
                              engine_.precision().compute);
  const size_t num_carry = parts_.received.size();
  run.carry.assign(
      run.received.begin(),
      run.received.begin() + static_cast<std::ptrdiff_t>(num_carry));
  for (size_t i = 0; i < parts_.received_sides.size(); ++i)
    run.towers[parts_.received_sides[i]] = run.received[num_carry + i];
}

// What this stage sends: the last carry, then tower outputs.
std::vector<at::Tensor> Executor::outputs_of(const MicrobatchRun& run) const {
  std::vector<at::Tensor> tensors = run.carry;
  for (const size_t side : parts_.sent_sides)
    tensors.push_back(run.towers[side]);
  return tensors;
}

std::vector<CarrySpec> Executor::output_specs() const {
  const StageItem& last = parts_.items.back();
  return crossing(last.ends_tower ? std::vector<CarrySpec>() : last.carry,
                  parts_.sent_sides);
}

void Executor::forward(MicrobatchRun& run, bool with_gradients) {
  run.with_gradients = with_gradients;
  const int64_t stages = mesh_.size("pp"), mine = mesh_.coordinate("pp");
  dist::Group& pp = mesh_.group("pp");
  if (mine > 0) receive_inputs(run);
  for (size_t i = 0; i < parts_.items.size(); ++i) {
    run_item(parts_.items[i], run, run.items[i]);
    if (with_gradients) collect_losses(run);
  }
  if (mine + 1 < stages)
    StageLink(pp, pp.rank() + 1, run.index)
        .send(output_specs(), outputs_of(run), run.batch->tokens.size(0));
}

// Values are those of the forward; under recompute the second one gives the
// gradients.
void Executor::collect_losses(MicrobatchRun& run) {
  at::NoGradGuard no_grad;
  for (const module::AddedLoss& added : run.context.added_losses()) {
    NamedLoss& loss = result_.losses[added.name];
    TITAN_USER_CHECK(
        loss.normaliser.empty() || loss.normaliser == added.normaliser,
        "[model] loss '",
        added.name,
        "' normaliser: expected one for all, ",
        loss.normaliser,
        ", got ",
        added.normaliser);
    loss.normaliser = added.normaliser;
    const at::Tensor sum = added.sum.detach().to(at::kDouble).reshape({});
    loss.sum = loss.sum.defined() ? loss.sum + sum : sum;
  }
}

// The backward of an item that no gradient has to reach.
std::vector<at::Tensor> Executor::pass_over(const StageItem& item,
                                            ItemRun& record) {
  const size_t num_inputs = record.inputs.size();
  record = {};
  engine_.accumulate(item.name, {}, {});
  engine_.release(item.parameters, true);
  return std::vector<at::Tensor>(num_inputs);
}

std::vector<at::Tensor> Executor::backward_item(
    StageItem& item,
    MicrobatchRun& run,
    ItemRun& record,
    const std::vector<at::Tensor>& grad_outputs,
    const std::map<std::string, double>& normalisers) {
  if (!item.is_reached) return pass_over(item, record);
  const Span span(item.backward_span, {{"microbatch", run.index}});
  engine_.unshard(item.parameters);
  at::AutoGradMode with(true);
  if (record.outputs.empty()) {
    run.context.set_recompute(true);
    run.context.added_losses().clear();
    {
      const op::GradientFollows follows;
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
    // Of nothing there is no mean.
    const double weight = count->second == 0 ? 0 : 1.0 / count->second;
    seeds.push_back(at::full_like(added.sum, weight));
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

void Executor::add_tower_gradients(MicrobatchRun& run,
                                   const std::vector<size_t>& outputs,
                                   const at::Tensor* gradients) {
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!gradients[i].defined()) continue;
    at::Tensor& sum = run.tower_gradients[outputs[i]];
    sum = sum.defined() ? sum + gradients[i] : gradients[i];
  }
}

// Gradients of what the stage gave: its last carry, or the loss.
std::vector<at::Tensor> Executor::first_gradients(
    MicrobatchRun& run,
    const std::map<std::string, double>& normalisers) {
  dist::Group& pp = mesh_.group("pp");
  if (mesh_.coordinate("pp") + 1 == mesh_.size("pp")) {
    TITAN_USER_CHECK(parts_.items.back().is_output,
                     "[model] output: expected a language model head, got a "
                     "tensor output. Training needs a loss.");
    return {at::full_like(run.carry.front(), 1.0 / normalisers.at("tokens"))};
  }
  std::vector<at::Tensor> gradients =
      StageLink(pp, pp.rank() + 1, run.index)
          .receive_gradients(output_specs(), outputs_of(run));
  const size_t num_carry = run.carry.size();
  add_tower_gradients(run, parts_.sent_sides, gradients.data() + num_carry);
  gradients.resize(num_carry);
  return gradients;
}

void Executor::backward(MicrobatchRun& run,
                        const std::map<std::string, double>& normalisers) {
  std::vector<at::Tensor> gradients = first_gradients(run, normalisers);
  run.carry.clear();
  for (size_t i = parts_.items.size(); i-- > 0;) {
    StageItem& item = parts_.items[i];
    if (item.ends_tower) {
      const auto first = run.tower_gradients.begin() +
                         static_cast<std::ptrdiff_t>(item.first_tower_output);
      gradients.assign(first,
                       first + static_cast<std::ptrdiff_t>(item.carry.size()));
    }
    gradients = backward_item(item, run, run.items[i], gradients, normalisers);
    std::vector<size_t> sides;
    for (const StageItem::SideInput& side : item.side_inputs)
      sides.push_back(side.tower_output);
    const size_t num_carry = gradients.size() - sides.size();
    add_tower_gradients(run, sides, gradients.data() + num_carry);
    gradients.resize(num_carry);
  }
  if (mesh_.coordinate("pp") == 0) return;
  for (const size_t side : parts_.received_sides)
    gradients.push_back(run.tower_gradients[side]);
  dist::Group& pp = mesh_.group("pp");
  StageLink(pp, pp.rank() - 1, run.index)
      .send_gradients(crossing(parts_.received, parts_.received_sides),
                      gradients,
                      run.received);
}

StageResult Executor::train(const std::vector<BatchTensors>& microbatches,
                            const std::map<std::string, double>& normalisers) {
  result_ = {};
  result_.loss_sum = at::zeros({}, at::kDouble);
  engine_.buffers().discard();
  const bool is_last = mesh_.coordinate("pp") + 1 == mesh_.size("pp");
  std::map<int64_t, std::unique_ptr<MicrobatchRun>> runs;
  for (const Action& action : stage().actions) {
    TITAN_CHECK(action.microbatch < static_cast<int64_t>(microbatches.size()),
                "[executor] microbatches: expected as many as the plan has");
    if (action.kind == Action::Kind::kForward) {
      auto run = start(microbatches[static_cast<size_t>(action.microbatch)],
                       action.microbatch,
                       TITAN_MODE_TRAIN);
      forward(*run, true);
      if (is_last) result_.loss_sum += run->carry.front().detach();
      for (const auto& [name, value] : run->context.metrics())
        result_.metrics[name] = value;
      runs[action.microbatch] = std::move(run);
    } else {
      backward(*runs.at(action.microbatch), normalisers);
      runs.erase(action.microbatch);
    }
  }
  return std::exchange(result_, {});
}

void Executor::after_step() {
  at::NoGradGuard no_grad;
  Context context(engine_, TITAN_MODE_TRAIN);
  context.set_buffers(&engine_.buffers());
  context.set_after_step(true);
  std::vector<std::string> mine;
  for (const StageItem& item : parts_.items) mine.push_back(item.name);
  const std::vector<std::string> all = item_names(tree_);
  for (const auto& module : tree_.modules()) {
    if (module->code == nullptr || module->code->after_step == nullptr)
      continue;
    if (is_inside_any(module->fqn, all) && !is_inside_any(module->fqn, mine))
      continue;
    titan_error error = plugin::make_error();
    const int32_t status =
        module->code->after_step(module->self, context.as_abi(), &error);
    plugin::check_call(status, error, module->fqn);
  }
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
                            module::StateCache* cache,
                            bool last_token_only) {
  TITAN_USER_CHECK(mesh_.size("pp") == 1,
                   "[parallel.pp] logits: expected 1 stage, got ",
                   mesh_.size("pp"));
  at::NoGradGuard no_grad;
  auto run = start(batch, 0, mode);
  run->context.set_cache(cache);
  for (size_t i = 0; i + 1 < parts_.items.size(); ++i)
    run_item(parts_.items[i], *run, run->items[i]);
  StageItem& head = parts_.items.back();
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
