// SPDX-License-Identifier: Apache-2.0
#include "verifier/equality/coq_text.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/analysis/sign.h"
#include "verifier/algebra/element_value.h"
#include "verifier/algebra/infinity.h"
#include "verifier/algebra/rounded_constant.h"

namespace egret::verifier {
namespace {

using ir::ExprNode;
using ir::ExprOp;

constexpr int kMostNodes = 20'000;  // of the expressions of one section

// Identifiers of Coq for names of Egret, one each.
class Names {
 public:
  explicit Names(std::string prefix) : prefix_(std::move(prefix)) {}

  const std::string& of(std::string_view name) {
    std::string& made = names_[std::string(name)];
    if (!made.empty()) return made;
    std::string text = prefix_;
    if (name.starts_with('?')) name.remove_prefix(1);  // of a variable
    for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    while (!taken_.insert(text).second) text += "_";
    return made = text;
  }
  const std::set<std::string>& taken() const { return taken_; }

 private:
  std::string prefix_;
  std::map<std::string, std::string> names_;
  std::set<std::string> taken_;
};

std::string rational(const Rational& number) {
  const auto whole = [](const auto& integer) { return integer.str(); };
  if (denominator(number) == 1)
    return number < 0 ? "(" + whole(numerator(number)) + ")" : whole(numerator(number));
  return "(" + whole(numerator(number)) + " / " + whole(denominator(number)) + ")";
}

std::string arrows(std::size_t arguments, const std::string& of) {
  std::string text;
  for (std::size_t i = 0; i < arguments; ++i) text += of + " -> ";
  return text + "R";
}

std::string applied(const std::string& function, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return function;
  std::string text = "(" + function;
  for (const std::string& argument : arguments) text += " " + argument;
  return text + ")";
}

// One section: what both sides share, and the definitions of their nodes.
class Section {
 public:
  std::string index(const ir::Index& value) {
    if (!value.is_constant()) return index(*value.node());
    const std::string number = std::to_string(value.constant());
    return value.constant() < 0 ? "(" + number + ")" : number;
  }
  std::string condition(const ir::Guard& guard) {
    if (guard.is_constant()) return guard.is_true() ? "True" : "False";
    return proposition(*guard.node());
  }

  // Defines the nodes of a side; returns the names of its outputs, with the number of their axes.
  std::vector<std::pair<std::string, std::size_t>> side(const ElementValues& values,
                                                        const std::string& prefix, bool is_left) {
    values_ = &values;
    is_left_ = is_left;
    const ir::Graph& graph = values.graph();
    nodes_.assign(graph.size(), "");
    for (std::size_t i = 0; i < graph.size(); ++i) define(ir::NodeId(i), prefix);
    std::vector<std::pair<std::string, std::size_t>> outputs;
    for (const auto& output : graph.outputs()) {
      const auto rank = static_cast<std::size_t>(graph.node(output.node).type.rank());
      outputs.emplace_back(nodes_[output.node.index()], rank);
    }
    return outputs;
  }

  std::string variables() const {
    std::string text;
    if (!sizes_.taken().empty()) {
      text += "Variables";
      for (const std::string& name : sizes_.taken()) text += " " + name;
      text += " : Z.\n";
    }
    for (const auto& [name, rank] : tensors_)
      text += "Variable " + name + " : " + arrows(rank, "Z") + ".\n";
    for (const std::string& name : reals_.taken()) text += "Variable " + name + " : R.\n";
    for (const auto& [name, arity] : functions_)
      text += "Variable " + name + " : " + arrows(arity, "R") + ".\n";
    return text;
  }
  // What is known of the elements: truth values are 0 or 1, unsigned integers are not negative, and
  // the rule may state signs. Left out where nothing depends on it, so that families of other
  // element types have the same statement.
  std::string elements() {
    std::string text;
    if (!signs_matter_) return text;
    for (const auto& [name, known] : elements_) {
      std::string of = name;
      std::string all;
      for (std::size_t i = 0; i < tensors_[name]; ++i) {
        all += " i" + std::to_string(i);
        of += " i" + std::to_string(i);
      }
      if (!all.empty()) all = "forall" + all + " : Z, ";
      std::string what;
      if (known.dtype == ir::DType::kBool) {
        what = of + " = 0 \\/ " + of + " = 1";
      } else if (known.sign == ir::Sign::kPositive) {
        what = "0 < " + of;
      } else if (known.sign == ir::Sign::kNotNegative ||
                 ir::sign_of(known.dtype) == ir::Sign::kNotNegative) {
        what = "0 <= " + of;
      }
      if (!what.empty())
        text += "Hypothesis e" + std::to_string(element_count_++) + " : " + all + what + ".\n";
    }
    return text;
  }
  // The comparisons of unknown numbers that the rule states. Without one that Coq cannot be told
  // of, the theorem says more.
  std::string orders(std::span<const RealFact> facts) {
    std::string text;
    for (const RealFact& fact : facts) {
      try {
        const std::string stated = real(fact.a) + (fact.strict ? " < " : " <= ") + real(fact.b);
        text += "Hypothesis o" + std::to_string(order_count_++) + " : " + stated + ".\n";
      } catch (const NotExpressible&) {
      }
    }
    return text;
  }
  const std::string& definitions() const { return definitions_; }
  const std::vector<std::string>& defined() const { return defined_; }

