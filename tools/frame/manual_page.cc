// SPDX-License-Identifier: Apache-2.0
// The manual pages of tools/frame/help_text.h, in the man(7) macros.
#include "tools/console/common_options.h"
#include "tools/frame/build_info.h"
#include "tools/frame/help_text.h"
#include "tools/frame/variables.h"
#include "tools/frame/verb_table.h"

namespace egret::tools {
namespace {

// Backslashes, hyphens that must stay hyphens, and dots at line starts mean something to roff.
std::string roff(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_start = c == '\n';
  }
  return out;
}

std::string tagged(const std::string& tag, const std::string& text) {
  return ".TP\n.B " + roff(tag) + "\n" + roff(text) + "\n";
}

std::string paragraph_text(std::string_view details) {
  std::string text;
  while (!details.empty()) {
    const std::size_t end = details.find("\n\n");
    text += ".PP\n" + roff(details.substr(0, end)) + "\n";
    details.remove_prefix(end == std::string_view::npos ? details.size() : end + 2);
  }
  return text;
}

std::string option_entries(const base::OptionSet& set) {
  std::string text;
  for (const base::BoundOption& option : set.options()) {
    std::string tag = option.short_flag == 0 ? "" : std::string("-") + option.short_flag + ", ";
    tag += option.flag();
    if (option.is_switch()) tag += ", --no-" + option.name;
    const std::string value = option.value_name();
    if (!value.empty()) tag += " " + value;
    std::string body = option.help + ".";
    if (!option.limits().empty()) body += " Range: " + option.limits() + ".";
    if (!option.default_text.empty()) body += " Default: " + option.default_text + ".";
    body += " Variable " + option.variable() + ", key " + option.key() + ".";
    text += tagged(tag, body);
  }
  return text;
}

std::string exit_status_section() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitCodeRow& row : kExitCodes) {
    text += tagged(std::to_string(static_cast<int>(row.code)), std::string(row.meaning));
  }
  return text;
}

std::string heading(const std::string& page, const std::string& summary) {
  return ".TH \"" + roff(page) + "\" 1 \"\" \"egret " + std::string(build_info().version) +
         "\" \"User Commands\"\n.SH NAME\n" + roff(page) + " \\- " + roff(summary) + "\n";
}

}  // namespace

std::string manual_page(const Verb* verb) {
  CommonOptions common;
  InvocationOptions invocation;
  if (verb == nullptr) {
    std::string text = heading("egret", "optimize tensor graphs by equality saturation");
    text += ".SH SYNOPSIS\n.B egret\n.I VERB\n[OPTIONS] [ARGUMENTS]\n.SH VERBS\n";
    for (const Verb& row : verbs()) text += tagged(row.name, row.summary + ".");
    base::OptionSet set;
    set.add(common);
    set.add(invocation);
    text += ".SH OPTIONS OF EVERY VERB\n" + option_entries(set);
    text +=
        ".SH CONFIGURATION\n.PP\nA flag overrides its environment variable. The variable overrides "
        "the file of \\-\\-config, which overrides $XDG_CONFIG_HOME/egret/egret.toml. Unknown keys "
        "are errors.\n";
    text += ".SH ENVIRONMENT\n";
    for (const VariableRow& row : kVariables)
      text += tagged(std::string(row.name), std::string(row.meaning) + ".");
    return text + exit_status_section();
  }
  const std::unique_ptr<Command> command = verb->make();
  Arguments arguments;
  command->declare(arguments);
  arguments.options(common);
  arguments.options(invocation);
  std::string page = "egret-" + verb->name;
  for (char& c : page) c = c == ' ' ? '-' : c;
  std::string text = heading(page, verb->summary);
  text += ".SH SYNOPSIS\n" + roff(usage_line(*verb, arguments).substr(7)) + "\n.SH DESCRIPTION\n";
  text += paragraph_text(verb->details);
  if (!arguments.positionals().empty()) text += ".SH ARGUMENTS\n";
  for (const Positional& positional : arguments.positionals()) {
    text += tagged(positional.name, positional.help + ".");
  }
  text += ".SH OPTIONS\n" + option_entries(arguments.set());
  for (const std::string& unit : units_of(arguments.set())) text += ".PP\n" + roff(unit) + "\n";
  return text + exit_status_section() + ".SH SEE ALSO\n.BR egret (1)\n";
}

}  // namespace egret::tools
