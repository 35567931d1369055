// SPDX-License-Identifier: Apache-2.0
#include "ir/autodiff/expression_emission.h"

#include <algorithm>
#include <string>

#include "ir/autodiff/sum_of_products.h"
#include "ir/autodiff/tensor_steps.h"
#include "ir/evaluate/lane_loops.h"

namespace egret::ir::autodiff {

using Kind = NestGuard::Kind;

Emitter::Emitter(GraphBuilder& builder, LoopNest& nest, std::span<const Value> inputs, Value output,
                 DType real)
    : b_(builder), nest_(nest), inputs_(inputs), output_(output), real_(real) {}

// Ascending symbols: the canonical order of the axes of a Labelled.
std::vector<int> Emitter::variables(VariableSet set) const {
  std::vector<int> found;
  for (const int symbol : nest_.variables) {
    if ((set & nest_.symbol(symbol).depends) != 0) found.push_back(symbol);
  }
  std::ranges::sort(found);
  return found;
}

Labelled Emitter::scalar(DType dtype, double value) { return {b_.scalar(dtype, value), {}}; }

Labelled Emitter::over_output(Value tensor) {
  Shape shape;
  for (const int var : nest_.output_variables) shape.push_back(nest_.extent(var));
  return in_order(b_, {reshaped(b_, tensor, shape), nest_.output_variables});
}

Value Emitter::input(const NestNode& read) {
  return cast_to(b_, inputs_[static_cast<std::size_t>(read.input)], type_of(read));
}

// Repeats x along the variables that it lacks.
Labelled Emitter::over(Labelled x, std::span<const int> vars) {
  const std::vector<int> all = united(x.vars, vars);
  if (all == x.vars) return x;
  Shape shape;
  for (const int var : all) shape.push_back(nest_.extent(var));
  return {broadcast_to(b_, spread(b_, x, all), shape), all};
}

// Emits each node of the nest once. Results are labelled by the loop variables that their axes
// stand for, so that operators can align operands with different variables.
Labelled Emitter::node(int id) {
  const auto found = nodes_.find(id);
  if (found != nodes_.end()) return found->second;
  Labelled made = made_node(id);
  nodes_.emplace(id, made);
  return made;
}

Labelled Emitter::made_node(int id) {
  // The forward pass has computed the root already (exp and tanh reuse it).
  if (id == nest_.root && output_.valid()) return over_output(output_);
  const NestNode node = nest_.node(id);  // a copy: the nest grows
  switch (node.op) {
    case ExprOp::kConst:
      return scalar(type_of(node), node.is_real() ? node.real : static_cast<double>(node.integer));
    case ExprOp::kScalarOf: {
      Labelled made = index(node.form);
      made.value = cast_to(b_, made.value, type_of(node));
      return made;
    }
    // A read alone is a product of one factor without a sum. The emission of sums of products
    // handles every form of index.
    case ExprOp::kRead: {
      SumOfProducts sum;
      sum.factors = {{input(node), node.axes}};
      for (const int var : variables(node.depends)) {
        sum.variables.push_back(var);
        sum.target.push_back(Affine::of_symbol(var));
        sum.target_shape.push_back(nest_.extent(var));
      }
      return {emit(*this, std::move(sum)), variables(node.depends)};
    }
    case ExprOp::kReduce: return reduction(node);
    default: break;
  }
  std::vector<Labelled> kids;
  if (node.op == ExprOp::kSelect) kids.push_back(guard(node.guard));
  for (const int kid : node.kids) kids.push_back(this->node(kid));
  return operation(node, kids);
}

Labelled Emitter::operation(const NestNode& node, std::span<const Labelled> kids) {
  switch (node.op) {
    case ExprOp::kAdd: return pointwise(b_, "add", kids);
    case ExprOp::kSub: return pointwise(b_, "sub", kids);
    case ExprOp::kMul: return pointwise(b_, "mul", kids);
    case ExprOp::kDiv: return pointwise(b_, "div", kids);
    case ExprOp::kNeg: return pointwise(b_, "neg", kids);
    case ExprOp::kMin: return pointwise(b_, "min", kids);
    case ExprOp::kMax: return pointwise(b_, "max", kids);
    case ExprOp::kSelect: return pointwise(b_, "where", kids);
    case ExprOp::kCall: return call(node.function, kids);
    case ExprOp::kCast:
      return {cast_to(b_, cast_to(b_, kids[0].value, node.cast), type_of(node)), kids[0].vars};
    default: break;
  }
  EGRET_CHECK(false, "an expression that has no operator");
  return {};
}

// Functions are operators of the same name, but for those below.
Labelled Emitter::call(Function function, std::span<const Labelled> kids) {
  switch (function) {
    case Function::kRoundEven: return pointwise(b_, "round", kids);
    case Function::kTrunc: {
      const Labelled negative = pointwise(b_, "less", kids[0], scalar(real_, 0));
      const Labelled choices[] = {negative, pointwise(b_, "ceil", kids),
                                  pointwise(b_, "floor", kids)};
      return pointwise(b_, "where", choices);
    }
    case Function::kShiftLeft:
    case Function::kShiftRight: {
      const std::vector<int> vars = united(kids[0].vars, kids[1].vars);
      const std::string direction = function == Function::kShiftLeft ? "LEFT" : "RIGHT";
      return {b_.add("bit_shift", {spread(b_, kids[0], vars), spread(b_, kids[1], vars)},
                     {{"direction", direction}}),
              vars};
    }
    default: return pointwise(b_, facts(function).name, kids);
  }
}

// A sum of reals is emitted as a sum of products (matmul, convolution, gather); other reductions
// build the body over all variables and reduce it.
Labelled Emitter::reduction(const NestNode& node) {
  const std::vector<int> kept = variables(node.depends);
  if (node.reduction == Reduction::kSum && node.is_real()) {
    SumOfProducts sum;
    add_factor(*this, sum, node.kids[0]);
    sum.guards = {node.guard};
    sum.variables = united(kept, node.variables);
    for (const int var : kept) {
      sum.target.push_back(Affine::of_symbol(var));
      sum.target_shape.push_back(nest_.extent(var));
    }
    return {emit(*this, std::move(sum)), kept};
  }
  Labelled body = over(this->node(node.kids[0]), node.variables);
  const bool largest = node.reduction == Reduction::kMax;
  const DType type = type_of(node);
  // Excluded elements become the identity of the reduction.
  if (nest_.guard(node.guard).kind != Kind::kTrue) {
    const double identity =
        is_float(type)
            ? ElementOps<double>::identity(type, node.reduction)
            : static_cast<double>(ElementOps<std::int64_t>::identity(type, node.reduction));
    const Labelled choices[] = {guard(node.guard), body, scalar(type, identity)};
    body = pointwise(b_, "where", choices);
  }
  std::vector<int> axes;
  for (std::size_t i = 0; i < body.vars.size(); ++i) {
    if (contains(node.variables, body.vars[i])) axes.push_back(static_cast<int>(i));
  }
  const char* op = node.reduction == Reduction::kSum    ? "reduce_sum"
                   : node.reduction == Reduction::kProd ? "reduce_prod"
                   : largest                            ? "reduce_max"
                                                        : "reduce_min";
  std::vector<int> left;
  for (const int var : body.vars) {
    if (!contains(node.variables, var)) left.push_back(var);
  }
  return {reduced(b_, op, body.value, axes), left};
}

Labelled Emitter::guard(int id) {
  const NestGuard guard = nest_.guard(id);
  switch (guard.kind) {
    case Kind::kTrue: return scalar(DType::kBool, 1);
    case Kind::kFalse: return scalar(DType::kBool, 0);
    case Kind::kLe: return not_positive(guard.form);
    case Kind::kEq: return zero(guard.form);
    case Kind::kScalarLt: return pointwise(b_, "less", node(guard.a), node(guard.b));
    case Kind::kScalarLe: return pointwise(b_, "less_equal", node(guard.a), node(guard.b));
    case Kind::kScalarEq: return pointwise(b_, "equal", node(guard.a), node(guard.b));
    case Kind::kAnd: return pointwise(b_, "and", this->guard(guard.a), this->guard(guard.b));
    case Kind::kOr: return pointwise(b_, "or", this->guard(guard.a), this->guard(guard.b));
    case Kind::kNot: {
      const Labelled of[] = {this->guard(guard.a)};
      return pointwise(b_, "not", of);
    }
  }
  return {};
}

namespace {

// Splits form = a - b into sides without negative factors.
std::pair<Affine, Affine> sides(const Affine& form) {
  Affine left;
  Affine right(-form.constant);
  for (const auto& part : form.parts) {
    if (part.factor > 0) left = left + Affine::of_symbol(part.symbol) * part.factor;
    if (part.factor < 0) right = right + Affine::of_symbol(part.symbol) * -part.factor;
  }
  return {left, right};
}

}  // namespace

Labelled Emitter::not_positive(const Affine& form) {
  const auto [left, right] = sides(form);
  return pointwise(b_, "less_equal", index(left), index(right));
}

Labelled Emitter::zero(const Affine& form) {
  const auto [left, right] = sides(form);
  return pointwise(b_, "equal", index(left), index(right));
}

// An index as a tensor of 64-bit integers over its variables. Only gathers, scatters and masks need
// it.
Labelled Emitter::index(const Affine& form) {
  Labelled sum;
  for (const auto& part : form.parts) {
    Labelled term = symbol(part.symbol);
    if (part.factor != 1) {
      term = pointwise(b_, "mul", term, scalar(DType::kI64, static_cast<double>(part.factor)));
    }
    sum = sum.value.valid() ? pointwise(b_, "add", sum, term) : term;
  }
  if (!sum.value.valid()) return scalar(DType::kI64, static_cast<double>(form.constant));
  if (form.constant == 0) return sum;
  return pointwise(b_, "add", sum, scalar(DType::kI64, static_cast<double>(form.constant)));
}

Labelled Emitter::symbol(int id) {
  const auto found = symbols_.find(id);
  if (found != symbols_.end()) return found->second;
  const IndexSymbol symbol = nest_.symbol(id);
  Labelled made;
  switch (symbol.kind) {
    case IndexSymbol::Kind::kVariable:
      made = {b_.add("iota", {},
                     {{"size", symbol.extent}, {"dtype", std::string(to_string(DType::kI64))}}),
              {id}};
      break;
    case IndexSymbol::Kind::kMul:
      made = pointwise(b_, "mul", index(symbol.a), index(symbol.b));
      break;
    case IndexSymbol::Kind::kMin:
      made = pointwise(b_, "min", index(symbol.a), index(symbol.b));
      break;
    case IndexSymbol::Kind::kMax:
      made = pointwise(b_, "max", index(symbol.a), index(symbol.b));
      break;
    case IndexSymbol::Kind::kMod:
      made = pointwise(b_, "mod", index(symbol.a), index(symbol.b));
      break;
    case IndexSymbol::Kind::kDiv: {  // Euclidean, with operators whose quotient truncates
      const Labelled a = index(symbol.a);
      const Labelled by = index(symbol.b);
      const Labelled multiple = pointwise(b_, "sub", a, pointwise(b_, "mod", a, by));
      made = pointwise(b_, "div", multiple, by);
      break;
    }
    case IndexSymbol::Kind::kElement:
      made = node(symbol.element);
      made.value = cast_to(b_, made.value, DType::kI64);
      break;
  }
  symbols_.emplace(id, made);
  return made;
}

// Whether the node reads one element at one place and nothing else: no reduction, index or select.
bool Emitter::is_function_of(int id, int& read) const {
  const NestNode& node = nest_.node(id);
  switch (node.op) {
    case ExprOp::kConst: return true;
    case ExprOp::kRead:
      if (read >= 0 && read != id) return false;
      read = id;
      return true;
    case ExprOp::kReduce:
    case ExprOp::kScalarOf:
    case ExprOp::kSelect: return false;
    default:
      return std::ranges::all_of(node.kids, [&](int kid) { return is_function_of(kid, read); });
  }
}

// The expression with the whole tensor in the place of the element that it reads.
Labelled Emitter::whole(int id, int read) {
  const NestNode node = nest_.node(id);
  if (id == read) return {input(node), {}};
  if (node.op == ExprOp::kConst) return this->node(id);
  std::vector<Labelled> kids;
  for (const int kid : node.kids) kids.push_back(whole(kid, read));
  return operation(node, kids);
}

// Applies the expression to the whole tensor as if it were one number: operators broadcast.
Value Emitter::of_whole_input(int id, int& read) {
  read = -1;
  if (!is_function_of(id, read) || read < 0) return {};
  return whole(id, read).value;
}

}  // namespace egret::ir::autodiff
