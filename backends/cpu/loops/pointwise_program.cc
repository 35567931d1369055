// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/loops/pointwise_program.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <optional>

#include "ir/graph/body.h"

namespace egret::backends::cpu {
namespace {

using ir::ExprNode;
using ir::ExprOp;

constexpr std::size_t kMaxInstructions = 512;
constexpr std::int64_t kMostAxes = 12;

// The nodes of an expression in order of evaluation.
std::vector<const ExprNode*> reachable(const ExprNode* root) {
  // Breadth first from the root. Within a pool, ids grow from kids to users, so sorting by id gives
  // an order of evaluation. Shared nodes are pushed once per path and made unique afterwards. The
  // bound stops expressions with exponentially many paths.
  std::vector<const ExprNode*> nodes{root};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    // The kids of a read are its address, not values.
    if (nodes[i]->op == ExprOp::kRead) continue;
    for (const ExprNode* kid : nodes[i]->kids) nodes.push_back(kid);
    if (nodes.size() > 64 * kMaxInstructions) return {};
  }
  std::ranges::sort(nodes, {}, &ExprNode::id);
  const auto repeated = std::ranges::unique(nodes);
  nodes.erase(repeated.begin(), repeated.end());
  return nodes;
}

std::optional<VectorOp> vector_op(ExprOp op) {
  switch (op) {
    case ExprOp::kAdd: return VectorOp::kAdd;
    case ExprOp::kSub: return VectorOp::kSub;
    case ExprOp::kMul: return VectorOp::kMul;
    case ExprOp::kDiv: return VectorOp::kDiv;
    case ExprOp::kNeg: return VectorOp::kNeg;
    case ExprOp::kMin: return VectorOp::kMin;
    case ExprOp::kMax: return VectorOp::kMax;
    case ExprOp::kSelect: return VectorOp::kSelect;
    case ExprOp::kScalarLt: return VectorOp::kLess;
    case ExprOp::kScalarLe: return VectorOp::kLessEqual;
    case ExprOp::kScalarEq: return VectorOp::kEqual;
    case ExprOp::kAnd: return VectorOp::kAnd;
    case ExprOp::kOr: return VectorOp::kOr;
    case ExprOp::kNot: return VectorOp::kNot;
    default: return std::nullopt;
  }
}

VectorOp vector_function(ir::Function function) {
  switch (function) {
    case ir::Function::kExp: return VectorOp::kExp;
    case ir::Function::kLog: return VectorOp::kLog;
    case ir::Function::kSqrt: return VectorOp::kSqrt;
    case ir::Function::kErf: return VectorOp::kErf;
    case ir::Function::kTanh: return VectorOp::kTanh;
    case ir::Function::kFloor: return VectorOp::kFloor;
    case ir::Function::kCeil: return VectorOp::kCeil;
    case ir::Function::kRoundEven: return VectorOp::kRound;
    case ir::Function::kTrunc: return VectorOp::kTrunc;
    default: return VectorOp::kScalarCall;
  }
}

// Whether a read takes the element at the output's own indices, aligned at the last axis,
// broadcasting sizes of 1. This holds for any shape that the output is broadcast to.
bool reads_in_place(const ExprNode* read, const ir::Denotation& d,
                    std::span<const ir::TensorType> inputs) {
  const ir::Shape shape = inputs[static_cast<std::size_t>(read->integer)].shape();
  const ir::Shape output = d.type.shape();
  if (shape.size() > d.vars.size() || read->kids.size() != shape.size()) return false;
  const std::size_t shift = d.vars.size() - shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const ExprNode* index = read->kids[axis];
    // An axis of size 1 may be read at 0 or at the output's index, which is then 0 too.
    const bool zero = index->op == ExprOp::kIndexConst && index->integer == 0;
    const bool own = index == d.vars[axis + shift].node();
    if (shape[axis] == 1 ? !(zero || own) : !own || output[axis + shift] == 1) return false;
  }
  return true;
}

