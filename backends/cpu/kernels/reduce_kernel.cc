// SPDX-License-Identifier: Apache-2.0
// Sums, means, maxima and minima over any axes, of any strided or blocked layout.
//
// If the contiguous axis is kept, vectors along it accumulate over the reduced positions. Otherwise
// each contiguous run is reduced with 32 accumulators. Long sums are cut into pieces, whose results
// are added in f64: the rounding error then does not grow with the length.
//
// The pointwise operators that make the reduced value are computed in the same pass
// (lazy_region.h): the sum of squares of a norm reads its input once. So may several reductions
// over the same axes be, and values of the pointwise operators that other kernels read may be
// stored.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/kernels/reduction_region.h"
#include "backends/cpu/loops/parallel_loop.h"
#include "backends/cpu/loops/reducers.h"
#include "backends/cpu/regions/lazy_region.h"

namespace egret::backends::cpu {
namespace {

constexpr std::int64_t kLanes = kReducerLanes;
constexpr std::size_t kMostReductions = 8;  // of one kernel
constexpr std::int64_t kChunk = 256;
constexpr std::int64_t kRun = 8192;   // elements summed in f32 alone
constexpr std::int64_t kNarrow = 64;  // columns of several lines that are added in one call
// Elements of a contiguous run from which it pays to compute them where they are reduced.
constexpr std::int64_t kFewestLazy = 64;

struct Axis {
  std::int64_t size, from, to;  // strides in elements; `to` is 0 for reduced axes
};

// Pieces of the reduced values, stored or computed.
class Source {
 public:
  Source(const Operand& stored, const std::optional<LazyRegion>& region, const Addresses& addresses,
         int part) {
    if (region) {
      reader_.emplace(*region, addresses, part);
    } else {
      stored_ = addresses.at(stored);
    }
  }
  bool is_stored() const { return stored_ != nullptr; }
  void go_to(std::int64_t offset, std::int64_t count) {
    if (reader_) {
      reader_->compute(offset, static_cast<int>(count));
    } else {
      at_ = stored_ + offset;
    }
  }
  const float* value(std::size_t which) const { return reader_ ? reader_->value(which) : at_; }

 private:
  const float* stored_ = nullptr;
  const float* at_ = nullptr;
  std::optional<LazyRegion::Reader> reader_;
};

// One reduction of a kernel, of the value with its number.
struct Reduction {
  Reducer reducer;
  double scale;
  Operand target{};
};

// Loops over kept axes (one result each, divided among threads) and reduced axes. The innermost
// contiguous axis is separate: it is either kept (vectors) or reduced (runs).
struct ReductionLoops {
  std::vector<Axis> kept{}, reduced{};
  Axis inner{1, 1, 0};
  bool inner_kept = false;
};

class ReduceStep : public Step {
 public:
  // Of the stored value `source`, or of the region's values, one for each reduction.
  ReduceStep(const Operand& source, std::optional<LazyRegion> region,
             std::vector<Reduction> reductions, ReductionLoops loops, int threads)
      : source_(source),
        region_(std::move(region)),
        reductions_(std::move(reductions)),
        loops_(std::move(loops)),
        threads_(threads) {
    for (const Axis& axis : loops_.kept) outputs_ *= axis.size;
    for (const Axis& axis : loops_.reduced) terms_ *= axis.size;
    chunks_ = loops_.inner_kept ? (loops_.inner.size + kChunk - 1) / kChunk : 1;
    for (const Reduction& one : reductions_) sums_ = sums_ || one.reducer == Reducer::kSum;
  }

  base::Status run(const Addresses& addresses) override {
    const bool parallel = outputs_ * terms_ * loops_.inner.size > 32768;
    const std::int64_t pieces = outputs_ * chunks_;
    const std::int64_t parts = parallel ? std::min<std::int64_t>(threads_, pieces) : 1;
    Targets targets{};
    for (std::size_t i = 0; i < reductions_.size(); ++i)
      targets[i] = addresses.at(reductions_[i].target);
    parallel_for(static_cast<int>(parts), parts, [&](std::int64_t part) {
      Source source(source_, region_, addresses, static_cast<int>(part));
      for (std::int64_t piece = pieces * part / parts; piece < pieces * (part + 1) / parts; ++piece)
        reduce(source, targets, piece);
    });
    return base::ok();
  }

 private:
  using Targets = std::array<float*, kMostReductions>;

