// SPDX-License-Identifier: Apache-2.0
#include "tools/frame/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>

#include "base/did_you_mean.h"
#include "base/formats/toml.h"
#include "base/lack_of_memory.h"
#include "base/system/file.h"
#include "base/system/terminal.h"
#include "base/system/thread_pool.h"
#include "tools/arguments/output_places.h"
#include "tools/console/console.h"
#include "tools/frame/help_text.h"
#include "tools/frame/lack_of_memory.h"
#include "tools/frame/variables.h"
#include "tools/frame/verb_table.h"

extern char** environ;

namespace egret::tools {
namespace {

using base::OptionOrigin;
using base::Status;

constexpr std::int64_t kMostConfigBytes = 1 << 20;

// Other environment variables: of the build, of tests, and of experiments, which call the program.
constexpr auto kOtherVariables = std::to_array<std::string_view>(
    {"EGRET_SHARED", "EGRET_WERROR", "EGRET_EXPERIMENT_SECONDS", "EGRET_PEER_SECONDS"});

bool names_option(const std::string& argument) { return argument.size() > 1 && argument[0] == '-'; }

// The verb that the arguments begin with, longest name first, and how many words it took.
struct VerbChoice {
  const Verb* verb = nullptr;
  std::size_t words = 0;
};

VerbChoice choose_verb(const std::vector<std::string>& arguments) {
  for (std::size_t words = std::min<std::size_t>(2, arguments.size()); words > 0; --words) {
    std::string name = arguments[0];
    if (words == 2) name += " " + arguments[1];
    if (const Verb* verb = find_verb(name)) return {verb, words};
  }
  return {};
}

Status unknown_verb(const std::vector<std::string>& arguments) {
  const std::string& first = arguments[0];
  if (names_option(first)) {
    return base::usage_error("the verb comes first: egret VERB [OPTIONS], not \"" + first + "\"");
  }
  std::vector<std::string> second_words;
  std::vector<std::string> first_words;
  for (const std::string& name : verb_names()) {
    const std::size_t blank = name.find(' ');
    first_words.push_back(name.substr(0, blank));
    if (blank != std::string::npos && first_words.back() == first) {
      second_words.push_back(name.substr(blank + 1));
    }
  }
  if (!second_words.empty()) {
    std::string text = "\"" + first + "\" needs a second word:";
    for (const std::string& word : second_words) text += " " + word;
    const std::string given = arguments.size() > 1 ? arguments[1] : "";
    return base::usage_error(text + base::did_you_mean(given, second_words));
  }
  return base::usage_error("unknown verb \"" + first + "\"" +
                           base::did_you_mean(first, first_words) +
                           " (`egret help` lists the verbs)");
}

// What CLI11 found: texts by option name, other words, and whether help was asked for.
struct ParsedFlags {
  std::vector<std::pair<std::string, std::vector<std::string>>> texts;
  std::vector<std::string> positionals;
  bool help = false;
};

std::vector<std::string> flag_names(const base::OptionSet& options) {
  std::vector<std::string> names = {"--help"};
  for (const base::BoundOption& option : options.options()) {
    names.push_back(option.flag());
    if (option.is_switch()) names.push_back("--no-" + option.name);
  }
  return names;
}

void declare_flag(CLI::App& app, const base::BoundOption& option, ParsedFlags& parsed) {
  std::string names = option.flag();
  if (option.short_flag != 0) names += std::string(",-") + option.short_flag;
  const std::string name = option.name;
  if (option.is_switch()) {
    app.add_flag_callback(names, [&parsed, name] { parsed.texts.push_back({name, {"true"}}); });
    app.add_flag_callback("--no-" + name, [&parsed, name] {
      parsed.texts.push_back({name, {"false"}});
    });
    return;
  }
  app.add_option_function<std::vector<std::string>>(
         names,
         [&parsed, name](const std::vector<std::string>& texts) {
           parsed.texts.push_back({name, texts});
         })
      ->expected(1)
      ->allow_extra_args(false)  // what follows the value is a positional argument
      ->multi_option_policy(option.is_list() ? CLI::MultiOptionPolicy::TakeAll
                                             : CLI::MultiOptionPolicy::TakeLast);
}

Status assign_positionals(const Arguments& declared, const std::vector<std::string>& given,
                          const Verb& verb) {
  std::size_t used = 0;
  for (const Positional& positional : declared.positionals()) {
    const std::size_t left = given.size() - used;
    if (left < positional.least) {
      return base::usage_error(verb.name + ": " + positional.name + " is missing\n" +
                               usage_line(verb, declared));
    }
    if (positional.many != nullptr) {
      positional.many->assign(given.begin() + static_cast<std::ptrdiff_t>(used), given.end());
      used = given.size();
    } else if (left > 0) {
      *positional.one = given[used++];
    }
  }
  if (used == given.size()) return base::ok();
  return base::usage_error(verb.name + ": unexpected argument \"" + given[used] + "\"");
}

// Splits the words after the verb into flags and positional arguments.
base::Result<ParsedFlags> parse_words(const Verb& verb, const Arguments& declared,
                                      std::vector<std::string> words) {
  ParsedFlags parsed;
  // A "--" ends the options; CLI11 forgets where it stood, so what follows is set aside here.
  std::vector<std::string> positionals_after;
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes != words.end()) {
    positionals_after.assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
  }
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.add_flag("-h,--help", parsed.help);
  for (const base::BoundOption& option : declared.set().options()) {
    declare_flag(app, option, parsed);
  }
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return base::usage_error(verb.name + ": " + error.what());
  }
  if (parsed.help) return parsed;
  for (const std::string& word : app.remaining()) {
    if (names_option(word)) {
      const std::string flag = word.substr(0, word.find('='));
      return base::usage_error(verb.name + ": unknown option " + flag +
                               base::did_you_mean(flag, flag_names(declared.set())));
    }
    parsed.positionals.push_back(word);
  }
  parsed.positionals.insert(parsed.positionals.end(), positionals_after.begin(),
                            positionals_after.end());
  return parsed;
}

