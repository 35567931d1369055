// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "frontends/onnx_summary.h"
#include "rules/language/rule.h"
#include "rules/tensors/dynamic_rules.h"
#include "rules/tensors/rule_set.h"
#include "tools/arguments/model_file.h"
#include "tools/frame/verb.h"
#include "verifier/replay/certificate.h"

namespace egret::tools {
namespace {

constexpr std::int64_t kMostCertificateBytes = std::int64_t{1} << 32;

// What is known of a rule by its name.
struct RuleText {
  std::string doc;   // in words; may be empty
  std::string text;  // in the rule language; empty for a rule in C++
};

// Of the rules that come with Egret.
base::Result<std::map<std::string, RuleText>> texts_of_rules() {
  EGRET_ASSIGN_OR_RETURN(const rules::RuleSet set, rules::select_rules("all"));
  std::map<std::string, RuleText> texts;
  for (const rules::Rule& rule : set.rules) texts[rule.name] = {rule.doc, rules::to_string(rule)};
  for (const rules::DynamicRule* rule : set.dynamic)
    texts[std::string(rule->name)] = {std::string(rule->help), ""};
  return texts;
}

// A term of a certificate, with what lies deeper as its number.
class TermText {
 public:
  explicit TermText(const verifier::Certificate& certificate) : certificate_(certificate) {}

  std::string of(std::uint32_t term, int depth = 3) const {
    const verifier::Certificate::Term& node = certificate_.terms[term];
    const verifier::Certificate::Symbol& symbol = certificate_.symbols[node.symbol];
    using Kind = verifier::Certificate::Symbol::Kind;
    if (symbol.kind == Kind::kConstant) {
      return symbol.value.empty() ? "constant " + symbol.name.substr(0, 8) : symbol.value;
    }
    if (symbol.kind == Kind::kInput) return symbol.name;
    if (depth == 0) return "t" + std::to_string(term);
    std::string text = symbol.name + "(";
    for (std::size_t i = 0; i < node.children.size(); ++i)
      text += (i == 0 ? "" : ", ") + of(node.children[i], depth - 1);
    for (const auto& [name, value] : symbol.attributes)
      text.append(text.ends_with("(") ? "" : ", ").append(name).append("=").append(value);
    return text + ")";
  }

 private:
  const verifier::Certificate& certificate_;
};

class Explain final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("MODEL", path_, "A model that `egret optimize` wrote");
    arguments.optional("CERTIFICATE", certificate_,
                       "What `optimize --certificate` wrote with it: also print its steps");
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_ASSIGN_OR_RETURN(const ModelSource source, source_of(path_));
    EGRET_ASSIGN_OR_RETURN(
        const std::vector<frontends::NodeOrigin> nodes,
        source.bytes ? frontends::read_node_origins_bytes(std::as_bytes(std::span(*source.bytes)))
                     : frontends::read_node_origins(source.path));
    EGRET_ASSIGN_OR_RETURN(const auto texts, texts_of_rules());
    base::Json json = base::versioned_json();
    std::string text = describe(nodes, texts, json);
    if (!certificate_.empty()) {
      EGRET_ASSIGN_OR_RETURN(const std::string bytes,
                             read_input(certificate_, kMostCertificateBytes));
      const auto certificate = verifier::parse_certificate(bytes);
      if (!certificate.ok()) return certificate.status().at(certificate_);
      text += "\n" + describe(*certificate, json);
    }
    console.result(json, text);
    return ExitCode::kOk;
  }

 private:
  static std::string describe(const std::vector<frontends::NodeOrigin>& nodes,
                              const std::map<std::string, RuleText>& texts, base::Json& json) {
    base::Json list = base::Json::array();
    std::map<std::string, std::int64_t> counts;
    std::int64_t made = 0;
    base::TextTable table({{"node"}, {"operator"}, {"rule"}});
    for (const frontends::NodeOrigin& node : nodes) {
      list.push(base::Json::object()
                    .set("name", node.name)
                    .set("operator", node.type)
                    .set("output", node.output)
                    .set("rule", node.rule));
      if (node.rule.empty()) continue;
      ++made;
      ++counts[node.rule];
      table.row({node.name.empty() ? node.output : node.name, node.type, node.rule});
    }
    base::Json rules = base::Json::array();
    std::string text = base::format_count(made) + " of " +
                       base::counted(static_cast<std::int64_t>(nodes.size()), "node") +
                       (made == 1 ? " was" : " were") + " made by " +
                       base::counted(static_cast<std::int64_t>(counts.size()), "rule") +
                       "; the others are the model's own\n";
    if (made > 0) text += "\n" + table.render();
    for (const auto& [rule, count] : counts) {
      const auto known = texts.find(rule);
      const RuleText about = known == texts.end() ? RuleText() : known->second;
      rules.push(base::Json::object()
                     .set("name", rule)
                     .set("nodes", count)
                     .set("doc", about.doc)
                     .set("text", about.text));
      text += "\n" + rule + ", " + base::counted(count, "node") + "\n";
      for (const std::string* line : {&about.doc, &about.text}) {
        if (!line->empty()) text += indented(*line);
      }
      if (known == texts.end()) text += "  not among the rules that come with Egret\n";
    }
    json.set("nodes", std::move(list)).set("rules", std::move(rules));
    return text;
  }

  static std::string indented(const std::string& lines) {
    std::string text;
    std::size_t at = 0;
    while (at < lines.size()) {
      const std::size_t end = std::min(lines.find('\n', at), lines.size());
      text += "  " + lines.substr(at, end - at) + "\n";
      at = end + 1;
    }
    return text;
  }

  // The steps that are no mere logic: instances of rules, folded constants, recomputed code.
  static std::string describe(const verifier::Certificate& certificate, base::Json& json) {
    using Kind = verifier::Certificate::Step::Kind;
    const TermText term(certificate);
    base::Json list = base::Json::array();
    std::string text;
    std::int64_t shown = 0;
    for (std::size_t i = 0; i < certificate.steps.size(); ++i) {
      const verifier::Certificate::Step& step = certificate.steps[i];
      std::string why;
      switch (step.kind) {
        case Kind::kRule: why = certificate.rules[step.rule].name; break;
        case Kind::kFold: why = "fold"; break;
        case Kind::kCode: why = step.name; break;
        default: continue;
      }
      ++shown;
      text += "step " + std::to_string(i) + ", " + why + "\n  " + term.of(step.left) +
              "\n  = " + term.of(step.right) + "\n";
      list.push(base::Json::object()
                    .set("step", std::uint64_t{i})
                    .set("why", why)
                    .set("left", term.of(step.left))
                    .set("right", term.of(step.right)));
    }
    json.set("steps", std::move(list));
    return "proof: " + base::counted(shown, "step") + " of " +
           base::counted(static_cast<std::int64_t>(certificate.steps.size()), "step") +
           " use a rule or a computation; the others follow by symmetry, transitivity and "
           "congruence\n" +
           text;
  }

  std::string path_;
  std::string certificate_;
};

}  // namespace

Verb explain_verb() {
  return {
      "explain", "Say which rules made the nodes of an optimized model",
      "`optimize` writes the name of the rule that made a node into the node's metadata "
      "(egret.rule), which viewers such as Netron show. This verb lists these nodes, and the "
      "rules with their texts. With a certificate it prints the steps of the proof: both sides of "
      "each instance of a rule.",
      make_command<Explain>};
}

}  // namespace egret::tools
