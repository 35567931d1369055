// SPDX-License-Identifier: Apache-2.0
#include "parallel/laws/cut_form.h"

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

#include "parallel/laws/index_form.h"

namespace egret::parallel {
namespace {

using ir::ExprNode;
using ir::ExprOp;

// Thrown where an expression moves in a way that no device can follow, and caught in cut_form().
struct NotCut {};

// The nodes of a kind in an expression, those that are inside first.
void collect(const ExprNode* node, ExprOp op, std::set<const ExprNode*>& seen,
             std::vector<const ExprNode*>& found) {
  if (!seen.insert(node).second) return;
  for (const ExprNode* kid : node->kids) collect(kid, op, seen, found);
  if (node->op == op) found.push_back(node);
}

// The halos that inputs have.
using Halos = std::vector<Halo>;

class Writer {
 public:
  // `halos` are nullptr where reads stay within their blocks.
  Writer(const ir::Denotation& denotation, std::span<const ir::TensorType> types, const Cut* cut,
         FormTable& table, const Halos* halos = nullptr)
      : types_(types),
        cut_(cut),
        table_(table),
        halos_(halos),
        inputs_(types.size()),
        needed_(types.size()) {
    for (std::size_t i = 0; i < denotation.vars.size(); ++i) {
      if (denotation.vars[i].is_constant()) continue;
      bind(denotation.vars[i].node(), denotation.type.dims[i].constant(), "out" + std::to_string(i),
           "out" + std::to_string(i));
    }
  }

  int write(ir::Scalar value) {
    return value.is_constant() ? constant(value.constant()) : scalar(value.node());
  }
  // Inputs that are not read are copies.
  std::vector<AxisPlacement> inputs() const {
    std::vector<AxisPlacement> placements;
    for (const auto& input : inputs_) placements.push_back(input.value_or(AxisPlacement::copy()));
    return placements;
  }
  // The halos that reads need. What is beyond matters to those that have rows.
  Halos needed() const { return needed_; }

 private:
  bool is_cut(const ExprNode* variable) const {
    return cut_ != nullptr && cut_->variable == variable;
  }

  void bind(const ExprNode* variable, std::int64_t extent, const std::string& name,
            const std::string& cut_name) {
    IndexForm form;
    form.global = {0, extent - 1};
    form.local = form.global;
    if (is_cut(variable)) {
      const std::int64_t block = cut_->extent / cut_->parts;
      form.local = {0, block - 1};
      form.moves = block;
    }
    if (form.local.low != form.local.high)
      form.sum.factors[table_.intern(is_cut(variable) ? cut_name : name)] = 1;
    indices_[variable] = form;
  }

  int constant(double value) { return table_.intern("c" + std::to_string(bits(value))); }
  static std::uint64_t bits(double value) {
    std::uint64_t result = 0;
    static_assert(sizeof(result) == sizeof(value));
    std::copy_n(reinterpret_cast<const unsigned char*>(&value), sizeof(value),
                reinterpret_cast<unsigned char*>(&result));
    return result;
  }

  // ---- index expressions ----

  IndexForm atom(const std::string& text, Interval local, Interval global) {
    IndexForm form;
    form.sum.factors[table_.intern(text)] = 1;
    form.local = local;
    form.global = global;
    return form;
  }

  const IndexForm& index(const ExprNode* node) {
    const auto known = indices_.find(node);
    if (known != indices_.end()) return known->second;
    IndexForm form = make_index(node);
    if (form.local.low == form.local.high && form.local.within(-kFar + 1, kFar - 1)) {
      form.sum = {form.local.low, {}};
    }
    return indices_[node] = form;
  }

  IndexForm make_index(const ExprNode* node) {
    switch (node->op) {
      case ExprOp::kIndexConst: {
        IndexForm form;
        form.sum.constant = node->integer;
        form.local = form.global = {bounded(node->integer), bounded(node->integer)};
        return form;
      }
      case ExprOp::kIndexAdd: {
        IndexForm form = index(node->kids[0]);
        const IndexForm& other = index(node->kids[1]);
        form.sum.add(other.sum, 1);
        form.local = sum(form.local, other.local);
        form.global = sum(form.global, other.global);
        form.moves += other.moves;
        return form;
      }
      case ExprOp::kIndexMul: return make_product(index(node->kids[0]), index(node->kids[1]));
      case ExprOp::kIndexDiv: return make_quotient(index(node->kids[0]), index(node->kids[1]));
      case ExprOp::kIndexMod: return make_remainder(index(node->kids[0]), index(node->kids[1]));
      case ExprOp::kIndexMin:
      case ExprOp::kIndexMax: return make_extremum(node->op, node->kids);
      case ExprOp::kIndexOf: {
        const ExprNode* value = node->kids[0];
        return atom("i" + std::to_string(scalar(value)), {}, {});
      }
      default: throw NotCut{};  // a symbol, or a variable outside of its reduction
    }
  }