Status apply_file(const std::string& path, OptionOrigin origin, base::OptionSet& set) {
  EGRET_ASSIGN_OR_RETURN(const std::string text, base::read_file(path, kMostConfigBytes));
  EGRET_ASSIGN_OR_RETURN(const auto entries, base::parse_toml(text, path));
  return set.apply_config(entries, origin, path, all_config_keys());
}

// $XDG_CONFIG_HOME/egret/egret.toml or ~/.config/egret/egret.toml, "" when there is none.
std::string user_file() {
  const char* base_folder = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  std::string path;
  if (base_folder != nullptr && *base_folder != '\0') {
    path = std::string(base_folder) + "/egret/egret.toml";
  } else if (home != nullptr && *home != '\0') {
    path = std::string(home) + "/.config/egret/egret.toml";
  }
  std::FILE* file = path.empty() ? nullptr : std::fopen(path.c_str(), "r");
  if (file == nullptr) return "";
  std::fclose(file);
  return path;
}

// Flags first, for they may name the configuration file; origins keep the precedence.
Status apply_origins(const ParsedFlags& parsed, base::OptionSet& set,
                     const InvocationOptions& invocation) {
  for (const auto& [name, texts] : parsed.texts) {
    EGRET_RETURN_IF_ERROR(set.set(name, texts, OptionOrigin::kFlag, "--" + name));
  }
  EGRET_RETURN_IF_ERROR(set.apply_environment(
      [](const std::string& variable) -> const char* { return std::getenv(variable.c_str()); }));
  if (!invocation.config.empty()) {
    EGRET_RETURN_IF_ERROR(apply_file(invocation.config, OptionOrigin::kConfigFile, set));
  }
  const std::string user = user_file();
  return user.empty() ? base::ok() : apply_file(user, OptionOrigin::kUserFile, set);
}

// EGRET_* variables that no option reads: most likely a misspelling, so worth a word.
void warn_of_unknown_variables(Console& console) {
  std::vector<std::string> known(kOtherVariables.begin(), kOtherVariables.end());
  for (const VariableRow& row : kVariables) known.emplace_back(row.name);
  for (const std::string_view name : {"config", "print-config"}) {
    base::BoundOption option;
    option.name = name;
    known.push_back(option.variable());
  }
  for (const std::string& key : all_config_keys()) {
    base::BoundOption option;
    option.name = key.substr(key.find('.') + 1);
    known.push_back(option.variable());
  }
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view entry = *variable;
    const std::string name(entry.substr(0, entry.find('=')));
    if (!name.starts_with("EGRET_")) continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    console.warning("unknown environment variable " + name + base::did_you_mean(name, known));
  }
}

