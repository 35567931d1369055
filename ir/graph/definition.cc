// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/definition.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "ir/core/symbolic_scope.h"
#include "ir/graph/open_sizes.h"

namespace egret::ir {
namespace {

bool is_one(Index size) { return size.is_constant() && size.constant() == 1; }

// Whether the value is 0 or 1 whenever the bool inputs are: it is chosen among truth values, not
// computed by arithmetic.
bool is_truth_value(Scalar value, std::span<const TensorType> inputs) {
  if (value.is_constant()) return value.constant() == 0 || value.constant() == 1;
  std::vector<const ExprNode*> open = {value.node()};
  std::set<const ExprNode*> seen;  // of several pools
  const auto look_into = [&](std::span<const ExprNode* const> kids) {
    for (const ExprNode* kid : kids) {
      if (seen.insert(kid).second) open.push_back(kid);
    }
  };
  while (!open.empty()) {
    const ExprNode& node = *open.back();
    open.pop_back();
    switch (node.op) {
      case ExprOp::kConst:
        if (node.real != 0 && node.real != 1) return false;
        break;
      case ExprOp::kRead:
        if (inputs[static_cast<std::size_t>(node.integer)].dtype != DType::kBool) return false;
        break;
      case ExprOp::kCast:
        if (node.dtype != DType::kBool) return false;
        break;
      case ExprOp::kMin:
      case ExprOp::kMax: look_into(node.kids); break;
      case ExprOp::kSelect: look_into(node.kids.subspan(1)); break;
      case ExprOp::kReduce:
        if (node.reduction != Reduction::kMin && node.reduction != Reduction::kMax) return false;
        look_into(node.kids.last(1));
        break;
      default: return false;
    }
  }
  return true;
}

// Whether one of two sizes over the same symbols is 1 at some small values where they differ, and
// they are equal nowhere but at 1: (s + 1) / 2 and s. A program that broadcasts them means the
// repetition. Where equality is possible, as of s and 2 * ((s + 1) / 2), it is what the program
// means.
bool is_repeated_only(Index a, Index b) {
  constexpr std::int64_t kLargest = 8;
  constexpr std::size_t kMostSymbols = 3;
  const SymbolNames names = symbols_of(std::span(&a, 1));
  if (names.empty() || names.size() > kMostSymbols || names != symbols_of(std::span(&b, 1)))
    return false;
  bool repeats = false;
  SymbolValues values;
  for (const std::string& name : names) values[name] = 1;
  while (true) {
    const auto x = evaluate(a, values);
    const auto y = evaluate(b, values);
    if (x && y && *x == *y && *x > 1) return false;
    repeats = repeats || (x && y && *x != *y && (*x == 1 || *y == 1));
    auto next = values.begin();
    while (next != values.end() && next->second == kLargest) (next++)->second = 1;
    if (next == values.end()) return repeats;
    ++next->second;
  }
}

// In a scope for all values, what rests on their equality is then undecided.
void leave_undecided(Index a, Index b) {
  SymbolicScope* const scope = SymbolicScope::current();
  if (scope == nullptr || !evaluate(a == b, scope->examples()) || !is_repeated_only(a, b)) return;
  scope->decide(a == b);
}

}  // namespace

Definition::Definition(const Attrs& attrs, std::span<const TensorType> inputs,
                       std::shared_ptr<ExprPool> pool, std::span<const SymbolicAttr> symbolic,
                       Wanted wanted)
    : attrs_(attrs), inputs_(inputs), pool_(std::move(pool)), symbolic_(symbolic), wanted_(wanted) {
  result_.pool = pool_;
}

int Definition::rank(int input) const {
  return input < input_count() ? inputs_[static_cast<std::size_t>(input)].rank() : 0;
}

DType Definition::dtype(int input) const {
  return input < input_count() ? inputs_[static_cast<std::size_t>(input)].dtype : DType::kF32;
}

Index Definition::dim(int input, int axis) const {
  if (axis < 0 || axis >= rank(input)) return 1;
  return inputs_[static_cast<std::size_t>(input)].dims[static_cast<std::size_t>(axis)];
}

Dims Definition::dims(int input) const {
  return input < input_count() ? inputs_[static_cast<std::size_t>(input)].dims : Dims{};
}

Index Definition::size(std::string_view name) const {
  const auto found = std::ranges::find(symbolic_, name, &SymbolicAttr::name);
  return found != symbolic_.end() ? found->values.at(0) : attrs_.size(name);
}

std::vector<Index> Definition::sizes(std::string_view name) const {
  const auto found = std::ranges::find(symbolic_, name, &SymbolicAttr::name);
  if (found != symbolic_.end()) return found->values;
  return attrs_.sizes(name);
}

Scalar Definition::real_as(DType type, std::string_view name) const {
  const double value = real(name);
  const bool fits = type == DType::kBool ? value == 0 || value == 1 : value == std::trunc(value);
  if (is_float(type) || fits) return value;
  return cast(type, Scalar(pool_->node_of(Scalar(value))));
}

bool Definition::fail(std::string message) {
  if (status_.ok()) status_ = base::bad_input(std::move(message));
  return false;
}

// A condition that cannot be decided now becomes a requirement of the definition, unless the
// scope's example violates it.
bool Definition::require(Guard condition, std::string message) {
  if (condition.is_true()) return ok();
  if (condition.is_false()) return fail(std::move(message));
  if (!decided(condition).value_or(true)) return fail(std::move(message));
  result_.requirements.push_back({condition, std::move(message)});
  return ok();
}

bool Definition::require_rank(int input, int expected) {
  if (rank(input) == expected) return ok();
  return fail("input " + std::to_string(input) + " must have rank " + std::to_string(expected) +
              ", not " + std::to_string(rank(input)));
}

bool Definition::require_rank_at_least(int input, int least) {
  if (rank(input) >= least) return ok();
  return fail("input " + std::to_string(input) + " must have rank " + std::to_string(least) +
              " or more, not " + std::to_string(rank(input)));
}

bool Definition::require_axis(std::int64_t axis, int of_rank) {
  if (axis >= 0 && axis < of_rank) return ok();
  return fail("axis " + std::to_string(axis) + " is outside of rank " + std::to_string(of_rank));
}

bool Definition::require_same_dtype() {
  for (int i = 1; i < input_count(); ++i) {
    if (dtype(i) != dtype(0)) {
      return fail("inputs have element types " + std::string(to_string(dtype(0))) + " and " +
                  std::string(to_string(dtype(i))) + "; they must be equal");
    }
  }
  return ok();
}

bool Definition::require_dtype(int input, bool allowed, std::string_view what) {
  if (allowed) return ok();
  return fail("input " + std::to_string(input) + " must be " + std::string(what) + ", not " +
              std::string(to_string(dtype(input))));
}

// If only the type is wanted, elements are not built (without_elements_): all reads give a
// placeholder.
std::vector<Index> Definition::output(DType dtype, Dims dims) {
  if (!ok()) return std::vector<Index>(dims.size(), Index(0));
  for (const Index& size : dims) {
    const bool plain_symbol = !size.is_constant() && size.node()->op == ExprOp::kSymbol;  // a size
    if (!plain_symbol) require(size >= 0, "the output would have a negative size");
  }
  without_elements_ = wanted_ == Wanted::kType && dtype != DType::kBool;
  result_.vars.assign(dims.size(), Index(0));
  if (!without_elements_) {
    for (Index& var : result_.vars) var = pool_->fresh_var();
  }
  result_.type = TensorType(dtype, std::move(dims));
  has_output_ = true;
  return result_.vars;
}

void Definition::value(Scalar element) {
  result_.value = element;
  has_value_ = true;
}

bool Definition::has_no_elements() const {
  return has_output_ && std::ranges::any_of(result_.type.dims, [](const Index& size) {
           return size.is_constant() && size.constant() == 0;
         });
}

// A placeholder read. A number would put derived expressions into the shared symbol pool.
Scalar Definition::some_element() const { return pool_->read(0, {}); }

Scalar Definition::read(int input, std::span<const Index> indices) const {
  if (static_cast<int>(indices.size()) != rank(input)) {
    EGRET_CHECK(!ok(), "a read names one index an axis");
    return 0;
  }
  return without_elements_ ? some_element() : pool_->read(input, indices);
}

Scalar Definition::read(int input, std::initializer_list<Index> indices) const {
  return read(input, std::span(indices.begin(), indices.size()));
}

// The joint size of two axes. The sizes are required to be equal if neither their structure nor the
// example decides.
Index Definition::broadcast_size(Index a, Index b, const std::function<std::string()>& message) {
  // First the structural cases, then the example of the scope, which records what it decides.
  if (is_one(a) || a.same(b)) return b;
  if (is_one(b)) return a;
  if (decided(a == b).value_or(false)) return a;
  if (decided(a == 1).value_or(false)) return b;
  if (decided(b == 1).value_or(false)) return a;
  leave_undecided(a, b);
  require(a == b, message());
  return a;
}

// Whether an operand's axis repeats one element along the joint axis. An undecided size is read at
// its own place, which is right where the sizes are equal.
bool Definition::repeats(Index size, Index joint) {
  if (is_one(size)) return true;
  if (size.same(joint)) return false;
  const std::optional<bool> equal = decided(size == joint);
  if (!equal) leave_undecided(size, joint);
  return !equal.value_or(true) && decided(size == 1).value_or(false);
}

Scalar Definition::read_broadcast(int input, std::span<const Index> out) const {
  if (without_elements_) return some_element();
  std::vector<Index> indices;
  const auto skipped = out.size() - std::min(out.size(), static_cast<std::size_t>(rank(input)));
  for (int axis = 0; axis < rank(input); ++axis) {
    const std::size_t at = skipped + static_cast<std::size_t>(axis);
    indices.push_back(repeats(dim(input, axis), result_.type.dims[at]) ? Index(0) : out[at]);
  }
  return read(input, indices);
}

Scalar Definition::reduce(Reduction reduction, Index extent, const Body& body,
                          const Where& where) const {
  if (without_elements_) return some_element();
  const Index var = pool_->fresh_var();
  const Guard guard = where ? where(var) : Guard(true);
  return pool_->reduce(reduction, var, extent, guard, body(var));
}

Scalar Definition::reduce_box(Reduction reduction, std::span<const Index> extents,
                              const BoxBody& body, const BoxWhere& where) const {
  if (without_elements_) return some_element();
  std::vector<Index> vars;
  for (std::size_t i = 0; i < extents.size(); ++i) vars.push_back(pool_->fresh_var());
  Scalar result = body(vars);
  Guard guard = where ? where(vars) : Guard(true);
  for (std::size_t i = extents.size(); i-- > 0;) {
    result = pool_->reduce(reduction, vars[i], extents[i], guard, result);
    guard = true;  // the guard sits at the innermost reduction, where all variables are bound
  }
  return result;
}

Dims Definition::broadcast_dims() {
  std::size_t out_rank = 0;
  for (const TensorType& type : inputs_) out_rank = std::max(out_rank, type.dims.size());
  Dims result(out_rank, Index(1));
  for (int i = 0; i < input_count(); ++i) {
    const Dims sizes = dims(i);
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      Index& joint = result[out_rank - sizes.size() + axis];
      const Index size = sizes[axis];
      joint = broadcast_size(joint, size, [&] {
        return "sizes " + to_string(joint) + " and " + to_string(size) + " do not broadcast";
      });
      if (!ok()) return result;
    }
  }
  return result;
}

