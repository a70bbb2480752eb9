// SPDX-License-Identifier: BSD-3-Clause
// The fake run. A call is one of four: a titan op (its shape function answers),
// a view (the real kernel: metadata only), a write (returns its arguments),
// anything else (LibTorch's meta kernel answers, or fake_shapes.h where it has
// none).
#include "core/dispatch/fake_run.h"

#include <ATen/ATen.h>

#include <titan/error.h>

#include "core/dispatch/fake_shapes.h"
#include "core/op/registered_op.h"
#include "core/op/slot.h"

namespace titan::dispatch {

struct FakeRun::Ledger {
  Pool pool = Pool::kActivations;
  FakeRunReport report;

  void add(Pool to, int64_t bytes) {
    report.live_bytes += bytes;
    report.live_by_pool[static_cast<size_t>(to)] += bytes;
    if (report.live_bytes <= report.peak_bytes) return;
    report.peak_bytes = report.live_bytes;
    report.at_peak_by_pool = report.live_by_pool;
  }
};

namespace {

/// Context of a fake storage: takes its bytes off the ledger, if that still is.
struct Charge {
  std::weak_ptr<FakeRun::Ledger> ledger;
  Pool pool;
  int64_t bytes;
};

void discharge(void* context) {
  const std::unique_ptr<Charge> charge(static_cast<Charge*>(context));
  if (const auto ledger = charge->ledger.lock())
    ledger->add(charge->pool, -charge->bytes);
}

at::DataPtr charge(const std::shared_ptr<FakeRun::Ledger>& ledger,
                   Pool pool,
                   int64_t bytes) {
  ledger->add(pool, bytes);
  return at::DataPtr(
      nullptr, new Charge{ledger, pool, bytes}, &discharge, at::kCPU);
}

at::Tensor make_fake(const std::shared_ptr<FakeRun::Ledger>& ledger,
                     at::IntArrayRef sizes,
                     at::IntArrayRef strides,
                     at::ScalarType dtype) {
  int64_t elements = 1;
  for (size_t i = 0; i < sizes.size(); ++i)
    elements = sizes[i] == 0 || elements == 0
                   ? 0
                   : elements + (sizes[i] - 1) * strides[i];
  const int64_t bytes =
      elements * static_cast<int64_t>(c10::elementSize(dtype));
  auto storage =
      c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(),
                                            static_cast<size_t>(bytes),
                                            charge(ledger, ledger->pool, bytes),
                                            nullptr,
                                            /*resizable=*/false);
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage),
      c10::DispatchKeySet(c10::DispatchKey::CPU),
      c10::scalarTypeToTypeMeta(dtype));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return tensor;
}

at::Tensor make_fake(const std::shared_ptr<FakeRun::Ledger>& ledger,
                     const op::TensorMeta& meta) {
  if (!meta.is_defined) return at::Tensor();
  return make_fake(
      ledger, meta.sizes, c10::contiguous_strides(meta.sizes), meta.dtype);
}

at::Tensor as_meta(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  return at::empty_strided(
      tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta));
}

c10::IValue as_meta(const c10::IValue& value, const c10::Argument& declared) {
  if (value.isTensor()) return as_meta(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> out;
    for (const at::Tensor& item : value.toTensorVector())
      out.push_back(as_meta(item));
    return out;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> out;
    for (const auto& item : value.toOptionalTensorVector())
      out.push_back(item ? std::optional(as_meta(*item)) : std::nullopt);
    return out;
  }
  if (declared.name() == "device") return c10::Device(at::kMeta);
  return value;
}

c10::IValue as_fake(const std::shared_ptr<FakeRun::Ledger>& ledger,
                    const c10::IValue& value) {
  const auto fake = [&ledger](const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    return make_fake(
        ledger, tensor.sizes(), tensor.strides(), tensor.scalar_type());
  };
  if (value.isTensor()) return fake(value.toTensor());
  if (!value.isTensorList()) return value;
  c10::List<at::Tensor> out;
  for (const at::Tensor& item : value.toTensorVector())
    out.push_back(fake(item));
  return out;
}

bool is_view(const c10::FunctionSchema& schema) {
  for (const c10::Argument& result : schema.returns())
    if (result.alias_info() && !result.alias_info()->isWrite()) return true;
  // Shares its input's storage although its schema does not say so.
  return schema.name() == "aten::_unsafe_view";
}

