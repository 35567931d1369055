// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/layout_forms.h"

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

namespace egret::backends::cpu {
namespace {

// Whether the layout of a value can be chosen, once it is there.
bool is_chosen(const PlanBuilder& builder, ir::NodeId id) {
  return !builder.is_constant(id) && has_layout_forms(builder.node(id).type) &&
         builder.has_home(id);
}

std::vector<ir::NodeId> chosen_inputs(const PlanBuilder& builder, const Group& group) {
  std::vector<ir::NodeId> inputs;
  for (const ir::NodeId id : group.nodes) {
    for (const ir::NodeId input : builder.node(id).inputs) {
      const bool is_inside = std::ranges::binary_search(group.nodes, input);
      if (!is_inside && is_chosen(builder, input) && std::ranges::count(inputs, input) == 0)
        inputs.push_back(input);
    }
  }
  return inputs;
}

// Nothing for a view.
std::optional<LayoutForm> named_form_of(const Operand& operand) {
  const ir::Shape shape = operand.shape();
  for (const LayoutForm form : kLayoutForms) {
    if (shape.size() >= 3 && same_layout(operand.layout, layout_in(form, shape), shape))
      return form;
  }
  return std::nullopt;
}

}  // namespace

std::int64_t preferred_block() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  constexpr auto kAvx512 = static_cast<unsigned>(dnnl_cpu_isa_avx512_core);
  return (isa & kAvx512) == kAvx512 ? 16 : 8;
}

Layout layout_in(LayoutForm form, const ir::Shape& shape) {
  switch (form) {
    case LayoutForm::kRowMajor: return row_major(shape);
    case LayoutForm::kChannelsLast: return channels_last(shape);
    case LayoutForm::kBlocked: break;
  }
  return channel_blocked(shape, preferred_block());
}

LayoutForm form_of(const Operand& operand) {
  return named_form_of(operand).value_or(LayoutForm::kRowMajor);
}

namespace {

// The part of a reorder; -1: none's.
int part_of(const PlanBuilder& builder, const std::vector<Reorder>::const_iterator& reorder) {
  const DivisionLayouts& layouts = builder.options().layouts;
  if (reorder == layouts.reorders.end()) return -1;
  return static_cast<int>(std::ssize(builder.options().division) +
                          (reorder - layouts.reorders.begin()));
}

// The value is there in the form, copied from the forms that the reorders say. Returns the layout
// that was preferred before.
Layout bring(PlanBuilder& builder, ir::NodeId id, ir::NodeId given, LayoutForm form) {
  const std::vector<Reorder>& reorders = builder.options().layouts.reorders;
  const ir::Shape shape = builder.node(id).type.shape();
  const Layout before = builder.home(id).layout;
  if (form == LayoutForm::kRowMajor && !named_form_of(builder.home(id))) return before;
  // From a form that is there, or from the one that is preferred.
  std::vector<std::vector<Reorder>::const_iterator> chain;
  LayoutForm wanted = form;
  while (builder.find_home(id, layout_in(wanted, shape)) == nullptr &&
         chain.size() < kLayoutForms.size()) {
    const auto reorder = std::ranges::find_if(
        reorders, [&](const Reorder& one) { return one.value == given && one.to == wanted; });
    if (reorder == reorders.end()) break;
    chain.push_back(reorder);
    wanted = reorder->from;
  }
  for (auto reorder = chain.rbegin(); reorder != chain.rend(); ++reorder) {
    const Layout from = layout_in((*reorder)->from, shape);
    if (builder.find_home(id, from) != nullptr) builder.prefer(id, from, -1);
    builder.prefer(id, layout_in((*reorder)->to, shape), part_of(builder, *reorder));
  }
  builder.prefer(id, layout_in(form, shape), -1);
  return before;
}

}  // namespace

void LaidOut::lay_out_inputs(PlanBuilder& builder, const Group& group,
                             std::span<const ir::NodeId> origin) {
  for (const ir::NodeId id : chosen_inputs(builder, group))
    before_.emplace_back(id, bring(builder, id, origin[id.index()], group.layouts->reads));
}

void LaidOut::lay_out_values(PlanBuilder& builder, const Group& group,
                             std::span<const ir::NodeId> stored) {
  // What others read is copied from where its kernel stored it.
  for (const auto& [id, layout] : before_) builder.prefer(id, layout, -1);
  std::vector<ir::NodeId> values(stored.begin(), stored.end());
  values.push_back(group.root());
  for (const ir::NodeId id : values) {
    if (!is_chosen(builder, id)) continue;
    const bool is_view = !named_form_of(builder.home(id));
    if (is_view && group.layouts->writes == LayoutForm::kRowMajor) continue;
    builder.prefer(id, layout_in(group.layouts->writes, builder.node(id).type.shape()), group.part);
  }
}

void lay_out_outputs(PlanBuilder& builder, std::span<const ir::NodeId> origin) {
  for (const auto& output : builder.graph().outputs()) {
    if (is_chosen(builder, output.node))
      bring(builder, output.node, origin[output.node.index()], LayoutForm::kRowMajor);
  }
}

KernelLayouts observed_layouts(const PlanBuilder& builder, const Group& group) {
  KernelLayouts layouts;
  const auto is_touched = [&](const Operand& place) {
    return std::ranges::any_of(builder.touched(), [&](const Operand& operand) {
      return operand.buffer == place.buffer && operand.offset == place.offset;
    });
  };
  const std::span<const Operand> values = builder.places(group.root());
  if (has_layout_forms(builder.node(group.root()).type) && !values.empty())
    layouts.writes = form_of(values.front());
  bool is_first = true;
  for (const ir::NodeId id : chosen_inputs(builder, group)) {
    const std::span<const Operand> places = builder.places(id);
    if (places.empty()) continue;
    const auto read = std::ranges::find_if(places, is_touched);
    const LayoutForm form = form_of(read != places.end() ? *read : places.front());
    if (is_first || form == layouts.writes) layouts.reads = form;
    is_first = false;
  }
  return layouts;
}

}  // namespace egret::backends::cpu
