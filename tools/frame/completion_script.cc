// SPDX-License-Identifier: Apache-2.0
// The completion scripts of tools/frame/help_text.h. Each lists, per verb, its flags and the values
// of flags with fixed choices; everything else completes as a file name.
#include <algorithm>

#include "base/did_you_mean.h"
#include "tools/console/common_options.h"
#include "tools/frame/help_text.h"
#include "tools/frame/verb_table.h"

namespace egret::tools {
namespace {

struct Flag {
  std::string name;  // with dashes
  std::string help;
  std::vector<std::string> choices;
  bool takes_value = false;
};

std::vector<Flag> flags_of(const Verb& verb) {
  const std::unique_ptr<Command> command = verb.make();
  CommonOptions common;
  InvocationOptions invocation;
  Arguments arguments;
  command->declare(arguments);
  arguments.options(common);
  arguments.options(invocation);
  std::vector<Flag> flags = {{"--help", "Explain the verb", {}, false}};
  for (const base::BoundOption& option : arguments.set().options()) {
    flags.push_back({option.flag(), option.help, option.domain.choices, !option.is_switch()});
  }
  return flags;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<std::string> first_words() {
  std::vector<std::string> words;
  for (const std::string& name : verb_names()) {
    const std::string word = name.substr(0, name.find(' '));
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  return words;
}

std::vector<std::string> second_words(const std::string& first) {
  std::vector<std::string> words;
  for (const std::string& name : verb_names()) {
    if (name.starts_with(first + " ")) words.push_back(name.substr(first.size() + 1));
  }
  return words;
}

std::string bash_script() {
  std::string text =
      "# bash completion for egret; load with: source <(egret completion bash)\n"
      "_egret() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local verb=\"${COMP_WORDS[1]}\" words=\"\"\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"" +
      joined(first_words()) +
      "\" -- \"$word\"))\n"
      "    return\n"
      "  fi\n";
  for (const std::string& first : first_words()) {
    const std::vector<std::string> second = second_words(first);
    if (second.empty()) continue;
    text.append("  if [ \"$verb\" = ").append(first);
    text.append(
        " ]; then\n"
        "    if [ \"$COMP_CWORD\" -eq 2 ]; then\n"
        "      COMPREPLY=($(compgen -W \"");
    text.append(joined(second));
    text.append(
        "\" -- \"$word\"))\n"
        "      return\n"
        "    fi\n"
        "    verb=\"");
    text.append(first).append(
        " ${COMP_WORDS[2]}\"\n"
        "  fi\n");
  }
  text += "  case \"$verb $before\" in\n";
  std::string flags_by_verb;
  for (const Verb& verb : verbs()) {
    std::vector<std::string> names;
    for (const Flag& flag : flags_of(verb)) {
      names.push_back(flag.name);
      if (flag.choices.empty()) continue;
      text += "    \"" + verb.name + " " + flag.name + "\") words=\"" + joined(flag.choices) +
              "\" ;;\n";
    }
    flags_by_verb += "    \"" + verb.name + "\") words=\"" + joined(names) + "\" ;;\n";
  }
  text +=
      "  esac\n"
      "  if [ -z \"$words\" ] && [[ \"$word\" == -* ]]; then\n"
      "    case \"$verb\" in\n" +
      flags_by_verb +
      "    esac\n"
      "  fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "}\n"
      "complete -o default -F _egret egret\n";
  return text;
}

// Quotes for a single-quoted word of zsh or fish.
std::string single_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// zsh runs bash completions through its own layer, so the word lists are written once.
std::string zsh_script() {
  return "# zsh completion for egret; load with: source <(egret completion zsh)\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_script();
}

std::string fish_script() {
  std::string text = "# fish completion for egret; load with: egret completion fish | source\n";
  for (const std::string& first : first_words()) {
    const Verb* verb = find_verb(first);
    text += "complete -c egret -n __fish_use_subcommand -f -a " + first;
    if (verb != nullptr) text += " -d " + single_quoted(verb->summary);
    text += "\n";
    for (const std::string& second : second_words(first)) {
      text.append("complete -c egret -n '__fish_seen_subcommand_from ").append(first);
      text.append("' -f -a ").append(second).append(" -d ");
      text.append(single_quoted(find_verb(first + " " + second)->summary)).append("\n");
    }
  }
  for (const Verb& verb : verbs()) {
    const std::size_t blank = verb.name.find(' ');
    std::string condition = "__fish_seen_subcommand_from " + verb.name.substr(0, blank);
    if (blank != std::string::npos) {
      condition += "; and __fish_seen_subcommand_from " + verb.name.substr(blank + 1);
    }
    for (const Flag& flag : flags_of(verb)) {
      text += "complete -c egret -n " + single_quoted(condition) + " -l " + flag.name.substr(2) +
              " -d " + single_quoted(flag.help);
      if (flag.takes_value) text += " -r";
      if (!flag.choices.empty()) text += " -f -a " + single_quoted(joined(flag.choices));
      text += "\n";
    }
  }
  return text;
}

}  // namespace

base::Result<std::string> completion_script(std::string_view shell) {
  if (shell == "bash") return bash_script();
  if (shell == "zsh") return zsh_script();
  if (shell == "fish") return fish_script();
  return base::usage_error("unknown shell \"" + std::string(shell) +
                           "\"; supported shells are bash, zsh and fish" +
                           base::did_you_mean(shell, {"bash", "zsh", "fish"}));
}

}  // namespace egret::tools