// Whether the node is an operation on f32 values that run_block() has, or a read in place.
bool computable(const ExprNode* node, const ir::Denotation& d,
                std::span<const ir::TensorType> inputs) {
  switch (node->op) {
    case ExprOp::kConst:
    case ExprOp::kGuardConst: return true;
    case ExprOp::kRead: return reads_in_place(node, d, inputs);
    case ExprOp::kCall: return !ir::facts(node->function).integers_only;
    case ExprOp::kCast: return node->dtype == ir::DType::kF32 || node->dtype == ir::DType::kBool;
    default: return vector_op(node->op).has_value();
  }
}

// What an operator computes for each element.
struct PointwiseValue {
  ir::Denotation denotation;
  std::vector<const ExprNode*> nodes;  // of its value, in order of evaluation
};

// An operator is recognized by its definition, not by its name: f32 or boolean values, computed
// from elements at the output's own indices. A cast may also read integers.
std::optional<PointwiseValue> pointwise_value(const ir::Operator& op, const ir::Attrs& attrs,
                                              std::span<const ir::TensorType> inputs) {
  if (inputs.empty()) return std::nullopt;
  const bool cast = op.name() == "cast";
  for (const ir::TensorType& type : inputs) {
    if (!type.is_concrete()) return std::nullopt;
    const bool converted = cast && (type.dtype == ir::DType::kI64 || type.dtype == ir::DType::kI32);
    if (type.dtype != ir::DType::kF32 && type.dtype != ir::DType::kBool && !converted)
      return std::nullopt;
  }
  auto d = ir::denote(op, attrs, inputs);
  if (!d.ok() || (d->type.dtype != ir::DType::kF32 && d->type.dtype != ir::DType::kBool))
    return std::nullopt;
  if (d->value.is_constant()) return std::nullopt;
  auto nodes = reachable(d->value.node());
  if (nodes.empty() || nodes.size() > kMaxInstructions ||
      !std::ranges::all_of(nodes, [&](const ExprNode* n) { return computable(n, *d, inputs); }))
    return std::nullopt;
  return PointwiseValue{*std::move(d), std::move(nodes)};
}

// Whether a value, broadcast, has this shape.
bool repeats_over(const ir::Shape& shape, const ir::TensorType& value) {
  const ir::Shape sizes = value.shape();
  if (sizes.size() > shape.size()) return false;
  const std::size_t shift = shape.size() - sizes.size();
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] != 1 && sizes[axis] != shape[axis + shift]) return false;
  }
  return true;
}

std::vector<ir::TensorType> input_types(const ir::Graph& graph, const ir::Node& node) {
  std::vector<ir::TensorType> types;
  for (const ir::NodeId input : node.inputs) types.push_back(graph.node(input).type);
  return types;
}

// Emits instructions in single-assignment form over values; finish() then assigns registers.
class Compiler {
 public:
  explicit Compiler(const ir::Graph& graph) : graph_(graph) {}

  base::Status add(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    std::vector<int> inputs;
    for (const ir::NodeId input : node.inputs) inputs.push_back(value_of(input));
    const std::vector<ir::TensorType> types = input_types(graph_, node);
    EGRET_ASSIGN_OR_RETURN(const int value, emit(*node.op, node.attrs, types, inputs));
    values_[id] = value;
    return base::ok();
  }

  PointwiseProgram finish(std::span<const ir::NodeId> stored, std::span<const ir::NodeId> read) &&;

 private:
  enum class Kind : std::uint8_t { kInput, kConstant, kComputed };
  struct ValueInfo {
    Kind kind;
    int index;  // of the input, the constant or the instruction
  };

