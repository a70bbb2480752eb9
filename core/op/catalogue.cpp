// SPDX-License-Identifier: BSD-3-Clause
// The catalogue: first-party ops are added on first use.
#include "core/op/catalogue.h"

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include <titan/error.h>

#include "core/op/reference/reference.h"
#include "core/op/registered_op.h"

namespace titan::op {
namespace {

struct Catalogue {
  std::shared_mutex mutex;
  std::map<std::string, std::unique_ptr<RegisteredOp>, std::less<>> ops;

  const OpSpec& add(OpSpec spec) {
    const std::string id = spec.id;
    auto op = std::make_unique<RegisteredOp>(std::move(spec));
    std::unique_lock lock(mutex);
    TITAN_USER_CHECK(ops.find(id) == ops.end(),
                     "[op ",
                     id,
                     "] is in the catalogue already: expected another id");
    register_with_dispatcher(*op);
    return (ops[id] = std::move(op))->spec;
  }
};

Catalogue& catalogue() {
  // Never destroyed: dispatcher ops refer to it until the process ends.
  static Catalogue* instance = [] {
    auto* made = new Catalogue();
    for (OpSpec& spec : reference::first_party_ops())
      made->add(std::move(spec));
    return made;
  }();
  return *instance;
}

}  // namespace

RegisteredOp::RegisteredOp(OpSpec op_spec) : spec(std::move(op_spec)) {
  for (size_t i = 0; i < spec.saved.size(); ++i) {
    saved_outputs.push_back(spec.saved_output(i));
    if (saved_outputs.back() < 0) ++num_own_saved;
  }
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    if (spec.inputs[i].is_differentiable) differentiable |= uint64_t{1} << i;
    has_mutation = has_mutation || spec.inputs[i].is_mutated;
  }
}

const OpSpec& find_op(std::string_view id) {
  Catalogue& all = catalogue();
  std::shared_lock lock(all.mutex);
  const auto found = all.ops.find(id);
  if (found != all.ops.end()) return found->second->spec;
  std::vector<std::string> ids;
  for (const auto& [known, op] : all.ops) ids.push_back(known);
  const std::string nearest = nearest_name(id, ids);
  throw UserError(titan::text("[op ",
                              id,
                              "] is not in the catalogue: expected one of ",
                              ids,
                              ".",
                              nearest.empty() ? "" : " Did you mean ",
                              nearest,
                              nearest.empty() ? "" : "?"));
}

std::vector<const OpSpec*> all_ops() {
  Catalogue& all = catalogue();
  std::shared_lock lock(all.mutex);
  std::vector<const OpSpec*> out;
  for (const auto& [id, op] : all.ops) out.push_back(&op->spec);
  return out;
}

const OpSpec& add_op(OpSpec spec) {
  return catalogue().add(std::move(spec));
}

const RegisteredOp& registered(const OpSpec& spec) {
  Catalogue& all = catalogue();
  std::shared_lock lock(all.mutex);
  const auto found = all.ops.find(spec.id);
  TITAN_CHECK(found != all.ops.end() && &found->second->spec == &spec,
              "[op ",
              spec.id,
              "] is not the catalogue's: expected a spec from find_op");
  return *found->second;
}

}  // namespace titan::op
