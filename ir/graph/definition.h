// SPDX-License-Identifier: Apache-2.0
// Definition: the argument of a primitive operator's `define` function. The function states the
// operator's requirements, the type of its output and the value of one output element. The same
// function serves concrete sizes (type inference, interpreter) and symbolic ones (proofs).
//
//   void define_matmul(Definition& d) {
//     if (!d.require_rank(0, 2) || !d.require_rank(1, 2)) return;
//     const Index k = d.dim(0, 1);
//     d.require(k == d.dim(1, 0), "inner sizes differ");
//     const auto out = d.output(d.dtype(0), {d.dim(0, 0), d.dim(1, 1)});
//     d.value(d.sum(k, [&](Index r) { return d.read(0, {out[0], r}) * d.read(1, {r, out[1]}); }));
//   }
//
// Errors stick: after the first failed requirement the rest is ignored, and every call stays safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/core/attributes.h"
#include "ir/core/denotation.h"
#include "ir/core/tensor_type.h"

namespace egret::ir {

// A condition on sizes and attributes that the operator needs. With symbolic sizes it is a
// hypothesis; one that is false for concrete sizes is an error.
struct Requirement {
  Guard condition;
  std::string message;
};

// The result of a definition. `vars[i]` ranges over 0 <= vars[i] < type.dims[i].
struct Denotation {
  std::shared_ptr<ExprPool> pool;
  TensorType type;
  std::vector<Index> vars;
  Scalar value;
  std::vector<Requirement> requirements;  // those that are not trivially true
};

// "out[i0, i1] = sum i2 < K. a[i0, i2]*b[i2, i1]".
std::string to_string(const Denotation& denotation, std::span<const std::string> input_names = {});

// Attributes whose integers are symbolic; names not in it come from the concrete Attrs.
struct SymbolicAttr {
  std::string name;
  std::vector<Index> values;  // one for an integer attribute, else one an element
};

class Definition {
 public:
  // kType asks for the type alone, which costs less: elements are not built. Bool elements are the
  // exception, because the type check needs them to be truth values.
  enum class Wanted : std::uint8_t { kAll, kType };

  Definition(const Attrs& attrs, std::span<const TensorType> inputs, std::shared_ptr<ExprPool> pool,
             std::span<const SymbolicAttr> symbolic = {}, Wanted wanted = Wanted::kAll);

  // Inputs.
  int input_count() const { return static_cast<int>(inputs_.size()); }
  int rank(int input) const;
  DType dtype(int input) const;
  Index dim(int input, int axis) const;  // 1 when there is no such axis
  Dims dims(int input) const;

  // Attributes. The first four are structure (rank, axis, permutation, mode) and always concrete;
  // size() and sizes() may be symbolic.
  std::int64_t integer(std::string_view name) const { return attrs_.integer(name); }
  const Integers& integers(std::string_view name) const { return attrs_.integers(name); }
  // require_axis() must follow: axes outside of the rank are not told apart.
  std::int64_t axis(std::string_view name, int rank) const { return attrs_.axis(name, rank); }
  const Integers& axes(std::string_view name, int rank) const { return attrs_.axes(name, rank); }
  bool flag(std::string_view name) const { return attrs_.flag(name); }
  double real(std::string_view name) const { return attrs_.real(name); }
  // The attribute as an element of such a tensor.
  Scalar real_as(DType type, std::string_view name) const;
  const std::string& text(std::string_view name) const { return attrs_.text(name); }
  // Target sizes and references, for target_dims() (ir/core/size_reference.h).
  const Integers& targets(std::string_view name) const { return attrs_.as_written(name); }
  Index size(std::string_view name) const;
  std::vector<Index> sizes(std::string_view name) const;

  // Requirements. Each returns whether the definition is still good, so that a rank can be checked
  // before it is relied on. require_same also asks for equal types.
  bool require(Guard condition, std::string message);
  bool require_rank(int input, int rank);
  bool require_rank_at_least(int input, int rank);
  bool require_axis(std::int64_t axis, int rank);  // 0 <= axis < rank
  bool require_same_dtype();                       // of all inputs
  bool require_dtype(int input, bool allowed, std::string_view what);
  bool fail(std::string message);  // always false
  bool ok() const { return status_.ok(); }

  // The output: declares its type and returns its index variables.
  std::vector<Index> output(DType dtype, Dims dims);
  void value(Scalar element);
  // Whether an output was declared that has a size of 0.
  bool has_no_elements() const;

  // Expressions.
  Scalar read(int input, std::span<const Index> indices) const;
  Scalar read(int input, std::initializer_list<Index> indices) const;
  // Reads `input` at the output's trailing indices, repeating it along sizes of 1 (NumPy's rule).
  // `out` are the output's variables.
  Scalar read_broadcast(int input, std::span<const Index> out) const;
  using Body = std::function<Scalar(Index)>;
  using Where = std::function<Guard(Index)>;
  Scalar reduce(Reduction reduction, Index extent, const Body& body, const Where& where = {}) const;
  Scalar sum(Index extent, const Body& body, const Where& where = {}) const {
    return reduce(Reduction::kSum, extent, body, where);
  }
  // A reduction over a box; `where` and `body` see all its variables at once.
  using BoxBody = std::function<Scalar(std::span<const Index>)>;
  using BoxWhere = std::function<Guard(std::span<const Index>)>;
  Scalar reduce_box(Reduction reduction, std::span<const Index> extents, const BoxBody& body,
                    const BoxWhere& where = {}) const;
  ExprPool& pool() const { return *pool_; }

  // NumPy broadcasting of all inputs: pads ranks with 1, requires equal sizes elsewhere.
  Dims broadcast_dims();
  // The size of an axis that is `a` in one input and `b` in another: one of them where the other is
  // 1, else both, which must be equal. A symbolic size counts as 1 only if it is so in the example
  // of the current ir::SymbolicScope. Fails with `message`.
  Index broadcast_size(Index a, Index b, const std::function<std::string()>& message);
  // Whether an axis of `size` is a single element that repeats along the joint size.
  static bool repeats(Index size, Index joint);
  // Whole definitions of elementwise operators: broadcast, then `body` of the inputs' elements.
  // The output has dtype `out` (default: that of input 0).
  void pointwise(const std::function<Scalar(Scalar)>& body);
  void pointwise(const std::function<Scalar(Scalar, Scalar)>& body);
  void pointwise(const std::function<Scalar(std::span<const Scalar>)>& body);
  void pointwise_as(DType out, const std::function<Scalar(std::span<const Scalar>)>& body);

  // Ends the definition. A bool output must be a choice of truth values, not arithmetic.
  base::Result<Denotation> finish() &&;

 private:
  Scalar some_element() const;

  const Attrs& attrs_;
  std::span<const TensorType> inputs_;
  std::shared_ptr<ExprPool> pool_;
  std::span<const SymbolicAttr> symbolic_;
  base::Status status_;
  Denotation result_;
  const Wanted wanted_;
  bool without_elements_ = false;
  bool has_output_ = false;
  bool has_value_ = false;
};

}  // namespace egret::ir
