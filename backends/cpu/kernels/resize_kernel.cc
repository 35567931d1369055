// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/resize_kernel.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/loops/parallel_loop.h"
#include "backends/cpu/loops/resampling.h"
#include "ir/ops/families/resize_axis.h"

namespace egret::backends::cpu {
namespace {

constexpr std::int64_t kParallelElements = 16384;
// Vectors of at least so many elements are resampled as rows of a matrix.
constexpr std::int64_t kLongVector = 64;

bool is_resize(const ir::Node& node) {
  return node.kind == ir::NodeKind::kOperator && node.op->name() == "resize";
}

std::size_t axis_of(const ir::Node& node) {
  return static_cast<std::size_t>(node.attrs.integer("axis"));
}

base::Result<ir::ResizeSamples> samples_of(const ir::Graph& graph, const ir::Node& node) {
  return ir::resize_plan(node.attrs, graph.node(node.inputs[0]).type.shape()[axis_of(node)]);
}

Resampling resampling_of(const ir::ResizeSamples& samples, std::int64_t in) {
  Resampling axis;
  axis.in = in;
  for (const ir::ResizeTap& tap : samples.taps) {
    axis.taps.push_back({.from = {tap.from.begin(), tap.from.end()},
                         .weight = {tap.weight.begin(), tap.weight.end()}});
  }
  const Resampling::Tap& first = axis.taps[0];
  axis.out = std::ssize(first.from);
  axis.copies = axis.taps.size() == 1 &&
                std::ranges::all_of(first.weight, [](float weight) { return weight == 1; });
  if (!axis.copies || axis.out % in != 0) return axis;
  axis.repeats = axis.out / in;
  for (std::int64_t i = 0; i < axis.out && axis.repeats > 0; ++i) {
    if (first.from[static_cast<std::size_t>(i)] != i / axis.repeats) axis.repeats = 0;
  }
  return axis;
}

// The tensor is [outer, rows, row, vector]: `rows` and `row` are resampled, each if it is given.
class ResizeStep : public Step {
 public:
  ResizeStep(const Operand& x, const Operand& output, const Operand& scratch, std::int64_t outer,
             std::optional<Resampling> rows, std::optional<Resampling> row, std::int64_t vector,
             int threads)
      : x_(x),
        output_(output),
        scratch_(scratch),
        outer_(outer),
        rows_(std::move(rows)),
        row_(std::move(row)),
        vector_(vector),
        threads_(threads) {}

  // Elements between the two resamplings; 0: they need no memory.
  static std::int64_t scratch_elements(const std::optional<Resampling>& rows,
                                       const std::optional<Resampling>& row, std::int64_t vector) {
    return rows && row && !rows->copies ? row->in * vector : 0;
  }

  base::Status run(const Addresses& addresses) override {
    const std::int64_t count = outer_ * rows_out();
    const bool parallel = count * row_out() >= kParallelElements && threads_ > 1;
    const int parts = parallel ? threads_ : 1;
    parallel_for(parts, parts, [&](std::int64_t part) {
      run_part(addresses, part, count * part / parts, count * (part + 1) / parts);
    });
    return base::ok();
  }

 private:
  std::int64_t rows_in() const { return rows_ ? rows_->in : 1; }
  std::int64_t rows_out() const { return rows_ ? rows_->out : 1; }
  std::int64_t row_in() const { return vector_ * (row_ ? row_->in : 1); }
  std::int64_t row_out() const { return vector_ * (row_ ? row_->out : 1); }

  void run_part(const Addresses& addresses, std::int64_t part, std::int64_t begin,
                std::int64_t end) const {
    const float* const x = addresses.at(x_);
    float* to = addresses.at(output_) + begin * row_out();
    float* const own = addresses.at(scratch_) + part * scratch_elements(rows_, row_, vector_);
    const auto bytes = static_cast<std::size_t>(row_out()) * sizeof(float);
    for (std::int64_t i = begin; i < end; ++i, to += row_out()) {
      const std::int64_t place = i % rows_out();
      const float* const from = x + i / rows_out() * rows_in() * row_in();
      if (i > begin && rows_ && rows_->is_as_before(place)) {
        std::memcpy(to, to - row_out(), bytes);
      } else if (!row_) {
        resample_rows(*rows_, place, from, to, row_in());
      } else if (!rows_) {
        resample_row(*row_, from, to, vector_);
      } else if (rows_->copies) {
        const std::int64_t source = rows_->taps[0].from[static_cast<std::size_t>(place)];
        resample_row(*row_, from + source * row_in(), to, vector_);
      } else {
        resample_rows(*rows_, place, from, own, row_in());
        resample_row(*row_, own, to, vector_);
      }
    }
  }

