// SPDX-License-Identifier: Apache-2.0
#include "parallel/laws/laws.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>

#include "base/stop.h"
#include "ir/graph/body.h"
#include "parallel/laws/cut_form.h"
#include "parallel/laws/homogeneous_laws.h"

namespace egret::parallel {
namespace {

using ir::Attrs;
using ir::TensorType;
using Kind = AxisPlacement::Kind;

constexpr std::size_t kMostJointInputs = 4;  // up to here, all sets of inputs are tried
constexpr std::size_t kMostBodyLaws = 64;

void add_new(Law law, std::vector<Law>& laws) {
  if (std::ranges::find(laws, law) == laws.end()) laws.push_back(std::move(law));
}

// Sorts by output placement, then by input placements.
std::vector<Law> in_order(std::vector<Law> laws) {
  std::ranges::sort(laws, {}, [](const Law& law) { return std::tie(law.output, law.inputs); });
  return laws;
}

std::optional<std::vector<TensorType>> parts_of(std::span<const TensorType> types,
                                                std::span<const AxisPlacement> placements,
                                                std::int64_t devices) {
  std::vector<TensorType> parts;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto part = part_type(types[i], placements[i], devices);
    if (!part) return std::nullopt;
    parts.push_back(*part);
  }
  return parts;
}

// Attributes in which two numbers of a list (padding at a start and an end) are reduced by the
// halo's rows: the halo replaces the padding.
void add_without_padding(const Attrs& attrs, const Halo& halo, std::vector<Attrs>& all) {
  for (const auto& [name, value] : attrs.entries()) {
    const auto* list = std::get_if<ir::Integers>(&value);
    if (list == nullptr) continue;
    for (std::size_t start = 0; start < list->size(); ++start) {
      for (std::size_t end = start + 1; end < list->size(); ++end) {
        ir::Integers changed = *list;
        changed[start] -= halo.before;
        changed[end] -= halo.after;
        if (changed[start] < 0 || changed[end] < 0) continue;
        all.push_back(attrs);
        all.back().set(name, changed);
      }
    }
  }
}

// Candidate attributes of the operator on parts: those of the whole; those where one number, a size
// along the cut, is divided; and those whose padding the halo replaces. Each is verified against
// the cut's normal form, so wrong guesses only cost time.
std::vector<Attrs> attrs_of_parts(const Attrs& attrs, std::int64_t devices,
                                  std::span<const AxisPlacement> inputs) {
  std::vector<Attrs> all{attrs};
  const auto divides = [&](std::int64_t n) { return n > 0 && n % devices == 0; };
  for (const auto& [name, value] : attrs.entries()) {
    if (const auto* one = std::get_if<std::int64_t>(&value); one != nullptr && divides(*one)) {
      all.push_back(attrs);
      all.back().set(name, *one / devices);
    }
    const auto* list = std::get_if<ir::Integers>(&value);
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      if (!divides((*list)[i])) continue;
      ir::Integers changed = *list;
      changed[i] /= devices;
      all.push_back(attrs);
      all.back().set(name, changed);
    }
  }
  for (const AxisPlacement& input : inputs) {
    if (input.has_halo()) add_without_padding(attrs, input.halo, all);
  }
  return all;
}

// ---- operators with a denotation ----

// Laws are found, not listed: each is proven from the operator's denotation. A cut of an output
// dimension or of a reduction's variable determines the inputs' cuts (cut_form.h); a partial result
// passes through an operator that is homogeneous in it (homogeneous_laws.h).
class PrimitiveLaws {
 public:
  PrimitiveLaws(const ir::Operator& op, const Attrs& attrs, std::span<const TensorType> types,
                std::int64_t devices, const ir::Denotation& denotation)
      : op_(op), attrs_(attrs), types_(types), devices_(devices), denotation_(denotation) {}