 private:
  void define(ir::NodeId id, const std::string& prefix) {
    const ir::Node& node = values_->graph().node(id);
    std::string& name = nodes_[id.index()];
    const auto rank = static_cast<std::size_t>(node.type.rank());
    if (const auto splat = values_->splat(id)) {
      name = prefix + std::to_string(id.index());
      emit(name, rank, constant(*splat));
      return;
    }
    if (node.kind == ir::NodeKind::kInput) {
      name = inputs_.of(node.name);
      tensors_[name] = rank;
      elements_[name] = {node.type.dtype, values_->sign(id)};
      return;
    }
    name = prefix + std::to_string(id.index());
    if (node.kind == ir::NodeKind::kConstant) {
      if (rank > 0) throw NotExpressible{"a constant tensor"};
      return emit(name, 0, constant(node.data.f64_at(0)));
    }
    integers_ = !ir::is_float(node.type.dtype);
    // A rule is claimed where its left side is defined. Stated for tensors of rank 0 alone.
    states_needs_ = is_left_ && rank == 0;
    needs_.clear();
    const ir::Denotation& denotation = values_->denotation(id);
    bound_.clear();
    for (std::size_t i = 0; i < denotation.vars.size(); ++i) {
      if (!denotation.vars[i].is_constant())
        bound_[denotation.vars[i].node()] = "i" + std::to_string(i);
    }
    emit(name, rank,
         denotation.value.is_constant() ? constant(denotation.value.constant())
                                        : scalar(node, *denotation.value.node()));
  }

  void emit(const std::string& name, std::size_t rank, const std::string& value) {
    definitions_ += "Definition " + name;
    if (rank > 0) {
      definitions_ += " (";
      for (std::size_t i = 0; i < rank; ++i) definitions_ += "i" + std::to_string(i) + " ";
      definitions_ += ": Z)";
    }
    definitions_ += " : R := " + value + ".\n";
    defined_.push_back(name);
    for (const std::string& need : std::exchange(needs_, {}))
      definitions_ += "Hypothesis d" + std::to_string(need_count_++) + " : " + need + ".\n";
  }

  // The parts of a selection or reduction need not all be defined.
  template <typename Make>
  std::string within(const Make& make) {
    const bool outside = std::exchange(states_needs_, false);
    std::string text = make();
    states_needs_ = outside;
    return text;
  }
  void need(const std::string& what) {
    if (states_needs_) needs_.push_back(what);
  }

  void count() {
    if (++count_ > kMostNodes) throw NotExpressible{"so large an expression"};
  }

  std::string index(const ExprNode& n) {
    count();
    const auto kid = [&](std::size_t i) { return index(*n.kids[i]); };
    const auto infix = [&](const char* op) { return "(" + kid(0) + op + kid(1) + ")"; };
    switch (n.op) {
      case ExprOp::kIndexConst: return index(ir::Index(n.integer));
      case ExprOp::kSymbol: return sizes_.of(n.name);
      case ExprOp::kVar: return bound_.at(&n);
      case ExprOp::kIndexAdd: return infix(" + ");
      case ExprOp::kIndexMul: return infix(" * ");
      case ExprOp::kIndexDiv: return infix(" / ");
      case ExprOp::kIndexMod: return infix(" mod ");
      case ExprOp::kIndexMin: return applied("Z.min", {kid(0), kid(1)});
      case ExprOp::kIndexMax: return applied("Z.max", {kid(0), kid(1)});
      default: throw NotExpressible{"an element as an index"};
    }
  }

