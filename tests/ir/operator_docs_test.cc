// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/operator_docs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/graph/graph_text.h"

namespace egret::ir {
namespace {

TEST(OperatorDocs, EveryOperatorShowsItsMeaning) {
  for (const Operator* op : all_operators()) {
    const auto meaning = operator_meaning(*op);
    EXPECT_TRUE(meaning.ok()) << op->name() << ": " << meaning.status().message();
  }
}

TEST(OperatorDocs, EveryOperatorAndAttributeIsDocumented) {
  for (const Operator* op : all_operators()) {
    EXPECT_FALSE(op->doc().empty()) << op->name();
    for (const AttrSpec& attr : op->attrs()) {
      EXPECT_FALSE(attr.doc.empty()) << op->name() << "." << attr.name;
    }
  }
}

TEST(OperatorDocs, TextsThatAreListedIncludeTheUsualOne) {
  for (const Operator* op : all_operators()) {
    for (const AttrSpec& attr : op->attrs()) {
      if (attr.texts.empty() || !attr.default_value) continue;
      const auto& usual = std::get<std::string>(*attr.default_value);
      EXPECT_NE(std::ranges::find(attr.texts, usual), attr.texts.end())
          << op->name() << "." << attr.name;
    }
  }
}

TEST(OperatorDocs, PageHasTheDefinition) {
  const std::string page = operator_page(get_operator("matmul"));
  EXPECT_NE(page.find("out[i0, i1] = sum i2 < K. a[i0, i2]*b[i2, i1]"), std::string::npos) << page;
  EXPECT_NE(page.find("ONNX MatMul"), std::string::npos);
}

TEST(OperatorDocs, CompositesShowABodyThatParses) {
  const auto meaning = operator_meaning(get_operator("softmax"));
  ASSERT_TRUE(meaning.ok());
  const auto graph = parse_graph("egret-graph 1\n" + *meaning);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->operator_count(), 5U);
}

TEST(OperatorDocs, SupportTableListsEachOnnxOperatorOnce) {
  const std::string table = onnx_support_table();
  for (const char* row : {"\n| Reshape | reshape |\n", "\n| Split | slice |\n"}) {
    EXPECT_NE(table.find(row), std::string::npos) << row;
  }
  EXPECT_EQ(table.find("| Reshape |"), table.rfind("| Reshape |"));
}

}  // namespace
}  // namespace egret::ir