  int value_of(ir::NodeId id) {
    const auto found = values_.find(id);
    if (found != values_.end()) return found->second;
    infos_.push_back({Kind::kInput, static_cast<int>(program_.inputs.size())});
    program_.inputs.push_back(id);
    return values_[id] = static_cast<int>(infos_.size()) - 1;
  }
  // Compares bits, so that 0.0 and -0.0 stay distinct and equal NaNs are shared.
  int constant(float value) {
    for (std::size_t i = 0; i < infos_.size(); ++i) {
      if (infos_[i].kind == Kind::kConstant &&
          std::bit_cast<std::uint32_t>(
              program_.constants[static_cast<std::size_t>(infos_[i].index)]) ==
              std::bit_cast<std::uint32_t>(value))
        return static_cast<int>(i);
    }
    infos_.push_back({Kind::kConstant, static_cast<int>(program_.constants.size())});
    program_.constants.push_back(value);
    return static_cast<int>(infos_.size()) - 1;
  }
  // Each instruction defines a new value; operands are numbers of earlier values.
  int instruction(VectorOp op, int a, int b = 0, int c = 0, ir::Function function = {}) {
    infos_.push_back({Kind::kComputed, static_cast<int>(program_.code.size())});
    const auto reg = [](int value) { return static_cast<std::uint16_t>(value); };
    program_.code.push_back(
        {op, function, reg(static_cast<int>(infos_.size()) - 1), reg(a), reg(b), reg(c)});
    return static_cast<int>(infos_.size()) - 1;
  }
  const float* constant_value(int value) const {
    const ValueInfo& info = infos_[static_cast<std::size_t>(value)];
    return info.kind == Kind::kConstant ? &program_.constants[static_cast<std::size_t>(info.index)]
                                        : nullptr;
  }

  base::Result<int> emit(const ir::Operator& op, const ir::Attrs& attrs,
                         std::span<const ir::TensorType> types, std::span<const int> inputs);
  base::Result<int> emit_primitive(const ir::Operator& op, const ir::Attrs& attrs,
                                   std::span<const ir::TensorType> types,
                                   std::span<const int> inputs);
  int emit_call(ir::Function function, std::span<const int> arguments);
  std::optional<float> factor_for(VectorOp op, std::span<const int> operands) const;

  const ir::Graph& graph_;
  PointwiseProgram program_;
  std::vector<ValueInfo> infos_;
  std::map<ir::NodeId, int> values_;
};

// Small integer powers become products: pow() has no vector form and runs element by element.
int Compiler::emit_call(ir::Function function, std::span<const int> arguments) {
  const int a = arguments[0];
  const int b = arguments.size() > 1 ? arguments[1] : a;
  if (function == ir::Function::kPow) {
    const float* exponent = constant_value(b);
    if (exponent != nullptr && *exponent == 2.0F) return instruction(VectorOp::kSquare, a);
    if (exponent != nullptr && *exponent == 1.0F) return a;
    if (exponent != nullptr && *exponent == 3.0F)
      return instruction(VectorOp::kMul, instruction(VectorOp::kSquare, a), a);
  }
  return instruction(vector_function(function), a, b, 0, function);
}

// 1 / c for a quotient x / c: the product takes a fraction of the time and is within 1.5 ulp, as
// both steps round. (epilogue.cc takes an inverse only where it is exact.)
std::optional<float> Compiler::factor_for(VectorOp op, std::span<const int> operands) const {
  const float* divisor = op == VectorOp::kDiv ? constant_value(operands[1]) : nullptr;
  if (divisor == nullptr || !std::isnormal(*divisor)) return std::nullopt;
  const float factor = 1.0F / *divisor;
  return std::isnormal(factor) ? std::optional<float>(factor) : std::nullopt;
}

base::Result<int> Compiler::emit_primitive(const ir::Operator& op, const ir::Attrs& attrs,
                                           std::span<const ir::TensorType> types,
                                           std::span<const int> inputs) {
  const auto pointwise = pointwise_value(op, attrs, types);
  if (!pointwise) return base::unsupported(op.name() + " is not pointwise");
  std::map<const ExprNode*, int> done;
  // Each node is emitted once, after its kids, so shared subexpressions are computed once.
  for (const ExprNode* node : pointwise->nodes) {
    std::vector<int> kids;
    if (node->op != ExprOp::kRead) {
      for (const ExprNode* kid : node->kids) kids.push_back(done.at(kid));
    }
    int value = 0;
    switch (node->op) {
      case ExprOp::kConst: value = constant(static_cast<float>(node->real)); break;
      case ExprOp::kGuardConst: value = constant(node->integer != 0 ? 1.0F : 0.0F); break;
      case ExprOp::kRead: value = inputs[static_cast<std::size_t>(node->integer)]; break;
      case ExprOp::kCall: value = emit_call(node->function, kids); break;
      // Values are floats in registers. A cast to f32 changes nothing, and a cast to bool is "not
      // equal to 0".
      case ExprOp::kCast:
        value = node->dtype == ir::DType::kF32
                    ? kids[0]
                    : instruction(VectorOp::kNot,
                                  instruction(VectorOp::kEqual, kids[0], constant(0.0F)));
        break;
      default: {
        const auto arithmetic = vector_op(node->op);
        if (!arithmetic) return base::unsupported(op.name() + " is not pointwise");
        if (const auto reciprocal = factor_for(*arithmetic, kids)) {
          value = instruction(VectorOp::kMul, kids[0], constant(*reciprocal));
          break;
        }
        value = instruction(*arithmetic, kids[0], kids.size() > 1 ? kids[1] : 0,
                            kids.size() > 2 ? kids[2] : 0);
      }
    }
    done[node] = value;
  }
  return done.at(pointwise->denotation.value.node());
}

