// SPDX-License-Identifier: Apache-2.0
// A new operator, as a program of one's own adds it: its definition, and the commands that discover
// and prove its rules.
#include <gtest/gtest.h>

#include "base/system/file.h"
#include "ir/graph/operator_registration.h"
#include "rules/generator/derivation.h"
#include "rules/language/rule_parser.h"
#include "rules/tensors/rule_set.h"
#include "tests/tools/folder_test.h"
#include "tools/frame/command_line.h"

namespace egret::tools {
namespace {

// All that is written of the operator.
ir::Operator twice() {
  return ir::primitive("twice", "x + x", {"x"}).defined_by([](ir::Definition& d) {
    d.pointwise([](ir::Scalar x) { return x + x; });
  });
}

class NewOperator : public FolderTest {};

TEST_F(NewOperator, GetsProvenRulesFromOneCommand) {
  ir::register_operator(twice());
  ASSERT_EQ(run_egret({"rules", "generate", "--ops", "twice,add,matmul,concat", "--max-ops", "2",
                       "-o", folder(), "--quiet", "--progress=never"}),
            0);
  const auto rules = rules::load_rules(path("generated.rules"));
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  const rules::RuleSet set = rules::without_heuristics({*rules, {}});
  rules::KnownOperators known;
  for (const char* law :
       {"add(?x, ?x) => twice(?x)", "matmul(twice(?x), ?y) => twice(matmul(?x, ?y))",
        "matmul(?x, twice(?y)) => twice(matmul(?x, ?y))",
        "concat{axis=?a}(twice(?x), twice(?y)) => twice(concat{axis=?a}(?x, ?y))"}) {
    const auto goal = rules::parse_rules("law.rules", std::string("rule law ") + law);
    ASSERT_TRUE(goal.ok()) << goal.status().message();
    EXPECT_TRUE(rules::derive(set, goal->front(), {}, known).derived) << law;
  }

  EXPECT_EQ(run_egret({"rules", "verify", path("generated.rules"), "--instances", "30", "--quiet",
                       "--progress=never"}),
            0);
}

}  // namespace
}  // namespace egret::tools