  // A reduction's variable may be cut only if the result is homogeneous in the reduction: the
  // parts' results are then partial results of the whole.
  void add_cuts(std::vector<Law>& laws) {
    for (std::size_t i = 0; i < denotation_.vars.size(); ++i) {
      if (base::stop_requested()) return;
      if (denotation_.vars[i].is_constant()) continue;
      const std::int64_t extent = denotation_.type.dims[i].constant();
      add_cut({denotation_.vars[i].node(), nullptr, extent, devices_},
              AxisPlacement::split(static_cast<int>(i)), laws);
    }
    for (const ir::ExprNode* reduction : reductions_of(denotation_)) {
      const auto kind = reduction->reduction == ir::Reduction::kSum   ? std::optional(Kind::kSum)
                        : reduction->reduction == ir::Reduction::kMax ? std::optional(Kind::kMax)
                                                                      : std::nullopt;
      const ir::ExprNode* extent = reduction->kids[1];
      if (!kind || extent->op != ir::ExprOp::kIndexConst ||
          !is_homogeneous(denotation_, types_, {.reduction = reduction}, *kind)) {
        continue;
      }
      add_cut({reduction->kids[0], reduction, extent->integer, devices_}, {*kind}, laws);
    }
  }

  void add_passing(std::vector<Law>& laws) const {
    for (const Kind kind : {Kind::kSum, Kind::kMax}) {
      for (const std::vector<bool>& partial : input_sets()) {
        if (base::stop_requested()) return;
        if (!is_homogeneous(denotation_, types_, {.inputs = partial}, kind)) continue;
        Law law{{}, {kind}, attrs_};
        for (const bool one : partial)
          law.inputs.push_back(one ? AxisPlacement{kind} : AxisPlacement::copy());
        add_new(std::move(law), laws);
      }
    }
  }

 private:
  // Cuts without a halo are tried first, because a halo must be exchanged.
  void add_cut(const Cut& cut, AxisPlacement output, std::vector<Law>& laws) {
    if (cut.extent == 0 || cut.extent % devices_ != 0) return;
    for (const auto& write : {cut_form, cut_form_with_halo}) {
      FormTable table;
      const auto form = write(denotation_, types_, cut, table);
      if (form && add_cut_as(*form, table, output, laws)) return;
    }
  }

  // Finds attributes for which the operator on the parts computes the form; then the law holds.
  // Equal normal forms prove that both sides compute the same elements. The guess of the attributes
  // needs no proof of its own.
  bool add_cut_as(const CutForm& form, FormTable& table, AxisPlacement output,
                  std::vector<Law>& laws) {
    const auto parts = parts_of(types_, form.inputs, devices_);
    const auto wanted = part_type(denotation_.type, output, devices_);
    if (!parts || !wanted) return false;
    for (Attrs& attrs : attrs_of_parts(attrs_, devices_, form.inputs)) {
      const auto part = ir::denote(op_, attrs, *parts);
      if (!part.ok() || part->type != *wanted) continue;
      if (element_form(*part, *parts, table) != form.form) continue;
      add_new({form.inputs, output, std::move(attrs)}, laws);
      return true;
    }
    return false;
  }

  // Sets of inputs that may be partial together.
  std::vector<std::vector<bool>> input_sets() const {
    const std::size_t count = types_.size();
    std::vector<std::vector<bool>> sets;
    if (count <= kMostJointInputs) {
      for (unsigned bits = 1; bits < 1U << count; ++bits) {
        sets.emplace_back();
        for (std::size_t i = 0; i < count; ++i) sets.back().push_back((bits >> i & 1U) != 0);
      }
      return sets;
    }
    for (std::size_t i = 0; i < count; ++i) {
      sets.emplace_back(count, false);
      sets.back()[i] = true;
    }
    // Operators with many inputs (a concatenation) get only the single inputs and all of them
    // together. All subsets would be exponential.
    sets.emplace_back(count, true);
    return sets;
  }

  const ir::Operator& op_;
  const Attrs& attrs_;
  std::span<const TensorType> types_;
  const std::int64_t devices_;
  const ir::Denotation& denotation_;
};

// ---- operators with a body ----

