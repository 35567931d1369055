// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/transpose_rules.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "ir/analysis/elementwise.h"
#include "ir/graph/graph_text.h"

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

constexpr int kMostOperands = 4;

ir::Integers inverse(const ir::Integers& perm) {
  ir::Integers result(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i)
    result[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  return result;
}

// Whether operators are elementwise. The answer takes up to 200 us, and matches repeat.
class Elementwise {
 public:
  bool operator()(const TensorEGraph& tensors, OpId op, std::span<const ClassId> operands) {
    std::vector<ir::DType> dtypes;
    for (const ClassId operand : operands) dtypes.push_back(tensors.type(operand).dtype);
    const auto [found, is_new] = known_.try_emplace({op, dtypes});
    if (is_new) {
      found->second =
          ir::is_elementwise(tensors.language().op(op), tensors.language().attrs(op), dtypes);
    }
    return found->second;
  }

 private:
  std::map<std::pair<OpId, std::vector<ir::DType>>, bool> known_;
};

bool has_one_element(const ir::TensorType& type) {
  return std::ranges::all_of(type.dims, [](const ir::Index& dim) { return dim.same(1); });
}

Result<ClassId> transposed(TensorEGraph& tensors, ClassId x, const ir::Integers& perm) {
  return tensors.add(ir::get_operator("transpose"), {{"perm", perm}}, std::span(&x, 1));
}

// An operand of an elementwise operator whose output is permuted.
Result<ClassId> permuted_operand(TensorEGraph& tensors, ClassId x, const ir::Integers& perm) {
  const ir::TensorType type = tensors.type(x);
  const auto rank = static_cast<std::size_t>(type.rank());
  if (rank == 0) return x;
  if (rank == perm.size()) return transposed(tensors, x, perm);
  if (rank > perm.size() || !type.is_concrete())
    return base::unsupported("an operand of another rank");
  ir::Integers shape;
  if (!has_one_element(type)) {
    shape.assign(perm.size() - rank, 1);
    for (const std::int64_t size : type.shape()) shape.push_back(size);
  }
  EGRET_ASSIGN_OR_RETURN(
      x, tensors.add(ir::get_operator("reshape"), {{"shape", shape}}, std::span(&x, 1)));
  return shape.empty() ? Result<ClassId>(x) : transposed(tensors, x, perm);
}

struct Application {
  const ir::Operator* op;
  int arity;
};

// Whether operands of one shape give a result of that shape, with the attributes and element types
// of the operator's example. Others would only be patterns that never apply.
bool may_be_elementwise(const ir::Operator& op, int arity) {
  ir::Attrs given;
  std::vector<std::vector<ir::DType>> draws;
  if (op.example()) {
    given = op.example()->attrs;
    std::vector<ir::DType>& dtypes = draws.emplace_back();
    for (const std::string& text : op.example()->input_types) {
      const auto type = ir::parse_type(text);
      dtypes.push_back(type.ok() ? type->dtype : ir::DType::kF32);
    }
    dtypes.resize(static_cast<std::size_t>(arity), ir::DType::kF32);
  } else {
    for (const ir::DType dtype : {ir::DType::kF32, ir::DType::kBool, ir::DType::kI32})
      draws.emplace_back(static_cast<std::size_t>(arity), dtype);
  }
  const auto attrs = ir::canonical_attrs(op.attrs(), given);
  if (!attrs.ok()) return true;
  const ir::Shape shape = {2, 3, 5};
  return std::ranges::any_of(draws, [&](const std::vector<ir::DType>& dtypes) {
    std::vector<ir::TensorType> types;
    for (const ir::DType dtype : dtypes) types.emplace_back(dtype, shape);
    const auto type = ir::infer_type(op, *attrs, types);
    return type.ok() && type->is_concrete() && type->shape() == shape;
  });
}

// Applications that may be elementwise.
const std::vector<Application>& applications() {
  static const std::vector<Application> kAll = [] {
    std::vector<Application> all;
    for (const ir::Operator* op : ir::all_operators()) {
      for (int arity = std::max(op->min_inputs(), 1);
           arity <= std::min(op->max_inputs(), kMostOperands); ++arity) {
        if (may_be_elementwise(*op, arity)) all.push_back({op, arity});
      }
    }
    return all;
  }();
  return kAll;
}

std::vector<ClassId> classes_of(const Match& match, std::span<const VarId> operands) {
  std::vector<ClassId> classes;
  for (const VarId operand : operands) classes.push_back(match[operand]);
  return classes;
}

}  // namespace

std::vector<CompiledRule> transpose_into_elementwise(TensorEGraph& tensors) {
  const ir::Operator& transpose = ir::get_operator("transpose");
  const auto elementwise = std::make_shared<Elementwise>();
  std::vector<CompiledRule> rules;
  for (const auto& [op, arity] : applications()) {
    Pattern pattern;
    const OpVarId inner = pattern.op_var();
    std::vector<VarId> operands;
    for (int i = 0; i < arity; ++i) operands.push_back(pattern.var());
    const VarId value = pattern.node(tensors.language().base(*op), inner, operands);
    const OpVarId outer = pattern.op_var();
    const VarId whole = pattern.node(tensors.language().base(transpose), outer, {value});
    egraph::Rewrite rewrite("transpose-into-elementwise", std::move(pattern));
    rewrite.when(
        [&tensors, elementwise, inner, operands](EGraph&, const Match& match) {
          return (*elementwise)(tensors, match[inner], classes_of(match, operands));
        },
        egraph::Rewrite::Reads::kData, "elementwise");
    rewrite.builders_read(egraph::Rewrite::Reads::kData);
    const VarId result = rewrite.build(
        [&tensors, inner, outer, operands](EGraph& egraph, const Match& match) -> Result<ClassId> {
          const ir::Integers perm = tensors.language().attrs(match[outer]).integers("perm");
          std::vector<ClassId> permuted;
          for (const VarId operand : operands) {
            EGRET_ASSIGN_OR_RETURN(const ClassId x,
                                   permuted_operand(tensors, match[operand], perm));
            permuted.push_back(x);
          }
          return egraph.add(match[inner], permuted);
        },
        "elementwise-of-transposes");
    rewrite.equate(whole, result);
    rules.push_back({std::move(rewrite)});
  }
  return rules;
}