int fail(Console& console, const Status& status) {
  console.error(status.message());
  const int code = base::exit_code(status.code());
  if (console.options().json) {
    base::Json failure = base::Json::object();
    failure.set("code", code).set("kind", base::to_string(status.code()));
    failure.set("message", status.message());
    base::Json json = base::versioned_json();
    json.set("error", std::move(failure));
    if (!console.partial_result().is_null()) json.set("summary", console.partial_result());
    console.data(json.dump(2) + "\n");
  }
  (void)console.finish();
  return code;
}

int internal_failure(const std::string& what) {
  const std::string line = "egret: internal error: " + base::sanitized(what) +
                           "\nThis is a bug in Egret; no output was replaced.\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  return static_cast<int>(ExitCode::kInternal);
}

base::Result<ExitCode> run_command(Command& command, Console& console) try {
  return command.run(console);
} catch (const std::exception& thrown) {
  if (!base::is_lack_of_memory(thrown)) throw;
  return base::limit_hit(std::string(kNoMemory));
}

// `json` is set as soon as it is known.
int run_declared_verb(const Verb& verb, std::vector<std::string> words, bool& json) {
  CommonOptions common;
  InvocationOptions invocation;
  const std::unique_ptr<Command> command = verb.make();
  Arguments arguments;
  command->declare(arguments);
  arguments.options(common);
  arguments.options(invocation);

  const base::Result<ParsedFlags> parsed = parse_words(verb, arguments, std::move(words));
  Status status = parsed.status();
  if (parsed.ok() && parsed->help) {
    const std::string help = verb_help(verb, base::terminal_width(1));
    std::fwrite(help.data(), 1, help.size(), stdout);
    return 0;
  }
  if (parsed.ok()) status = apply_origins(*parsed, arguments.set(), invocation);
  json = common.json;
  // The options in force can be shown without what the verb works on.
  if (status.ok() && !invocation.print_config)
    status = assign_positionals(arguments, parsed->positionals, verb);
  Console console(common);
  console.set_arguments(arguments.set());
  if (!status.ok()) return fail(console, status);
  if (!common.quiet) warn_of_unknown_variables(console);
  if (invocation.print_config) {
    console.data(arguments.set().print_config());
    status = console.finish();
    return status.ok() ? 0 : fail(console, status);
  }
  status = prepare_outputs(arguments.set());
  if (!status.ok()) return fail(console, status);
  if (common.threads > 0) base::set_shared_threads(static_cast<std::size_t>(common.threads));
  const base::Result<ExitCode> code = run_command(*command, console);
  if (!code.ok()) return fail(console, code.status());
  status = console.finish();
  return status.ok() ? static_cast<int>(*code) : fail(console, status);
}

// Memory may be short outside of the verb, or for the words of its failure.
int run_verb(const Verb& verb, std::vector<std::string> words) {
  bool json = false;
  try {
    return run_declared_verb(verb, std::move(words), json);
  } catch (const std::exception& thrown) {
    if (!base::is_lack_of_memory(thrown)) throw;
    return say_no_memory(json);
  }
}

}  // namespace

int run_egret(const std::vector<std::string>& arguments) try {
  if (arguments.empty()) {
    const std::string help = overview_help();
    std::fwrite(help.data(), 1, help.size(), stderr);
    return static_cast<int>(ExitCode::kUsage);
  }
  const std::string& first = arguments[0];
  if (first == "--help" || first == "-h") return run_verb(*find_verb("help"), {});
  if (first == "--version" || first == "-V") return run_verb(*find_verb("version"), {});
  const VerbChoice choice = choose_verb(arguments);
  if (const std::string help = group_help(first); choice.verb == nullptr && !help.empty()) {
    const bool asked = arguments.size() == 2 && (arguments[1] == "--help" || arguments[1] == "-h");
    if (asked || arguments.size() == 1) {
      std::fwrite(help.data(), 1, help.size(), asked ? stdout : stderr);
      return static_cast<int>(asked ? ExitCode::kOk : ExitCode::kUsage);
    }
  }
  if (choice.verb == nullptr) {
    Console console{CommonOptions{}};
    return fail(console, unknown_verb(arguments));
  }
  return run_verb(*choice.verb,
                  {arguments.begin() + static_cast<std::ptrdiff_t>(choice.words), arguments.end()});
} catch (const base::CheckFailure& failure) {
  return internal_failure(std::string(failure.file) + ":" + std::to_string(failure.line) +
                          ": check failed: " + std::string(failure.condition) +
                          (failure.message.empty() ? "" : ": ") + std::string(failure.message));
} catch (const std::exception& error) {
  return base::is_lack_of_memory(error) ? say_no_memory() : internal_failure(error.what());
}

}  // namespace egret::tools
