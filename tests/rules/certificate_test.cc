// SPDX-License-Identifier: Apache-2.0
// Certificates: what rules, folding and expansion did is accepted, and nothing else is.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "rules/certificates/certificate_json.h"
#include "rules/language/rule_parser.h"
#include "tests/rules/certified_program.h"
#include "tests/rules/program.h"

namespace egret::rules {
namespace {

using ir::Integers;
using ir::Value;
using verifier::Certificate;
using Kind = Certificate::Step::Kind;

ir::Graph folded_network() {
  Program p;
  const Value x = p.input({1, 3, 6, 6});
  const Value y = p.conv(x, p.weight({4, 3, 3, 3}), 1);
  const Value n = p("batch_norm", {y, p.weight({4}), p.weight({4}), p.weight({4}), p.positive({4})},
                    {{"epsilon", 0x1p-10}});
  return p.finish({p("relu", {p("relu", {n})})});
}

// Two outputs, a rule of two sources, and concatenations of many.
ir::Graph shared_products() {
  Program p;
  const Value x = p.input({8, 4});
  const Value a = p("matmul", {x, p.weight({4, 4})});
  const Value b = p("matmul", {x, p.weight({4, 4})});
  const Value c = p("matmul", {x, p.weight({4, 4})});
  const Value all = p("concat", {p("relu", {a}), p("relu", {b}), p("relu", {c})}, {{"axis", 1}});
  return p.finish({all, p("transpose", {p("add", {a, b})}, {{"perm", Integers{1, 0}}})});
}

ir::Graph transposed_network() {
  Program p;
  const Value x = p.input({1, 5, 6, 3});
  const Value t = p("transpose", {x}, {{"perm", Integers{0, 3, 1, 2}}});
  const Value y = p("mul", {p("relu", {t}), p.weight({3, 1, 1})});
  return p.finish({p("transpose", {y}, {{"perm", Integers{0, 2, 3, 1}}})});
}

std::vector<CertifiedProgram> all_programs() {
  std::vector<CertifiedProgram> all;
  all.push_back(certified(folded_network()));
  all.push_back(certified(shared_products()));
  all.push_back(certified(transposed_network()));
  return all;
}

std::size_t count(const Certificate& certificate, Kind kind) {
  return static_cast<std::size_t>(
      std::ranges::count(certificate.steps, kind, &Certificate::Step::kind));
}

TEST(Certificate, IsAcceptedForRulesAndFolds) {
  const CertifiedProgram network = certified(folded_network());
  EXPECT_LT(network.after.operator_count(), network.before.operator_count());
  const auto report = network.replay(network.certificate);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_GT(report->rule_steps, 0U);
  EXPECT_GT(report->folds, 0U);
}

TEST(Certificate, IsAcceptedForRulesOfSeveralSources) {
  const CertifiedProgram products = certified(shared_products());
  const auto report = products.replay(products.certificate);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_GT(report->rule_steps, 0U);
  EXPECT_EQ(products.certificate.outputs.size(), 2U);
}

TEST(Certificate, IsAcceptedForStepsThatCodeRecomputes) {
  const CertifiedProgram network = certified(transposed_network());
  const auto report = network.replay(network.certificate);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_GT(report->code_steps, 0U);
  EXPECT_EQ(std::ranges::count_if(network.after.nodes(),
                                  [](const ir::Node& node) {
                                    return node.op != nullptr && node.op->name() == "transpose";
                                  }),
            0);
}

TEST(Certificate, SurvivesItsText) {
  for (const CertifiedProgram& program : all_programs()) {
    const std::string text = to_json(program.certificate);
    const auto read = verifier::parse_certificate(text);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->steps, program.certificate.steps);
    EXPECT_EQ(read->symbols, program.certificate.symbols);
    EXPECT_EQ(to_json(*read), text);
    EXPECT_TRUE(program.replay(*read).ok());
  }
}

TEST(Certificate, IsEmptyForAProgramThatStays) {
  const ir::Graph graph = folded_network();
  const auto rules = AdmittedRules::select("starter");
  ASSERT_TRUE(rules.ok());
  const auto certificate = write_certificate({.before = &graph, .after = &graph}, nullptr, *rules);
  ASSERT_TRUE(certificate.ok()) << certificate.status().message();
  EXPECT_TRUE(certificate->steps.empty());
  EXPECT_TRUE(verifier::replay(*certificate, graph, graph, RuleLibrary()).ok());
}

// A composite operator that is written as its body.
TEST(Certificate, ExpandsComposites) {
  Program p;
  const ir::Graph before = p.finish({p("softmax", {p.input({3, 4})}, {{"axis", 1}})});
  const auto after = ir::expand_composites(before);
  ASSERT_TRUE(after.ok());
  const auto rules = AdmittedRules::select("starter");
  ASSERT_TRUE(rules.ok());
  const auto certificate =
      write_certificate({.before = &before, .after = &*after}, nullptr, *rules);
  ASSERT_TRUE(certificate.ok()) << certificate.status().message();
  EXPECT_EQ(count(*certificate, Kind::kCode), certificate->steps.size());
  EXPECT_TRUE(verifier::replay(*certificate, before, *after, RuleLibrary()).ok());
}

TEST(Certificate, IsNotWrittenForAnotherProgram) {
  const ir::Graph before = folded_network();
  Program p;
  const Value x = p.input({1, 3, 6, 6});
  const ir::Graph after = p.finish({p.conv(x, p.weight({4, 3, 3, 3}), 1)});
  const auto rules = AdmittedRules::select("starter");
  ASSERT_TRUE(rules.ok());
  const auto certificate = write_certificate({.before = &before, .after = &after}, nullptr, *rules);
  ASSERT_FALSE(certificate.ok());
  EXPECT_EQ(certificate.status().code(), base::StatusCode::kMismatch);
  EXPECT_NE(certificate.status().message().find("in place of relu"), std::string::npos)
      << certificate.status().message();
}

// ---- mutants ----

struct Mutant {
  std::string what;
  Certificate certificate;
  std::size_t step;  // the first that is no longer what it was; all steps: an output
};

// The number of the step that a message begins with; all steps: it names an output.
std::size_t named_step(const std::string& message, const Certificate& certificate) {
  if (message.starts_with("step ")) return std::stoul(message.substr(5));
  EXPECT_TRUE(message.starts_with("output '")) << message;
  return certificate.steps.size();
}

// Leaves out one step. Whatever relied on it relies on t = t.
Certificate without_step(const Certificate& whole, std::size_t gone) {
  Certificate made = whole;
  made.steps.erase(made.steps.begin() + static_cast<std::ptrdiff_t>(gone));
  const auto renumber = [&](std::int64_t& step) {
    if (step == static_cast<std::int64_t>(gone)) {
      step = Certificate::kReflexive;
    } else if (step > static_cast<std::int64_t>(gone)) {
      --step;
    }
  };
  for (Certificate::Step& step : made.steps) std::ranges::for_each(step.premises, renumber);
  for (Certificate::Output& output : made.outputs) renumber(output.step);
  return made;
}

std::vector<Mutant> mutants_of(const Certificate& whole) {
  std::vector<Mutant> all;
  const std::size_t none = whole.steps.size();
  const auto change = [&](std::string what, std::size_t step, const auto& edit) {
    Mutant mutant{std::move(what), whole, step};
    edit(mutant.certificate);
    all.push_back(std::move(mutant));
  };
  for (std::size_t i = 0; i < whole.steps.size(); ++i) {
    const Certificate::Step& step = whole.steps[i];
    all.push_back({"step " + std::to_string(i) + " dropped", without_step(whole, i), none});
    for (std::size_t v = 0; v < step.substitution.size(); ++v) {
      change("substitution flipped", i, [&](Certificate& c) {
        std::uint32_t& term = c.steps[i].substitution[v];
        term = term == 0 ? 1 : term - 1;
      });
    }
    for (std::size_t o = 0; o < step.operators.size(); ++o) {
      change("another operator", i, [&](Certificate& c) {
        std::uint32_t& symbol = c.steps[i].operators[o];
        symbol = symbol == 0 ? 1 : symbol - 1;
      });
    }
    if (step.kind == Kind::kRule) {
      for (std::uint32_t rule = 0; rule < whole.rules.size(); ++rule) {
        if (rule != step.rule)
          change("another rule", i, [&](Certificate& c) { c.steps[i].rule = rule; });
      }
      change("another equation", i, [&](Certificate& c) { ++c.steps[i].equation; });
    }
    if (step.kind != Kind::kSymmetry && step.kind != Kind::kTransitivity) {
      change("another left side", i, [&](Certificate& c) {
        c.steps[i].left = static_cast<std::uint32_t>((c.steps[i].left + 1) % c.terms.size());
      });
      change("another right side", i, [&](Certificate& c) {
        c.steps[i].right = static_cast<std::uint32_t>((c.steps[i].right + 1) % c.terms.size());
      });
    }
    if (step.kind == Kind::kCode)
      change("another code", i, [&](Certificate& c) { c.steps[i].name = "no-such-code"; });
    if (step.kind == Kind::kFold)
      change("another precision", i, [&](Certificate& c) { c.steps[i].name = "f16"; });
    if (step.kind == Kind::kCongruence)
      change("a premise less", i, [&](Certificate& c) { c.steps[i].premises.pop_back(); });
  }
  for (std::size_t i = 0; i < whole.outputs.size(); ++i) {
    change("an output without a step", none,
           [&](Certificate& c) { c.outputs[i].step = Certificate::kReflexive; });
    change("another name", none, [&](Certificate& c) { c.outputs[i].name += "'"; });
  }
  if (whole.outputs.size() > 1) {
    change("outputs swapped", none, [&](Certificate& c) {
      std::swap(c.outputs[0].before, c.outputs[1].before);
      std::swap(c.outputs[0].after, c.outputs[1].after);
      std::swap(c.outputs[0].step, c.outputs[1].step);
    });
  }
  return all;
}

TEST(Certificate, IsRejectedWhereAnythingWasChanged) {
  std::size_t mutants = 0;
  for (const CertifiedProgram& program : all_programs()) {
    for (const Mutant& mutant : mutants_of(program.certificate)) {
      const auto report = program.replay(mutant.certificate);
      ++mutants;
      ASSERT_FALSE(report.ok()) << mutant.what << "\n" << to_json(mutant.certificate);
      const std::size_t named = named_step(report.status().message(), mutant.certificate);
      // An altered side or operator may give another equality that holds; it is wrong where it is
      // used. A dropped step is noticed by whatever relied on it.
      if (mutant.what.ends_with("dropped")) continue;
      if (mutant.what.ends_with("side") || mutant.what.ends_with("operator")) {
        EXPECT_GE(named, mutant.step) << mutant.what << ": " << report.status().message();
      } else {
        EXPECT_EQ(named, mutant.step) << mutant.what << ": " << report.status().message();
      }
    }
  }
  EXPECT_GE(mutants, 300U);
}

TEST(Certificate, IsRejectedForAConditionThatDoesNotHold) {
  const CertifiedProgram network = certified(folded_network());
  std::size_t mutants = 0;
  // An attribute of an operator, changed wherever the certificate has it.
  for (std::size_t s = 0; s < network.certificate.symbols.size(); ++s) {
    for (const auto& [name, text] : network.certificate.symbols[s].attributes) {
      Certificate mutant = network.certificate;
      std::string& value = mutant.symbols[s].attributes[name];
      value = value == "1" ? "0" : value.starts_with("[") ? "[2, 2]" : "3";
      if (value == text) continue;
      ++mutants;
      const auto report = network.replay(mutant);
      EXPECT_FALSE(report.ok()) << name << "=" << value;
    }
  }
  EXPECT_GT(mutants, 3U);
}

TEST(Certificate, IsRejectedForAnAlteredConstant) {
  CertifiedProgram network = certified(folded_network());
  ir::Graph altered = network.after;
  std::size_t mutants = 0;
  for (std::size_t i = 0; i < network.after.size(); ++i) {
    const ir::Node& node = network.after.node(ir::NodeId(i));
    if (node.kind != ir::NodeKind::kConstant) continue;
    ir::Graph changed;
    changed.copy_header(network.after);
    for (std::size_t j = 0; j < network.after.size(); ++j) {
      ir::Node copy = network.after.node(ir::NodeId(j));
      if (i == j) copy.data.set_f64(0, copy.data.f64_at(0) + 1e-6);
      changed.append(std::move(copy));
    }
    for (const auto& output : network.after.outputs()) changed.add_output(output.name, output.node);
    ++mutants;
    const auto report =
        verifier::replay(network.certificate, network.before, changed, network.library);
    ASSERT_FALSE(report.ok());
    EXPECT_NE(report.status().message().find("constant"), std::string::npos)
        << report.status().message();
  }
  EXPECT_GT(mutants, 0U);
}

// A wrong rule that nobody has proven, and a certificate that applies it rightly.
TEST(Certificate, IsRejectedForAWrongRule) {
  const CertifiedProgram network = certified(folded_network());
  const auto wrong = parse_rules("wrong.rules", "rule planted\n  relu(?x)\n  => ?x\n");
  ASSERT_TRUE(wrong.ok()) << wrong.status().message();
  Program p;
  const Value x = p.input({2, 3});
  const ir::Graph before = p.finish({p("relu", {x})});
  Program q;
  const ir::Graph after = q.finish({q.input({2, 3})});
  Certificate certificate;
  certificate.symbols = {{Certificate::Symbol::Kind::kInput, "x0"},
                         {Certificate::Symbol::Kind::kOperator, "relu"}};
  certificate.terms = {{0, {}}, {1, {0}}};
  certificate.rules = {{"planted", content_hash(wrong->front()).to_hex()}};
  certificate.steps = {{.kind = Kind::kRule, .left = 1, .right = 0, .substitution = {0}}};
  certificate.outputs = {{"y0", 1, 0, 0}};

  const auto unknown = verifier::replay(certificate, before, after, network.library);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.status().message(),
            "step 0 (rule 'planted'): no known rule has the hash " + certificate.rules[0].hash);
  RuleLibrary with_rule;
  with_rule.add(*wrong, {});
  const auto unproven = verifier::replay(certificate, before, after, with_rule);
  ASSERT_FALSE(unproven.ok());
  EXPECT_EQ(unproven.status().message(),
            "step 0 (rule 'planted'): the rule is not proven but untested");
  // What the certificate states of it is right: with a proof it would be accepted.
  RuleStatuses forged;
  forged.record_proof(wrong->front(), RuleStatus::kProven, {});
  RuleLibrary trusting;
  trusting.add(*wrong, *read_proofs(forged.to_json()));
  EXPECT_TRUE(verifier::replay(certificate, before, after, trusting).ok());
}

