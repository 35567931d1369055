// SPDX-License-Identifier: Apache-2.0
// The denotation language: what one element of an operator's output is, as an expression over its
// inputs' elements. For example matmul is
//
//     out[i, j] = sum k < K. a[i, k] * b[k, j]
//
// Three sorts of expression:
//   Index   integers: polynomials in index variables, sizes and attributes; Euclidean div and mod
//           by positive terms; min and max; an integer element of an input used as an index.
//   Guard   truth values: comparisons of indices (and of scalars), and, or, not.
//   Scalar  element values: reads, constants, arithmetic, opaque functions (ir/core/function.h),
//   select,
//           reductions, casts.
//
// Rules of the language:
//   - A read that is evaluated is in range; padding is a guard, and what a guard (of a select or a
//     reduction) excludes is not evaluated.
//   - Index division is Euclidean with a positive divisor: a = b*q + r, 0 <= r < b.
//   - On integer tensors scalar `/` truncates toward zero; on floats it is the quotient.
//   - Over an empty range sum is 0 and prod is 1; max and min need at least one element whose guard
//     holds, which their operator states as a requirement.
//   - Constants are doubles, which are exact dyadic rationals; one third is Scalar(1) / 3.
//
// Expressions are immutable, hash-consed nodes owned by an ExprPool: within one pool, equal
// structure means equal pointer. Handles are small values; constants live in the handle and need no
// pool. A pool must outlive the handles into it and is not safe for concurrent writing, except
// symbol_pool(), which holds symbolic dimensions, is immortal and locks.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "ir/core/dtype.h"
#include "ir/core/function.h"

namespace egret::ir {

class ExprPool;

// Thrown by arithmetic on constant indices that leaves 64 bits or divides by zero: sizes and
// attributes of a model can cause it. denote(), infer_type(), bind_symbols() and run_import() turn
// it into bad_input; it never leaves ir.
struct IndexError {
  const char* reason;
};

enum class ExprOp : std::uint8_t {
  // Index           kids             payload
  kIndexConst,  //                    integer
  kSymbol,      //                    name: a size or attribute that is not known yet
  kVar,         //                    integer: the variable's number in its pool
  kIndexAdd,    // a b
  kIndexMul,    // a b
  kIndexDiv,    // a b                Euclidean, b > 0
  kIndexMod,    // a b
  kIndexMin,    // a b
  kIndexMax,    // a b
  kIndexOf,     // scalar             an integer-valued scalar used as an index
  // Guard
  kGuardConst,  //                    integer: 0 or 1
  kIndexLe,     // a b
  kIndexEq,     // a b
  kScalarLt,    // a b                false when either is NaN
  kScalarLe,    // a b
  kScalarEq,    // a b
  kAnd,         // g h
  kOr,          // g h
  kNot,         // g
  // Scalar
  kConst,     //                    real
  kRead,      // indices...         integer: which input
  kAdd,       // a b
  kSub,       // a b
  kMul,       // a b
  kDiv,       // a b
  kNeg,       // a
  kMin,       // a b                NaN if either is
  kMax,       // a b
  kCall,      // arguments...       function
  kSelect,    // guard a b
  kReduce,    // var extent guard body    reduction, over 0 <= var < extent where guard
  kScalarOf,  // index
  kCast,      // a                  dtype: as if stored in and read back from that type
};

enum class Reduction : std::uint8_t { kSum, kProd, kMax, kMin };

struct ExprNode {
  ExprOp op;
  Reduction reduction = Reduction::kSum;
  DType dtype = DType::kF32;
  Function function = Function::kExp;
  std::uint32_t id = 0;  // position in its pool: a topological order of that pool
  std::int64_t integer = 0;
  double real = 0;
  std::string_view name{};
  std::span<const ExprNode* const> kids{};
  ExprPool* pool = nullptr;
};

// An integer-valued expression, or a plain integer.
class Index {
 public:
  Index() = default;
  Index(std::int64_t value) : value_(value) {}  // NOLINT: implicit on purpose
  Index(int value) : value_(value) {}           // NOLINT: implicit on purpose
  explicit Index(const ExprNode* node);

  bool is_constant() const { return node_ == nullptr; }
  std::int64_t constant() const {
    EGRET_CHECK(is_constant(), "a symbolic index where a number is needed");
    return value_;
  }
  const ExprNode* node() const { return node_; }  // nullptr when constant
  // Same structure (not: same value for all sizes).
  bool same(const Index& other) const { return node_ == other.node_ && value_ == other.value_; }

