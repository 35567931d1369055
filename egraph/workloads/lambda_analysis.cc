// SPDX-License-Identifier: Apache-2.0
#include "egraph/workloads/lambda_analysis.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <utility>

#include "egraph/formats/snapshot_items.h"

namespace egret::egraph::workloads {

using base::Result;
using base::Status;

namespace {

constexpr std::string_view kSets = "lambda.sets";
constexpr std::string_view kConstants = "lambda.constants";
constexpr std::string_view kLean = "lambda.lean";

}  // namespace

LambdaAnalysis::LambdaAnalysis(OpTable& ops)
    : ops_(ops), var_(ops.op("var", 1)), lam_(ops.op("lam", 2)), let_(ops.op("let", 3)) {
  sets_.emplace_back();
  set_ids_.emplace(Names(), 0);
}

std::unique_ptr<Analysis> LambdaAnalysis::prepare(OpTable& ops, Syntax& syntax) {
  auto analysis = std::make_unique<LambdaAnalysis>(ops);
  using Classes = std::span<const ClassId>;
  using Reads = Rewrite::Reads;
  LambdaAnalysis* const self = analysis.get();
  syntax.define_condition(
      "const", 1, [self](EGraph& egraph, Classes c) { return self->is_constant(egraph, c[0]); },
      Reads::kData);
  syntax.define_condition(
      "distinct", 2, [](EGraph& egraph, Classes c) { return !egraph.same(c[0], c[1]); },
      Reads::kData);
  syntax.define_condition(
      "equal-under", 4, [self](EGraph& egraph, Classes c) { return self->equal_under(egraph, c); });
  syntax.define_builder(
      "let-under", 5, [self](EGraph& egraph, Classes c) { return self->let_under(egraph, c); },
      Reads::kData);
  return analysis;
}

bool LambdaAnalysis::is_constant(EGraph& egraph, ClassId id) const {
  const ConstantId constant = constant_of(egraph.data(id));
  if (constant == 0) return false;
  if (egraph.proofs() == nullptr) return true;
  if (const auto leaf = egraph.add(constant_ops_[constant - 1]); leaf.ok()) egraph.cite(id, *leaf);
  return true;
}

// (?x, ?e, ?then, ?else): if x = e, then and else become the same. Adds both terms.
bool LambdaAnalysis::equal_under(EGraph& egraph, std::span<const ClassId> c) const {
  const auto then_side = egraph.add(let_, {c[0], c[1], c[2]});
  const auto else_side = egraph.add(let_, {c[0], c[1], c[3]});
  if (!then_side.ok() || !else_side.ok() || !egraph.same(*then_side, *else_side)) return false;
  egraph.cite(*then_side, *else_side);
  return true;
}

// (?let, ?v1, ?e, ?v2, ?body) with ?let = (let ?v1 ?e (lam ?v2 ?body)) and v1 != v2: moves the let
// under the binder. The binder gets a new name if it would capture a variable of e.
Result<ClassId> LambdaAnalysis::let_under(EGraph& egraph, std::span<const ClassId> c) {
  const ClassId v1 = c[1], e = c[2];
  ClassId v2 = c[3], body = c[4];
  if (is_free(egraph, v2, e)) {
    const std::string fresh = std::string("_").append(std::to_string(c[0].index()));
    EGRET_ASSIGN_OR_RETURN(const ClassId name, egraph.add(ops_.op(fresh, 0)));
    EGRET_ASSIGN_OR_RETURN(const ClassId var, egraph.add(var_, {name}));
    EGRET_ASSIGN_OR_RETURN(body, egraph.add(let_, {v2, var, body}));
    v2 = name;
  } else if (egraph.proofs() != nullptr) {
    // A term of e in which v2 is not free. If e is that term itself, this is visible.
    const ClassId lean = lean_term(egraph, e);
    if (lean.valid() && lean != e) egraph.cite(e, lean);
  }
  EGRET_ASSIGN_OR_RETURN(const ClassId inner, egraph.add(let_, {v1, e, body}));
  return egraph.add(lam_, {v2, inner});
}

LambdaAnalysis::Kind LambdaAnalysis::kind(OpId op) {
  if (op.index() >= kinds_.size()) {
    kinds_.resize(ops_.op_count());
    leaf_.resize(ops_.op_count());
  }
  Kind& known = kinds_[op.index()];
  if (known != Kind::kUnknown) return known;
  constexpr std::array<std::pair<std::string_view, Kind>, 6> kNamed = {{{"var", Kind::kVar},
                                                                        {"lam", Kind::kBinder},
                                                                        {"fix", Kind::kBinder},
                                                                        {"let", Kind::kLet},
                                                                        {"+", Kind::kAdd},
                                                                        {"=", Kind::kEqual}}};
  known = ops_.arity(op) == 0 ? Kind::kLeaf : Kind::kOther;
  for (const auto& [name, named] : kNamed) {
    if (known == Kind::kOther && ops_.name(op) == name) known = named;
  }
  if (known == Kind::kLeaf) {
    const auto constant = parse(ops_.name(op));
    leaf_[op.index()] = constant ? intern(*constant) : 0;
  }
  return known;
}

std::optional<LambdaAnalysis::Constant> LambdaAnalysis::parse(std::string_view text) {
  if (text == "true" || text == "false") return Constant{true, text == "true"};
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return Constant{false, value};
}

LambdaAnalysis::ConstantId LambdaAnalysis::intern(const Constant& constant) {
  const auto [entry, fresh] =
      constant_ids_.try_emplace(constant, static_cast<ConstantId>(constants_.size() + 1));
  if (fresh) {
    constants_.push_back(constant);
    const std::string text = constant.is_boolean ? (constant.value != 0 ? "true" : "false")
                                                 : std::to_string(constant.value);
    constant_ops_.push_back(ops_.op(text, 0));
  }
  return entry->second;
}

LambdaAnalysis::SetId LambdaAnalysis::intern(Names names) {
  const auto [entry, fresh] =
      set_ids_.try_emplace(std::move(names), static_cast<SetId>(sets_.size()));
  if (fresh) sets_.push_back(entry->first);
  return entry->second;
}

// Sets are interned, so a word of data holds a set's number and equality is cheap. Unions are
// remembered: the same pairs meet at very many nodes.
LambdaAnalysis::SetId LambdaAnalysis::unite(SetId a, SetId b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  if (b < a) std::swap(a, b);
  const auto [entry, fresh] = unions_.try_emplace((std::uint64_t{a} << 32) | b, 0);
  if (!fresh) return entry->second;
  Names names;
  std::set_union(sets_[a].begin(), sets_[a].end(), sets_[b].begin(), sets_[b].end(),
                 std::back_inserter(names));
  return entry->second = intern(std::move(names));
}

// A variable is free in a class only if it is free in all its terms: a name that one equal term
// does without has no influence on the value.
LambdaAnalysis::SetId LambdaAnalysis::intersect(SetId a, SetId b) {
  if (a == b) return a;
  if (a == 0 || b == 0) return 0;
  Names names;
  std::set_intersection(sets_[a].begin(), sets_[a].end(), sets_[b].begin(), sets_[b].end(),
                        std::back_inserter(names));
  return intern(std::move(names));
}

LambdaAnalysis::SetId LambdaAnalysis::without(SetId set, ClassId name) {
  const auto place = std::lower_bound(sets_[set].begin(), sets_[set].end(), name);
  if (place == sets_[set].end() || *place != name) return set;
  Names names = sets_[set];
  names.erase(names.begin() + (place - sets_[set].begin()));
  return intern(std::move(names));
}

LambdaAnalysis::ConstantId LambdaAnalysis::fold(Kind kind, ConstantId a, ConstantId b) {
  if (a == 0 || b == 0) return 0;
  const Constant left = constants_[a - 1], right = constants_[b - 1];
  if (kind == Kind::kEqual) return intern(Constant{true, left == right});
  if (kind != Kind::kAdd || left.is_boolean || right.is_boolean) return 0;
  const std::int64_t sum = std::int64_t{left.value} + right.value;
  using Limits = std::numeric_limits<std::int32_t>;
  if (sum < Limits::min() || sum > Limits::max()) return 0;
  return intern(Constant{false, static_cast<std::int32_t>(sum)});
}

// The free variables of a term, by the usual recursion, and its constant if it has one.
Result<Analysis::Data> LambdaAnalysis::make(const EGraph& egraph, OpId op,
                                            std::span<const ClassId> children) {
  const auto free = [&](std::size_t i) { return set_of(egraph.data(children[i])); };
  const auto constant = [&](std::size_t i) { return constant_of(egraph.data(children[i])); };
  const Kind kind = this->kind(op);
  switch (kind) {
    case Kind::kLeaf: return word(0, leaf_[op.index()]);
    case Kind::kVar: return word(intern(Names{children[0]}), 0);
    case Kind::kBinder: return word(without(free(1), children[0]), 0);
    case Kind::kLet: return word(unite(without(free(2), children[0]), free(1)), 0);
    case Kind::kAdd:
    case Kind::kEqual: return word(unite(free(0), free(1)), fold(kind, constant(0), constant(1)));
    case Kind::kOther:
    case Kind::kUnknown: break;
  }
  SetId all = 0;
  for (std::size_t i = 0; i < children.size(); ++i) all = unite(all, free(i));
  return word(all, 0);
}

Result<Analysis::Data> LambdaAnalysis::merge(Data a, Data b) {
  if (a == b) return a;
  const ConstantId left = constant_of(a), right = constant_of(b);
  if (left != 0 && right != 0 && left != right) {
    return base::bad_input("constants " + std::string(ops_.name(constant_ops_[left - 1])) +
                           " and " + std::string(ops_.name(constant_ops_[right - 1])) +
                           " cannot be equal");
  }
  return word(intersect(set_of(a), set_of(b)), left != 0 ? left : right);
}

// A proof should state (+ 1 2) = 3, not that some term of the class is 3.
void LambdaAnalysis::modify(EGraph& egraph, ClassId id) {
  const ConstantId constant = constant_of(egraph.data(id));
  if (constant == 0) return;
  const auto node = egraph.add(constant_ops_[constant - 1]);
  if (!node.ok() || egraph.same(id, *node)) return;
  const ClassId folded = egraph.proofs() == nullptr ? ClassId() : folded_term(egraph, id);
  (void)egraph.merge(folded.valid() ? folded : id, *node);
}

void LambdaAnalysis::save(SnapshotWriter& writer) const {
  ItemWriter sets;
  sets.number(sets_.size());
  for (const Names& names : sets_) {
    sets.number(names.size());
    for (const ClassId name : names) sets.number(name.index());
  }
  writer.add_copy(kSets, sets.bytes());
  ItemWriter constants;
  constants.number(constant_ops_.size());
  for (const OpId op : constant_ops_) constants.number(op.index());
  writer.add_copy(kConstants, constants.bytes());
  writer.add_view(kLean, std::as_bytes(std::span(lean_terms_)));
}

Status LambdaAnalysis::load(const SnapshotFile& file, const EGraph& egraph) {
  ItemReader sets(file, kSets);
  for (std::size_t i = 0, count = sets.count(); i < count && sets.ok(); ++i) {
    Names names;
    for (std::size_t left = sets.count(); left > 0 && sets.ok(); --left)
      names.emplace_back(sets.number(egraph.id_count()));
    if (std::ranges::adjacent_find(names, std::greater_equal<>()) != names.end())
      sets.fail("set " + std::to_string(i) + " is not in order");
    if (intern(std::move(names)) != i) sets.fail("set " + std::to_string(i) + " cannot be there");
  }
  EGRET_RETURN_IF_ERROR(sets.finish());
  ItemReader constants(file, kConstants);
  for (std::size_t i = 0, count = constants.count(); i < count && constants.ok(); ++i) {
    const OpId op(constants.number(ops_.op_count()));
    const auto value = ops_.arity(op) == 0 ? parse(ops_.name(op)) : std::nullopt;
    if (!value || intern(*value) != i + 1 || constant_ops_.back() != op)
      constants.fail("item " + std::to_string(i) + " is no new constant");
  }
  EGRET_RETURN_IF_ERROR(constants.finish());
  EGRET_ASSIGN_OR_RETURN(const auto lean, file.values<LeanTerm>(kLean));
  for (const LeanTerm& known : lean) {
    const auto at = [&](const char* what) {
      return file.corrupt(kLean, "item " + std::to_string(lean_terms_.size()) + " " + what);
    };
    const ClassId term(known.term);
    if (known.free >= sets_.size()) return at("has a set that does not exist");
    if (term.valid() &&
        (term.index() >= egraph.id_count() || lean_terms_.size() >= egraph.id_count() ||
         !egraph.same(term, ClassId(lean_terms_.size()))))
      return at("is no term of its class");
    lean_terms_.push_back(known);
  }
  return base::ok();
}

bool LambdaAnalysis::is_free(const EGraph& egraph, ClassId name, ClassId in) const {
  const Names& names = sets_[set_of(egraph.data(in))];
  return std::binary_search(names.begin(), names.end(), egraph.find(name));
}

}  // namespace egret::egraph::workloads