/// The argument that a return of a writing op is, or -1.
int64_t written_argument(const c10::FunctionSchema& schema,
                         const c10::Argument& result) {
  if (!result.alias_info() || !result.alias_info()->isWrite()) return -1;
  const auto& arguments = schema.arguments();
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].alias_info() &&
        *arguments[i].alias_info() == *result.alias_info())
      return static_cast<int64_t>(i);
  return -1;
}

/// True when every result is an argument: nothing has to be made.
bool only_writes(const c10::FunctionSchema& schema) {
  if (!schema.is_mutable()) return false;
  for (const c10::Argument& result : schema.returns())
    if (written_argument(schema, result) < 0) return false;
  return true;
}

void return_arguments(const c10::FunctionSchema& schema,
                      torch::jit::Stack* stack) {
  const size_t first = stack->size() - schema.arguments().size();
  std::vector<c10::IValue> results;
  for (const c10::Argument& result : schema.returns())
    results.push_back((*stack)[first + written_argument(schema, result)]);
  stack->resize(first);
  for (c10::IValue& result : results) stack->push_back(std::move(result));
}

std::vector<op::TensorMeta> metas_at(const torch::jit::Stack& stack,
                                     size_t first,
                                     size_t count) {
  std::vector<op::TensorMeta> out;
  for (size_t i = first; i < first + count; ++i)
    out.push_back(stack[i].isTensor() ? op::TensorMeta::of(stack[i].toTensor())
                                      : op::TensorMeta());
  return out;
}

/// Runs titan::name or titan::name_backward on shapes; false for another op.
bool call_titan(const std::shared_ptr<FakeRun::Ledger>& ledger,
                const c10::OperatorHandle& handle,
                torch::jit::Stack* stack) {
  const std::string& name = handle.operator_name().name;
  if (name.rfind("titan::", 0) != 0) return false;
  const size_t base = stack->size() - handle.schema().arguments().size();
  const op::CallSite& site =
      *op::find_binding((*stack)[base].toInt()).call_site;
  const op::RegisteredOp& registered = site.registered;
  const op::OpSpec& spec = site.spec;
  const auto want = static_cast<uint64_t>((*stack)[base + 1].toInt());
  const size_t num_inputs = spec.inputs.size();
  const size_t num_outputs = spec.outputs.size();
  std::vector<at::Tensor> results;
  double flops = 0;
  if (name == "titan::" + spec.name()) {
    const auto inputs = metas_at(*stack, base + 2, num_inputs);
    const op::Shapes shapes = spec.shape(site.attributes, inputs);
    if (spec.flops) flops = spec.flops(site.attributes, inputs);
    for (const op::TensorMeta& meta : shapes.outputs)
      results.push_back(make_fake(ledger, meta));
    for (size_t i = 0; i < shapes.saved.size(); ++i)
      if (registered.saved_outputs[i] < 0)
        results.push_back(want == 0 ? at::Tensor()
                                    : make_fake(ledger, shapes.saved[i]));
  } else {
    const auto grads = metas_at(*stack, base + 2, num_outputs);
    const auto inputs = metas_at(*stack, base + 2 + num_outputs, num_inputs);
    if (spec.flops && inputs[0].is_defined)
      flops = spec.flops(site.attributes, inputs) * spec.backward_flops_ratio;
    const auto shapes =
        op::infer_grad_shapes(spec, site.attributes, grads, inputs, want);
    for (size_t i = 0; i < num_inputs; ++i)
      if (registered.differentiable >> i & 1)
        results.push_back(make_fake(ledger, shapes[i]));
  }
  ledger->report.flops += flops;
  stack->resize(base);
  for (at::Tensor& result : results) stack->emplace_back(std::move(result));
  return true;
}

