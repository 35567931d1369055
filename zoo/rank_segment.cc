// SPDX-License-Identifier: Apache-2.0
#include "zoo/rank_segment.h"

#include <cmath>

#include "ir/autodiff/gradient.h"

namespace egret::zoo {

using ir::Value;

Value SegmentBuilder::normalized(Value x) {
  SegmentBuilder& b = *this;
  const Value scale = weight("scale", {shape_.hidden});
  const Value centered = shape_.gated ? x : b("sub", {x, mean_of_rows(x)});
  const Value variance = mean_of_rows(b("mul", {centered, centered}));
  const Value deviation = b("sqrt", {b("add", {variance, number(1e-5)})});
  Value result = b("mul", {b("div", {centered, deviation}), scale});
  if (!shape_.gated) result = b("add", {result, weight("shift", {shape_.hidden})});
  return result;
}

Value SegmentBuilder::activated(Value x, std::int64_t inner) {
  SegmentBuilder& b = *this;
  if (!shape_.gated) {
    const Value odd = b("erf", {b("mul", {x, number(std::sqrt(0.5))})});
    return b("mul", {b("mul", {x, b("add", {odd, number(1)})}), number(0.5)});
  }
  const Value gate = slice_last(x, 0, inner);
  const Value slope = b("div", {number(1), b("add", {b("exp", {b("neg", {gate})}), number(1)})});
  return b("mul", {b("mul", {gate, slope}), slice_last(x, inner, inner)});
}

base::Result<RankSegment> SegmentBuilder::finish(std::initializer_list<Value> results,
                                                 std::initializer_list<Value> alone) {
  EGRET_RETURN_IF_ERROR(b_.status());
  segment_.forward_nodes = b_.graph().size();
  std::vector<Value> seeds, wanted = differentiated_;
  std::vector<std::string> names;
  for (const Value value : differentiated_) names.push_back(b_.graph().node(value.id).name);
  for (const Value result : results) {
    const std::string& name = b_.graph().node(result.id).name;
    b_.output(name, result);
    seeds.push_back(b_.input(name + "' of later", b_.type(result)));
  }
  for (const Value value : alone) b_.output(b_.graph().node(value.id).name, value);
  wanted.insert(wanted.end(), stored_.begin(), stored_.end());
  EGRET_ASSIGN_OR_RETURN(const std::vector<Value> found,
                         ir::gradients(b_, std::vector<Value>(results), seeds, wanted));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool is_new = found[i].id.index() >= segment_.forward_nodes + seeds.size();
    if (is_new) b_.set_name(found[i], b_.graph().node(wanted[i].id).name + "'");
    if (i < names.size()) b_.output(names[i] + "'", found[i]);
  }
  EGRET_ASSIGN_OR_RETURN(segment_.graph, b_.finish());
  return std::move(segment_);
}

}  // namespace egret::zoo