  std::string proposition(const ExprNode& n) {
    count();
    const auto compared = [&](const char* op) {
      return "(" + index(*n.kids[0]) + op + index(*n.kids[1]) + ")%Z";
    };
    const auto both = [&](const char* op) {
      return "(" + proposition(*n.kids[0]) + op + proposition(*n.kids[1]) + ")";
    };
    switch (n.op) {
      case ExprOp::kGuardConst: return n.integer != 0 ? "True" : "False";
      case ExprOp::kIndexLe: return compared(" <= ");
      case ExprOp::kIndexEq: return compared(" = ");
      case ExprOp::kAnd: return both(" /\\ ");
      case ExprOp::kOr: return both(" \\/ ");
      case ExprOp::kNot: return "(~ " + proposition(*n.kids[0]) + ")";
      default: throw NotExpressible{"a condition on elements"};
    }
  }

  std::string guard(const ir::Node& node, const ExprNode& n) {
    count();
    const auto of_indices = [&](const char* op) {
      return "(" + index(*n.kids[0]) + op + index(*n.kids[1]) + ")%Z";
    };
    const auto of_elements = [&](const char* function) {
      signs_matter_ = true;
      return applied(function, {scalar(node, *n.kids[0]), scalar(node, *n.kids[1])});
    };
    const auto both = [&](const char* op) {
      return "(" + guard(node, *n.kids[0]) + op + guard(node, *n.kids[1]) + ")%bool";
    };
    switch (n.op) {
      case ExprOp::kGuardConst: return n.integer != 0 ? "true" : "false";
      case ExprOp::kIndexLe: return of_indices(" <=? ");
      case ExprOp::kIndexEq: return of_indices(" =? ");
      case ExprOp::kScalarLt: return of_elements("less");
      case ExprOp::kScalarLe: return of_elements("less_equal");
      case ExprOp::kScalarEq: return of_elements("equal");
      case ExprOp::kAnd: return both(" && ");
      case ExprOp::kOr: return both(" || ");
      case ExprOp::kNot: return "(negb " + guard(node, *n.kids[0]) + ")";
      default: throw NotExpressible{"a guard"};
    }
  }

  std::string scalar(const ir::Node& node, const ExprNode& n) {
    count();
    const auto kid = [&](std::size_t i) { return scalar(node, *n.kids[i]); };
    const auto infix = [&](const char* op) { return "(" + kid(0) + op + kid(1) + ")"; };
    switch (n.op) {
      case ExprOp::kConst: return constant(n.real);
      case ExprOp::kRead: return read(node, n);
      case ExprOp::kAdd: return infix(" + ");
      case ExprOp::kSub: return infix(" - ");
      case ExprOp::kMul: return infix(" * ");
      case ExprOp::kDiv:
        if (integers_) throw NotExpressible{"a division of integers"};
        need(kid(1) + " <> 0");
        return infix(" / ");
      case ExprOp::kNeg: return "(- " + kid(0) + ")";
      case ExprOp::kMin: signs_matter_ = true; return applied("Rmin", {kid(0), kid(1)});
      case ExprOp::kMax: signs_matter_ = true; return applied("Rmax", {kid(0), kid(1)});
      case ExprOp::kCall: return call(node, n);
      case ExprOp::kSelect:
        return within([&] {
          return "(if " + guard(node, *n.kids[0]) + " then " + kid(1) + " else " + kid(2) + ")";
        });
      case ExprOp::kReduce: return within([&] { return reduction(node, n); });
      case ExprOp::kScalarOf: return "(IZR " + index_argument(*n.kids[0]) + ")";
      case ExprOp::kCast: {
        const ExprNode& of = *n.kids[0];
        const bool same = of.op == ExprOp::kRead && type_of(node, of) == n.dtype;
        if (!same && !ir::is_float(n.dtype)) throw NotExpressible{"a cast to integers"};
        return kid(0);
      }
      default: throw NotExpressible{"an expression"};
    }
  }

  std::string index_argument(const ExprNode& n) { return index(n) + "%Z"; }

  ir::DType type_of(const ir::Node& node, const ExprNode& read) const {
    const ir::NodeId input = node.inputs[static_cast<std::size_t>(read.integer)];
    return values_->graph().node(input).type.dtype;
  }

  std::string read(const ir::Node& node, const ExprNode& n) {
    std::vector<std::string> at;
    for (const ExprNode* i : n.kids) at.push_back(index_argument(*i));
    return applied(nodes_[node.inputs[static_cast<std::size_t>(n.integer)].index()], at);
  }

