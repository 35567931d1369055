// SPDX-License-Identifier: Apache-2.0
// Terms of certificates whose sizes are open.
#include "verifier/replay/replay_terms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "ir/core/symbolic_scope.h"
#include "ir/ops/any_operator.h"
#include "verifier/index/proven_sizes.h"
#include "verifier/index/size_proof_search.h"

namespace egret::verifier {
namespace {

using ::testing::HasSubstr;

class OpenTerms : public testing::Test {
 protected:
  OpenTerms() : sizes_({{"n", {{1, 100}, 3}}, {"m", {{1, 100}, 2}}}, {}, find_size_proof) {
    n_ = ir::SymbolicScope::current()->symbol("n", 3);
    m_ = ir::SymbolicScope::current()->symbol("m", 2);
  }

  TermRef input(const char* name, ir::Index size) {
    const ir::TensorType type(ir::DType::kF32, ir::Dims{size});
    return terms_.make(terms_.input(name, type), {}).value();
  }
  base::Result<TermRef> applied(const char* op, const ir::Attrs& attrs,
                                std::vector<TermRef> operands) {
    return terms_.make(terms_.operation(*ir::find_any_operator(op), attrs), operands);
  }

  ProvenSizes sizes_;
  ReplayTerms terms_;
  ir::Index n_;
  ir::Index m_;
};

// Each size is the sum of the two before: what it stands for doubles with every second term.
TEST_F(OpenTerms, RefusesSizesThatGrowWithoutEnd) {
  std::vector<TermRef> terms{input("x", n_), input("y", m_)};
  const ir::Attrs along{{"axis", std::int64_t{0}}};
  base::Status refused = base::ok();
  for (int made = 0; made < 60 && refused.ok(); ++made) {
    const auto term = applied("concat", along, {terms.back(), terms[terms.size() - 2]});
    refused = term.status();
    if (term.ok()) terms.push_back(*term);
  }
  EXPECT_EQ(refused.code(), base::StatusCode::kBadInput);
  EXPECT_GT(terms.size(), 8);
  EXPECT_LT(terms.size(), 20);
}

TEST_F(OpenTerms, RefusesAttributesOfLongSizes) {
  ir::Index size = n_;
  for (int i = 0; i < 12; ++i) size = size * (size + i);
  const ir::Attrs attrs{{"axis", std::int64_t{0}},
                        {"start", std::int64_t{0}},
                        {"size", ir::SymbolicScope::current()->integer_of(size)},
                        {"step", std::int64_t{1}}};
  EXPECT_THAT(terms_.check_sizes(attrs).message(), HasSubstr("too long an expression"));
  EXPECT_THAT(applied("slice", attrs, {input("x", n_)}).status().message(),
              HasSubstr("too long an expression"));
}

}  // namespace
}  // namespace egret::verifier
