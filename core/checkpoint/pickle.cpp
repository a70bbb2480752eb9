// SPDX-License-Identifier: BSD-3-Clause
// The opcodes are those of CPython's pickletools. Every step is bounded by the
// bytes it consumes: no opcode allocates more than its own text, and TUPLE and
// the like only move what the stack holds.
#include "core/checkpoint/pickle.h"

#include <bit>
#include <unordered_map>
#include <utility>

#include <titan/error.h>

namespace titan::checkpoint {
namespace {

constexpr int kMaxProtocol = 5;

class PickleMachine {
 public:
  PickleMachine(std::string_view where,
                std::span<const std::byte> bytes,
                const PickleGlobals& allowed)
      : where_(where), bytes_(bytes), allowed_(allowed) {}

  PickleDocument run() {
    check(bytes_.size() <= kMaxPickleBytes,
          "pickle size: expected at most ",
          kMaxPickleBytes,
          " bytes, got ",
          bytes_.size());
    while (step(read_byte())) {
    }
    document_.root = pop();
    return std::move(document_);
  }

 private:
  template <typename... Parts>
  void check(bool condition, const Parts&... parts) const {
    TITAN_USER_CHECK(condition, '[', where_, "] ", titan::text(parts...));
  }

  std::span<const std::byte> take(std::uint64_t count) {
    check(count <= bytes_.size() - at_,
          "pickle is truncated: expected ",
          count,
          " more bytes at ",
          at_,
          ", got ",
          bytes_.size() - at_);
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

  std::uint8_t read_byte() { return std::to_integer<std::uint8_t>(take(1)[0]); }

  std::uint64_t read_number(int num_bytes) {
    std::uint64_t value = 0;
    const auto raw = take(static_cast<std::uint64_t>(num_bytes));
    for (std::size_t i = raw.size(); i-- > 0;)
      value = value << 8 | std::to_integer<std::uint64_t>(raw[i]);
    return value;
  }

  std::string read_text(std::uint64_t size) {
    const auto raw = take(size);
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }

  std::string read_line() {
    std::string line;
    for (char c = 0; (c = static_cast<char>(read_byte())) != '\n';) {
      check(line.size() < 1024, "pickle line: expected its end, got none");
      line.push_back(c);
    }
    return line;
  }

  PickleIndex add(PickleValue value) {
    check(document_.values.size() < kMaxPickleValues,
          "pickle values: expected at most ",
          kMaxPickleValues,
          ", got more");
    document_.values.push_back(std::move(value));
    return static_cast<PickleIndex>(document_.values.size() - 1);
  }

  void push(PickleValue value) { stack_.push_back(add(std::move(value))); }
  void push_int(std::int64_t number) {
    push({.kind = PickleKind::kInt, .number = number});
  }

  // The stack above the last mark is what opcodes may take.
  PickleIndex pop() {
    check(stack_.size() > floor(), "pickle stack: expected a value, got none");
    const PickleIndex top = stack_.back();
    stack_.pop_back();
    return top;
  }

  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  std::vector<PickleIndex> pop_to_mark() {
    check(!marks_.empty(), "pickle mark: expected one, got none");
    std::vector<PickleIndex> items(
        stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()),
        stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }

  PickleValue& top(PickleKind kind, const char* what) {
    check(stack_.size() > floor(), "pickle stack: expected a value, got none");
    PickleValue& value = document_.values[stack_.back()];
    check(value.kind == kind, "pickle: expected ", what, ", got another kind");
    return value;
  }

  void append(std::span<const PickleIndex> items) {
    PickleValue& list = top(PickleKind::kList, "a list to append to");
    list.items.insert(list.items.end(), items.begin(), items.end());
  }

  void set_items(std::span<const PickleIndex> items) {
    check(items.size() % 2 == 0, "pickle dict: expected pairs, got an odd one");
    PickleValue& dict = top(PickleKind::kDict, "a dict to add to");
    dict.items.insert(dict.items.end(), items.begin(), items.end());
  }

  void push_tuple(std::size_t count) {
    std::vector<PickleIndex> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    push({.kind = PickleKind::kTuple, .items = std::move(items)});
  }

  void push_global(const std::string& module, const std::string& name) {
    std::string full = module + '.' + name;
    check(allowed_.contains(full),
          "pickle global: expected one that data needs, got \"",
          full,
          "\". It is not executed; save only tensors and plain containers.");
    push({.kind = PickleKind::kGlobal, .text = std::move(full)});
  }

  void push_stack_global() {
    const PickleIndex name = pop();
    const PickleIndex module = pop();
    const PickleValue& first = document_.at(module);
    const PickleValue& second = document_.at(name);
    check(first.kind == PickleKind::kText && second.kind == PickleKind::kText,
          "pickle global: expected two texts, got another kind");
    push_global(first.text, second.text);
  }

  // REDUCE and NEWOBJ: a record of the call. The two classes that are plain
  // containers become what they contain.
  void push_call() {
    const PickleValue arguments = document_.at(pop());
    const PickleValue callee = document_.at(pop());
    check(callee.kind == PickleKind::kGlobal &&
              arguments.kind == PickleKind::kTuple,
          "pickle call: expected a global and a tuple, got another kind");
    if (callee.text == "collections.OrderedDict" && arguments.items.empty())
      return push({.kind = PickleKind::kDict});
    if (callee.text == "torch.Size" && arguments.items.size() == 1) {
      stack_.push_back(arguments.items[0]);
      return;
    }
    push({.kind = PickleKind::kCall,
          .text = callee.text,
          .items = arguments.items});
  }

  // An OrderedDict's attributes (a module's version numbers) are not read.
  void build() {
    const PickleIndex state = pop();
    check(stack_.size() > floor(), "pickle stack: expected a value, got none");
    PickleValue& object = document_.values[stack_.back()];
    check(object.kind == PickleKind::kCall || object.kind == PickleKind::kDict,
          "pickle BUILD: expected an object, got another kind");
    if (object.kind == PickleKind::kCall) object.state = state;
  }

  void put_memo(std::uint64_t key) {
    check(stack_.size() > floor(), "pickle stack: expected a value, got none");
    memo_[key] = stack_.back();
  }

  void get_memo(std::uint64_t key) {
    const auto found = memo_.find(key);
    check(found != memo_.end(),
          "pickle memo: expected an earlier value, got ",
          key);
    stack_.push_back(found->second);
    check(stack_.size() <= kMaxPickleValues, "pickle stack: too deep");
  }

  void push_long(std::uint64_t num_bytes) {
    check(num_bytes <= 8,
          "pickle integer: expected at most 8 bytes, got ",
          num_bytes);
    std::uint64_t value = read_number(static_cast<int>(num_bytes));
    const auto bits = static_cast<unsigned>(num_bytes * 8);
    if (bits != 0 && bits < 64 && (value >> (bits - 1) & 1) != 0)
      value |= ~std::uint64_t{0} << bits;
    push_int(static_cast<std::int64_t>(value));
  }

  void push_float() {
    std::uint64_t bits = 0;  // the only big-endian number of the format
    for (const std::byte byte : take(8))
      bits = bits << 8 | std::to_integer<std::uint64_t>(byte);
    push({.kind = PickleKind::kFloat, .real = std::bit_cast<double>(bits)});
  }

  void push_text(int length_bytes) {
    const std::uint64_t size = read_number(length_bytes);
    push({.kind = PickleKind::kText, .text = read_text(size)});
  }

  // False at STOP.
  bool step(std::uint8_t opcode) {
    return step_value(opcode) || step_container(opcode) ||
           step_reference(opcode);
  }

  bool step_value(std::uint8_t opcode) {
    switch (opcode) {
      case 'N':  // NONE
        push({});
        return true;
      case 0x88:  // NEWTRUE
      case 0x89:  // NEWFALSE
        push({.kind = PickleKind::kBool, .number = opcode == 0x88});
        return true;
      case 'K':  // BININT1
        push_int(read_byte());
        return true;
      case 'M':  // BININT2
        push_int(static_cast<std::int64_t>(read_number(2)));
        return true;
      case 'J':  // BININT
        push_int(static_cast<std::int32_t>(read_number(4)));
        return true;
      case 0x8a:  // LONG1
        push_long(read_byte());
        return true;
      case 'G':  // BINFLOAT
        push_float();
        return true;
      case 'X':  // BINUNICODE
        push_text(4);
        return true;
      case 0x8c:  // SHORT_BINUNICODE
      case 'U':   // SHORT_BINSTRING
      case 'C':   // SHORT_BINBYTES
        push_text(1);
        return true;
      case 'B':  // BINBYTES
        push_text(4);
        return true;
      default:
        return false;
    }
  }

  bool step_container(std::uint8_t opcode) {
    switch (opcode) {
      case '(':  // MARK
        marks_.push_back(stack_.size());
        return true;
      case ')':  // EMPTY_TUPLE
        push_tuple(0);
        return true;
      case 0x85:  // TUPLE1
      case 0x86:  // TUPLE2
      case 0x87:  // TUPLE3
        push_tuple(opcode - 0x84u);
        return true;
      case 't': {  // TUPLE; first the items, then the value
        std::vector<PickleIndex> items = pop_to_mark();
        push({.kind = PickleKind::kTuple, .items = std::move(items)});
        return true;
      }
      case ']':  // EMPTY_LIST
        push({.kind = PickleKind::kList});
        return true;
      case 'a': {  // APPEND
        const PickleIndex item = pop();
        append({&item, 1});
        return true;
      }
      case 'e':  // APPENDS
        append(pop_to_mark());
        return true;
      case '}':  // EMPTY_DICT
        push({.kind = PickleKind::kDict});
        return true;
      case 's': {  // SETITEM
        const PickleIndex value = pop();
        const PickleIndex pair[] = {pop(), value};
        set_items(pair);
        return true;
      }
      case 'u':  // SETITEMS
        set_items(pop_to_mark());
        return true;
      default:
        return false;
    }
  }

  bool step_reference(std::uint8_t opcode) {
    switch (opcode) {
      case 0x80: {  // PROTO
        const int protocol = read_byte();
        check(protocol >= 2 && protocol <= kMaxProtocol,
              "pickle protocol: expected 2 to 5, got ",
              protocol);
        return true;
      }
      case 0x95:  // FRAME: a hint for buffered reading
        take(8);
        return true;
      case 'c': {  // GLOBAL
        const std::string module = read_line();
        push_global(module, read_line());
        return true;
      }
      case 0x93:  // STACK_GLOBAL
        push_stack_global();
        return true;
      case 'R':   // REDUCE
      case 0x81:  // NEWOBJ
        push_call();
        return true;
      case 'b':  // BUILD
        build();
        return true;
      case 'Q': {  // BINPERSID
        const PickleIndex id = pop();
        push({.kind = PickleKind::kPersistent, .items = {id}});
        return true;
      }
      case 'q':  // BINPUT
        put_memo(read_byte());
        return true;
      case 'r':  // LONG_BINPUT
        put_memo(read_number(4));
        return true;
      case 0x94:  // MEMOIZE
        put_memo(memo_.size());
        return true;
      case 'h':  // BINGET
        get_memo(read_byte());
        return true;
      case 'j':  // LONG_BINGET
        get_memo(read_number(4));
        return true;
      case '.':  // STOP
        return false;
      default:
        check(false,
              "pickle opcode: expected one that data needs, got ",
              static_cast<int>(opcode),
              " at byte ",
              at_ - 1);
        return false;
    }
  }

  std::string where_;
  std::span<const std::byte> bytes_;
  const PickleGlobals& allowed_;
  std::size_t at_ = 0;
  PickleDocument document_;
  std::vector<PickleIndex> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, PickleIndex> memo_;
};

}  // namespace

const PickleValue* PickleDocument::find(const PickleValue& dict,
                                        std::string_view key) const {
  if (dict.kind != PickleKind::kDict) return nullptr;
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleValue& candidate = at(dict.items[i]);
    if (candidate.kind == PickleKind::kText && candidate.text == key)
      return &at(dict.items[i + 1]);
  }
  return nullptr;
}

PickleDocument read_pickle(std::string_view where,
                           std::span<const std::byte> bytes,
                           const PickleGlobals& allowed) {
  return PickleMachine(where, bytes, allowed).run();
}

}  // namespace titan::checkpoint