// A composite's laws are compositions of its body's laws: one for each node, such that every value
// has one placement.
class BodyLaws {
 public:
  BodyLaws(const ir::Operator& op, const Attrs& attrs, std::span<const TensorType> types,
           std::int64_t devices, const ir::Graph& body)
      : op_(op), attrs_(attrs), types_(types), devices_(devices), body_(body) {
    placed_.resize(body.size());
    chosen_.resize(body.size());
    laws_.resize(body.size());
    for (std::size_t i = 0; i < body.size(); ++i) {
      const ir::Node& node = body.node(ir::NodeId(i));
      if (node.kind != ir::NodeKind::kOperator) continue;
      std::vector<TensorType> inputs;
      for (const ir::NodeId input : node.inputs) inputs.push_back(body.node(input).type);
      laws_[i] = laws_of(*node.op, node.attrs, inputs, devices);
    }
  }

  void add(std::vector<Law>& laws) { choose(0, laws); }

 private:
  // Depth-first search over the laws of the body's nodes, in order, with backtracking. Constants
  // are copies; an input gets the placement that its first reader's law needs. The number of
  // combinations may be exponential in the size of the body, so the search ends at kMostBodyLaws
  // laws.
  void choose(std::size_t at, std::vector<Law>& laws) {
    if (laws.size() >= kMostBodyLaws) return;
    if (at == body_.size()) return finish(laws);
    const ir::Node& node = body_.node(ir::NodeId(at));
    if (node.kind == ir::NodeKind::kInput) return choose(at + 1, laws);
    if (node.kind == ir::NodeKind::kConstant) {
      placed_[at] = AxisPlacement::copy();
      return choose(at + 1, laws);
    }
    for (const Law& law : laws_[at]) {
      std::vector<std::size_t> fixed;
      bool fits = true;
      for (std::size_t k = 0; fits && k < node.inputs.size(); ++k) {
        const std::size_t input = node.inputs[k].index();
        if (!placed_[input]) {
          placed_[input] = law.inputs[k];
          fixed.push_back(input);
        }
        fits = *placed_[input] == law.inputs[k];
      }
      // Only laws that agree with the placements fixed so far are followed. The placements that a
      // law fixes are undone after it.
      if (fits) {
        placed_[at] = law.output;
        chosen_[at] = &law;
        choose(at + 1, laws);
      }
      placed_[at].reset();
      for (const std::size_t input : fixed) placed_[input].reset();
    }
  }

  void finish(std::vector<Law>& laws) const {
    Law law;
    for (const ir::NodeId input : body_.inputs())
      law.inputs.push_back(placed_[input.index()].value_or(AxisPlacement::copy()));
    law.output = placed_[body_.outputs().front().node.index()].value_or(AxisPlacement::copy());
    const auto parts = parts_of(types_, law.inputs, devices_);
    if (!parts) return;
    for (Attrs& attrs : attrs_of_parts(attrs_, devices_, law.inputs)) {
      const auto body = ir::body_graph(op_, attrs, *parts);
      if (!body.ok() || !is_placed_body(*body)) continue;
      law.attrs = std::move(attrs);
      return add_new(std::move(law), laws);
    }
  }

  // Whether the body on the parts is this one, node by node.
  bool is_placed_body(const ir::Graph& part) const {
    if (part.size() != body_.size() || part.outputs().size() != 1) return false;
    if (part.outputs().front().node != body_.outputs().front().node) return false;
    for (std::size_t i = 0; i < body_.size(); ++i) {
      const ir::Node& whole = body_.node(ir::NodeId(i));
      const ir::Node& node = part.node(ir::NodeId(i));
      if (node.kind != whole.kind || node.op != whole.op || node.inputs != whole.inputs)
        return false;
      const bool constant = node.kind == ir::NodeKind::kConstant;
      if (constant && !(node.data.content_hash() == whole.data.content_hash())) return false;
      if (node.kind != ir::NodeKind::kOperator) continue;
      const auto type = part_type(whole.type, *placed_[i], devices_);
      if (!(node.attrs == chosen_[i]->attrs) || !type || node.type != *type) return false;
    }
    return true;
  }

