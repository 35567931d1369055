// SPDX-License-Identifier: Apache-2.0
// Models that use a part of their weights for each sample: tables of a recommender, and experts.
#include <array>
#include <cmath>
#include <vector>

#include "zoo/builders.h"
#include "zoo/network.h"

namespace egret::zoo {
namespace {

using ir::Integers;

ir::Attrs along(std::int64_t axis) { return {{"axis", axis}}; }

Value sum_over(Network& n, Value x, std::int64_t axis) {
  return n.apply("reduce_sum", {x}, {{"axes", Integers{axis}}, {"keepdims", std::int64_t{0}}});
}

}  // namespace

// Naumov et al., "Deep Learning Recommendation Model for Personalization and Recommendation
// Systems", 2019: dot products of all pairs of features. Eight tables of 10,000 rows.
base::Result<ir::Graph> dlrm(const ZooOptions& options) {
  constexpr std::int64_t kTables = 8, kRows = 10'000, kWidth = 64;
  const std::int64_t batch = options.batch;
  Network n("dlrm", options.seed);
  Value bottom = n.input("dense", {batch, 13});
  for (const std::int64_t width : {std::int64_t{512}, std::int64_t{256}, kWidth})
    bottom = n.relu(n.linear(bottom, width));
  std::vector<Value> features = {bottom};
  for (std::int64_t t = 0; t < kTables; ++t) {
    const Value ids = n.input_ids("table" + std::to_string(t), {batch});
    features.push_back(n.apply("gather", {n.weight({kRows, kWidth}, kWidth), ids}, along(0)));
  }
  const std::int64_t count = kTables + 1;
  const Value all = n.reshape(n.concat(features, 1), {batch, count, kWidth});
  const Value products = n.apply("matmul", {all, n.transpose(all, {0, 2, 1})});
  // Each pair once.
  std::vector<std::int64_t> pairs;
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t k = 0; k < i; ++k) pairs.push_back(i * count + k);
  }
  const Value flat = n.reshape(products, {batch, count * count});
  const Value picked = n.apply("gather", {flat, n.integers(pairs)}, along(1));
  const Value joined[] = {bottom, picked};
  Value top = n.concat(joined, 1);
  for (const std::int64_t width : {512, 256}) top = n.relu(n.linear(top, width));
  return n.finish(n.apply("sigmoid", {n.linear(top, 1)}));
}

// The feed-forward half of a layer of GShard (Lepikhin et al., 2020): each token goes to its two
// best experts. An expert takes as many tokens as its capacity, first choices before second ones
// and in the order of tokens, and drops the rest.
base::Result<ir::Graph> moe_block(const ZooOptions& options) {
  constexpr std::int64_t kHidden = 256, kInner = 1024, kExperts = 8, kChoices = 2;
  constexpr double kCapacityFactor = 1.25;
  const std::int64_t tokens = options.batch * (options.sequence > 0 ? options.sequence : 128);
  const auto capacity = static_cast<std::int64_t>(
      std::ceil(kCapacityFactor * static_cast<double>(kChoices * tokens) / kExperts));
  const std::int64_t routes = kChoices * tokens;
  Network n("moe-block", options.seed);
  const Value hidden = n.input("hidden", {tokens, kHidden});
  const Value x = n.layer_norm(hidden);

  const Value share = n.softmax(n.linear(x, kExperts, false));
  const Value best = n.apply("topk_indices", {share}, {{"axis", std::int64_t{1}}, {"k", kChoices}});
  Value weight = n.apply("gather_elements", {share, best}, along(1));
  const Value total = n.reshape(sum_over(n, weight, 1), {tokens, 1});
  weight = n.apply("div", {weight, total});

  // A route is a choice of a token; the routes of first choices come first.
  const Value off_on = n.reals(std::array{0.0, 1.0});
  const Value expert = n.reshape(n.transpose(best, {1, 0}), {routes});
  const Value to_expert =
      n.apply("one_hot", {expert, off_on}, {{"axis", std::int64_t{1}}, {"depth", kExperts}});
  const Value before =
      n.apply("cum_sum", {to_expert}, {{"axis", std::int64_t{0}}, {"exclusive", std::int64_t{1}}});
  const Value place =
      n.apply("cast", {sum_over(n, n.mul(to_expert, before), 1)}, {{"to", std::string("i64")}});
  // No place is on where the expert is full.
  const Value to_place =
      n.apply("one_hot", {place, off_on}, {{"axis", std::int64_t{1}}, {"depth", capacity}});
  const Value route = n.mul(n.reshape(to_expert, {routes, kExperts, 1}),
                            n.reshape(to_place, {routes, 1, capacity}));
  const auto over_choices = [&](Value y) {
    return n.reshape(sum_over(n, n.reshape(y, {kChoices, tokens, kExperts, capacity}), 0),
                     {tokens, kExperts * capacity});
  };
  const Value sent = n.apply("matmul", {n.transpose(over_choices(route), {1, 0}), x});
  Value y = n.reshape(sent, {kExperts, capacity, kHidden});
  y = n.relu(n.apply("matmul", {y, n.weight({kExperts, kHidden, kInner}, kHidden)}));
  y = n.apply("matmul", {y, n.weight({kExperts, kInner, kHidden}, kInner)});
  const Value weighted = n.mul(route, n.reshape(n.transpose(weight, {1, 0}), {routes, 1, 1}));
  const Value returned =
      n.apply("matmul", {over_choices(weighted), n.reshape(y, {kExperts * capacity, kHidden})});
  return n.finish(n.add(hidden, returned));
}

}  // namespace egret::zoo
