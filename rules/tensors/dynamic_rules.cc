// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/dynamic_rules.h"

#include <climits>
#include <string>

#include "ir/graph/body.h"
#include "rules/tensors/transpose_rules.h"

namespace egret::rules {

using base::Result;
using egraph::ClassId;
using egraph::EGraph;
using egraph::Match;
using egraph::OpId;
using egraph::OpVarId;
using egraph::Pattern;
using egraph::VarId;

namespace {

// Longer concatenations are left unchanged.
constexpr int kMaxConcat = 64;

struct Application {
  Pattern pattern;
  OpVarId op;
  std::vector<VarId> operands;
  VarId result;
};

// The pattern op(?0, ?1, ...) with any attributes.
Application application(TensorEGraph& tensors, const ir::Operator& op, int arity) {
  Application made;
  made.op = made.pattern.op_var();
  for (int i = 0; i < arity; ++i) made.operands.push_back(made.pattern.var());
  made.result = made.pattern.node(tensors.language().base(op), made.op, made.operands);
  return made;
}

// concat(a, b, c, d) = concat(concat(concat(a, b), c), d). Every prefix gets a class, so rules on
// two operands reach long concatenations.
std::vector<CompiledRule> nest_concat(TensorEGraph& tensors) {
  const ir::Operator& concat = ir::get_operator("concat");
  std::vector<CompiledRule> rules;
  for (int arity = 3; arity <= kMaxConcat; ++arity) {
    Application source = application(tensors, concat, arity);
    egraph::Rewrite rewrite("concat-nest", std::move(source.pattern));
    const VarId nested = rewrite.build(
        [&tensors, op = source.op, operands = source.operands](EGraph& egraph, const Match& match) {
          const OpId pair = tensors.language().operation(ir::get_operator("concat"),
                                                         tensors.language().attrs(match[op]), 2);
          Result<ClassId> joined = match[operands[0]];
          for (std::size_t i = 1; i < operands.size() && joined.ok(); ++i)
            joined = egraph.add(pair, {*joined, match[operands[i]]});
          return joined;
        },
        "nested-concat");
    rewrite.builders_read(egraph::Rewrite::Reads::kData);
    rewrite.equate(source.result, nested);
    rules.push_back({std::move(rewrite)});
  }
  return rules;
}

// concat(concat(a, b, ...), z) = concat(a, b, ..., z) along one axis.
std::vector<CompiledRule> flatten_concat(TensorEGraph& tensors) {
  const ir::Operator& concat = ir::get_operator("concat");
  std::vector<CompiledRule> rules;
  for (int arity = 2; arity < kMaxConcat; ++arity) {
    Application inner = application(tensors, concat, arity);
    const OpVarId outer = inner.pattern.op_var();
    const VarId last = inner.pattern.var();
    const VarId result =
        inner.pattern.node(tensors.language().base(concat), outer, {inner.result, last});
    egraph::Rewrite rewrite("concat-flatten", std::move(inner.pattern));
    rewrite.when(
        [&tensors, first = inner.op, outer](EGraph&, const Match& match) {
          return tensors.language().attrs(match[first]) == tensors.language().attrs(match[outer]);
        },
        egraph::Rewrite::Reads::kData, "same-attributes");
    rewrite.builders_read(egraph::Rewrite::Reads::kData);
    std::vector<VarId> operands = inner.operands;
    operands.push_back(last);
    const std::size_t operand_count = operands.size();
    const VarId flat = rewrite.build(
        [&tensors, outer, operand_count](EGraph&, const Match& match) -> Result<OpId> {
          return tensors.language().operation(
              ir::get_operator("concat"), tensors.language().attrs(match[outer]), operand_count);
        },
        operands, "flat-concat");
    rewrite.equate(result, flat);
    rules.push_back({std::move(rewrite)});
  }
  return rules;
}

// A composite operator equals its body.
std::vector<CompiledRule> expand_composites(TensorEGraph& tensors) {
  std::vector<CompiledRule> rules;
  for (const ir::Operator* op : ir::all_operators()) {
    if (!op->is_composite() || op->max_inputs() == INT_MAX) continue;
    for (int arity = op->min_inputs(); arity <= op->max_inputs(); ++arity) {
      Application source = application(tensors, *op, arity);
      egraph::Rewrite rewrite("expand-composites", std::move(source.pattern));
      const auto expand = [&tensors, op, captured = source.op, operands = source.operands](
                              EGraph&, const Match& match) -> Result<ClassId> {
        std::vector<ClassId> inputs;
        std::vector<ir::TensorType> types;
        for (const VarId operand : operands) {
          inputs.push_back(match[operand]);
          types.push_back(tensors.type(match[operand]));
        }
        EGRET_ASSIGN_OR_RETURN(
            const ir::Graph body,
            ir::body_graph(*op, tensors.language().attrs(match[captured]), types));
        return add_body(tensors, body, inputs);
      };
      const VarId expanded = rewrite.build(expand, "body-of-composite");
      rewrite.builders_read(egraph::Rewrite::Reads::kData);
      rewrite.equate(source.result, expanded);
      rules.push_back({std::move(rewrite)});
    }
  }
  return rules;
}

constexpr DynamicRule kRules[] = {
    {"concat-nest", "a concatenation of many is one of two, again and again", true, nest_concat},
    {"concat-flatten", "nested concatenations along one axis are one", true, flatten_concat},
    {"transpose-into-elementwise", "a transposed value of an elementwise operator", true,
     transpose_into_elementwise},
    {"transpose-out-of-elementwise", "an elementwise operator of transposes and constants", true,
     transpose_out_of_elementwise},
    {"transpose-into-resize", "a transposed resize", true, transpose_into_resize},
    {"expand-composites", "a composite operator is its body", false, expand_composites},
};

}  // namespace

std::span<const DynamicRule> dynamic_rules() { return kRules; }

Result<ClassId> add_body(TensorEGraph& tensors, const ir::Graph& body,
                         std::span<const ClassId> inputs) {
  std::vector<ClassId> classes(body.size());
  std::size_t next_input = 0;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const ir::Node& node = body.node(ir::NodeId(i));
    std::vector<ClassId> children;
    for (const ir::NodeId input : node.inputs) children.push_back(classes[input.index()]);
    switch (node.kind) {
      case ir::NodeKind::kInput: classes[i] = inputs[next_input++]; break;
      case ir::NodeKind::kConstant: {
        EGRET_ASSIGN_OR_RETURN(classes[i], tensors.add_constant(node.data));
        break;
      }
      case ir::NodeKind::kOperator: {
        const OpId op = tensors.language().operation(*node.op, node.attrs, children.size());
        EGRET_ASSIGN_OR_RETURN(classes[i], tensors.egraph().add(op, children));
        break;
      }
    }
  }
  return classes[body.outputs().front().node.index()];
}

}  // namespace egret::rules