  // Decomposes the piece into indices of the kept axes and, if the inner axis is kept, a chunk of
  // it.
  void reduce(Source& source, const Targets& targets, std::int64_t piece) const {
    std::int64_t rest = piece / chunks_;
    std::int64_t x = 0, y = 0;
    for (std::size_t i = loops_.kept.size(); i-- > 0;) {
      const Axis& axis = loops_.kept[i];
      const std::int64_t at = rest % axis.size;
      rest /= axis.size;
      x += at * axis.from;
      y += at * axis.to;
    }
    if (loops_.inner_kept) {
      const std::int64_t first = piece % chunks_ * kChunk;
      reduce_vectors(source, x + first, targets, y + first * loops_.inner.to,
                     std::min(kChunk, loops_.inner.size - first));
    } else {
      reduce_runs(source, x, targets, y);
    }
  }

  // Calls body(offset, count, stride) for the reduced positions along the last reduced axis.
  template <typename Body>
  void each_line(std::int64_t x, const Body& body) const {
    const std::vector<Axis>& reduced = loops_.reduced;
    if (reduced.empty()) return body(x, std::int64_t{1}, std::int64_t{0});
    const Axis& last = reduced.back();
    for (std::int64_t t = 0; t < terms_ / last.size; ++t) {
      std::int64_t rest = t;
      std::int64_t offset = x;
      for (std::size_t i = reduced.size() - 1; i-- > 0;) {
        offset += rest % reduced[i].size * reduced[i].from;
        rest /= reduced[i].size;
      }
      body(offset, last.size, last.from);
    }
  }

  // Calls body(offset) for each reduced position.
  template <typename Body>
  void each_position(std::int64_t x, const Body& body) const {
    each_line(x, [&](std::int64_t first, std::int64_t count, std::int64_t stride) {
      for (std::int64_t i = 0; i < count; ++i) body(first + i * stride);
    });
  }

  // A chunk of kept elements at a time. Sums move to f64 every kRun / kLanes rows.
  void reduce_vectors(Source& source, std::int64_t x, const Targets& targets, std::int64_t y,
                      std::int64_t n) const {
    float acc[kMostReductions][kChunk];
    // Uninitialized until the first flush; `flushed` guards it. Short sums thus skip f64 entirely.
    double total[kMostReductions][kChunk];
    std::int64_t pending = 0;
    bool flushed = false;
    for (std::size_t k = 0; k < reductions_.size(); ++k)
      std::fill_n(acc[k], n, neutral(reductions_[k].reducer));
    // A call for each line would take longer than few columns of it.
    const std::int64_t at_once = source.is_stored() && n <= kNarrow ? kRun / kLanes : 1;
    each_line(x, [&](std::int64_t start, std::int64_t lines, std::int64_t stride) {
      for (std::int64_t first = 0, count = 0; first < lines; first += count) {
        count = std::min({lines - first, at_once, kRun / kLanes - pending});
        source.go_to(start + first * stride, n);
        for (std::size_t k = 0; k < reductions_.size(); ++k) {
          if (count == 1) {
            accumulate(reductions_[k].reducer, acc[k], source.value(k), n);
          } else {
            accumulate_lines(reductions_[k].reducer, acc[k], source.value(k), n, count, stride);
          }
        }
        if (!sums_ || (pending += count) < kRun / kLanes) continue;
        for (std::size_t k = 0; k < reductions_.size(); ++k) {
          if (reductions_[k].reducer != Reducer::kSum) continue;
          for (std::int64_t i = 0; i < n; ++i)
            total[k][i] = (flushed ? total[k][i] : 0.0) + acc[k][i];
          std::fill_n(acc[k], n, 0.0F);
        }
        flushed = true;
        pending = 0;
      }
    });
    for (std::size_t k = 0; k < reductions_.size(); ++k) {
      const bool in_total = flushed && reductions_[k].reducer == Reducer::kSum;
      for (std::int64_t i = 0; i < n; ++i) {
        const double sum = in_total ? total[k][i] + acc[k][i] : acc[k][i];
        targets[k][y + i * loops_.inner.to] = static_cast<float>(sum * reductions_[k].scale);
      }
    }
  }

