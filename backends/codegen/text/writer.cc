// SPDX-License-Identifier: Apache-2.0
// The writer's expressions.
#include "backends/codegen/text/writer.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "ir/evaluate/lane_loops.h"

namespace egret::backends::codegen {

using ir::Affine;
using ir::DType;
using ir::ExprOp;
using ir::IndexSymbol;
using ir::NestGuard;
using ir::NestNode;
using ir::Reduction;

namespace {

// Rough costs in operations of a few cycles.
constexpr double kOne = 1, kLoad = 2, kDivide = 4, kFunction = 10;

std::string integer_literal(std::int64_t value) {
  if (value == INT64_MIN) return "(-9223372036854775807LL - 1)";
  return "i64(" + std::to_string(value) + ")";
}

// The fold of a reduction: a functor of the prelude.
std::string fold_name(const NestNode& node) {
  const bool is_unsigned = node.type == DType::kU64;
  switch (node.reduction) {
    case Reduction::kSum: return node.is_real() ? "Sum" : "IntegerSum";
    case Reduction::kProd: return node.is_real() ? "Product" : "IntegerProduct";
    case Reduction::kMax: return is_unsigned ? "UnsignedLarger" : "Larger";
    case Reduction::kMin: return is_unsigned ? "UnsignedSmaller" : "Smaller";
  }
  return {};
}

// An integer as its type holds it.
std::string wrapped(DType type, const std::string& value) {
  if (!ir::needs_wrapping(type)) return value;
  if (type == DType::kBool) return "i64(" + value + " != 0)";
  return "i64((" + element_type(type) + ")" + value + ")";
}

}  // namespace

std::string element_type(DType type) {
  switch (type) {
    case DType::kF32: return "float";
    case DType::kF64: return "double";
    case DType::kF16:
    case DType::kBF16:
    case DType::kU16: return "unsigned short";
    case DType::kI8: return "signed char";
    case DType::kI16: return "short";
    case DType::kI32: return "int";
    case DType::kI64: return "i64";
    case DType::kU8:
    case DType::kBool: return "unsigned char";
    case DType::kU32: return "unsigned int";
    case DType::kU64: return "u64";
  }
  return {};
}

// The type in which reals are computed: f64 if an input is f64, or if neither an input nor the
// output is a narrower float.
bool computes_in_double(std::span<const ir::TensorType> inputs, DType output) {
  bool narrow = ir::is_float(output) && output != DType::kF64;
  for (const ir::TensorType& type : inputs) {
    if (type.dtype == DType::kF64) return true;
    narrow = narrow || ir::is_float(type.dtype);
  }
  return !narrow;
}

Writer::Writer(const ir::LoopNest& merged, const Packing& packing, const Schedule& schedule,
               Target target, std::span<const ir::TensorType> inputs, DType output)
    : nest_(merged),
      packing_(packing),
      schedule_(schedule),
      target_(target),
      inputs_(inputs),
      output_(output),
      facts_(merged, inputs) {
  real_ = computes_in_double(inputs, output) ? "double" : "float";
  index_ = facts_.fits_32_bits() ? "int" : "i64";
}

// Temporarily removes the scopes inside `at`. The new text then goes before them, so that it runs
// before the loop in which the value is used: this is the hoisting.
// The inner scopes come back unchanged after the write.
template <typename Write>
auto Writer::within(std::size_t at, const Write& write) {
  std::vector<Scope> inner(std::make_move_iterator(scopes_.begin() + static_cast<long>(at) + 1),
                           std::make_move_iterator(scopes_.end()));
  scopes_.resize(at + 1);
  auto result = write();
  scopes_.insert(scopes_.end(), std::make_move_iterator(inner.begin()),
                 std::make_move_iterator(inner.end()));
  return result;
}

// ---- Indices

// The text of an affine form, c + sum of factor * symbol; each symbol is made available first.
std::string Writer::form(const Affine& form) {
  std::string text;
  for (const auto& part : form.parts) {
    if (!text.empty()) text += " + ";
    text += symbol(part.symbol);
    if (part.factor != 1) {
      text += " * " + (part.factor < 0 ? "(" + std::to_string(part.factor) + ")"
                                       : std::to_string(part.factor));
    }
    count(kOne, nest_.symbol(part.symbol).depends);
  }
  if (text.empty()) return std::to_string(form.constant);
  if (form.constant > 0) return text + " + " + std::to_string(form.constant);
  if (form.constant < 0) return text + " - " + std::to_string(-form.constant);
  return text;
}

// The name of an index symbol. A derived symbol is declared once, in the outermost scope where all
// its variables are bound, and reused by name from then on.
std::string Writer::symbol(int id) {
  if (const std::string* name = find(&Scope::symbols, id)) return *name;
  const IndexSymbol& symbol = nest_.symbol(id);
  EGRET_CHECK(symbol.kind != IndexSymbol::Kind::kVariable, "a loop variable outside of its loop");
  return within(place(symbol.depends, facts_.safe_symbol(id)), [&] {
    // The operands are placed recursively, so they may move further out than this symbol.
    const auto binary = [&](const char* function) {
      return std::string(function) + "<" + index_ + ">(" + form(symbol.a) + ", " + form(symbol.b) +
             ")";
    };
    std::string text;
    switch (symbol.kind) {
      case IndexSymbol::Kind::kElement: text = value(symbol.element); break;
      case IndexSymbol::Kind::kMul:
        text = "(" + form(symbol.a) + ") * (" + form(symbol.b) + ")";
        break;
      case IndexSymbol::Kind::kMin: text = binary("least"); break;
      case IndexSymbol::Kind::kMax: text = binary("most"); break;
      default: text = quotient(symbol); break;
    }
    count(kOne, symbol.depends);
    const std::string name = declare(symbol.depends, index_, text);
    scopes_.back().symbols[id] = name;
    return name;
  });
}

// Euclidean, by a positive divisor.
std::string Writer::quotient(const IndexSymbol& symbol) {
  const bool is_div = symbol.kind == IndexSymbol::Kind::kDiv;
  const std::string a = form(symbol.a);
  const std::string b = form(symbol.b);
  count(kDivide, symbol.depends);
  // Three forms, from general to cheap: with a check of the divisor, with floor semantics for a
  // negative dividend, and the processor's division where both are nonnegative.
  if (facts_.range(symbol.b).low <= 0)
    return (is_div ? "checked_div(" : "checked_mod(") + a + ", " + b + ", failure)";
  if (facts_.range(symbol.a).low >= 0) return "(" + a + (is_div ? ") / (" : ") % (") + b + ")";
  return (is_div ? "floor_div<" : "floor_mod<") + index_ + ">(" + a + ", " + b + ")";
}

// ---- Guards

std::string Writer::guard(int id) {
  const NestGuard& guard = nest_.guard(id);
  const auto compare = [&](const char* relation) {
    const std::string a = value(guard.a);
    const std::string b = value(guard.b);
    const bool is_unsigned = nest_.node(guard.a).type == DType::kU64;
    const std::string as = is_unsigned ? "(u64)" : "";
    return as + a + relation + as + b;
  };
  count(kOne, guard.depends);
  switch (guard.kind) {
    case NestGuard::Kind::kTrue: return "true";
    case NestGuard::Kind::kFalse: return "false";
    case NestGuard::Kind::kLe:
      return (is_packed(guard.depends) && is_one(id) ? form_of_first(guard.form)
                                                     : form(guard.form)) +
             " <= 0";
    case NestGuard::Kind::kEq: return form(guard.form) + " == 0";
    case NestGuard::Kind::kScalarLt: return compare(" < ");
    case NestGuard::Kind::kScalarLe: return compare(" <= ");
    case NestGuard::Kind::kScalarEq: return compare(" == ");
    case NestGuard::Kind::kNot: return "!(" + this->guard(guard.a) + ")";
    default: break;
  }
  const bool both = guard.kind == NestGuard::Kind::kAnd;
  if (facts_.safe_guard(guard.b))
    return "(" + this->guard(guard.a) + (both ? ") && (" : ") || (") + this->guard(guard.b) + ")";
  // The second guard is evaluated only where the first leaves the answer open: it may fail.
  const std::string answer = fresh("g");
  line("bool " + answer + " = " + this->guard(guard.a) + ";");
  const std::size_t depth = scopes_.size();
  open_guarded("if (" + std::string(both ? "" : "!") + answer + ") {");
  const std::string second = this->guard(guard.b);
  line(answer + " = " + second + ";");
  close_to(depth);
  return answer;
}

// ---- Scalars

std::string Writer::type_of(const NestNode& node) const { return node.is_real() ? real_ : "i64"; }

// The name of a scalar, computed once in the outermost scope possible: common subexpressions are
// shared and loop invariants leave their loops. place() keeps values that may fail behind their
// guards.
std::string Writer::value(int id) {
  const NestNode& node = nest_.node(id);
  if (node.op == ExprOp::kConst) return constant(node);
  if (const std::string* name = find(&Scope::nodes, id)) return *name;
  return within(place(node.depends, facts_.safe_node(id)), [&] {
    std::string name = compute(node);
    scopes_.back().nodes[id] = name;
    return name;
  });
}

std::string Writer::constant(const NestNode& node) const {
  if (!node.is_real()) return integer_literal(node.integer);
  // Written as bits: decimal text has no infinities and loses digits.
  return real_ + "(real_of(" + std::to_string(std::bit_cast<std::uint64_t>(node.real)) + "ULL))";
}

// Writes the code of one node into the current scope, and returns the name of the result.
std::string Writer::compute(const NestNode& node) {
  if (goes_one_by_one(node)) return one_by_one(node);
  switch (node.op) {
    case ExprOp::kRead: return read(node);
    case ExprOp::kScalarOf: {
      const std::string index = form(node.form);
      if (node.is_real()) return declare(node.depends, real_, real_ + "(" + index + ")");
      return declare(node.depends, "i64", wrapped(node.type, "(" + index + ")"));
    }
    case ExprOp::kSelect: return select(node);
    case ExprOp::kReduce: return reduction(node);
    case ExprOp::kCast: return conversion(node);
    default: return declare(node.depends, type_of(node), arithmetic(node));
  }
}

// A read whose index is computed from data is checked: an index out of range sets the failure flag,
// and the load is skipped, so that no memory outside the tensor is touched.
std::string Writer::read(const NestNode& node) {
  const DType stored = inputs_[static_cast<std::size_t>(node.input)].dtype;
  std::string good;
  for (const auto& axis : node.checked) {
    good += (good.empty() ? "in_range(" : " && in_range(") + form(axis.index) + ", " +
            std::to_string(axis.size) + ")";
  }
  const Packed& packed = scopes_.back().packed;
  const bool is_pack =
      is_packed(node.depends) && packing_.reads_pack(node, packed.symbol, packed.width);
  if (!good.empty()) {
    const ir::VariableSet depends = is_pack ? 0 : node.depends;
    good = declare(depends, "bool", good);
    line(each(is_packed(depends)) + "if (!" + good +
         ") *failure = " + std::to_string(static_cast<int>(KernelFailure::kIndexOutOfRange)) + ";");
  }
  const std::string element = is_pack
                                  ? read_pack(node, good)
                                  : "in" + std::to_string(node.input) + "[" + form(node.form) + "]";
  std::string loaded = type_of(node) + "(" + element + ")";
  if (stored == DType::kF16) loaded = real_ + "(real_of_f16(" + element + "))";
  if (stored == DType::kBF16) loaded = real_ + "(real_of_bf16(" + element + "))";
  count(kLoad, is_pack ? 0 : node.depends);
  if (!good.empty() && !is_pack) loaded = good + " ? " + loaded + " : " + type_of(node) + "(0)";
  return declare(node.depends, type_of(node), loaded);
}

std::string Writer::arithmetic(const NestNode& node) {
  const std::string a = value(node.kids[0]);
  const std::string b = node.kids.size() > 1 ? value(node.kids[1]) : "";
  count(node.op == ExprOp::kDiv    ? kDivide
        : node.op == ExprOp::kCall ? kFunction
                                   : kOne,
        node.depends);
  const std::string larger = node.type == DType::kU64 ? "UnsignedLarger" : "Larger";
  const std::string smaller = node.type == DType::kU64 ? "UnsignedSmaller" : "Smaller";
  switch (node.op) {
    case ExprOp::kMax: return larger + "()(" + a + ", " + b + ")";
    case ExprOp::kMin: return smaller + "()(" + a + ", " + b + ")";
    default: break;
  }
  if (!node.is_real()) return wrapped(node.type, integer_arithmetic(node, a, b));
  switch (node.op) {
    case ExprOp::kAdd: return a + " + " + b;
    case ExprOp::kSub: return a + " - " + b;
    case ExprOp::kMul: return a + " * " + b;
    case ExprOp::kDiv: return a + " / " + b;
    case ExprOp::kNeg: return "-" + a;
    case ExprOp::kCall: return call(node, a, b);
    default: break;
  }
  EGRET_CHECK(false, "not an operation on reals");
  return {};
}

// `b` is empty for a function of one argument.
std::string Writer::call(const NestNode& node, const std::string& a, const std::string& b) {
  return "fn_" + std::string(ir::facts(node.function).name) + "(" + a +
         (b.empty() ? "" : ", " + b) + ")";
}

std::string Writer::integer_arithmetic(const NestNode& node, const std::string& a,
                                       const std::string& b) {
  switch (node.op) {
    case ExprOp::kAdd: return "IntegerSum()(" + a + ", " + b + ")";
    case ExprOp::kSub: return "integer_difference(" + a + ", " + b + ")";
    case ExprOp::kMul: return "IntegerProduct()(" + a + ", " + b + ")";
    case ExprOp::kNeg: return "integer_difference(0, " + a + ")";
    case ExprOp::kDiv:
      return std::string(node.type == DType::kU64 ? "unsigned_quotient(" : "integer_quotient(") +
             a + ", " + b + ", failure)";
    case ExprOp::kCall: return call(node, a, b);
    default: break;
  }
  EGRET_CHECK(false, "not an operation on integers");
  return {};
}

// A cast rounds to the target's precision but keeps the type of computation: f16 and bf16 go
// through their bits, f32 through float. Integers wrap as their type does.
std::string Writer::conversion(const NestNode& node) {
  const NestNode& from = nest_.node(node.kids[0]);
  const std::string a = value(node.kids[0]);
  count(kOne, node.depends);
  if (!node.is_real()) {
    if (!from.is_real()) return declare(node.depends, "i64", wrapped(node.type, a));
    if (node.type == DType::kBool) return declare(node.depends, "i64", "i64(" + a + " != 0)");
    return declare(node.depends, "i64", wrapped(node.type, "integer_of(" + a + ")"));
  }
  std::string real = a;
  if (!from.is_real()) real = real_ + (from.type == DType::kU64 ? "((u64)" : "(") + a + ")";
  if (node.cast == DType::kF16) real = real_ + "(real_of_f16(f16_bits(" + real + ")))";
  if (node.cast == DType::kBF16) real = real_ + "(real_of_bf16(bf16_bits(" + real + ")))";
  if (node.cast == DType::kF32 && real_ == "double") real = "double(float(" + real + "))";
  return real == a ? a : declare(node.depends, real_, real);
}

bool Writer::is_plain(int id) { return facts_.safe_node(id) && !facts_.reduces(id); }

std::string Writer::select(const NestNode& node) {
  std::string condition = guard(node.guard);
  count(kOne, node.depends);
  if (is_plain(node.kids[0]) && is_plain(node.kids[1])) {
    const std::string a = value(node.kids[0]);
    const std::string b = value(node.kids[1]);
    return declare(node.depends, type_of(node), condition + " ? " + a + " : " + b);
  }
  // Two if-blocks instead of an else: values that the second block hoists go between them.
  condition = declare("bool", condition);
  const std::string chosen = array(node.depends, type_of(node), "s", "0");
  const std::size_t depth = scopes_.size();
  // Each arm is evaluated only under its condition, since it may fail or contain a costly loop.
  for (std::size_t arm = 0; arm < 2; ++arm) {
    open_guarded((arm == 0 ? "if (" : "if (!") + condition + ") {");
    const std::string a = value(node.kids[arm]);
    line(each(is_packed(node.depends)) + chosen + " = " + a + ";");
    close_to(depth);
  }
  return chosen;
}

// The width of the packs in which the threads of a block take the terms of a reduction.
int Writer::width_of_terms(const NestNode& node) const {
  const int width = packing_.width(node.variables, Packing::Loop::kTerms);
  return packing_.is_one(node.guard, node.variables.back(), width) ? width : 1;
}

// A running total from the fold's identity on, and nested loops over the reduction's variables; a
// guard skips terms.
std::string Writer::reduction(const NestNode& node) {
  const std::string fold = fold_name(node) + "()";
  NestNode identity{.op = ExprOp::kConst, .type = node.type};
  identity.real = ir::ElementOps<double>::identity(node.type, node.reduction);
  if (!node.is_real())
    identity.integer = ir::ElementOps<std::int64_t>::identity(node.type, node.reduction);
  const std::string total = array(node.depends, type_of(node), "r", constant(identity));

  // At row level, outside of divided loops, all threads of the block run the same code: they divide
  // the terms and combine their partial results with shuffles (fold_over_block).
  const bool together = target_ == Target::kCuda && schedule_.by_rows && !scopes_.back().divided;
  const bool totals = is_packed(node.depends);  // one for each of a pack
  const std::size_t depth = scopes_.size();
  if (together) {
    open_shared(node.variables, schedule_.row_width > 1 ? 1 : width_of_terms(node));
  } else {
    open_nested(node.variables);
  }
  if (nest_.guard(node.guard).kind != NestGuard::Kind::kTrue)
    open_guarded("if (" + guard(node.guard) + ") {");
  const std::string term = value(node.kids[0]);
  const bool packs_of_terms =
      together && schedule_.row_width == 1 && scopes_.back().packed.symbol >= 0;
  line(each(totals || packs_of_terms) + total + " = " + fold + "(" + total + ", " + term + ");");
  count(packs_of_terms ? kOne * scopes_.back().packed.width : kOne, node.depends);
  close_to(depth);
  if (together) line(each(totals) + total + " = fold_over_block(" + total + ", " + fold + ");");
  if (!ir::needs_wrapping(node.type)) return total;
  return declare(node.depends, "i64", wrapped(node.type, total));
}

}  // namespace egret::backends::codegen
