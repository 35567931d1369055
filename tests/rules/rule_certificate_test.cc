// SPDX-License-Identifier: Apache-2.0
// Proofs of rules as certificates: replayed without a solver, and rejected once they are changed.
#include "rules/proofs/rule_certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "rules/proofs/rule_certificate_writer.h"
#include "rules/proving/verification.h"
#include "rules/tensors/rule_set.h"
#include "tests/rules/parsed_rule.h"

namespace egret::rules {
namespace {

using ::testing::HasSubstr;

KnownOperators& known() {
  static KnownOperators all;
  return all;
}

RuleCertificate certificate_of(const Rule& rule) {
  const Verdict verdict = verify(rule, {.tensor_checks = 20, .instances = 40}, known());
  EXPECT_EQ(to_string(verdict.status), "proven") << verdict.reason;
  auto made = certify(rule, verdict, known());
  EXPECT_TRUE(made.ok()) << made.status().message();
  const auto json = base::Json::parse(json_of(*made).dump());
  EXPECT_TRUE(json.ok());
  auto read = parse_rule_certificate(*json);
  EXPECT_TRUE(read.ok()) << read.status().message();
  return *std::move(read);
}

RuleCertificate certificate_of(const std::string& name) {
  const auto set = select_rules(name);
  EXPECT_TRUE(set.ok()) << set.status().message();
  return certificate_of(set->rules.front());
}

std::string reason(const RuleCertificate& certificate) {
  const auto checked = check_rule(certificate, false, known());
  return checked.ok() ? "" : checked.status().message();
}

TEST(RuleCertificate, ReplaysProofsByNormalFormAlone) {
  for (const std::string name : {"transpose-of-relu", "transpose-of-matmul", "sum-of-matmuls"}) {
    const RuleCertificate certificate = certificate_of(name);
    EXPECT_TRUE(certificate.solver.empty()) << name;
    const auto checked = check_rule(certificate, false, known());
    ASSERT_TRUE(checked.ok()) << name << ": " << checked.status().message();
    EXPECT_EQ(checked->rule.name, name);
    EXPECT_GT(checked->claim.families, 0);
  }
}

TEST(RuleCertificate, ReplaysContradictionsByTheirProofs) {
  const RuleCertificate certificate = certificate_of("slice-of-first");
  ASSERT_FALSE(certificate.contradictions.empty());
  EXPECT_TRUE(certificate.solver.empty());
  const auto checked = check_rule(certificate, false, known());
  ASSERT_TRUE(checked.ok()) << checked.status().message();
  EXPECT_GT(checked->shown, 0);
}

TEST(RuleCertificate, ReplaysRulesOfTensorsWithoutElements) {
  const RuleCertificate certificate =
      certificate_of(parsed("concat{axis=?a}(?x, ?y) where dim(?y, ?a) == 0 => ?x"));
  EXPECT_TRUE(certificate.claim.of_empty);
  EXPECT_EQ(reason(certificate), "");
}

TEST(RuleCertificate, CoversTheKindsThatItsVerificationCovered) {
  for (const std::string name : {"transpose-of-matmul", "slice-of-first"}) {
    const auto set = select_rules(name);
    ASSERT_TRUE(set.ok());
    const Verdict verdict = verify(set->rules.front(), {}, known());
    const auto certificate = certify(set->rules.front(), verdict, known());
    ASSERT_TRUE(certificate.ok()) << certificate.status().message();
    EXPECT_EQ(certificate->claim.kinds, verdict.cover.kinds);
    EXPECT_EQ(certificate->claim.complete, verdict.cover.complete);
    EXPECT_EQ(certificate->claim.rank, verdict.cover.rank);
    EXPECT_EQ(certificate->claim.any_rank, verdict.any_rank);
  }
}

using Change = std::function<void(RuleCertificate&)>;

TEST(RuleCertificate, ChangedCertificatesAreRejected) {
  const RuleCertificate whole = certificate_of("slice-of-first");
  const auto changed = [&](const Change& change) {
    RuleCertificate other = whole;
    change(other);
    return reason(other);
  };
  EXPECT_EQ(changed([](RuleCertificate&) {}), "");
  EXPECT_NE(changed([](RuleCertificate& c) { c.trace.families.pop_back(); }), "");
  EXPECT_NE(changed([](RuleCertificate& c) { c.trace.kinds.pop_back(); }), "");
  EXPECT_THAT(changed([](RuleCertificate& c) { c.trace.kinds.push_back(c.trace.kinds[0]); }),
              HasSubstr("covered before"));
  EXPECT_NE(changed([](RuleCertificate& c) { c.trace.on_scalars = true; }), "");
  EXPECT_NE(changed([](RuleCertificate& c) { c.claim.any_rank = !c.claim.any_rank; }), "");
  EXPECT_THAT(changed([](RuleCertificate& c) { c.claim.rank += 1; }), HasSubstr("something else"));
  EXPECT_THAT(changed([](RuleCertificate& c) { c.hash[0] = c.hash[0] == '0' ? '1' : '0'; }),
              HasSubstr("hash"));
  EXPECT_THAT(
      changed([](RuleCertificate& c) { c.contradictions.begin()->second.steps.back() = {}; }),
      HasSubstr("is not shown by its proof"));
  EXPECT_THAT(changed([](RuleCertificate& c) {
                c.trace.kinds[0].runs.push_back({{"?nothing.0", 1}});
              }),
              HasSubstr("is not open"));
}

// The proof of a true rule shows nothing of a wrong one.
TEST(RuleCertificate, IsRejectedForAnotherRule) {
  RuleCertificate certificate = certificate_of(
      parsed("mul(?x, transpose{perm=[1, 0]}(transpose{perm=[1, 0]}(?y))) => mul(?x, ?y)"));
  EXPECT_EQ(reason(certificate), "");
  const Rule wrong =
      parsed("mul(?x, transpose{perm=[1, 0]}(transpose{perm=[1, 0]}(?y))) => add(?x, ?y)");
  certificate.text = to_string(wrong);
  EXPECT_THAT(reason(certificate), HasSubstr("hash"));
  certificate.hash = content_hash(wrong).to_hex();
  EXPECT_THAT(reason(certificate), HasSubstr("family 0"));
}

}  // namespace
}  // namespace egret::rules