  // 32 independent accumulators hide the latency of additions and let the compiler use vectors.
  void reduce_runs(Source& source, std::int64_t x, const Targets& targets, std::int64_t y) const {
    const Axis& inner = loops_.inner;
    const bool one_run = terms_ == 1 && inner.from == 1 && inner.size <= kRun;
    if (one_run && source.is_stored() && reductions_[0].reducer == Reducer::kSum) {
      source.go_to(x, inner.size);
      const double sum = sum_of_run(source.value(0), inner.size);
      targets[0][y] = static_cast<float>(sum * reductions_[0].scale);
      return;
    }
    const std::int64_t longest = source.is_stored() ? kRun : std::int64_t{kBlockElements};
    double total[kMostReductions];
    float acc[kMostReductions][kLanes];
    std::int64_t pending = 0;
    for (std::size_t k = 0; k < reductions_.size(); ++k) {
      total[k] = neutral(reductions_[k].reducer);
      std::fill_n(acc[k], kLanes, neutral(reductions_[k].reducer));
    }
    const auto flush = [&] {
      for (std::size_t k = 0; k < reductions_.size(); ++k) {
        const Reducer reducer = reductions_[k].reducer;
        if (reducer == Reducer::kSum) {
          total[k] += sum_of_lanes(acc[k]);
        } else {
          for (const float lane : acc[k])
            total[k] = combine(reducer, static_cast<float>(total[k]), lane);
        }
        std::fill_n(acc[k], kLanes, neutral(reducer));
      }
      pending = 0;
    };
    each_position(x, [&](std::int64_t run) {
      for (std::int64_t first = 0; first < inner.size; first += longest) {
        const std::int64_t n = std::min(longest, inner.size - first);
        source.go_to(run + first * inner.from, n);
        for (std::size_t k = 0; k < reductions_.size(); ++k)
          reduce_run(reductions_[k].reducer, acc[k], source.value(k), n);
        pending += n;
        if (pending >= kRun) flush();
      }
    });
    flush();
    for (std::size_t k = 0; k < reductions_.size(); ++k)
      targets[k][y] = static_cast<float>(total[k] * reductions_[k].scale);
  }

  void reduce_run(Reducer reducer, float* acc, const float* x, std::int64_t n) const {
    const std::int64_t stride = loops_.inner.from;
    if (stride == 1) return accumulate_run(reducer, acc, x, n);
    for (std::int64_t i = 0; i < n; ++i)
      acc[i % kLanes] = combine(reducer, acc[i % kLanes], x[i * stride]);
  }

  Operand source_;
  std::optional<LazyRegion> region_;
  std::vector<Reduction> reductions_;
  ReductionLoops loops_;
  int threads_;
  bool sums_ = false;  // one of the reductions at least
  std::int64_t outputs_ = 1, terms_ = 1, chunks_ = 1;
};

// Joins neighbours that are contiguous in source and target.
void join(std::vector<Axis>& axes) {
  std::vector<Axis> joined;
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    if (!joined.empty() && joined.back().from == axis.from * axis.size &&
        joined.back().to == axis.to * axis.size) {
      joined.back() = {joined.back().size * axis.size, axis.from, axis.to};
    } else {
      joined.push_back(axis);
    }
  }
  axes = std::move(joined);
}

bool is_reduction(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (node.kind != ir::NodeKind::kOperator || !has_kernel(graph, id)) return false;
  const KernelRow* row = find_kernel(node.op->name());
  return row != nullptr && row->make == make_reduce_kernel;
}

std::vector<bool> reduced_axes(const ir::Node& node, std::size_t rank) {
  std::vector<bool> reduced(rank, false);
  for (const std::int64_t axis : node.attrs.integers("axes"))
    reduced[static_cast<std::size_t>(axis)] = true;
  return reduced;
}

// Loops over a value of this shape in `source`, whose reductions lie in `layout`.
ReductionLoops loops_of(const ir::Shape& shape, const Layout& source, const Layout& layout,
                        const std::vector<bool>& is_reduced, bool keeps_padding) {
  // Strides of the output by input axis, whether or not it keeps axes of size 1.
  ir::Shape to(shape.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (is_reduced[axis]) continue;
    to[axis] = stride;
    stride *= shape[axis];
  }
  ReductionLoops loops;
  const StridedView view = strided_view(source, shape);
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
    const std::size_t original = axis < shape.size() ? axis : 1;  // the channels of a block
    const bool blocks = source.block > 1 && axis == 1;
    // A padded result has all axes of the source; another one may have fewer than two.
    const auto of_channels = [&] { return axis < shape.size() ? layout.strides[1] : 1; };
    const Axis a{view.shape[axis], view.strides[axis],
                 keeps_padding && original == 1 ? of_channels()
                 : keeps_padding                ? (is_reduced[axis] ? 0 : layout.strides[axis])
                 : blocks                       ? to[1] * source.block
                                                : to[original]};
    (is_reduced[original] ? loops.reduced : loops.kept).push_back(a);
  }
  join(loops.kept);
  join(loops.reduced);