  IndexForm make_product(const IndexForm& a, const IndexForm& b) {
    // A variable whose block is one element is a constant there, and still moves.
    const auto is_number = [](const IndexForm& f) { return f.sum.is_constant() && f.moves == 0; };
    if (!is_number(a) && is_number(b)) return make_product(b, a);
    IndexForm form;
    form.local = product(a.local, b.local);
    form.global = product(a.global, b.global);
    if (is_number(a)) {
      form.sum.add(b.sum, a.sum.constant);
      form.moves = b.moves * a.sum.constant;
      return form;
    }
    if (a.moves != 0 || b.moves != 0) throw NotCut{};
    return atom("(" + a.sum.text() + ")*(" + b.sum.text() + ")", form.local, form.global);
  }

  IndexForm make_quotient(const IndexForm& a, const IndexForm& b) {
    if (!b.sum.is_constant() || b.moves != 0) return make_opaque("div", a, b);
    const std::int64_t by = b.sum.constant;
    if (by <= 0) throw NotCut{};
    const auto quotient = [&](Interval i) {
      return Interval{i.low <= -kFar ? -kFar : floor_div(i.low, by),
                      i.high >= kFar ? kFar : floor_div(i.high, by)};
    };
    if (a.global.within(0, by - 1)) return {{}, {0, 0}, {0, 0}, 0};
    if (a.moves % by != 0) throw NotCut{};
    IndexForm form;
    if (a.local.within(0, by - 1)) {
      form = {{}, {0, 0}, quotient(a.global), 0};
    } else if (by == 1) {
      form = a;
    } else {
      form = atom("div(" + a.sum.text() + "," + std::to_string(by) + ")", quotient(a.local),
                  quotient(a.global));
    }
    form.moves = a.moves / by;
    return form;
  }

  IndexForm make_remainder(const IndexForm& a, const IndexForm& b) {
    if (!b.sum.is_constant() || b.moves != 0) return make_opaque("mod", a, b);
    const std::int64_t by = b.sum.constant;
    if (by <= 0) throw NotCut{};
    if (a.global.within(0, by - 1)) return a;
    if (a.moves % by != 0) throw NotCut{};
    if (a.local.within(0, by - 1)) return {a.sum, a.local, {0, by - 1}, 0};
    return atom("mod(" + a.sum.text() + "," + std::to_string(by) + ")", {0, by - 1}, {0, by - 1});
  }

  IndexForm make_opaque(const char* name, const IndexForm& a, const IndexForm& b) {
    if (a.moves != 0 || b.moves != 0) throw NotCut{};
    return atom(name + ("(" + a.sum.text() + "," + b.sum.text() + ")"), {}, {});
  }

  IndexForm make_extremum(ExprOp op, std::span<const ExprNode* const> kids) {
    const IndexForm a = index(kids[0]);
    const IndexForm b = index(kids[1]);
    const bool least = op == ExprOp::kIndexMin;
    // One of them is it wherever v is.
    if (a.global.high <= b.global.low) return least ? a : b;
    if (b.global.high <= a.global.low) return least ? b : a;
    if (a.moves != b.moves) throw NotCut{};
    const auto pick = [&](Interval x, Interval y) {
      return least ? Interval{std::min(x.low, y.low), std::min(x.high, y.high)}
                   : Interval{std::max(x.low, y.low), std::max(x.high, y.high)};
    };
    IndexForm form = atom((least ? "min(" : "max(") + a.sum.text() + "," + b.sum.text() + ")",
                          pick(a.local, b.local), pick(a.global, b.global));
    form.moves = a.moves;
    return form;
  }

  // ---- guards ----

  int truth(bool value) { return table_.intern(value ? "true" : "false"); }

