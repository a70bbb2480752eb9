// SPDX-License-Identifier: BSD-3-Clause
#include "core/cli/command.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <ostream>
#include <utility>

#include <CLI/CLI.hpp>

namespace titan::cli {

Option* Option::required() {
  option_->required();
  return this;
}

Option* Option::type_name(const std::string& name) {
  option_->type_name(name);
  return this;
}

Option* Option::capture_default_str() {
  option_->capture_default_str();
  return this;
}

Option* Option::one_value_each() {
  option_->allow_extra_args(false);
  return this;
}

Option* Option::expected(int fewest, int most) {
  option_->expected(fewest, most);
  return this;
}

Option* Option::needs(const Option* other) {
  option_->needs(other->option_);
  return this;
}

Option* Option::positive() {
  option_->check(CLI::PositiveNumber);
  return this;
}

Option* Option::non_negative() {
  option_->check(CLI::NonNegativeNumber);
  return this;
}

Option* Option::between(int lowest, int highest) {
  option_->check(CLI::Range(lowest, highest));
  return this;
}

Option* Option::one_of(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values));
  return this;
}

Option* Option::from_working_folder() {
  option_->transform([](const std::string& path) {
    const bool is_bare = path.find('/') == std::string::npos;
    return is_bare ? path : std::filesystem::absolute(path).string();
  });
  return this;
}

Option* Option::as_bytes() {
  option_->transform(CLI::AsSizeValue(/*kb_is_1000=*/true));
  return this;
}

Command::Command(const std::string& description, const std::string& name)
    : program_(std::make_unique<CLI::App>(description, name)),
      app_(program_.get()) {}

Command::Command(CLI::App* app) : app_(app) {}

Command::~Command() = default;

Option* Command::keep(CLI::Option* option) {
  return &options_.emplace_back(option);
}

Command* Command::add_subcommand(const std::string& name,
                                 const std::string& help) {
  return &subcommands_.emplace_back(app_->add_subcommand(name, help));
}

template <typename T>
Option* Command::add_option(const std::string& name,
                            T& value,
                            const std::string& help) {
  return keep(app_->add_option(name, value, help));
}

Option* Command::add_flag(const std::string& name,
                          bool& value,
                          const std::string& help) {
  return keep(app_->add_flag(name, value, help));
}

void Command::add_version_flag(const std::string& name,
                               const std::string& version) {
  app_->set_version_flag(name, version);
}

void Command::footer(const std::string& text) {
  app_->footer(text);
}

void Command::require_subcommand() {
  app_->require_subcommand(1);
}

void Command::callback(std::function<void()> action) {
  app_->callback(std::move(action));
}

size_t Command::count(const std::string& name) const {
  return app_->count(name);
}

std::string Command::name() const {
  return app_->get_name();
}

std::string Command::help() const {
  return app_->help();
}

std::vector<std::string> Command::subcommand_names() const {
  std::vector<std::string> names;
  for (const CLI::App* command : std::as_const(*app_).get_subcommands(nullptr))
    names.push_back(command->get_name());
  return names;
}

std::unique_ptr<Command::Stop> Command::parse(
    const std::vector<std::string>& arguments,
    std::ostream& out) {
  try {
    // CLI11 takes the words last first.
    app_->parse(std::vector(arguments.rbegin(), arguments.rend()));
    return nullptr;
  } catch (const CLI::ParseError& error) {
    auto stop = std::make_unique<Stop>();
    // Help and version arrive as "errors" with code 0.
    if (error.get_exit_code() == 0) {
      app_->exit(error, out, out);
      stop->is_answered = true;
      return stop;
    }
    stop->error = error.what();
    const auto commands = app_->get_subcommands();
    if (!commands.empty()) stop->command = commands.front()->get_name();
    return stop;
  }
}

// The types of options. A new one gets its line here.
template Option* Command::add_option(const std::string&,
                                     std::string&,
                                     const std::string&);
template Option* Command::add_option(const std::string&,
                                     std::optional<std::string>&,
                                     const std::string&);
template Option* Command::add_option(const std::string&,
                                     std::vector<std::string>&,
                                     const std::string&);
template Option* Command::add_option(const std::string&,
                                     std::vector<std::int32_t>&,
                                     const std::string&);
template Option* Command::add_option(const std::string&,
                                     std::int32_t&,
                                     const std::string&);
template Option* Command::add_option(const std::string&,
                                     std::int64_t&,
                                     const std::string&);
template Option* Command::add_option(const std::string&,
                                     std::uint64_t&,
                                     const std::string&);
template Option* Command::add_option(const std::string&,
                                     double&,
                                     const std::string&);

}  // namespace titan::cli