  // The axis of smallest stride becomes the inner loop. Fewer than 4 kept elements would waste most
  // of a vector, so such a reduction runs along the reduced axis.
  const auto smallest = [](const std::vector<Axis>& list) {
    return std::ranges::min_element(list, {}, [](const Axis& a) { return std::abs(a.from); });
  };
  const auto kept_inner = smallest(loops.kept);
  const auto reduced_inner = smallest(loops.reduced);
  loops.inner_kept =
      kept_inner != loops.kept.end() && kept_inner->from == 1 && kept_inner->size >= 4;
  if (loops.inner_kept) {
    loops.inner = *kept_inner;
    loops.kept.erase(kept_inner);
  } else if (reduced_inner != loops.reduced.end()) {
    loops.inner = *reduced_inner;
    loops.reduced.erase(reduced_inner);
  }
  return loops;
}

Reduction reduction_of(const ir::Node& node, const ir::Shape& shape) {
  const std::string& op = node.op->name();
  if (op == "reduce_max") return {Reducer::kMax, 1};
  if (op == "reduce_min") return {Reducer::kMin, 1};
  double count = 1;
  for (const std::int64_t axis : node.attrs.integers("axes"))
    count *= static_cast<double>(shape[static_cast<std::size_t>(axis)]);
  return {Reducer::kSum, op == "reduce_mean" ? 1 / count : 1};
}

// Pointwise operators, and reductions over the same axes of their values or of values from outside.
struct ReducedParts {
  std::vector<ir::NodeId> pointwise, reductions;
};

// `nodes` ascending. Nothing where they are something else.
std::optional<ReducedParts> reduced_parts(const ir::Graph& graph,
                                          std::span<const ir::NodeId> nodes) {
  ReducedParts parts;
  for (const ir::NodeId id : nodes) {
    const bool reduces = is_reduction(graph, id);
    if (!reduces && !is_pointwise(graph, id)) return std::nullopt;
    for (const ir::NodeId input : graph.node(id).inputs) {
      if (std::ranges::count(parts.reductions, input) > 0) return std::nullopt;
    }
    (reduces ? parts.reductions : parts.pointwise).push_back(id);
  }
  if (parts.reductions.empty() || parts.reductions.size() > kMostReductions) return std::nullopt;
  const auto value = [&](ir::NodeId id) { return graph.node(graph.node(id).inputs[0]).type; };
  const ir::NodeId first = parts.reductions.front();
  const auto rank = static_cast<std::size_t>(value(first).rank());
  const auto axes = reduced_axes(graph.node(first), rank);
  for (const ir::NodeId id : parts.reductions) {
    if (value(id) != value(first) || value(id).dtype != ir::DType::kF32 ||
        value(id).elements() == 0 || reduced_axes(graph.node(id), rank) != axes)
      return std::nullopt;
  }
  return parts;
}

}  // namespace

bool may_reduce_region(const ir::Graph& graph, ir::NodeId reduction) {
  if (!is_reduction(graph, reduction)) return false;
  const ir::Shape shape = graph.node(graph.node(reduction).inputs[0]).type.shape();
  return !shape.empty() && shape.back() >= kFewestLazy;
}

bool is_reduced_region(const ir::Graph& graph, std::span<const ir::NodeId> nodes) {
  if (nodes.size() < 2 || !is_reduction(graph, nodes.back())) return false;
  const ir::NodeId value = graph.node(nodes.back()).inputs[0];
  return value == nodes[nodes.size() - 2] &&
         std::ranges::all_of(nodes.first(nodes.size() - 1),
                             [&](ir::NodeId id) { return is_pointwise(graph, id); });
}

bool is_joint_reduction(const ir::Graph& graph, std::span<const ir::NodeId> nodes,
                        std::span<const ir::NodeId> stored) {
  const auto parts = reduced_parts(graph, nodes);
  if (!parts || !may_reduce_region(graph, parts->reductions.front())) return false;
  const ir::TensorType& type = graph.node(graph.node(parts->reductions.front()).inputs[0]).type;
  std::vector<ir::NodeId> read, values;
  for (const ir::NodeId id : parts->reductions) read.push_back(graph.node(id).inputs[0]);
  for (const ir::NodeId id : stored) {
    if (std::ranges::count(parts->reductions, id) > 0) continue;
    if (graph.node(id).type != type) return false;
    values.push_back(id);
  }
  const auto program = compile_values(graph, parts->pointwise, values, read);
  return program.ok() && program->registers <= kMostRegisters;
}

