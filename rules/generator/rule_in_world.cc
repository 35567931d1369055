// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/rule_in_world.h"

#include <algorithm>
#include <set>
#include <utility>

#include "rules/language/expression_parts.h"

namespace egret::rules::generator {
namespace {

using ir::NodeId;

// The graph's inputs are the rule's tensors, after the output.
class WorldRule {
 public:
  explicit WorldRule(const ir::Graph& sides) : sides_(sides) {}

  std::vector<Rule> both_directions() const {
    std::vector<Rule> rules;
    const NodeId left = sides_.outputs()[0].node;
    const NodeId right = sides_.outputs()[1].node;
    for (const auto& [from, to] : {std::pair(left, right), std::pair(right, left)}) {
      const std::set<NodeId> known = variables(from);
      const std::set<NodeId> needed = variables(to);
      const bool tells = std::includes(known.begin(), known.end(), needed.begin(), needed.end());
      if (tells && sides_.node(from).kind == ir::NodeKind::kOperator)
        rules.push_back(rule(from, to, known));
    }
    return rules;
  }

 private:
  Rule rule(NodeId from, NodeId to, const std::set<NodeId>& variables) const {
    Rule rule;
    rule.name = "in-world";
    rule.tensors.emplace_back("out");
    for (const NodeId input : sides_.inputs())
      rule.tensors.push_back("?" + sides_.node(input).name);
    rule.sources.push_back({0, term(from)});
    rule.targets.push_back({0, term(to)});
    for (const NodeId variable : variables) {
      const ir::TensorType& type = sides_.node(variable).type;
      rule.conditions.push_back(
          equal(call("rank", {tensor(slot_of(variable))}), literal(std::int64_t{type.rank()})));
      for (int axis = 0; axis < type.rank(); ++axis) {
        const Expr dim = call("dim", {tensor(slot_of(variable)), literal(std::int64_t{axis})});
        const ir::Index size = type.dims[static_cast<std::size_t>(axis)];
        rule.conditions.push_back(equal(dim, literal(size.constant())));
      }
    }
    return rule;
  }

  Term term(NodeId id) const {
    const ir::Node& node = sides_.node(id);
    if (node.kind == ir::NodeKind::kInput)
      return {.kind = Term::Kind::kTensor, .slot = slot_of(id)};
    Term made{.kind = Term::Kind::kApply, .op = node.op};
    for (const ir::AttrSpec& spec : node.op->attrs())
      made.attrs.push_back({spec.name, literal(*node.attrs.find(spec.name))});
    for (const NodeId input : node.inputs) made.arguments.push_back(term(input));
    return made;
  }

  std::set<NodeId> variables(NodeId id) const {
    if (sides_.node(id).kind == ir::NodeKind::kInput) return {id};
    std::set<NodeId> all;
    for (const NodeId input : sides_.node(id).inputs) all.merge(variables(input));
    return all;
  }

  int slot_of(NodeId input) const {
    const auto& inputs = sides_.inputs();
    return 1 + static_cast<int>(std::ranges::find(inputs, input) - inputs.begin());
  }

  const ir::Graph& sides_;
};

}  // namespace

std::vector<Rule> rules_in_world(const ir::Graph& sides) {
  return WorldRule(sides).both_directions();
}

}  // namespace egret::rules::generator