  // Those that Coq has are Coq's, and a power is defined in the prelude; of others nothing is
  // known.
  std::string call(const ir::Node& node, const ExprNode& n) {
    using ir::Function;
    signs_matter_ = true;
    std::vector<std::string> arguments;
    for (const ExprNode* argument : n.kids) arguments.push_back(scalar(node, *argument));
    switch (n.function) {
      case Function::kLog: need("0 < " + arguments[0]); return applied("ln", arguments);
      case Function::kSqrt: need("0 <= " + arguments[0]); return applied("sqrt", arguments);
      case Function::kPow:
        if (integers_) break;
        need_power(node, n, arguments[0]);
        return applied("power", arguments);
      case Function::kExp:
      case Function::kSin:
      case Function::kCos:
      case Function::kAtan:
      case Function::kSinh:
      case Function::kCosh:
      case Function::kTanh: return applied(std::string(facts(n.function).name), arguments);
      default: break;
    }
    std::string name = "F_" + std::string(facts(n.function).name);
    if (integers_) name += "_of_integers";
    functions_[name] = n.kids.size();
    return applied(name, arguments);
  }

  // As in ElementValues: a whole exponent above 0 suits all bases, any other whole one those that
  // are not 0; a base that is not negative has all powers above 0, and a positive one has all.
  void need_power(const ir::Node& node, const ExprNode& n, const std::string& base) {
    const auto exponent = number_of(node, *n.kids[1]);
    const bool whole = exponent && std::trunc(*exponent) == *exponent;
    if (whole && *exponent > 0) return;
    need(whole ? base + " <> 0" : exponent && *exponent > 0 ? "0 <= " + base : "0 < " + base);
  }
  // If the expression is a number that is known.
  std::optional<double> number_of(const ir::Node& node, const ExprNode& n) const {
    double number = n.real;
    if (n.op == ExprOp::kRead) {
      const ir::NodeId input = node.inputs[static_cast<std::size_t>(n.integer)];
      const ir::Node& read = values_->graph().node(input);
      if (const auto splat = values_->splat(input)) {
        number = *splat;
      } else if (read.kind == ir::NodeKind::kConstant && read.type.rank() == 0) {
        number = read.data.f64_at(0);
      } else {
        return std::nullopt;
      }
    } else if (n.op != ExprOp::kConst) {
      return std::nullopt;
    }
    const std::map<double, RealTerm>& open = values_->stand_ins();
    if (!std::isfinite(number) || open.contains(number) || open.contains(-number))
      return std::nullopt;
    return number;
  }

  std::string reduction(const ir::Node& node, const ExprNode& n) {
    const std::string variable = "k" + std::to_string(variables_++);
    const std::string extent = index_argument(*n.kids[1]);
    bound_[n.kids[0]] = variable;
    const ExprNode& guarded = *n.kids[2];
    const bool whole = guarded.op == ExprOp::kGuardConst && guarded.integer != 0;
    const std::string where = whole ? "true" : guard(node, guarded);
    const std::string body = scalar(node, *n.kids[3]);
    const std::string lambda = "(fun " + variable + " : Z => ";
    switch (n.reduction) {
      case ir::Reduction::kSum:
      case ir::Reduction::kProd: {
        const bool sum = n.reduction == ir::Reduction::kSum;
        const std::string guarded_body =
            whole ? body : "if " + where + " then " + body + " else " + (sum ? "0" : "1");
        return applied(sum ? "Sum" : "Product", {extent, lambda + guarded_body + ")"});
      }
      case ir::Reduction::kMax:
      case ir::Reduction::kMin:
        return applied(n.reduction == ir::Reduction::kMax ? "Maximum" : "Minimum",
                       {extent, lambda + where + ")", lambda + body + ")"});
    }
    throw NotExpressible{"a reduction"};
  }

  std::string constant(double number) {
    if (!std::isfinite(number)) throw NotExpressible{"a constant that is not finite"};
    for (const double sign : {1.0, -1.0}) {
      const auto found = values_->stand_ins().find(sign * number);
      if (found == values_->stand_ins().end()) continue;
      const std::string meant = real(found->second);
      return sign < 0 ? "(- " + meant + ")" : meant;
    }
    if (values_->rounded()) {
      if (const auto simple = rounded_from(number)) {
        const std::string factor = rational(simple->factor);
        if (simple->root_of == 1) return factor;
        return "(" + factor + " * sqrt " + std::to_string(simple->root_of) + ")";
      }
    }
    return rational(Rational(number));
  }