// A certificate says what it calls its rules; that is only where the checker looks first.
TEST(Certificate, IsCheckedWithItsRulesAloneWhateverItCallsThem) {
  const CertifiedProgram network = certified(folded_network());
  std::vector<Certificate::Rule> rules = network.certificate.rules;
  ASSERT_FALSE(rules.empty());
  const auto accepted_with = [&](const RuleLibrary& library) {
    return verifier::replay(network.certificate, network.before, network.after, library).ok();
  };
  EXPECT_TRUE(accepted_with(RuleLibrary::read({}, &rules).value()));
  rules[0].name = "another-name";
  EXPECT_TRUE(accepted_with(RuleLibrary::read({}, &rules).value()));
  rules.erase(rules.begin());
  EXPECT_FALSE(accepted_with(RuleLibrary::read({}, &rules).value()));
}

TEST(Certificate, NamesTheMalformedEntry) {
  const CertifiedProgram network = certified(folded_network());
  const std::string text = to_json(network.certificate);
  const auto error_of = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    const auto read = verifier::parse_certificate(changed);
    return read.ok() ? std::string("accepted") : read.status().message();
  };
  EXPECT_EQ(error_of("egret-certificate", "another"),
            "not a certificate: the format is not 'egret-certificate'");
  EXPECT_EQ(error_of("\"terms\": [[0]", "\"terms\": [[0, 0]"),
            "term 0: 0 is no number from 0 to 0, exclusive");
  EXPECT_EQ(error_of("\"outputs\"", "\"results\""), "outputs: the table is missing");
  EXPECT_NE(error_of("[\"cong\"", "[\"magic\"").find("'magic' is no kind of step"),
            std::string::npos);
}

}  // namespace
}  // namespace egret::rules