  int comparison(const ExprNode* node) {
    IndexForm difference = index(node->kids[1]);
    const IndexForm& left = index(node->kids[0]);
    difference.sum.add(left.sum, -1);
    difference.moves -= left.moves;
    const auto minus = [](Interval a) { return Interval{-a.high, -a.low}; };
    difference.local = sum(difference.local, minus(left.local));
    difference.global = sum(difference.global, minus(left.global));
    const bool le = node->op == ExprOp::kIndexLe;
    // What moves must be so wherever v is; what does not, on each block alone.
    const Interval& range = difference.moves != 0 ? difference.global : difference.local;
    if (le && range.low >= 0) return truth(true);
    if (le && range.high < 0) return truth(false);
    if (!le && (range.low > 0 || range.high < 0)) return truth(false);
    if (difference.moves != 0) throw NotCut{};
    if (difference.sum.is_constant()) {
      return truth(le ? difference.sum.constant >= 0 : difference.sum.constant == 0);
    }
    return table_.intern((le ? "0<=" : "0==") + difference.sum.text());
  }

  int guard(const ExprNode* node) {
    const auto known = forms_.find(node);
    if (known != forms_.end()) return known->second;
    return forms_[node] = make_guard(node);
  }

  int make_guard(const ExprNode* node) {
    switch (node->op) {
      case ExprOp::kGuardConst: return truth(node->integer != 0);
      case ExprOp::kIndexLe:
      case ExprOp::kIndexEq: return comparison(node);
      case ExprOp::kScalarLt:
      case ExprOp::kScalarLe:
      case ExprOp::kScalarEq:
        return table_.intern("g" + std::to_string(static_cast<int>(node->op)) + "(" +
                             std::to_string(scalar(node->kids[0])) + "," +
                             std::to_string(scalar(node->kids[1])) + ")");
      case ExprOp::kAnd:
      case ExprOp::kOr: {
        return joined(node->op, guard(node->kids[0]), guard(node->kids[1]));
      }
      case ExprOp::kNot: {
        const int a = guard(node->kids[0]);
        if (a == truth(true) || a == truth(false)) return truth(a == truth(false));
        return table_.intern("not(" + std::to_string(a) + ")");
      }
      default: throw NotCut{};
    }
  }

  int joined(ExprOp op, int a, int b) {
    const bool both = op == ExprOp::kAnd;
    if (a == truth(both) || a == b) return b;
    if (b == truth(both)) return a;
    if (a == truth(!both) || b == truth(!both)) return truth(!both);
    return table_.intern((both ? "and(" : "or(") + std::to_string(a) + "," + std::to_string(b) +
                         ")");
  }

  // ---- halos ----

  // Adds the rows by which indices of this range leave a block. Where nothing is known of them, the
  // operator on the parts says whether they do.
  static void widen(const Interval& local, std::int64_t block, Halo& halo) {
    if (!local.within(-kFar + 1, kFar - 1)) return;
    halo.before = std::max(halo.before, -local.low);
    halo.after = std::max(halo.after, local.high - (block - 1));
  }

  static std::optional<double> neutral_of(ir::Reduction reduction) {
    if (reduction == ir::Reduction::kSum) return 0;
    if (reduction == ir::Reduction::kMax) return -std::numeric_limits<double>::infinity();
    return std::nullopt;
  }

  // A condition of `body`, without what halos stand for. Where it is false, the value is
  // `otherwise`.
  int guard_of(const ExprNode* node, const ExprNode* body, std::optional<double> otherwise) {
    if (halos_ == nullptr || !otherwise) return guard(node);
    if (node->op == ExprOp::kAnd) {
      const int a = guard_of(node->kids[0], body, otherwise);
      return joined(node->op, a, guard_of(node->kids[1], body, otherwise));
    }
    return is_left_to_halo(node, body, *otherwise) ? truth(true) : guard(node);
  }

  // Whether the guard says that some read of `body` is not before the first row, or not after the
  // last, and the body is `otherwise` where that read finds what is beyond.
  bool is_left_to_halo(const ExprNode* node, const ExprNode* body, double otherwise) {
    if (node->op != ExprOp::kIndexLe) return false;
    IndexForm room = index(node->kids[1]);
    const IndexForm& left = index(node->kids[0]);
    room.sum.add(left.sum, -1);
    room.moves -= left.moves;
    if (room.moves == 0) return false;
    std::set<const ExprNode*> seen;
    std::vector<const ExprNode*> reads;
    collect(body, ExprOp::kRead, seen, reads);
    for (const ExprNode* read : reads) {
      const auto input = static_cast<std::size_t>(read->integer);
      for (std::size_t dim = 0; dim < read->kids.size(); ++dim) {
        const IndexForm at = index(read->kids[dim]);
        const std::int64_t last = types_[input].dims[dim].constant() - 1;
        if (at.moves == 0 || !is_room(room, at, last)) continue;
        for (const Halo::Beyond beyond : {Halo::Beyond::kZero, Halo::Beyond::kMinusInfinity}) {
          const BeyondEnd end{read->integer, dim, at, Halo{.beyond = beyond}.value_beyond()};
          if (value_of(body, &end) != otherwise) continue;
          return takes_beyond(needed_[input], beyond, types_[input].dtype);
        }
      }
    }
    return false;
  }