/// What is no catalogue op of ours: a collective keeps the shape, the bucket
/// verbs give storages their bytes and take them away (see
/// core/parallel/bucket_storage.h). False for another op.
bool call_verb(const std::shared_ptr<FakeRun::Ledger>& ledger,
               const c10::OperatorHandle& handle,
               torch::jit::Stack* stack) {
  const std::string& name = handle.operator_name().name;
  const size_t base = stack->size() - handle.schema().arguments().size();
  if (name == "titan::group_all_reduce") {
    at::Tensor out =
        make_fake(ledger, op::TensorMeta::of((*stack)[base].toTensor()));
    stack->resize(base);
    stack->emplace_back(std::move(out));
    return true;
  }
  if (name.rfind("titan::bucket_", 0) != 0) return false;
  const auto storage_at = [&](size_t i) {
    return (*stack)[base + i].toTensor().storage().unsafeGetStorageImpl();
  };
  if (name == "titan::bucket_release") {
    storage_at(0)->set_data_ptr_noswap(
        at::DataPtr(nullptr, c10::Device(at::kCPU)));
  } else if (name == "titan::bucket_unshard") {
    c10::StorageImpl* full = storage_at(1);
    if (full->data_ptr().get_context() == nullptr)
      full->set_data_ptr_noswap(charge(
          ledger, Pool::kParameters, static_cast<int64_t>(full->nbytes())));
  }
  stack->resize(base);
  return true;
}

void call_on_meta(const std::shared_ptr<FakeRun::Ledger>& ledger,
                  const c10::OperatorHandle& handle,
                  torch::jit::Stack* stack) {
  const c10::FunctionSchema& schema = handle.schema();
  const size_t count = schema.arguments().size();
  const size_t base = stack->size() - count;
  torch::jit::Stack meta;
  for (size_t i = 0; i < count; ++i)
    meta.push_back(as_meta((*stack)[base + i], schema.arguments()[i]));
  ledger->report.flops += aten_flops(handle.operator_name().name, meta);
  const NoModesGuard no_modes;
  if (!fake_shape(handle.operator_name().name, meta)) {
    try {
      handle.callBoxed(meta);
    } catch (const c10::Error& error) {
      throw NoFakeResult(text("[fake run] ",
                              handle.operator_name().name,
                              " has no result by shapes alone: ",
                              error.what_without_backtrace()));
    }
  }
  std::vector<c10::IValue> results;
  for (size_t i = 0; i < schema.returns().size(); ++i) {
    const int64_t written = written_argument(schema, schema.returns()[i]);
    results.push_back(written >= 0 ? (*stack)[base + written]
                                   : as_fake(ledger, meta[i]));
  }
  stack->resize(base);
  for (c10::IValue& result : results) stack->push_back(std::move(result));
}

}  // namespace

std::string_view pool_name(Pool pool) {
  constexpr std::string_view kNames[] = {
      "parameters", "gradients", "optimizer", "activations", "other"};
  return kNames[static_cast<size_t>(pool)];
}

FakeRun::FakeRun() : ledger_(std::make_shared<Ledger>()) {}

FakeRun::~FakeRun() = default;

at::Tensor FakeRun::empty(at::IntArrayRef sizes,
                          at::ScalarType dtype,
                          Pool pool) {
  const Pool before = set_pool(pool);
  at::Tensor tensor =
      make_fake(ledger_, sizes, c10::contiguous_strides(sizes), dtype);
  set_pool(before);
  return tensor;
}

Pool FakeRun::set_pool(Pool pool) {
  return std::exchange(ledger_->pool, pool);
}

FakeRunReport FakeRun::report() const {
  return ledger_->report;
}

void FakeRun::reset_peak() {
  FakeRunReport& report = ledger_->report;
  report.peak_bytes = report.live_bytes;
  report.at_peak_by_pool = report.live_by_pool;
  report.flops = 0;
  report.num_ops = 0;
}

void FakeRun::call(const c10::OperatorHandle& op,
                   c10::DispatchKeySet keys,
                   torch::jit::Stack* stack) {
  ++ledger_->report.num_ops;
  if (op.operator_name().name == "aten::_local_scalar_dense")
    throw NoFakeResult(
        "[fake run] a tensor's value is read on the host: expected shapes "
        "only");
  if (call_verb(ledger_, op, stack) || call_titan(ledger_, op, stack)) return;
  if (is_view(op.schema())) {
    call_next(op, keys, stack);
  } else if (only_writes(op.schema())) {
    return_arguments(op.schema(), stack);
  } else {
    call_on_meta(ledger_, op, stack);
  }
}

bool is_fake(const at::Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() &&
         tensor.storage().nbytes() > 0 && tensor.storage().data() == nullptr;
}

}  // namespace titan::dispatch
