// SPDX-License-Identifier: BSD-3-Clause
// What templates read of `loop`.
#include "core/chat/problem.h"
#include "core/chat/scope.h"

namespace titan::chat {
namespace {

class LoopCycle final : public Object {
 public:
  explicit LoopCycle(int64_t index) : index_(index) {}
  std::string_view type_name() const override { return "method"; }
  bool is_callable() const override { return true; }
  Value call(const CallArguments& arguments, Budget&) override {
    if (arguments.positional.empty()) fail("loop.cycle: expected items");
    return arguments.positional[index_ % arguments.positional.size()];
  }

 private:
  int64_t index_;
};

}  // namespace

Value Loop::attribute(std::string_view name) const {
  const auto length = static_cast<int64_t>(items_->size());
  if (name == "index") return index_ + 1;
  if (name == "index0") return index_;
  if (name == "revindex") return length - index_;
  if (name == "revindex0") return length - index_ - 1;
  if (name == "first") return index_ == 0;
  if (name == "last") return index_ + 1 == length;
  if (name == "length") return length;
  if (name == "depth") return 1;
  if (name == "depth0") return 0;
  if (name == "previtem") {
    if (index_ == 0) return Value::undefined("there is no previous item");
    return (*items_)[index_ - 1];
  }
  if (name == "nextitem") {
    if (index_ + 1 >= length) return Value::undefined("there is no next item");
    return (*items_)[index_ + 1];
  }
  if (name == "cycle") return Value(std::make_shared<LoopCycle>(index_));
  if (name == "changed") fail("loop.changed is not supported");
  return Object::attribute(name);
}

}  // namespace titan::chat
