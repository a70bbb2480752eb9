// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/global_functions.h"

#include "core/chat/access.h"
#include "core/chat/object.h"
#include "core/chat/problem.h"

namespace titan::chat {
namespace {

using Arguments = const CallArguments&;

// As jinja2's sandbox.
constexpr size_t kMaxRange = 100'000;

Value range(Arguments arguments, Budget& budget) {
  const Parameters given("range", arguments, {"start", "stop", "step"}, 1);
  const bool has_stop = given.find(1) != nullptr;
  const int64_t start = has_stop ? given.integer(0, 0) : 0;
  const int64_t stop = given.integer(has_stop ? 1 : 0, 0);
  const int64_t step = given.integer(2, 1);
  if (step == 0) fail("range: the step cannot be zero");
  List items;
  for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (items.size() == kMaxRange)
      fail("range: expected at most ", kMaxRange, " items");
    items.push_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  budget.charge_items(items.size());
  return Value::sequence(std::move(items), SequenceKind::kRange);
}

Value make_dict(Arguments arguments, Budget& budget) {
  Dict dict;
  if (arguments.positional.size() > 1) fail("dict: expected one dict");
  if (!arguments.positional.empty()) {
    if (!arguments.positional[0].is_mapping())
      fail("dict: expected a dict, got a ",
           arguments.positional[0].type_name());
    dict = arguments.positional[0].dict();
  }
  for (const auto& [name, value] : arguments.named) dict.set(name, value);
  budget.charge_items(dict.size());
  return dict;
}

Value raise_exception(Arguments arguments, Budget&) {
  const Parameters given("raise_exception", arguments, {"message"}, 1);
  fail("the template refuses this conversation: ", given.string(0, ""));
}

// Gives the separator, but nothing the first time.
class Joiner final : public Object {
 public:
  explicit Joiner(std::string separator) : separator_(std::move(separator)) {}
  std::string_view type_name() const override { return "joiner"; }
  bool is_callable() const override { return true; }
  Value call(const CallArguments&, Budget& budget) override {
    if (!std::exchange(is_used_, true)) return "";
    budget.charge_bytes(separator_.size());
    return separator_;
  }

 private:
  std::string separator_;
  bool is_used_ = false;
};

Value make_joiner(Arguments arguments, Budget&) {
  const Parameters given("joiner", arguments, {"sep"});
  return Value(std::make_shared<Joiner>(given.string(0, ", ")));
}

struct CyclerState {
  List items;
  Extent extent;
  size_t at = 0;
};

enum class CyclerMove { kNext, kReset };

class CyclerMethod final : public Object {
 public:
  CyclerMethod(std::shared_ptr<CyclerState> state, CyclerMove move)
      : state_(std::move(state)), move_(move) {}
  std::string_view type_name() const override { return "method"; }
  bool is_callable() const override { return true; }
  Value call(const CallArguments&, Budget&) override {
    if (move_ == CyclerMove::kReset) {
      state_->at = 0;
      return {};
    }
    const Value& item = state_->items[state_->at];
    state_->at = (state_->at + 1) % state_->items.size();
    return item;
  }
  Extent extent() const override { return state_->extent; }

 private:
  std::shared_ptr<CyclerState> state_;
  CyclerMove move_;
};

class Cycler final : public Object {
 public:
  explicit Cycler(std::shared_ptr<CyclerState> state)
      : state_(std::move(state)) {}
  std::string_view type_name() const override { return "cycler"; }
  Value attribute(std::string_view name) const override {
    if (name == "current") return state_->items[state_->at];
    if (name == "next")
      return Value(std::make_shared<CyclerMethod>(state_, CyclerMove::kNext));
    if (name == "reset")
      return Value(std::make_shared<CyclerMethod>(state_, CyclerMove::kReset));
    return Object::attribute(name);
  }
  Extent extent() const override { return state_->extent; }

 private:
  std::shared_ptr<CyclerState> state_;
};

Value make_cycler(Arguments arguments, Budget&) {
  if (arguments.positional.empty() || !arguments.named.empty())
    fail("cycler: expected items");
  auto state = std::make_shared<CyclerState>();
  state->items = arguments.positional;
  state->extent = Value::list(arguments.positional).extent();
  return Value(std::make_shared<Cycler>(std::move(state)));
}

class StrftimeNow final : public Object {
 public:
  explicit StrftimeNow(const std::tm& now) : now_(now) {}
  std::string_view type_name() const override { return "function"; }
  bool is_callable() const override { return true; }
  Value call(const CallArguments& arguments, Budget&) override {
    const Parameters given("strftime_now", arguments, {"format"}, 1);
    const std::string format = given.string(0, "");
    // A space behind tells an empty result from one that does not fit.
    const std::string spaced = format + ' ';
    char buffer[512];
    const size_t size =
        std::strftime(buffer, sizeof buffer, spaced.c_str(), &now_);
    if (size == 0) fail("strftime_now: the date is too long: ", format);
    return std::string(buffer, size - 1);
  }

 private:
  std::tm now_;
};

Value function(std::string name, Function::Body body) {
  return Value(std::make_shared<Function>(std::move(name), body));
}

}  // namespace

Dict make_global_functions(const std::optional<std::tm>& now) {
  Dict functions;
  functions.set("range", function("range", range));
  functions.set("dict", function("dict", make_dict));
  functions.set("joiner", function("joiner", make_joiner));
  functions.set("cycler", function("cycler", make_cycler));
  functions.set("raise_exception",
                function("raise_exception", raise_exception));
  if (now)
    functions.set("strftime_now", Value(std::make_shared<StrftimeNow>(*now)));
  return functions;
}

}  // namespace titan::chat