// A composite is inlined: its body is expanded to primitives, which are emitted in graph order.
base::Result<int> Compiler::emit(const ir::Operator& op, const ir::Attrs& attrs,
                                 std::span<const ir::TensorType> types,
                                 std::span<const int> inputs) {
  if (!op.is_composite()) return emit_primitive(op, attrs, types, inputs);
  EGRET_ASSIGN_OR_RETURN(const ir::Graph nested, ir::body_graph(op, attrs, types));
  EGRET_ASSIGN_OR_RETURN(const ir::Graph body, ir::expand_composites(nested));
  std::vector<int> values(body.size(), 0);
  for (std::size_t i = 0; i < body.inputs().size(); ++i)
    values[body.inputs()[i].index()] = inputs[i];
  for (std::size_t i = 0; i < body.size(); ++i) {
    const ir::Node& node = body.node(ir::NodeId(i));
    if (node.kind == ir::NodeKind::kConstant) {
      if (node.data.elements() != 1) return base::unsupported(op.name() + " holds a tensor");
      values[i] = constant(static_cast<float>(node.data.f64_at(0)));
    } else if (node.kind == ir::NodeKind::kOperator) {
      std::vector<int> arguments;
      for (const ir::NodeId input : node.inputs) arguments.push_back(values[input.index()]);
      const auto node_types = input_types(body, node);
      EGRET_ASSIGN_OR_RETURN(values[i],
                             emit_primitive(*node.op, node.attrs, node_types, arguments));
    }
  }
  return values[body.outputs()[0].node.index()];
}

PointwiseProgram Compiler::finish(std::span<const ir::NodeId> stored,
                                  std::span<const ir::NodeId> read) && {
  std::vector<int> results, kept;
  for (const ir::NodeId id : read) kept.push_back(value_of(id));
  for (const ir::NodeId id : stored) {
    int result = value_of(id);
    const bool is_computed = infos_[static_cast<std::size_t>(result)].kind == Kind::kComputed;
    // A copy of what is not computed, or is another result.
    if (!is_computed || std::ranges::count(results, result) > 0)
      result = instruction(VectorOp::kCopy, result);
    results.push_back(result);
  }
  const auto is_result = [&](std::size_t value) {
    return std::ranges::count(results, static_cast<int>(value)) > 0;
  };
  const auto is_kept = [&](std::size_t value) {
    return is_result(value) || std::ranges::count(kept, static_cast<int>(value)) > 0;
  };

  // Linear-scan allocation. Registers: inputs, constants, then computed values, whose registers are
  // reused after their last reader. An instruction may overwrite a register that it reads, because
  // all instructions run index by index.
  const auto count = infos_.size();
  std::vector<int> last_use(count, -1);
  const auto uses = [](const Instruction& i) {
    return std::array<std::uint16_t, 3>{i.a, i.b, i.c};
  };
  for (std::size_t i = 0; i < program_.code.size(); ++i) {
    // Unused operands are 0. This only lengthens the life of value 0.
    for (const std::uint16_t value : uses(program_.code[i])) last_use[value] = static_cast<int>(i);
  }
  const auto inputs = static_cast<int>(program_.inputs.size());
  const auto constants = static_cast<int>(program_.constants.size());
  std::vector<int> reg(count, -1);
  for (std::size_t v = 0; v < count; ++v) {
    if (infos_[v].kind == Kind::kInput) reg[v] = infos_[v].index;
    if (infos_[v].kind == Kind::kConstant) reg[v] = inputs + infos_[v].index;
  }
  program_.registers = inputs + constants;
  std::vector<int> free;
  for (std::size_t i = 0; i < program_.code.size(); ++i) {
    Instruction& code = program_.code[i];
    const std::size_t value = code.target;
    for (const std::uint16_t used : uses(program_.code[i])) {
      const bool computed = infos_[used].kind == Kind::kComputed;
      if (computed && !is_kept(used) && last_use[used] == static_cast<int>(i)) {
        free.push_back(reg[used]);
        last_use[used] = -1;  // once, though it may be read twice here
      }
    }
    // The most recently freed register is reused first: it is the most likely one to be in the
    // cache.
    if (!is_result(value) && !free.empty()) {
      reg[value] = free.back();
      free.pop_back();
    } else {
      reg[value] = program_.registers++;  // results have registers of their own: the outputs
    }
  }
  for (Instruction& code : program_.code) {
    const auto rename = [&](std::uint16_t v) {
      return static_cast<std::uint16_t>(std::max(0, reg[v]));
    };
    code = {code.op,        code.function,  rename(code.target),
            rename(code.a), rename(code.b), rename(code.c)};
  }
  for (const int result : results)
    program_.results.push_back(reg[static_cast<std::size_t>(result)]);
  for (const int value : kept) program_.read.push_back(reg[static_cast<std::size_t>(value)]);
  return std::move(program_);
}

}  // namespace