  Operand x_, output_, scratch_;
  std::int64_t outer_;
  std::optional<Resampling> rows_, row_;
  std::int64_t vector_;
  int threads_;
};

// The same kind of layout for another shape; nullopt where the resampled axes lie in blocks, or
// the memory has gaps or another order.
std::optional<Layout> like(const Layout& layout, const ir::Shape& from, const ir::Shape& to) {
  if (layout.block > 1) {
    const bool same = same_layout(layout, channel_blocked(from, layout.block), from);
    return same && from[1] == to[1] ? std::optional(channel_blocked(to, layout.block))
                                    : std::nullopt;
  }
  if (is_row_major(layout, from)) return row_major(to);
  if (from.size() >= 3 && same_layout(layout, channels_last(from), from)) return channels_last(to);
  return std::nullopt;
}

// The axes in the order of the output's memory, the outermost first: axes of one element leave the
// order of the input open. Blocks of channels count as an axis behind
// the others.
std::vector<std::size_t> order_of_axes(const Layout& layout, const StridedView& view) {
  std::vector<std::size_t> order;
  const std::size_t rank = view.shape.size();
  const bool last = layout.block == 1 && rank >= 3 && layout.strides[1] < layout.strides[rank - 1];
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (!last || axis != 1) order.push_back(axis);
  }
  if (last) order.push_back(1);
  return order;
}

}  // namespace

bool is_resampling(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (!is_resize(node) || node.type.dtype != ir::DType::kF32 || !node.type.is_concrete() ||
      !graph.node(node.inputs[0]).type.is_concrete() || node.type.elements() == 0 ||
      graph.node(node.inputs[0]).type.elements() == 0)
    return false;
  const auto samples = samples_of(graph, node);
  return samples.ok() && !samples->taps.empty() &&
         std::ranges::none_of(samples->outside, [](bool is) { return is; });
}

bool is_resampling_of_two_axes(const ir::Graph& graph, const Group& group) {
  if (group.nodes.size() != 2) return false;
  const ir::Node& second = graph.node(group.root());
  return is_resampling(graph, group.anchor()) && is_resampling(graph, group.root()) &&
         second.inputs[0] == group.anchor() &&
         axis_of(second) != axis_of(graph.node(group.anchor()));
}

base::Status make_resize_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Graph& graph = builder.graph();
  for (const ir::NodeId id : group.nodes) {
    if (!is_resampling(graph, id)) return base::unsupported("resampling of this type or mode");
  }
  const ir::NodeId source = builder.node(group.anchor()).inputs[0];
  const ir::Shape from = builder.node(source).type.shape();
  const ir::Shape to = builder.node(group.root()).type.shape();
  const std::optional<Layout> layout = like(builder.home(source).layout, from, to);
  const Operand x = layout ? builder.home(source) : builder.in_row_major(source);
  const Layout made = layout ? *layout : row_major(to);

  const StridedView view = strided_view(x.layout, from);
  const std::vector<std::size_t> order = order_of_axes(made, view);
  std::vector<std::pair<std::size_t, Resampling>> axes;  // by place in the order
  for (const ir::NodeId id : group.nodes) {
    const ir::Node& node = builder.node(id);
    EGRET_ASSIGN_OR_RETURN(const ir::ResizeSamples samples, samples_of(graph, node));
    const auto place = std::ranges::find(order, axis_of(node)) - order.begin();
    axes.emplace_back(place, resampling_of(samples, from[axis_of(node)]));
  }
  std::ranges::sort(axes, {}, [](const auto& axis) { return axis.first; });
  if (axes.size() == 2 && axes[1].first != axes[0].first + 1)
    return base::unsupported("two axes that are no neighbours in memory");

  std::int64_t outer = 1, vector = 1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i < axes.front().first) outer *= view.shape[order[i]];
    if (i > axes.back().first) vector *= view.shape[order[i]];
  }
  std::optional<Resampling> rows, row;
  if (axes.size() == 2) {
    rows = std::move(axes[0].second);
    row = std::move(axes[1].second);
  } else {
    (vector >= kLongVector ? rows : row) = std::move(axes[0].second);
  }
  const std::int64_t scratch = ResizeStep::scratch_elements(rows, row, vector);
  const Operand own = scratch > 0 ? builder.bytes(scratch * builder.threads() * 4) : x;
  const Operand output = builder.output(group.root(), made);
  const Operand touched[] = {x, output, own};
  builder.add(std::make_unique<ResizeStep>(x, output, own, outer, std::move(rows), std::move(row),
                                           vector, builder.threads()),
              touched, "resize", axes.size() == 2 ? "own:two axes" : "own:one axis");
  return base::ok();
}

}  // namespace egret::backends::cpu