void Definition::pointwise_as(DType out,
                              const std::function<Scalar(std::span<const Scalar>)>& body) {
  Dims joint = broadcast_dims();
  if (!ok()) return;
  const std::vector<Index> at = output(out, std::move(joint));
  if (!ok()) return;
  if (without_elements_) return value(0);
  std::vector<Scalar> elements;
  elements.reserve(inputs_.size());
  for (int i = 0; i < input_count(); ++i) elements.push_back(read_broadcast(i, at));
  value(body(elements));
}

void Definition::pointwise(const std::function<Scalar(std::span<const Scalar>)>& body) {
  if (require_same_dtype()) pointwise_as(dtype(0), body);
}

void Definition::pointwise(const std::function<Scalar(Scalar)>& body) {
  pointwise([&](std::span<const Scalar> x) { return body(x[0]); });
}

void Definition::pointwise(const std::function<Scalar(Scalar, Scalar)>& body) {
  pointwise([&](std::span<const Scalar> x) { return body(x[0], x[1]); });
}

base::Result<Denotation> Definition::finish() && {
  if (!ok()) return status_;
  EGRET_CHECK(has_output_ && has_value_, "a definition must state its output and value");
  if (result_.type.dtype == DType::kBool && !is_truth_value(result_.value, inputs_))
    return base::bad_input("bool tensors have no arithmetic; cast them to a number first");
  return std::move(result_);
}

}  // namespace egret::ir