bool is_pointwise(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (node.kind != ir::NodeKind::kOperator || node.type.rank() > kMostAxes) return false;
  const std::vector<ir::TensorType> types = input_types(graph, node);
  if (!node.op->is_composite()) return pointwise_value(*node.op, node.attrs, types).has_value();
  if (node.type.dtype != ir::DType::kF32) return false;
  const auto nested = ir::body_graph(*node.op, node.attrs, types);
  if (!nested.ok()) return false;
  const auto body = ir::expand_composites(*nested);
  if (!body.ok()) return false;
  for (const ir::Node& inner : body->nodes()) {
    if (inner.kind == ir::NodeKind::kConstant && inner.data.elements() != 1) return false;
    if (inner.kind == ir::NodeKind::kOperator &&
        !pointwise_value(*inner.op, inner.attrs, input_types(*body, inner)))
      return false;
  }
  return true;
}

base::Result<PointwiseProgram> compile_pointwise(const ir::Graph& graph,
                                                 std::span<const ir::NodeId> nodes,
                                                 std::span<const ir::NodeId> stored) {
  std::vector<ir::NodeId> results{nodes.back()};
  results.insert(results.end(), stored.begin(), stored.end());
  return compile_values(graph, nodes, results, {});
}

base::Result<PointwiseProgram> compile_values(const ir::Graph& graph,
                                              std::span<const ir::NodeId> nodes,
                                              std::span<const ir::NodeId> stored,
                                              std::span<const ir::NodeId> read) {
  // All values are computed at the indices of the results.
  const ir::Shape shape = graph.node(stored.empty() ? read.front() : stored.front()).type.shape();
  for (const std::span<const ir::NodeId> results : {stored, read}) {
    for (const ir::NodeId id : results) {
      if (graph.node(id).type.shape() != shape)
        return base::unsupported("values of several shapes in one region");
    }
  }
  Compiler compiler(graph);
  for (const ir::NodeId id : nodes) {
    const ir::Node& node = graph.node(id);
    if (node.type.rank() > kMostAxes || !repeats_over(shape, node.type))
      return base::unsupported(node.op->name() + " in a region of another shape");
    EGRET_RETURN_IF_ERROR(compiler.add(id));
  }
  return std::move(compiler).finish(stored, read);
}

bool may_share_place(const PointwiseProgram& program, std::size_t input, std::size_t result) {
  if (std::ranges::count(program.read, static_cast<int>(input)) > 0) return false;
  bool is_written = false;
  for (const Instruction& code : program.code) {
    // Operands that an operation lacks are 0: they only forbid more.
    if (is_written && (code.a == input || code.b == input || code.c == input)) return false;
    is_written = is_written || code.target == program.results[result];
  }
  return true;
}

}  // namespace egret::backends::cpu
