// SPDX-License-Identifier: Apache-2.0
#include "egraph/workloads/constant_folding.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>

#include "base/hash.h"
#include "egraph/formats/snapshot_file.h"

namespace egret::egraph::workloads {
namespace {

__extension__ typedef __int128 Wide;

Wide gcd(Wide a, Wide b) {
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

// The unique form: lowest terms and a positive denominator. Equality of values is then equality of
// the pairs. Gives nothing if a part exceeds 64 bits: the constant is then unknown, which is sound.
std::optional<Rational> reduced(Wide numerator, Wide denominator) {
  if (denominator == 0) return {};
  const Wide common = gcd(numerator, denominator);
  const Wide sign = denominator < 0 ? -1 : 1;
  numerator = sign * numerator / common;
  denominator = sign * denominator / common;
  constexpr Wide kMin = std::numeric_limits<std::int64_t>::min();
  constexpr Wide kMax = std::numeric_limits<std::int64_t>::max();
  if (numerator < kMin || numerator > kMax || denominator > kMax) return {};
  return Rational{static_cast<std::int64_t>(numerator), static_cast<std::int64_t>(denominator)};
}

std::optional<Rational> fold(std::string_view op, const Rational& a, const Rational& b) {
  const Wide an = a.numerator, ad = a.denominator, bn = b.numerator, bd = b.denominator;
  if (op == "*") return reduced(an * bn, ad * bd);
  if (op == "/") return reduced(an * bd, ad * bn);
  // The sum of two 126-bit products may overflow 128 bits, so the fractions are first brought to
  // their least common denominator.
  const Wide common = gcd(ad, bd);
  const Wide left = an * (bd / common);
  const Wide right = bn * (ad / common);
  if (op == "+") return reduced(left + right, ad / common * bd);
  if (op == "-") return reduced(left - right, ad / common * bd);
  return {};
}

constexpr std::string_view kValues = "folding.values";

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace

std::optional<Rational> Rational::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto numerator = parse_integer(text.substr(0, slash));
  if (!numerator) return {};
  if (slash == std::string_view::npos) return Rational{*numerator, 1};
  const auto denominator = parse_integer(text.substr(slash + 1));
  if (!denominator || *denominator <= 0) return {};
  return reduced(*numerator, *denominator);
}

std::string Rational::to_string() const {
  std::string text = std::to_string(numerator);
  if (denominator != 1) text.append("/").append(std::to_string(denominator));
  return text;
}

std::unique_ptr<Analysis> ConstantFolding::prepare(OpTable& ops, Syntax& syntax) {
  auto folding = std::make_unique<ConstantFolding>(ops);
  folding->define_conditions(syntax);
  return folding;
}

std::size_t ConstantFolding::Hash::operator()(const Rational& r) const {
  return base::hash_combine(static_cast<std::uint64_t>(r.numerator),
                            static_cast<std::uint64_t>(r.denominator));
}

Analysis::Data ConstantFolding::intern(const std::optional<Rational>& value) {
  if (!value) return 0;
  const auto [entry, fresh] = index_.try_emplace(*value, values_.size() + 1);
  if (fresh) {
    values_.push_back(*value);
    value_ops_.push_back(ops_.op(value->to_string(), 0));
  }
  return entry->second;
}

Analysis::Data ConstantFolding::leaf(OpId op) {
  if (const auto known = leaf_data_.find(op.index()); known != leaf_data_.end()) {
    return known->second;
  }
  const Data data = intern(Rational::parse(ops_.name(op)));
  leaf_data_.emplace(op.index(), data);
  return data;
}

base::Result<Analysis::Data> ConstantFolding::make(const EGraph& egraph, OpId op,
                                                   std::span<const ClassId> children) {
  if (children.empty()) return leaf(op);
  if (children.size() != 2) return Data{0};
  const auto a = value(egraph, children[0]);
  const auto b = value(egraph, children[1]);
  if (!a || !b) return Data{0};
  return intern(fold(ops_.name(op), *a, *b));
}

// The semilattice has height 2: unknown (0) below all constants. Two different constants have no
// join, and the rules contradict each other.
base::Result<Analysis::Data> ConstantFolding::merge(Data a, Data b) {
  if (a == 0 || a == b) return b;
  if (b == 0) return a;
  return base::bad_input("constants " + values_[a - 1].to_string() + " and " +
                         values_[b - 1].to_string() + " cannot be equal");
}

// Adds the constant as a leaf, then hides all other nodes of the class from the search. A constant
// needs no further representation, and matches through the others only repeat what the constant
// gives.
void ConstantFolding::modify(EGraph& egraph, ClassId id) {
  const Data data = egraph.data(id);
  if (data == 0) return;
  const auto constant = egraph.add(value_ops_[data - 1]);
  if (!constant.ok() || !merge_with_constant(egraph, id, *constant).ok()) return;
  // Until the next rebuild, hidden nodes stay listed and the nodes of a merged class are appended.
  // So the nodes that were seen in this epoch can be skipped. The class of 0 may have very many.
  id = egraph.find(id);
  const auto nodes = egraph.nodes(id);
  Hidden& hidden = hidden_[id.index()];
  const std::size_t begin = hidden.epoch == egraph.epoch() ? hidden.count : 0;
  hidden = {egraph.epoch(), nodes.size()};
  for (std::size_t i = std::min(begin, nodes.size()); i < nodes.size(); ++i) {
    if (!egraph.children(nodes[i]).empty()) egraph.hide(nodes[i]);
  }
}

// A proof should state (+ 1 2) = 3, not that some term of the class is 3.
base::Result<bool> ConstantFolding::merge_with_constant(EGraph& egraph, ClassId id,
                                                        ClassId constant) {
  if (egraph.proofs() == nullptr || egraph.same(id, constant)) return egraph.merge(id, constant);
  const ClassId folded = folded_term(egraph, id);
  return egraph.merge(folded.valid() ? folded : id, constant);
}

// Returns the operator on constants that gave the class its value, or an invalid id if there is
// none.
ClassId ConstantFolding::folded_term(EGraph& egraph, ClassId id) const {
  const Data data = egraph.data(id);
  const auto listed = egraph.nodes(egraph.find(id));
  const std::vector<NodeId> nodes(listed.begin(), listed.end());  // add() may move them
  for (const NodeId node : nodes) {
    const OpId op = egraph.op(node);
    const auto children = egraph.children(node);
    if (children.size() != 2) continue;
    const Data left = egraph.data(children[0]);
    const Data right = egraph.data(children[1]);
    if (left == 0 || right == 0) continue;
    if (fold(ops_.name(op), values_[left - 1], values_[right - 1]) != values_[data - 1]) continue;
    const auto a = egraph.add(value_ops_[left - 1]);
    const auto b = egraph.add(value_ops_[right - 1]);
    if (!a.ok() || !b.ok()) continue;
    const ClassId term = egraph.add_congruent(node, {*a, *b});
    if (term.valid()) return term;
  }
  return {};
}

std::optional<Rational> ConstantFolding::value(const EGraph& egraph, ClassId id) const {
  const Data data = egraph.data(id);
  return data == 0 ? std::nullopt : std::optional(values_[data - 1]);
}

void ConstantFolding::save(SnapshotWriter& writer) const {
  writer.add_view(kValues, std::as_bytes(std::span(values_)));
}

base::Status ConstantFolding::load(const SnapshotFile& file, const EGraph&) {
  EGRET_ASSIGN_OR_RETURN(const auto values, file.values<Rational>(kValues));
  for (const Rational& value : values) {
    const auto at = [&](const char* what) {
      return file.corrupt(kValues, "value " + std::to_string(values_.size()) + " " + what);
    };
    if (value.denominator == 0 || reduced(value.numerator, value.denominator) != value)
      return at("is not in lowest terms");
    if (index_.contains(value)) return at("is there twice");
    const BaseId name = ops_.find_base(value.to_string());
    if (!name.valid() || !ops_.find_op(name, 0).valid()) return at("has no operator");
    intern(value);
  }
  // Of the leaves that read as numbers, only those that stood in some term have a word. Exactly
  // these have their value in the table.
  for (std::size_t i = 0; i < ops_.op_count(); ++i) {
    if (ops_.arity(OpId(i)) > 0) continue;
    const auto value = Rational::parse(ops_.name(OpId(i)));
    if (value && index_.contains(*value)) leaf(OpId(i));
  }
  return base::ok();
}

void ConstantFolding::define_conditions(Syntax& syntax) const {
  // Cites what makes a condition true: the class is equal to this leaf.
  const auto cite = [](EGraph& egraph, ClassId id, OpId leaf) {
    if (egraph.proofs() == nullptr) return;
    if (const auto term = egraph.add(leaf); term.ok()) egraph.cite(id, *term);
  };
  const auto known = [this, cite](EGraph& egraph, ClassId id) {
    const Data data = egraph.data(id);
    if (data != 0) cite(egraph, id, value_ops_[data - 1]);
    return data != 0;
  };
  const auto has_symbol = [this, cite](EGraph& egraph, ClassId id) {
    const auto nodes = egraph.nodes(egraph.find(id));
    const auto symbol = std::find_if(nodes.begin(), nodes.end(), [&](NodeId node) {
      if (!egraph.children(node).empty()) return false;
      const auto entry = leaf_data_.find(egraph.op(node).index());
      return entry == leaf_data_.end() || entry->second == 0;
    });
    if (symbol == nodes.end()) return false;
    cite(egraph, id, egraph.op(*symbol));
    return true;
  };
  using Classes = std::span<const ClassId>;
  using Reads = Rewrite::Reads;
  const auto not_zero = [=, this](EGraph& egraph, Classes c) {
    const auto constant = value(egraph, c[0]);
    return !constant || (constant->numerator != 0 && known(egraph, c[0]));
  };
  const auto distinct = [=](EGraph& egraph, Classes c) {
    return !egraph.same(c[0], c[1]) && (known(egraph, c[0]) || has_symbol(egraph, c[0]));
  };
  syntax.define_condition("not-zero", 1, not_zero, Reads::kData);
  syntax.define_condition(
      "const", 1, [=](EGraph& egraph, Classes c) { return known(egraph, c[0]); }, Reads::kData);
  syntax.define_condition(
      "sym", 1, [=](EGraph& egraph, Classes c) { return has_symbol(egraph, c[0]); },
      Reads::kMatched);
  syntax.define_condition("const-or-distinct-var", 2, distinct, Reads::kMatched);
}

}  // namespace egret::egraph::workloads