  std::string real(const RealTerm& term) {
    const auto infix = [&](const char* op) {
      return "(" + real(term.arguments[0]) + op + real(term.arguments[1]) + ")";
    };
    switch (term.kind) {
      case RealTerm::Kind::kUnknown: return reals_.of(term.name);
      case RealTerm::Kind::kNumber: return constant(term.number);
      case RealTerm::Kind::kIndex: return "(IZR " + index(term.index) + "%Z)";
      case RealTerm::Kind::kSum: return infix(" + ");
      case RealTerm::Kind::kDifference: return infix(" - ");
      case RealTerm::Kind::kProduct: return infix(" * ");
      case RealTerm::Kind::kQuotient: return infix(" / ");
      case RealTerm::Kind::kMinimum:
        return applied("Rmin", {real(term.arguments[0]), real(term.arguments[1])});
      case RealTerm::Kind::kMaximum:
        return applied("Rmax", {real(term.arguments[0]), real(term.arguments[1])});
    }
    throw NotExpressible{"a number"};
  }

  Names sizes_{"s_"};
  Names inputs_{"t_"};
  Names reals_{"u_"};
  std::map<std::string, std::size_t> tensors_;    // to the number of axes
  std::map<std::string, std::size_t> functions_;  // to the number of arguments
  struct Elements {
    ir::DType dtype = ir::DType::kF32;
    ir::Sign sign = ir::Sign::kUnknown;
  };
  std::map<std::string, Elements> elements_;
  bool signs_matter_ = false;  // something compares elements or is a function of them
  int element_count_ = 0;
  int order_count_ = 0;
  std::string definitions_;
  std::vector<std::string> defined_;
  int count_ = 0;
  int variables_ = 0;
  // Of the side at hand, and its node at hand.
  const ElementValues* values_ = nullptr;
  std::vector<std::string> nodes_;
  std::map<const ExprNode*, std::string> bound_;
  bool integers_ = false;
  bool is_left_ = false;
  bool states_needs_ = false;
  std::vector<std::string> needs_;
  int need_count_ = 0;
};

std::string theorem(Section& section, std::size_t number, const ir::Dims& shape,
                    const std::string& left, const std::string& right) {
  std::string text = "Theorem equal_" + std::to_string(number) + " :\n";
  std::vector<std::string> at;
  std::string ranges;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    at.push_back("i" + std::to_string(axis));
    ranges += "  (0 <= " + at.back() + " < " + section.index(shape[axis]) + ")%Z ->\n";
  }
  if (!at.empty()) {
    text += "  forall";
    for (const std::string& one : at) text += " " + one;
    text += " : Z,\n";
  }
  text += ranges + "  " + applied(left, at) + " = " + applied(right, at) + ".\n";
  text += "Proof.\n  intros.";
  if (!section.defined().empty()) {
    text += " cbv beta delta [";
    for (const std::string& one : section.defined()) text += one + " ";
    text += "] in *.";
  }
  return text + " show_equal.\nQed.\n";
}

}  // namespace

base::Result<std::string> coq_section(const Obligation& obligation,
                                      std::span<const ir::Guard> conditions) {
  try {
    Section section;
    const auto left = section.side(obligation.side(0), "l", true);
    const auto right = section.side(obligation.side(1), "r", false);
    std::string hypotheses;
    for (std::size_t i = 0; i < conditions.size(); ++i)
      hypotheses +=
          "Hypothesis h" + std::to_string(i) + " : " + section.condition(conditions[i]) + ".\n";
    hypotheses += section.orders(obligation.real_facts()) + section.elements();
    std::string theorems;
    for (std::size_t i = 0; i < left.size(); ++i)
      theorems += theorem(section, i, obligation.shapes()[i], left[i].first, right[i].first);
    return "Section statement.\n" + section.variables() + hypotheses + section.definitions() +
           theorems + "End statement.\n";
  } catch (const NotExpressible& problem) {
    return base::unsupported("Coq is not told of " + std::string(problem.what));
  }
}

std::string coq_comment(std::string text) {
  // Coq reads strings and comments within comments.
  for (char& c : text) {
    if (c == '"') c = '\'';
  }
  for (std::size_t at = 0; (at = text.find('*', at)) != std::string::npos; at += 3)
    text.replace(at, 1, " * ");
  return "(* " + text + " *)";
}

}  // namespace egret::verifier