namespace {

// f(.., transpose(x), ..) with the transposes at the places of `moved`.
CompiledRule out_of(TensorEGraph& tensors, const std::shared_ptr<Elementwise>& elementwise,
                    const Application& application, const std::vector<bool>& moved) {
  const egraph::BaseId transpose = tensors.language().base(ir::get_operator("transpose"));
  Pattern pattern;
  std::vector<OpVarId> perms;
  std::vector<VarId> operands, sources;
  for (const bool moves : moved) {
    const VarId x = pattern.var();
    sources.push_back(x);
    if (!moves) {
      operands.push_back(x);
      continue;
    }
    perms.push_back(pattern.op_var());
    operands.push_back(pattern.node(transpose, perms.back(), {x}));
  }
  const OpVarId f = pattern.op_var();
  const VarId whole = pattern.node(tensors.language().base(*application.op), f, operands);
  egraph::Rewrite rewrite("transpose-out-of-elementwise", std::move(pattern));
  rewrite.when(
      [&tensors, elementwise, f, perms, operands, moved, whole](EGraph&, const Match& match) {
        const ir::Integers& perm = tensors.language().attrs(match[perms[0]]).integers("perm");
        if (std::cmp_not_equal(tensors.type(match[whole]).rank(), perm.size())) return false;
        for (const OpVarId other : perms) {
          if (tensors.language().attrs(match[other]).integers("perm") != perm) return false;
        }
        for (std::size_t i = 0; i < operands.size(); ++i) {
          const ClassId x = match[operands[i]];
          if (!moved[i] && !tensors.is_constant(x) && !has_one_element(tensors.type(x)))
            return false;
        }
        return (*elementwise)(tensors, match[f], classes_of(match, operands));
      },
      egraph::Rewrite::Reads::kData, "elementwise, and the other operands move for free");
  rewrite.builders_read(egraph::Rewrite::Reads::kData);
  const VarId result = rewrite.build(
      [&tensors, f, perms, sources, moved](EGraph& egraph, const Match& match) -> Result<ClassId> {
        const ir::Integers perm = tensors.language().attrs(match[perms[0]]).integers("perm");
        std::vector<ClassId> inputs;
        for (std::size_t i = 0; i < sources.size(); ++i) {
          ClassId x = match[sources[i]];
          if (!moved[i]) {
            EGRET_ASSIGN_OR_RETURN(x, permuted_operand(tensors, x, inverse(perm)));
          }
          inputs.push_back(x);
        }
        EGRET_ASSIGN_OR_RETURN(const ClassId value, egraph.add(match[f], inputs));
        return transposed(tensors, value, perm);
      },
      "transpose-of-elementwise");
  rewrite.equate(whole, result);
  return {std::move(rewrite)};
}

}  // namespace

std::vector<CompiledRule> transpose_out_of_elementwise(TensorEGraph& tensors) {
  const auto elementwise = std::make_shared<Elementwise>();
  std::vector<CompiledRule> rules;
  for (const Application& application : applications()) {
    const auto arity = static_cast<std::size_t>(application.arity);
    for (std::size_t i = 0; i < arity; ++i) {
      std::vector<bool> moved(arity, false);
      moved[i] = true;
      rules.push_back(out_of(tensors, elementwise, application, moved));
      if (i > 0 && arity == 2) {
        moved[0] = true;
        rules.push_back(out_of(tensors, elementwise, application, moved));
      }
    }
  }
  return rules;
}

std::vector<CompiledRule> transpose_into_resize(TensorEGraph& tensors) {
  const ir::Operator& resize = ir::get_operator("resize");
  Pattern pattern;
  const VarId x = pattern.var();
  const OpVarId inner = pattern.op_var();
  const VarId value = pattern.node(tensors.language().base(resize), inner, {x});
  const OpVarId outer = pattern.op_var();
  const VarId whole =
      pattern.node(tensors.language().base(ir::get_operator("transpose")), outer, {value});
  egraph::Rewrite rewrite("transpose-into-resize", std::move(pattern));
  rewrite.builders_read(egraph::Rewrite::Reads::kData);
  const VarId result = rewrite.build(
      [&tensors, &resize, x, inner, outer](EGraph&, const Match& match) -> Result<ClassId> {
        const ir::Integers perm = tensors.language().attrs(match[outer]).integers("perm");
        ir::Attrs attrs = tensors.language().attrs(match[inner]);
        const auto axis = std::ranges::find(perm, attrs.integer("axis")) - perm.begin();
        attrs.set("axis", std::int64_t{axis});
        EGRET_ASSIGN_OR_RETURN(const ClassId moved, transposed(tensors, match[x], perm));
        return tensors.add(resize, attrs, std::span(&moved, 1));
      },
      "resize-of-transpose");
  rewrite.equate(whole, result);
  std::vector<CompiledRule> rules;
  rules.push_back({std::move(rewrite)});
  return rules;
}

}  // namespace egret::rules
