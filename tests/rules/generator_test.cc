// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/random.h"
#include "base/stop.h"
#include "ir/evaluate/field.h"
#include "rules/generator/candidate_proof.h"
#include "rules/generator/candidate_rule.h"
#include "rules/generator/decision_log.h"
#include "rules/generator/drafting/multi_output.h"
#include "rules/generator/drafting/rule_draft.h"
#include "rules/generator/generation.h"
#include "rules/generator/rule_files.h"
#include "rules/generator/spaces/named_spaces.h"
#include "rules/language/rule_parser.h"
#include "rules/proving/condition_inference.h"

namespace egret::rules::generator {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kKey = 5;

std::vector<ir::FieldTensor> random_tensors(const std::vector<ir::TensorType>& types,
                                            base::Random random) {
  std::vector<ir::FieldTensor> tensors;
  for (const ir::TensorType& type : types) tensors.push_back(ir::FieldTensor::random(type, random));
  return tensors;
}

TEST(Program, ComputesWhatTheInterpreterComputesOverTheField) {
  const Space space = taso_space();
  const auto terms = *TermTable::create(space);
  int compared = 0;
  for (std::size_t choice = 0; choice < space.choices.size(); ++choice) {
    const OperatorChoice& made_of = space.choices[choice];
    if (made_of.steps.size() > 1 || made_of.arity != 2) continue;
    for (std::size_t a = 0; a < space.starts.size(); a += 3) {
      for (std::size_t b = 0; b < space.starts.size(); b += 3) {
        for (World world = 0; world < space.worlds(); ++world) {
          const std::vector<ir::TensorType> types{space.starts[a].types[world],
                                                  space.starts[b].types[world]};
          const auto program = Program::record(made_of, world, types);
          if (!program.ok()) continue;
          const auto inputs = random_tensors(types, base::Random(a * 100 + b));
          const auto expected =
              ir::evaluate_field(*made_of.steps[0].op, program->attrs()[0], inputs, kKey);
          ASSERT_TRUE(expected.ok()) << expected.status().message();
          const Word* operands[] = {inputs[0].values().data(), inputs[1].values().data()};
          std::vector<Word> out(program->elements());
          Residues field(Residues::kMersenne, kKey);
          program->run(field, operands, out.data());
          EXPECT_TRUE(std::ranges::equal(out, expected->values())) << made_of.name;
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 20);
}

TEST(Program, GivesTheSameElementsWhenOnlySamplesAreComputed) {
  const OperatorChoice relu_of_product{
      "relu-matmul", 2, {{&ir::get_operator("matmul"), {0, 1}}, {&ir::get_operator("relu"), {-1}}}};
  const std::vector<ir::TensorType> types{{ir::DType::kF32, {3, 4}}, {ir::DType::kF32, {4, 5}}};
  const auto program = Program::record(relu_of_product, 0, types);
  ASSERT_TRUE(program.ok()) << program.status().message();
  const auto inputs = random_tensors(types, base::Random(1));
  const Word* operands[] = {inputs[0].values().data(), inputs[1].values().data()};
  Residues field;
  std::vector<Word> all(program->elements());
  program->run(field, operands, all.data());
  std::vector<Word> some(Program::kMostSamples);
  program->run_samples(field, operands, some.data());
  EXPECT_EQ(program->sample_count(), 4U);
  EXPECT_EQ(some, (std::vector<Word>{all[0], all[14], all[7], all[5]}));
}

TEST(Program, EvaluatesWhatChoosesByValueByItsDefinition) {
  const OperatorChoice choice{
      "where-leaky",
      3,
      {{&ir::get_operator("leaky_relu"), {1}}, {&ir::get_operator("where"), {0, -1, 2}}}};
  const std::vector<ir::TensorType> types{
      {ir::DType::kBool, {2, 3}}, {ir::DType::kF32, {2, 3}}, {ir::DType::kF32, {2, 3}}};
  const auto program = Program::record(choice, 0, types);
  ASSERT_TRUE(program.ok()) << program.status().message();
  base::Random random(3);
  for (const Word prime : {Residues::kMersenne, (Word{1} << 61) - 31}) {
    std::vector<std::vector<Word>> values;
    for (const ir::TensorType& type : types) values.push_back(random_elements(type, prime, random));
    const Word* operands[] = {values[0].data(), values[1].data(), values[2].data()};
    Residues field(prime, kKey);
    std::vector<Word> out(program->elements());
    program->run(field, operands, out.data());
    const Word alpha = field.constant(double{0.01F});
    for (std::size_t i = 0; i < out.size(); ++i) {
      const bool below = ir::PrimeField::less(kKey, values[1][i], 0);
      const Word leaky = below ? field.mul(values[1][i], alpha) : values[1][i];
      EXPECT_EQ(out[i], values[0][i] != 0 ? leaky : values[2][i]) << i;
    }
  }
}

// --- the enumeration against brute force

// All terms of up to `operators` operators, each shared one counted once, over all start tensors.
std::vector<TermId> all_terms(TermTable& terms, std::size_t operators) {
  std::set<TermId> found;
  for (std::size_t i = 0; i < terms.space().starts.size(); ++i) found.insert(terms.start(i));
  for (std::size_t round = 0; round < operators; ++round) {
    const std::vector<TermId> so_far(found.begin(), found.end());
    for (std::size_t choice = 0; choice < terms.space().choices.size(); ++choice) {
      const std::size_t arity = terms.space().choices[choice].arity;
      for (const TermId a : so_far) {
        if (arity == 1) {
          const TermId operands[] = {a};
          if (const auto made = terms.apply_as_given(choice, operands)) found.insert(*made);
          continue;
        }
        for (const TermId b : so_far) {
          const TermId operands[] = {a, b};
          if (const auto made = terms.apply_as_given(choice, operands)) found.insert(*made);
        }
      }
    }
    std::erase_if(found, [&](TermId term) { return terms.applications(term).size() > operators; });
  }
  return {found.begin(), found.end()};
}

// The values of a term in both worlds, least over all ways to rename start tensors of one type.
std::vector<Word> least_values(TermTable& terms, std::vector<Evaluator<Residues>>& worlds,
                               TermId term) {
  std::vector<std::vector<std::uint8_t>> groups;
  std::set<TypeId> seen;
  for (std::size_t i = 0; i < terms.space().starts.size(); ++i) {
    if (seen.insert(terms.type_of_start(i)).second)
      groups.push_back(terms.starts_of(terms.type_of_start(i)));
  }
  std::vector<Renaming> names{Renaming::identity()};
  for (const auto& group : groups) {
    std::vector<std::uint8_t> order = group;
    std::vector<Renaming> longer;
    do {
      for (Renaming renaming : names) {
        for (std::size_t i = 0; i < group.size(); ++i) renaming.to[group[i]] = order[i];
        longer.push_back(renaming);
      }
    } while (std::ranges::next_permutation(order).found);
    names = longer;
  }
  std::vector<Word> least;
  for (const Renaming& renaming : names) {
    std::vector<Word> values{terms.type(term)};
    for (auto& world : worlds) {
      const auto all = world.all_values(terms.renamed(term, renaming));
      values.insert(values.end(), all.begin(), all.end());
    }
    if (least.empty() || values < least) least = values;
  }
  return least;
}

Space small_space(const std::vector<std::string>& operators, std::size_t copies) {
  Space space = *space_of_operators(operators);
  std::map<std::string, std::size_t> count;
  std::erase_if(space.starts, [&](const StartTensor& start) {
    return start.types[0].rank() > 2 || ++count[start.name.substr(0, 1)] > copies;
  });
  return space;
}

void expect_classes_as_by_brute_force(const Space& space, std::size_t operators) {
  const auto brute = *TermTable::create(space);
  std::vector<Evaluator<Residues>> worlds;
  for (World world = 0; world < space.worlds(); ++world) {
    worlds.emplace_back(*brute, world, Residues(Residues::kMersenne, kKey),
                        [world](std::size_t number, std::size_t elements) {
                          base::Random random(number * 10 + world + 77);
                          std::vector<Word> values(elements);
                          for (Word& value : values) value = random.below(Residues::kMersenne);
                          return values;
                        });
  }
  std::set<std::vector<Word>> classes;
  const std::vector<TermId> all = all_terms(*brute, operators);
  for (const TermId term : all) classes.insert(least_values(*brute, worlds, term));

  const auto terms = *TermTable::create(space);
  EnumerationOptions options;
  options.most_operators = operators;
  Enumeration enumeration(*terms, options);
  std::set<TypeId> start_types;
  for (std::size_t i = 0; i < space.starts.size(); ++i) start_types.insert(terms->type_of_start(i));
  std::uint64_t found = start_types.size();
  for (std::size_t i = 0; i < operators; ++i) {
    ASSERT_TRUE(enumeration.next_level().ok());
    found += enumeration.counts().back().classes;
  }
  EXPECT_EQ(found, classes.size()) << "of " << all.size() << " terms";
  EXPECT_GT(enumeration.equalities().size(), 0U);
}

TEST(Enumeration, FindsTheClassesOfAllTermsOfMatrices) {
  expect_classes_as_by_brute_force(small_space({"add", "matmul", "relu", "transpose"}, 2), 2);
}
TEST(Enumeration, FindsTheClassesOfAllTermsThatJoinAndCut) {
  expect_classes_as_by_brute_force(small_space({"concat", "slice", "mul"}, 2), 2);
}
TEST(Enumeration, FindsTheClassesOfTermsOfThreeOperators) {
  expect_classes_as_by_brute_force(small_space({"add", "neg"}, 2), 3);
}

// --- rules

Generation generated(const Space& space, std::size_t operators) {
  GenerationOptions options;
  options.enumeration.most_operators = operators;
  options.scrutiny.verification = screening_options();  // quick
  auto generation = generate(space, options);
  EXPECT_TRUE(generation.ok()) << generation.status().message();
  return *std::move(generation);
}

RuleSet set_of(const Generation& generation) {
  RuleSet set;
  for (const GeneratedRule& rule : generation.rules) set.rules.push_back(rule.rule);
  return without_heuristics(std::move(set));
}

bool derives_rule(const RuleSet& set, std::string_view text) {
  const auto goal = parse_rules("goal.rules", "rule goal " + std::string(text));
  EXPECT_TRUE(goal.ok()) << goal.status().message();
  KnownOperators known;
  return derive(set, goal->front(), {}, known).derived;
}

TEST(Generation, FindsTheLawsOfMatrices) {
  const Generation generation =
      generated(small_space({"add", "matmul", "relu", "transpose"}, 3), 3);
  for (const CandidateCount& level : generation.candidates) {
    EXPECT_EQ(level.derived + level.proven + level.conditional + level.refuted + level.undecided,
              level.candidates);
  }
  const RuleSet set = set_of(generation);
  EXPECT_TRUE(derives_rule(set, "add(?a, ?b) => add(?b, ?a)"));
  EXPECT_TRUE(derives_rule(set, "matmul(?a, matmul(?b, ?c)) => matmul(matmul(?a, ?b), ?c)"));
  EXPECT_TRUE(
      derives_rule(set,
                   "transpose{perm=[1, 0]}(matmul(?a, ?b)) => matmul(transpose{perm=[1, 0]}(?b), "
                   "transpose{perm=[1, 0]}(?a))"));
  EXPECT_TRUE(derives_rule(
      set,
      "matmul(add(?a, ?b), ?c) where same_type(?a, ?b) => add(matmul(?a, ?c), matmul(?b, ?c))"));
  // Wrong, so nothing may derive it.
  EXPECT_FALSE(derives_rule(set, "relu(add(?a, ?b)) => add(relu(?a), relu(?b))"));
}

TEST(Generation, SaysTheSameRulesEachTime) {
  const Space space = small_space({"relu", "matmul"}, 2);
  EXPECT_EQ(rules_text(space.name, generated(space, 2)),
            rules_text(space.name, generated(space, 2)));
}

TEST(Generation, GoesOnFromItsLogToTheSameRules) {
  const Space space = small_space({"add", "relu"}, 2);
  GenerationOptions options;
  options.enumeration.most_operators = 2;
  const std::string whole = rules_text(space.name, *generate(space, options));
  options.log = testing::TempDir() + "/generator_test_decisions.jsonl";
  // Cut short: some decisions of a run, and half a line more.
  {
    auto log = DecisionLog::open(options.log, "of something else");
    ASSERT_TRUE(log.ok());
    log->record("x = y", std::nullopt);
    ASSERT_TRUE(log->save().ok());
  }
  base::request_stop(SIGTERM);
  ASSERT_TRUE(generate(space, options)->stopped);
  base::request_stop(0);
  EXPECT_EQ(rules_text(space.name, *generate(space, options)), whole);
  EXPECT_FALSE(std::filesystem::exists(options.log)) << "removed when the work is done";
}

TEST(DecisionLog, GivesBackWhatWasSavedAndLeavesOutHalfALine) {
  const std::string path = testing::TempDir() + "/decision_log_test.jsonl";
  std::filesystem::remove(path);
  Generalized made;
  made.rule =
      parse_rules("t", "rule candidate out = relu(relu(?x)) where rank(?x) == 2 => relu(?x)")
          ->front();
  made.verdict.status = Verdict::Status::kProven;
  made.verdict.families = 3;
  made.conditional = true;
  made.cpu_seconds = 0.25;
  {
    auto log = *DecisionLog::open(path, "key");
    log.record("a = b", made);
    log.record("c = d", std::nullopt);
    ASSERT_TRUE(log.save().ok());
  }
  std::ofstream(path, std::ios::app) << "{\"candidate\": \"e = f\", \"ru";
  const auto again = *DecisionLog::open(path, "key");
  EXPECT_EQ(again.size(), 2U);
  ASSERT_NE(again.find("a = b"), nullptr);
  EXPECT_EQ(to_string(again.find("a = b")->made->rule), to_string(made.rule));
  EXPECT_EQ(again.find("a = b")->made->verdict.families, 3);
  EXPECT_TRUE(again.find("a = b")->made->conditional);
  EXPECT_EQ(again.find("a = b")->made->cpu_seconds, 0.25);
  EXPECT_FALSE(again.find("c = d")->made.has_value());
  EXPECT_EQ(DecisionLog::open(path, "another key")->size(), 0U);
  std::filesystem::remove(path);
}

TEST(TwoOutputs, AreThePartsOfAConcatenation) {
  const auto rules = parse_rules(
      "t",
      "rule joined concat{axis=?axis}(matmul(?x, ?a), matmul(?x, ?b)) where rank(?x) == 2 and "
      "rank(?a) == 2 and rank(?b) == 2 where ?axis == 1 => matmul(?x, concat{axis=?axis}(?a, ?b))");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  const auto parts = two_output_rule(rules->front());
  ASSERT_TRUE(parts.has_value());
  EXPECT_EQ(parts->targets.size(), 2U);
  KnownOperators known;
  const Verdict verdict = verify(*parts, {.tensor_checks = 30, .instances = 30}, known);
  EXPECT_EQ(to_string(verdict.status), "proven") << to_string(*parts) << verdict.reason;
}

TEST(Generation, FindsTheConditionOfASliceOfAConcatenation) {
  const Generation generation = generated(small_space({"concat", "slice"}, 2), 2);
  const RuleSet set = set_of(generation);
  EXPECT_TRUE(derives_rule(
      set,
      "slice{axis=0, start=0, size=?n, step=1}(concat{axis=0}(?a, ?b)) where ?n == dim(?a, 0) and "
      "rank(?a) == 2 and dim(?b, 0) == dim(?a, 0) => ?a"));
}

TEST(Generation, SaysOfOpenAxesThatTheyDiffer) {
  const Generation generation = generated(small_space({"softmax", "concat"}, 2), 3);
  const RuleSet set = set_of(generation);
  EXPECT_TRUE(derives_rule(set,
                           "softmax{axis=?a}(concat{axis=?b}(?x, ?y)) where ?a != ?b and rank(?x) "
                           "== 5 => concat{axis=?b}(softmax{axis=?a}(?x), softmax{axis=?a}(?y))"));
}

TEST(Generation, FindsNothingThatIsGiven) {
  const Space space = small_space({"add", "relu", "concat"}, 2);
  const Generation all = generated(space, 2);
  ASSERT_FALSE(all.rules.empty());
  GenerationOptions options;
  options.enumeration.most_operators = 2;
  options.given = set_of(all);
  const auto nothing = generate(space, options);
  ASSERT_TRUE(nothing.ok());
  EXPECT_TRUE(nothing->rules.empty()) << to_string(nothing->rules.front().rule);
}

TEST(Generation, FindsRulesOfWhatChoosesByValue) {
  Space space = *space_of_operators({"where", "relu"});
  std::erase_if(space.starts, [](const StartTensor& start) { return start.types[0].rank() > 2; });
  const RuleSet set = set_of(generated(space, 2));
  EXPECT_TRUE(derives_rule(set, "out = where(?c, ?x, ?x) where same_type(out, ?x) => ?x"));
  EXPECT_FALSE(derives_rule(set, "out = where(?c, ?x, ?y) where same_type(out, ?x) => ?x"));
}

TEST(Generation, FindsWhatFunctionsAreLikeByTheirValues) {
  Space space = small_space({"exp", "log", "relu", "mul", "sqrt"}, 2);
  const RuleSet opaque = set_of(generated(space, 2));
  space.by_value = true;
  const RuleSet by_value = set_of(generated(space, 2));
  for (const char* rule :
       {"log(exp(?x)) => ?x", "relu(exp(?x)) => exp(?x)", "relu(mul(?x, ?x)) => mul(?x, ?x)"}) {
    EXPECT_TRUE(derives_rule(by_value, rule)) << rule;
    EXPECT_FALSE(derives_rule(opaque, rule)) << rule;
  }
  // True of positive numbers alone.
  EXPECT_FALSE(derives_rule(by_value, "sqrt(mul(?x, ?x)) => ?x"));
}

std::size_t choice_named(const Space& space, std::string_view name) {
  const auto found = std::ranges::find(space.choices, name, &OperatorChoice::name);
  EXPECT_NE(found, space.choices.end()) << name;
  return static_cast<std::size_t>(found - space.choices.begin());
}

// A reduction has a list of axes, softmax one axis.
TEST(Drafts, SayOneAxisOfAListOfAxes) {
  const Space space = find_named_space("softmax_parts")->make();
  const auto terms = *TermTable::create(space);
  const auto apply = [&](std::string_view name, std::vector<TermId> operands) {
    return terms->apply(choice_named(space, name), operands).value();
  };
  const TermId e = apply("exp", {terms->start(0)});
  const TermId sum = apply("reduce_sum-axes[2]-keepdims1", {e});
  const Equality equality{apply("div-by-reduced", {e, sum}),
                          apply("softmax-axis2", {terms->start(0)})};
  const auto draft = draft_rule(*terms, equality, Openness::kRanks, Preference::kSizes);
  ASSERT_TRUE(draft.has_value());
  EXPECT_EQ(to_string(draft->rule),
            "rule candidate\n"
            "  out = div(exp(?x), reduce_sum{axes=[?axis]}(exp(?x)))\n"
            "  => out = softmax{axis=?axis}(?x)\n");
  const Equality back{equality.right, equality.left};
  EXPECT_EQ(to_string(draft_rule(*terms, back, Openness::kRanks, Preference::kSizes)->rule),
            "rule candidate\n"
            "  out = softmax{axis=?axis}(?x)\n"
            "  => out = div(exp(?x), reduce_sum{axes=[?axis]}(exp(?x)))\n");
}

// The second half of three matrices begins in the middle one, which the second tensor from the left
// is; amounts are counted from the first one.
TEST(Drafts, SayThatATensorIsCutInItsMiddle) {
  const Space space = taso_space();
  const auto terms = *TermTable::create(space);
  const auto apply = [&](std::string_view name, std::vector<TermId> operands) {
    return terms->apply(choice_named(space, name), operands).value();
  };
  const TermId three =
      apply("concat0", {apply("concat0", {terms->start(2), terms->start(0)}), terms->start(1)});
  const Equality equality{
      apply("split0-1", {three}),
      apply("concat0", {apply("split0-1", {terms->start(0)}), terms->start(1)})};
  const auto draft = draft_rule(*terms, equality, Openness::kAttributes, Preference::kAttributes);
  ASSERT_TRUE(draft.has_value());
  EXPECT_THAT(to_string(draft->rule), HasSubstr("slice{axis=?axis, size=?start - dim(?m2, ?axis), "
                                                "start=?start - dim(?m2, ?axis)}(?m0)"));
  std::string ways;
  for (const auto& alternatives : draft->alternatives) {
    for (const Expr& way : alternatives) {
      Rule rule = draft->rule;
      rule.conditions = {way};
      ways += to_string(rule);
    }
  }
  EXPECT_THAT(ways, HasSubstr("where ?start * 2 == dim(?m2, ?axis) * 2 + dim(?m0, ?axis)"));
}

TEST(Drafts, AddToWhatStandsInTheSamePlaceOfAList) {
  const Space space = find_named_space("padding")->make();
  const auto terms = *TermTable::create(space);
  const auto pad = [&](std::string_view name, TermId x) {
    return terms->apply(choice_named(space, name), std::vector<TermId>{x}).value();
  };
  const Equality equality{pad("pad-0,0,j,k-0,0,l,m", pad("pad-0,0,f,g-0,0,h,i", terms->start(0))),
                          pad("pad-0,0,n,o-0,0,p,q", terms->start(0))};
  const auto draft = draft_rule(*terms, equality, Openness::kRanks, Preference::kSizes);
  ASSERT_TRUE(draft.has_value());
  EXPECT_THAT(to_string(draft->rule),
              HasSubstr("pad{after=[0, 0, ?after2[2] + ?after[2], ?after2[3] + ?after[3]], "
                        "before=[0, 0, ?before2[2] + ?before[2], ?before2[3] + ?before[3]]}(?x0)"));
}

TEST(Candidates, AreNoRulesWhereTestsRefuteThemOrFindNothingToTest) {
  const auto status_of = [](const std::string& text) {
    const auto rules = parse_rules("candidate.rules", "rule candidate " + text);
    EXPECT_TRUE(rules.ok()) << rules.status().message();
    const CandidateScrutiny scrutiny;
    KnownOperators known;
    // What tests must see, screening does not.
    Verdict verdict = screen_candidate(rules->front(), scrutiny.screening, known);
    EXPECT_EQ(verdict.status, Verdict::Status::kProven);
    verdict = test_candidate(rules->front(), std::move(verdict), scrutiny.tests, known);
    return std::string(to_string(verdict.status));
  };
  // Right for matrices; batches that are broadcast are too seldom drawn for screening to see it.
  EXPECT_EQ(status_of("matmul(?m, add(?v, ?w)) where same_type(?v, ?w) => "
                      "matmul(concat{axis=1}(?m, ?m), concat{axis=0}(?v, ?w))"),
            "refuted");
  // The largest element becomes log(0), the others the logarithm of what is below 0.
  EXPECT_EQ(status_of("softmax{axis=2}(log(sub(?x, reduce_max{axes=[2]}(?x)))) => "
                      "log(sub(?x, reduce_max{axes=[2]}(?x)))"),
            "undecided");
}

TEST(Generation, FindsRulesOfTruthValues) {
  const RuleSet set = set_of(generated(*space_of_operators({"not", "and", "or"}), 2));
  EXPECT_TRUE(derives_rule(set, "not(not(?x)) => ?x"));
  EXPECT_TRUE(derives_rule(set, "and(?x, ?x) => ?x"));
  EXPECT_FALSE(derives_rule(set, "and(?x, ?y) => ?x"));
}

// --- conditions

TermId term_of(TermTable& terms, std::string_view choice, std::vector<TermId> operands) {
  for (std::size_t i = 0; i < terms.space().choices.size(); ++i) {
    if (terms.space().choices[i].name != choice) continue;
    if (const auto made = terms.apply_as_given(i, operands)) return *made;
  }
  ADD_FAILURE() << "no term " << choice;
  return 0;
}
TermId start_named(const TermTable& terms, std::string_view name) {
  const auto& starts = terms.space().starts;
  const auto found = std::ranges::find(starts, name, &StartTensor::name);
  EXPECT_NE(found, starts.end()) << name;
  return terms.start(static_cast<std::size_t>(found - starts.begin()));
}

Generalized generalized_of(TermTable& terms, const Equality& equality) {
  KnownOperators known;
  auto made = generalize_equality(terms, equality, {}, known);
  EXPECT_TRUE(made && made->verdict.status == Verdict::Status::kProven)
      << (made ? to_string(made->rule) + made->verdict.reason : "cannot be stated");
  return made.value_or(Generalized{});
}

std::set<std::string> conditions_of(const Rule& rule) {
  std::set<std::string> texts;
  for (const Expr& condition : rule.conditions) texts.insert(to_string(rule, condition));
  return texts;
}

// What condition inference, which knows nothing of the generator, finds for the rule without its
// conditions: the weakest as far as instances tell.
void expect_weakest(Rule rule, const std::string& condition) {
  rule.conditions.clear();
  KnownOperators known;
  const auto inferred = infer_condition(rule, {.tensor_checks = 60, .instances = 60}, known);
  ASSERT_TRUE(inferred.has_value()) << to_string(rule);
  EXPECT_NE(inferred->weakest, InferredCondition::Weakest::kUnknown) << inferred->text;
  EXPECT_EQ(inferred->text, condition);
}

TEST(Conditions, AreTheWeakestWhereTheseAreKnown) {
  const Space space = taso_space();
  const auto terms = *TermTable::create(space);
  const auto start = [&](std::string_view name) { return start_named(*terms, name); };
  const auto apply = [&](std::string_view choice, std::vector<TermId> operands) {
    return term_of(*terms, choice, std::move(operands));
  };
  // The first half of two tensors of one size is the first of them, wherever it starts at 0.
  const TermId joined = apply("concat0", {start("m0"), start("m1")});
  const Rule first = generalized_of(*terms, {apply("split0-0", {joined}), start("m0")}).rule;
  EXPECT_EQ(conditions_of(first), (std::set<std::string>{"?start == 0"}));
  expect_weakest(first, "?start == 0");
  // A tensor is its two halves: the first starts at 0, the second where that ends.
  const TermId halves =
      apply("concat0", {apply("split0-0", {start("w0")}), apply("split0-1", {start("w0")})});
  const Rule cut = generalized_of(*terms, {halves, start("w0")}).rule;
  EXPECT_EQ(conditions_of(cut), (std::set<std::string>{"?start == 0", "?size == ?start2"}));
  // A product with an identity matrix needs no condition at all.
  const TermId same = apply("matmul", {start("m0"), apply("identity-matrix", {})});
  EXPECT_EQ(conditions_of(generalized_of(*terms, {same, start("m0")}).rule),
            std::set<std::string>{});
}

// What a user writes to add an operator: its definition, nothing else.
const ir::Operator& twice() {
  static const ir::Operator op =
      ir::primitive("twice", "x + x", {"x"}).defined_by([](ir::Definition& d) {
        d.pointwise([](ir::Scalar x) { return x + x; });
      });
  return op;
}

TEST(Generation, FindsRulesOfANewOperatorFromItsDefinition) {
  Space space = small_space({"add", "matmul", "concat"}, 2);
  space.choices.push_back({"twice", 1, {{&twice(), {0}}}});
  const Generation generation = generated(space, 2);
  std::set<std::string> texts;
  for (const GeneratedRule& rule : generation.rules) {
    texts.insert(to_string(rule.rule, rule.rule.sources[0].term) + " = " +
                 to_string(rule.rule, rule.rule.targets[0].term));
  }
  const auto has = [&](std::string_view text) {
    return std::ranges::any_of(texts, [&](const std::string& t) { return t == text; });
  };
  EXPECT_TRUE(has("twice(?m0) = add(?m0, ?m0)") || has("add(?m0, ?m0) = twice(?m0)"))
      << rules_text(space.name, generation);
}

}  // namespace
}  // namespace egret::rules::generator