base::Status make_joint_reduction(PlanBuilder& builder, const Group& group,
                                  std::span<const ir::NodeId> stored) {
  const auto parts = reduced_parts(builder.graph(), group.nodes);
  if (!parts) return base::unsupported("reductions of different values");
  const ir::Node& first = builder.node(parts->reductions.front());
  const ir::TensorType type = builder.node(first.inputs[0]).type;
  const ir::Shape shape = type.shape();
  std::vector<Reduction> reductions;
  std::vector<ir::NodeId> read, values;
  for (const ir::NodeId id : parts->reductions) {
    read.push_back(builder.node(id).inputs[0]);
    reductions.push_back(reduction_of(builder.node(id), shape));
  }
  std::vector<ir::NodeId> all(stored.begin(), stored.end());
  all.push_back(group.root());
  for (const ir::NodeId id : all) {
    if (std::ranges::count(parts->reductions, id) > 0) continue;
    if (builder.node(id).type != type)
      return base::unsupported("values of several shapes in one region");
    values.push_back(id);
  }
  EGRET_ASSIGN_OR_RETURN(std::optional<LazyRegion> region,
                         LazyRegion::make(builder, parts->pointwise, read, values));
  const Operand source{.type = type, .layout = region->layout()};
  ReductionLoops loops = loops_of(shape, source.layout, row_major(first.type.shape()),
                                  reduced_axes(first, shape.size()), false);
  if (loops.inner.from != 1 || loops.inner.size < kFewestLazy)
    return base::unsupported("a reduction of short runs that are not stored");
  region->place_outputs(builder, values);
  std::vector<Operand> touched = region->touched();
  for (std::size_t i = 0; i < reductions.size(); ++i) {
    const ir::NodeId id = parts->reductions[i];
    reductions[i].target = builder.output(id, row_major(builder.node(id).type.shape()));
    touched.push_back(reductions[i].target);
  }
  std::string implementation = loops.inner_kept ? "own:vectors" : "own:runs";
  if (region->instructions() > 0)
    implementation += " of " + std::to_string(region->instructions()) + " instructions";
  if (reductions.size() + values.size() > 1)
    implementation += ", " + std::to_string(reductions.size() + values.size()) + " results";
  builder.add(std::make_unique<ReduceStep>(source, std::move(region), std::move(reductions),
                                           std::move(loops), builder.threads()),
              touched, "reduce", implementation);
  return base::ok();
}

base::Status make_reduce_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.root());
  if (node.type.dtype != ir::DType::kF32)
    return base::unsupported("reduction of a type other than f32");
  const ir::NodeId input = node.inputs[0];
  if (builder.node(input).type.elements() == 0) return base::unsupported("an empty tensor");
  if (group.nodes.size() > 1) return make_joint_reduction(builder, group, {});
  const ir::Shape shape = builder.node(input).type.shape();
  Operand source = builder.home(input);
  const std::vector<bool> reduced = reduced_axes(node, shape.size());
  // The padding of kept channels is reduced to the padding of the result: zeros have the sum 0, the
  // maximum 0 and the minimum 0.
  const bool padded = is_padded(source.layout, shape);
  const bool keeps_padding = padded && !reduced[1] && node.attrs.integer("keepdims") != 0;
  if (padded && !keeps_padding) source = builder.in_row_major(input);
  const Layout layout = keeps_padding ? channel_blocked(node.type.shape(), source.layout.block)
                                      : row_major(node.type.shape());
  ReductionLoops loops = loops_of(shape, source.layout, layout, reduced, keeps_padding);
  Reduction reduction = reduction_of(node, shape);
  reduction.target = builder.output(group.root(), layout);
  const std::vector<Operand> touched{source, reduction.target};
  const char* const implementation = loops.inner_kept ? "own:vectors" : "own:runs";
  builder.add(std::make_unique<ReduceStep>(source, std::nullopt, std::vector{reduction},
                                           std::move(loops), builder.threads()),
              touched, "reduce", implementation);
  return base::ok();
}

}  // namespace egret::backends::cpu
