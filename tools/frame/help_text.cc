// SPDX-License-Identifier: Apache-2.0
#include "tools/frame/help_text.h"

#include <algorithm>

#include "base/formats/text_table.h"
#include "tools/frame/variables.h"
#include "tools/frame/verb_table.h"

namespace egret::tools {
namespace {

// A verb's command together with what it declared; the command owns the bound values.
struct Declared {
  explicit Declared(const Verb& verb) : command(verb.make()) {
    command->declare(arguments);
    arguments.options(common);
    arguments.options(invocation);
  }
  std::unique_ptr<Command> command;
  CommonOptions common;
  InvocationOptions invocation;
  Arguments arguments;
};

// Two columns: what, and its explanation wrapped to the width.
std::string entry(const std::string& left, const std::string& right, std::size_t width) {
  constexpr std::size_t kIndent = 28;
  std::string text = "  " + left;
  const std::size_t used = base::text_width(text);
  text += used + 2 > kIndent ? "\n" + std::string(kIndent, ' ') : std::string(kIndent - used, ' ');
  std::string padded = std::string(kIndent, 'x');  // stands for the left column while wrapping
  padded += " " + right;
  const std::string wrapped = base::wrap_text(padded, std::max(width, kIndent + 20), kIndent);
  const std::size_t start = wrapped.find_first_not_of("x \n");
  return text + (start == std::string::npos ? "" : wrapped.substr(start)) + "\n";
}

std::string flags_text(const base::BoundOption& option) {
  std::string text;
  if (option.short_flag != 0) text += std::string("-") + option.short_flag + ", ";
  const bool on = option.is_switch() && option.default_text == "true";
  text += on ? "--[no-]" + option.name : option.flag();
  const std::string value = option.value_name();
  return value.empty() ? text : text + " " + value;
}

std::string explanation(const base::BoundOption& option) {
  std::string text = option.help;
  const std::string limits = option.limits();
  if (!limits.empty()) text += "; " + limits;
  if (option.is_list()) text += "; may be repeated";
  if (!option.default_text.empty() && option.default_text != "false") {
    text += " [" + option.default_text + "]";
  }
  return text;
}

std::string paragraphs(std::string_view details, std::size_t width) {
  std::string text;
  while (!details.empty()) {
    const std::size_t end = details.find("\n\n");
    text += base::wrap_text(details.substr(0, end), width, 0) + "\n\n";
    details.remove_prefix(end == std::string_view::npos ? details.size() : end + 2);
  }
  return text;
}

std::vector<std::string> sections(const base::OptionSet& set) {
  std::vector<std::string> result;
  for (const base::BoundOption& option : set.options()) {
    if (std::find(result.begin(), result.end(), option.section) == result.end()) {
      result.push_back(option.section);
    }
  }
  return result;
}

}  // namespace

std::vector<std::string> units_of(const base::OptionSet& set) {
  const auto takes = [&](std::string_view value) {
    return std::ranges::any_of(set.options(), [&](const base::BoundOption& option) {
      return option.value_name() == value;
    });
  };
  std::vector<std::string> units;
  if (takes("TIME"))
    units.emplace_back(
        "TIME is a number with the unit ns, us, ms, s, m, h or d; the default unit is s.");
  if (takes("SIZE"))
    units.emplace_back(
        "SIZE is a number with the unit KiB, MiB, GiB or TiB (short: k, m, g, t); the default unit "
        "is bytes.");
  return units;
}

std::string usage_line(const Verb& verb, const Arguments& arguments) {
  std::string text = "usage: egret " + verb.name + " [OPTIONS]";
  for (const Positional& positional : arguments.positionals()) {
    std::string word = positional.name + (positional.many != nullptr ? "..." : "");
    text += positional.least == 0 ? " [" + word + "]" : " " + word;
  }
  return text;
}

std::string overview_help() {
  std::string text =
      "usage: egret VERB [OPTIONS] [ARGUMENTS]\n\n"
      "Egret discovers, proves and applies tensor-graph optimizations by equality saturation.\n\n"
      "Verbs:\n";
  for (const Verb& verb : verbs()) text += entry(verb.name, verb.summary, 100);
  text += "\nEnvironment:\n" +
          entry("EGRET_OPTION_NAME", "Set --option-name of every verb that has it", 100);
  for (const VariableRow& row : kVariables)
    text += entry(std::string(row.name), std::string(row.meaning), 100);
  text +=
      "\n`egret VERB --help` explains a verb; `egret doctor` shows the libraries of this build.\n";
  return text;
}

std::string group_help(std::string_view first_word) {
  const std::string group = std::string(first_word) + " ";
  std::string rows;
  for (const Verb& verb : verbs()) {
    if (verb.name.starts_with(group)) rows += entry(verb.name, verb.summary, 100);
  }
  if (rows.empty()) return "";
  return "usage: egret " + group + "VERB [OPTIONS] [ARGUMENTS]\n\nVerbs:\n" + rows + "\n`egret " +
         group + "VERB --help` explains a verb.\n";
}

std::string verb_help(const Verb& verb, std::size_t width) {
  const Declared declared(verb);
  const Arguments& arguments = declared.arguments;
  width = std::min<std::size_t>(width, 100);
  std::string text = usage_line(verb, arguments) + "\n\n" + verb.summary + ".\n\n";
  text += paragraphs(verb.details, width);
  if (!arguments.positionals().empty()) {
    text += "Arguments:\n";
    for (const Positional& positional : arguments.positionals()) {
      text += entry(positional.name, positional.help, width);
    }
    text += "\n";
  }
  for (const std::string& section : sections(arguments.set())) {
    text += "Options [" + section + "]:\n";
    for (const base::BoundOption& option : arguments.set().options()) {
      if (option.section == section) text += entry(flags_text(option), explanation(option), width);
    }
    text += "\n";
  }
  for (const std::string& unit : units_of(arguments.set()))
    text += base::wrap_text(unit, width, 0) + "\n\n";
  const base::BoundOption& first = arguments.set().options().front();
  text += "Each option can also be set by an environment variable (" + first.flag() + ": " +
          first.variable() + ")\nor in its section of a --config file; `egret " + verb.name +
          " --print-config` prints one.\n";
  return text;
}

std::string exit_code_help() {
  base::TextTable table({{"code", base::Align::kRight}, {"meaning", base::Align::kLeft}});
  for (const ExitCodeRow& row : kExitCodes) {
    table.row({std::to_string(static_cast<int>(row.code)), std::string(row.meaning)});
  }
  return table.render();
}

}  // namespace egret::tools