  // Whether `room` is at - 0 or last - at.
  static bool is_room(const IndexForm& room, const IndexForm& at, std::int64_t last) {
    Sum sum = room.sum;
    if (room.moves == at.moves) {
      sum.add(at.sum, -1);
      return sum.is_constant() && sum.constant == 0;
    }
    sum.add(at.sum, 1);
    return room.moves == -at.moves && sum.is_constant() && sum.constant == last;
  }

  bool takes_beyond(Halo& halo, Halo::Beyond beyond, ir::DType dtype) {
    if (beyond != Halo::Beyond::kZero && !ir::is_float(dtype)) return false;
    if (halo.beyond != beyond && has_beyond_.contains(&halo)) return false;
    halo.beyond = beyond;
    has_beyond_.insert(&halo);
    return true;
  }

  // Reads of an input whose index of a dimension is this one, beyond the end.
  struct BeyondEnd {
    std::int64_t input;
    std::size_t dim;
    const IndexForm& at;
    double value;
  };

  // The value of an element that is a number, maybe because of what is beyond the end; as
  // everywhere in placement laws, 0 times an element is 0.
  std::optional<double> value_of(const ExprNode* node, const BeyondEnd* end) {
    const auto kid = [&](std::size_t i) { return value_of(node->kids[i], end); };
    switch (node->op) {
      case ExprOp::kConst: return node->real;
      case ExprOp::kRead: {
        if (end == nullptr || node->integer != end->input) return std::nullopt;
        const IndexForm& at = index(node->kids[end->dim]);
        Sum difference = at.sum;
        difference.add(end->at.sum, -1);
        const bool same = difference.is_constant() && difference.constant == 0;
        return same && at.moves == end->at.moves ? std::optional(end->value) : std::nullopt;
      }
      case ExprOp::kMul: {
        const auto a = kid(0);
        const auto b = kid(1);
        if (a == 0.0 || b == 0.0) return 0;
        return a && b ? std::optional(*a * *b) : std::nullopt;
      }
      case ExprOp::kCast: return ir::is_float(node->dtype) ? kid(0) : std::nullopt;
      case ExprOp::kReduce: {
        const auto body = kid(3);
        return body == neutral_of(node->reduction) ? body : std::nullopt;
      }
      default: return std::nullopt;
    }
  }

  // ---- elements ----

  int scalar(const ExprNode* node) {
    const auto known = forms_.find(node);
    if (known != forms_.end()) return known->second;
    return forms_[node] = make_scalar(node);
  }

  int make_scalar(const ExprNode* node) {
    std::string text;
    switch (node->op) {
      case ExprOp::kConst: return constant(node->real);
      case ExprOp::kRead: return read(node);
      case ExprOp::kScalarOf: {
        const IndexForm& form = index(node->kids[0]);
        if (form.moves != 0) throw NotCut{};
        if (form.sum.is_constant()) return constant(static_cast<double>(form.sum.constant));
        return table_.intern("s" + form.sum.text());
      }
      case ExprOp::kSelect: {
        const int condition =
            guard_of(node->kids[0], node->kids[1], value_of(node->kids[2], nullptr));
        if (condition == truth(true)) return scalar(node->kids[1]);
        if (condition == truth(false)) return scalar(node->kids[2]);
        text = "select(" + std::to_string(condition) + "," + std::to_string(scalar(node->kids[1])) +
               "," + std::to_string(scalar(node->kids[2]));
        break;
      }
      case ExprOp::kReduce: return reduction(node);
      case ExprOp::kCall:
        text = "f" + std::to_string(static_cast<int>(node->function)) + "(";
        break;
      case ExprOp::kCast: text = "t" + std::to_string(static_cast<int>(node->dtype)) + "("; break;
      default: text = "o" + std::to_string(static_cast<int>(node->op)) + "("; break;
    }
    if (node->op != ExprOp::kSelect) {
      for (const ExprNode* kid : node->kids) text += std::to_string(scalar(kid)) + ",";
    }
    return table_.intern(text + ")");
  }