  const ir::Operator& op_;
  const Attrs& attrs_;
  std::span<const TensorType> types_;
  const std::int64_t devices_;
  const ir::Graph& body_;
  std::vector<std::vector<Law>> laws_;                // by node
  std::vector<std::optional<AxisPlacement>> placed_;  // by node
  std::vector<const Law*> chosen_;                    // by node
};

}  // namespace

std::string to_string(const Law& law) {
  std::string text;
  for (const AxisPlacement input : law.inputs)
    text += (text.empty() ? "" : ", ") + to_string(input);
  return text + (text.empty() ? "-> " : " -> ") + to_string(law.output);
}

// The block of one device: nullopt if the dimension does not divide evenly or a halo exceeds a
// block.
std::optional<TensorType> part_type(const TensorType& whole, AxisPlacement placement,
                                    std::int64_t devices) {
  TensorType part = whole;
  if (!placement.is_split()) return part;
  if (placement.dim >= whole.rank()) return std::nullopt;
  ir::Index& size = part.dims[static_cast<std::size_t>(placement.dim)];
  const Halo& halo = placement.halo;
  const std::int64_t block = size.constant() / devices;
  if (block * devices != size.constant() || std::max(halo.before, halo.after) > block)
    return std::nullopt;
  size = block + halo.rows();
  return part;
}

// The law of copies always holds: every device computes the whole.
std::vector<Law> laws_of(const ir::Operator& op, const Attrs& attrs,
                         std::span<const TensorType> inputs, std::int64_t devices) {
  std::vector<Law> laws{{std::vector<AxisPlacement>(inputs.size()), AxisPlacement::copy(), attrs}};
  if (op.is_composite()) {
    const auto body = ir::body_graph(op, attrs, inputs);
    EGRET_CHECK(body.ok(), "an operator that refuses its inputs");
    BodyLaws(op, attrs, inputs, devices, *body).add(laws);
    return in_order(std::move(laws));
  }
  const auto denotation = ir::denote(op, attrs, inputs);
  EGRET_CHECK(denotation.ok(), "an operator that refuses its inputs");
  PrimitiveLaws primitive(op, attrs, inputs, devices, *denotation);
  primitive.add_cuts(laws);
  primitive.add_passing(laws);
  return in_order(std::move(laws));
}

bool cuts_in_order(const Placement& placement) {
  for (int axis = 0; axis < placement.axis_count(); ++axis) {
    if (!placement.along(axis).is_split()) continue;
    const std::vector<int> cuts = placement.cuts_of(placement.along(axis).dim);
    if (!std::ranges::is_sorted(cuts)) return false;
  }
  return true;
}

// Along several axes of a mesh, laws apply one after the other: each to the parts, and with the
// attributes, that the previous axis leaves.
base::Result<Attrs> part_attrs(const ir::Operator& op, const Attrs& attrs,
                               std::span<const TensorType> types, std::span<const Placement> inputs,
                               const Placement& output, const Mesh& mesh) {
  if (!std::ranges::all_of(inputs, cuts_in_order) || !cuts_in_order(output))
    return base::unsupported("cuts of one dimension are not in the order of the mesh's axes");
  Attrs left = attrs;
  std::vector<TensorType> parts(types.begin(), types.end());
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    if (mesh.size(axis) == 1) continue;
    const std::vector<Law> laws = laws_of(op, left, parts, mesh.size(axis));
    const auto law = std::ranges::find_if(laws, [&](const Law& one) {
      return one.output == output.along(axis) &&
             std::ranges::equal(one.inputs, inputs, {}, {},
                                [&](const Placement& placement) { return placement.along(axis); });
    });
    if (law == laws.end()) {
      if (base::stop_requested()) return base::limit_hit("stopped while laws were derived");
      std::string text;
      for (const Placement& input : inputs)
        text += (text.empty() ? "" : ", ") + to_string(input.along(axis));
      return base::unsupported(op.name() + " has no law " + text + " -> " +
                               to_string(output.along(axis)) + " along the mesh axis '" +
                               mesh.axis(axis).name + "'");
    }
    left = law->attrs;
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i] = *part_type(parts[i], law->inputs[i], mesh.size(axis));
  }
  return left;
}

}  // namespace egret::parallel
