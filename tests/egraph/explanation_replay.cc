// SPDX-License-Identifier: Apache-2.0
#include "tests/egraph/explanation_replay.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "base/random.h"
#include "egraph/proofs/explainer.h"
#include "egraph/proofs/explanation_certificate.h"
#include "tests/egraph/certificate_mutation.h"
#include "tests/egraph/explanation_workload.h"

namespace egret::egraph {
namespace {

struct Totals {
  std::size_t flat_replayed = 0;
  std::size_t mutants = 0;
  std::uint64_t plain_length = 0;
  std::uint64_t short_length = 0;
};

}  // namespace

void replay(const EGraph& egraph, const checking::CertificateChecker& checker,
            std::size_t equalities, std::uint64_t seed) {
  base::Random random(seed);
  EqualPairs pairs(egraph);
  const std::vector<std::string> hashes = term_hashes(egraph);
  Explainer explainer(egraph);
  Totals totals;
  for (std::size_t i = 0; i < equalities && !::testing::Test::HasFailure(); ++i) {
    const auto [a, b] = pairs.draw(random);
    const bool shorten = i % 2 == 1;
    const auto why = explainer.explain(a, b, {.shorten = shorten});
    ASSERT_TRUE(why.ok()) << why.status().message();
    std::vector<base::Json> documents{tree_certificate(*why)};
    constexpr std::size_t kMaxFlat = 200;
    if (auto flat = flat_certificate(*why, kMaxFlat); flat.ok()) {
      documents.push_back(*std::move(flat));
      ++totals.flat_replayed;
    }
    if (shorten && why->flat_length() < (std::uint64_t{1} << 40)) {
      totals.short_length += why->flat_length();
      totals.plain_length += explainer.explain(a, b)->flat_length();
    }
    for (const base::Json& document : documents) {
      const auto proven = checker.check(document);
      ASSERT_TRUE(proven.ok()) << proven.status().message() << "\n" << why->tree_text();
      ASSERT_EQ(proven->left, hashes[a.index()]);
      ASSERT_EQ(proven->right, hashes[b.index()]);
      const auto mutant = checking::mutate(document, random);
      if (!mutant) continue;
      ++totals.mutants;
      const auto accepted = checker.check(mutant->document);
      ASSERT_FALSE(accepted.ok()) << mutant->what << "\n" << why->tree_text();
    }
  }
  EXPECT_GT(totals.flat_replayed, equalities / 10);
  EXPECT_GT(totals.mutants, equalities / 10);
  EXPECT_LE(totals.short_length, totals.plain_length);
  ::testing::Test::RecordProperty("flat_replayed", static_cast<int>(totals.flat_replayed));
  std::printf("%zu equalities, %zu flat, %zu mutants, length %llu, shortened %llu\n", equalities,
              totals.flat_replayed, totals.mutants,
              static_cast<unsigned long long>(totals.plain_length),
              static_cast<unsigned long long>(totals.short_length));
}

}  // namespace egret::egraph