  int read(const ExprNode* node) {
    const auto input = static_cast<std::size_t>(node->integer);
    AxisPlacement placement;
    std::string text = "x" + std::to_string(input) + "[";
    for (std::size_t dim = 0; dim < node->kids.size(); ++dim) {
      IndexForm at = index(node->kids[dim]);
      if (at.moves != 0) {
        const std::int64_t size = types_[input].dims[dim].constant();
        if (!placement.is_copy() || at.moves * cut_->parts != size) throw NotCut{};
        placement = AxisPlacement::split(static_cast<int>(dim));
        if (halos_ != nullptr) {
          widen(at.local, at.moves, needed_[input]);
          at.sum.constant += (*halos_)[input].before;
          placement.halo = (*halos_)[input];
        }
      }
      text += at.sum.text() + ",";
    }
    if (inputs_[input].value_or(placement) != placement) throw NotCut{};
    inputs_[input] = placement;
    return table_.intern(text + "]");
  }

  int reduction(const ExprNode* node) {
    const ExprNode* variable = node->kids[0];
    const bool cut = cut_ != nullptr && cut_->reduction == node;
    const IndexForm extent = index(node->kids[1]);
    if (extent.moves != 0) throw NotCut{};
    std::string text = "r" + std::to_string(static_cast<int>(node->reduction)) + "(";
    ++depth_;
    const std::string name = "bound" + std::to_string(depth_);
    if (extent.sum.is_constant()) {
      bind(variable, extent.sum.constant, name, name);
      text += std::to_string(cut ? cut_->extent / cut_->parts : extent.sum.constant);
    } else {
      bind(variable, extent.global.high, name, name);
      text += extent.sum.text();
    }
    const int where = guard_of(node->kids[2], node->kids[3], neutral_of(node->reduction));
    const int body = scalar(node->kids[3]);
    --depth_;
    return table_.intern(text + "," + std::to_string(where) + "," + std::to_string(body) + "," +
                         std::to_string(depth_) + ")");
  }

  std::span<const ir::TensorType> types_;
  const Cut* cut_;
  FormTable& table_;
  const Halos* halos_;
  std::vector<std::optional<AxisPlacement>> inputs_;
  std::unordered_map<const ExprNode*, IndexForm> indices_;
  std::unordered_map<const ExprNode*, int> forms_;
  Halos needed_;  // by input
  std::set<const Halo*> has_beyond_;
  int depth_ = 0;
};

}  // namespace

std::optional<CutForm> cut_form(const ir::Denotation& denotation,
                                std::span<const ir::TensorType> types, const Cut& cut,
                                FormTable& table) {
  try {
    Writer writer(denotation, types, &cut, table);
    const int form = writer.write(denotation.value);
    return CutForm{writer.inputs(), form};
  } catch (const NotCut&) {
    return std::nullopt;
  }
}

// First the halos that are needed are found, then the form is written from where they begin.
std::optional<CutForm> cut_form_with_halo(const ir::Denotation& denotation,
                                          std::span<const ir::TensorType> types, const Cut& cut,
                                          FormTable& table) {
  try {
    Halos halos(types.size());
    Writer first(denotation, types, &cut, table, &halos);
    first.write(denotation.value);
    halos = first.needed();
    for (Halo& halo : halos) {
      if (halo.is_empty()) halo = {};
    }
    if (std::ranges::all_of(halos, &Halo::is_empty)) return std::nullopt;
    Writer writer(denotation, types, &cut, table, &halos);
    const int form = writer.write(denotation.value);
    return CutForm{writer.inputs(), form};
  } catch (const NotCut&) {
    return std::nullopt;
  }
}

std::optional<int> element_form(const ir::Denotation& denotation,
                                std::span<const ir::TensorType> types, FormTable& table) {
  try {
    return Writer(denotation, types, nullptr, table).write(denotation.value);
  } catch (const NotCut&) {
    return std::nullopt;
  }
}

std::vector<const ExprNode*> reductions_of(const ir::Denotation& denotation) {
  std::vector<const ExprNode*> found;
  std::set<const ExprNode*> seen;
  if (!denotation.value.is_constant())
    collect(denotation.value.node(), ExprOp::kReduce, seen, found);
  return found;
}

}  // namespace egret::parallel
