// SPDX-License-Identifier: Apache-2.0
#include "ir/analysis/batch_axes.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <string>
#include <vector>

namespace egret::ir {
namespace {

// Operands whose axes are called by letters: the axes of one letter have one size.
class Applied {
 public:
  Applied(const char* op, const std::vector<std::string>& operands, const Attrs& attrs = {})
      : op_(get_operator(op)) {
    std::set<char> letters;
    for (const std::string& axes : operands) letters.insert(axes.begin(), axes.end());
    for (const char letter : letters) {
      letters_.push_back(letter);
      sizes_.push_back(scope_.symbol(std::string(1, letter), 3 + letter - 'a'));
    }
    for (const std::string& axes : operands) {
      TensorType& type = types_.emplace_back(DType::kF32, Dims());
      for (const char letter : axes)
        type.dims.push_back(sizes_[std::string(letters.begin(), letters.end()).find(letter)]);
    }
    auto canonical = canonical_attrs(op_.attrs(), attrs);
    EXPECT_TRUE(canonical.ok());
    if (canonical.ok()) attrs_ = *std::move(canonical);
  }

  // The letters of batch axes, each tried alone.
  std::string batch_axes() {
    std::string batch;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (!AxisGroups({&sizes_[i], 1}).exception(op_, attrs_, types_)) batch += letters_[i];
    }
    return batch;
  }
  // Whether these are batch axes together.
  bool are(const std::string& letters) {
    std::vector<Index> sizes;
    for (const char letter : letters) sizes.push_back(sizes_[letters_.find(letter)]);
    return !AxisGroups(sizes).exception(op_, attrs_, types_);
  }

 private:
  SymbolicScope scope_;
  const Operator& op_;
  Attrs attrs_;
  std::string letters_;
  std::vector<Index> sizes_;
  std::vector<TensorType> types_;
};

Attrs axis(std::int64_t number) { return {{"axis", number}}; }

TEST(BatchAxes, AreAllAxesOfElementwiseOperators) {
  EXPECT_EQ(Applied("relu", {"abc"}).batch_axes(), "abc");
  EXPECT_EQ(Applied("add", {"abc", "abc"}).batch_axes(), "abc");
  EXPECT_EQ(Applied("add", {"abc", "bc"}).batch_axes(), "abc");
  EXPECT_TRUE(Applied("add", {"abcde", "abcde"}).are("abcde"));
}

TEST(BatchAxes, AreNotThoseThatAnOperatorReducesOrMoves) {
  EXPECT_EQ(Applied("matmul", {"abc", "acd"}).batch_axes(), "abd");
  EXPECT_TRUE(Applied("matmul", {"abc", "acd"}).are("abd"));
  EXPECT_EQ(Applied("softmax", {"abc"}, axis(1)).batch_axes(), "ac");
  EXPECT_EQ(Applied("cum_sum", {"ab"}, axis(0)).batch_axes(), "b");
  EXPECT_EQ(Applied("reduce_sum", {"ab"}, {{"axes", Integers{1}}}).batch_axes(), "a");
  EXPECT_EQ(Applied("transpose", {"abc"}, {{"perm", Integers{2, 0, 1}}}).batch_axes(), "abc");
  EXPECT_EQ(Applied("reverse", {"ab"}, axis(0)).batch_axes(), "b");
}

// Along the axis of a concatenation, sizes add up.
TEST(BatchAxes, AreNotThoseWhereOperandsMayHaveDifferentSizes) {
  EXPECT_EQ(Applied("concat", {"ab", "ab"}, axis(0)).batch_axes(), "b");
}

// The sum over repeated elements is not the repeated sum.
TEST(BatchAxes, DependOnOneAnother) {
  EXPECT_EQ(Applied("matmul", {"ab", "ba"}).batch_axes(), "");
  EXPECT_EQ(Applied("add", {"ab", "ba"}).batch_axes(), "");
}

TEST(BatchAxes, AnOperatorMayRefuseSizesOfOne) {
  // Of all cases, it accepts that both operands have size 1 or neither.
  EXPECT_EQ(Applied("concat", {"ab", "ab"}, axis(1)).batch_axes(), "a");
}

TEST(BatchAxes, DecisionsTellTheirSizes) {
  SymbolicScope scope;
  const Index n = scope.symbol("N", 3);
  const Index m = scope.symbol("M", 3);
  scope.decide(n == 1);
  scope.decide(m == 4);
  scope.decide(n <= m * 2);
  const AxisGroups groups({&n, 1});
  EXPECT_TRUE(groups.is_whether_one(scope.decisions()[0]));
  EXPECT_FALSE(groups.is_whether_one(scope.decisions()[1]));
  EXPECT_EQ(groups.used_in(scope.decisions()[0]), std::nullopt);
  EXPECT_EQ(groups.used_in(scope.decisions()[1]), std::nullopt);
  EXPECT_EQ(groups.used_in(scope.decisions()[2]), 0U);
}

}  // namespace
}  // namespace egret::ir