 private:
  const ExprNode* node_ = nullptr;
  std::int64_t value_ = 0;
};

class Guard {
 public:
  Guard(bool value) : value_(value) {}  // NOLINT: implicit on purpose
  explicit Guard(const ExprNode* node);

  bool is_constant() const { return node_ == nullptr; }
  const ExprNode* node() const { return node_; }  // nullptr when constant
  bool is_true() const { return node_ == nullptr && value_; }
  bool is_false() const { return node_ == nullptr && !value_; }

 private:
  const ExprNode* node_ = nullptr;
  bool value_ = true;
};

class Scalar {
 public:
  Scalar() = default;
  Scalar(double value) : value_(value) {}                    // NOLINT: implicit on purpose
  Scalar(int value) : value_(static_cast<double>(value)) {}  // NOLINT: implicit on purpose
  explicit Scalar(const ExprNode* node);

  bool is_constant() const { return node_ == nullptr; }
  double constant() const {
    EGRET_CHECK(is_constant(), "a scalar expression where a number is needed");
    return value_;
  }
  const ExprNode* node() const { return node_; }  // nullptr when constant

 private:
  const ExprNode* node_ = nullptr;
  double value_ = 0;
};

Index operator+(Index a, Index b);
Index operator-(Index a, Index b);
Index operator*(Index a, Index b);
Index div(Index a, Index b);  // Euclidean; b is positive wherever the expression is meant
Index mod(Index a, Index b);
Index ceil_div(Index a, Index b);
Index min(Index a, Index b);
Index max(Index a, Index b);
Index index_of(Scalar integer_valued);

Guard operator<=(Index a, Index b);
Guard operator<(Index a, Index b);
Guard operator>=(Index a, Index b);
Guard operator>(Index a, Index b);
Guard operator==(Index a, Index b);
Guard operator!=(Index a, Index b);
Guard operator&&(Guard a, Guard b);
Guard operator||(Guard a, Guard b);
Guard operator!(Guard a);
Guard within(Index low, Index i, Index high);  // low <= i < high
// Comparisons of element values; named, because NaN makes them unlike those of integers.
Guard less(Scalar a, Scalar b);
Guard less_equal(Scalar a, Scalar b);
Guard equal(Scalar a, Scalar b);

Scalar operator+(Scalar a, Scalar b);
Scalar operator-(Scalar a, Scalar b);
Scalar operator*(Scalar a, Scalar b);
Scalar operator/(Scalar a, Scalar b);
Scalar operator-(Scalar a);
Scalar min(Scalar a, Scalar b);
Scalar max(Scalar a, Scalar b);
Scalar call(Function function, std::initializer_list<Scalar> arguments);
Scalar select(Guard guard, Scalar then, Scalar otherwise);
Scalar scalar_of(Index index);
Scalar scalar_of(Guard guard);  // 1 or 0
Scalar cast(DType type, Scalar value);

// Owns nodes. Addresses are stable for the pool's life.
class ExprPool {
 public:
  ExprPool();
  ~ExprPool();
  ExprPool(const ExprPool&) = delete;
  ExprPool& operator=(const ExprPool&) = delete;

  Index symbol(std::string_view name);
  Index fresh_var();
  Scalar read(int input, std::span<const Index> indices);
  Scalar reduce(Reduction reduction, Index var, Index extent, Guard guard, Scalar body);

  // The hash-consing constructor behind every operation above; kids and name are copied.
  const ExprNode* intern(const ExprNode& proto);
  std::size_t size() const;  // nodes

  // Nodes of a handle, constants made into nodes of this pool.
  const ExprNode* node_of(Index value);
  const ExprNode* node_of(Guard value);
  const ExprNode* node_of(Scalar value);

 private:
  friend ExprPool& symbol_pool();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The immortal pool of symbolic dimensions (ONNX dim_param, verifier sizes): safe from any thread.
ExprPool& symbol_pool();
// The dimension called `name`, in symbol_pool().
Index symbolic_dim(std::string_view name);

// Replaces symbols by what `lookup` returns for their name (nullptr: left alone).
Index substitute(Index value, const std::function<const Index*(std::string_view)>& lookup);

// Deterministic text: "div(N + 2, 4)", "sum k0 < K. a[i0, k0] * b[k0, i1]". `input_names` may be
// shorter than the inputs read; the rest are called in0, in1, ...
std::string to_string(Index value);
std::string to_string(Guard value);
std::string to_string(Scalar value, std::span<const std::string> input_names = {});

}  // namespace egret::ir
