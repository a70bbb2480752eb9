// SPDX-License-Identifier: BSD-3-Clause
// How a command of `titan` declares itself: a thin cover over CLI11, which only
// command.cpp sees. Its one big header cost every command's file 6 s.
#pragma once

#include <deque>
#include <functional>
#include <iosfwd>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace titan::cli {

/// An option or a positional argument. Each call narrows it and returns it.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option* required();
  /// What the help shows in place of the C++ type, such as "DIR".
  Option* type_name(const std::string& name);
  /// The help shows the variable's present value as the default.
  Option* capture_default_str();
  /// A repeatable option that takes one value each time.
  Option* one_value_each();
  /// Takes from `fewest` to `most` values.
  Option* expected(int fewest, int most);
  /// Given alone, the option is an error.
  Option* needs(const Option* other);

  Option* positive();
  Option* non_negative();
  Option* between(int lowest, int highest);
  Option* one_of(const std::vector<std::string>& values);
  /// A relative path counts from the working folder, not from where it is used
  /// later. A bare name stays one.
  Option* from_working_folder();
  /// "5GB" and "200 MB" are numbers of bytes, by powers of 1000.
  Option* as_bytes();

 private:
  CLI::Option* option_;
};

/// A command, or the program. Variables given to it outlive it.
class Command {
 public:
  /// The program `name` with its one-sentence description.
  Command(const std::string& description, const std::string& name);
  explicit Command(CLI::App* app);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  Command* add_subcommand(const std::string& name, const std::string& help);
  /// `name` is "--name", or "NAME" for a positional argument. T is one of the
  /// types that command.cpp lists at its end.
  template <typename T>
  Option* add_option(const std::string& name,
                     T& value,
                     const std::string& help);
  Option* add_flag(const std::string& name,
                   bool& value,
                   const std::string& help);
  void add_version_flag(const std::string& name, const std::string& version);
  /// The help's last lines: examples.
  void footer(const std::string& text);
  /// One of the subcommands must be given.
  void require_subcommand();
  /// What the command does, once all arguments are read.
  void callback(std::function<void()> action);

  /// How often option `name` was given.
  size_t count(const std::string& name) const;
  std::string name() const;
  std::string help() const;
  std::vector<std::string> subcommand_names() const;

  /// Of a parse that did not reach a callback.
  struct Stop {
    /// Help and version were printed to `out`.
    bool is_answered = false;
    std::string error;
    /// The command in which it happened; empty: the program itself.
    std::string command;
  };
  /// Reads `arguments` and runs the callback of the command they name. Throws
  /// what the callback throws.
  /// @return whether and where it stopped before; null if it did not.
  std::unique_ptr<Stop> parse(const std::vector<std::string>& arguments,
                              std::ostream& out);

 private:
  Option* keep(CLI::Option* option);

  std::unique_ptr<CLI::App> program_;  // null for a subcommand
  CLI::App* app_;
  std::deque<Option> options_;
  std::list<Command> subcommands_;
};

}  // namespace titan::cli
