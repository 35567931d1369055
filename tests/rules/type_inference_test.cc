// SPDX-License-Identifier: Apache-2.0
// Types are inferred without writing elements (ir/graph/definition.h): whether that says what the
// whole denotation says is asked of every operator, of attributes and types that fit and that do
// not.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "ir/graph/operator.h"
#include "ir/graph/type_memo.h"
#include "rules/testing/attribute_sampler.h"

namespace egret::rules {
namespace {

struct Question {
  ir::Attrs attrs;
  std::vector<ir::TensorType> types;
};

std::vector<ir::TensorType> some_types(std::size_t count, base::Random& random) {
  static constexpr ir::DType kTypes[] = {ir::DType::kF32, ir::DType::kI64, ir::DType::kBool};
  std::vector<ir::TensorType> types;
  const ir::DType dtype = kTypes[random.below(8) < 6 ? 0 : random.below(3)];
  const std::uint64_t rank = random.below(5);
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && random.chance(0.4)) {
      types.push_back(types[random.below(types.size())]);
      continue;
    }
    ir::Dims dims;
    const std::uint64_t own_rank = random.chance(0.7) ? rank : random.below(5);
    for (std::uint64_t axis = 0; axis < own_rank; ++axis)
      dims.emplace_back(random.between(random.chance(0.1) ? 0 : 1, 3));
    types.emplace_back(random.chance(0.9) ? dtype : kTypes[random.below(3)], dims);
  }
  return types;
}

// One number of an attribute becomes another, which seldom fits.
void disturb(ir::Attrs& attrs, base::Random& random) {
  const ir::Attrs given = attrs;
  for (const auto& [name, value] : given.entries()) {
    if (random.chance(0.7)) continue;
    const std::int64_t other = random.between(-2, 5);
    if (std::holds_alternative<std::int64_t>(value)) attrs.set(name, other);
    if (const auto* list = std::get_if<ir::Integers>(&value); list != nullptr && !list->empty()) {
      ir::Integers changed = *list;
      changed[random.below(changed.size())] = other;
      attrs.set(name, changed);
    }
  }
}

Question some_question(const ir::Operator& op, std::size_t operands, base::Random random) {
  Question question;
  question.types = some_types(operands, random);
  for (const ir::AttrSpec* spec : sampling_order(op))
    question.attrs.set(spec->name, sample_attr(*spec, question.attrs, question.types, random));
  if (random.chance(0.2)) disturb(question.attrs, random);
  return question;
}

// Of each operator, as many times: `expect` is told the operator, the question and a number.
template <typename Expect>
void for_all_operators(std::uint64_t times, const Expect& expect) {
  for (const ir::Operator* op : ir::all_operators()) {
    const std::size_t most = std::min<std::size_t>(op->max_inputs(), op->min_inputs() + 2);
    for (std::size_t operands = op->min_inputs(); operands <= most; ++operands) {
      for (std::uint64_t i = 0; i < times; ++i)
        expect(*op, some_question(*op, operands, base::Random(operands).split(i)));
    }
  }
}

TEST(TypeInference, SaysWhatTheDenotationSays) {
  int accepted = 0;
  int refused = 0;
  for_all_operators(600, [&](const ir::Operator& op, const Question& question) {
    if (op.is_composite()) return;
    const auto type = ir::infer_type(op, question.attrs, question.types);
    const auto whole = ir::denote(op, question.attrs, question.types);
    const std::string what = op.name() + " " + to_string(question.attrs);
    ASSERT_EQ(type.ok(), whole.ok())
        << what << ": " << type.status().message() << " / " << whole.status().message();
    if (type.ok()) {
      EXPECT_EQ(to_string(*type), to_string(whole->type)) << what;
    } else {
      EXPECT_EQ(type.status().message(), whole.status().message()) << what;
    }
    ++(type.ok() ? accepted : refused);
  });
  EXPECT_GT(accepted, 10000);
  EXPECT_GT(refused, 10000);
}

TEST(TypeMemo, AnswersAsInferenceDoesTheSecondTimeToo) {
  ir::TypeMemo memo;
  for (int round = 0; round < 2; ++round) {
    for_all_operators(20, [&](const ir::Operator& op, const Question& question) {
      const auto type = ir::infer_type(op, question.attrs, question.types);
      const auto& remembered = memo.infer(op, question.attrs, question.types);
      ASSERT_EQ(type.ok(), remembered.ok()) << op.name();
      if (type.ok()) {
        EXPECT_EQ(*type, *remembered) << op.name();
      } else {
        EXPECT_EQ(type.status().message(), remembered.status().message());
      }
    });
  }
}

}  // namespace
}  // namespace egret::rules
