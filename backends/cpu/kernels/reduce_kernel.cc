// SPDX-License-Identifier: Apache-2.0
// Sums, means, maxima and minima over any axes, of any strided or blocked layout.
//
// If the contiguous axis is kept, vectors along it accumulate over the reduced positions. Otherwise
// each contiguous run is reduced with 32 accumulators. Long sums are cut into pieces, whose results
// are added in f64: the rounding error then does not grow with the length.
//
// The pointwise operators that make the reduced value, and that nothing else reads, are computed in
// the same pass (lazy_region.h): the sum of squares of a norm reads its input once.
#include <algorithm>
#include <limits>
#include <optional>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/kernels/reduction_region.h"
#include "backends/cpu/loops/parallel_loop.h"
#include "backends/cpu/loops/vector_math.h"
#include "backends/cpu/regions/lazy_region.h"

namespace egret::backends::cpu {
namespace {

enum class Reducer : std::uint8_t { kSum, kMax, kMin };

constexpr std::int64_t kLanes = 32;
constexpr std::int64_t kChunk = 256;
constexpr std::int64_t kRun = 8192;   // elements summed in f32 alone
constexpr std::int64_t kNarrow = 64;  // columns of several lines that are added in one call
// Elements of a contiguous run from which it pays to compute them where they are reduced.
constexpr std::int64_t kFewestLazy = 64;

EGRET_VECTOR_INLINE float combine(Reducer reducer, float a, float b) {
  switch (reducer) {
    case Reducer::kSum: return a + b;
    case Reducer::kMax: return vector::max(a, b);
    case Reducer::kMin: return vector::min(a, b);
  }
  return 0;
}

template <Reducer kReducer>
EGRET_VECTOR_INLINE void accumulate_as(float* acc, const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) acc[i] = combine(kReducer, acc[i], x[i]);
}

// The reducer is a template argument inside the loop, so that each loop is one vector instruction.
EGRET_VECTOR_CLONES void accumulate(Reducer reducer, float* acc, const float* x, std::int64_t n) {
  switch (reducer) {
    case Reducer::kSum: return accumulate_as<Reducer::kSum>(acc, x, n);
    case Reducer::kMax: return accumulate_as<Reducer::kMax>(acc, x, n);
    case Reducer::kMin: return accumulate_as<Reducer::kMin>(acc, x, n);
  }
}

// Lines of n elements, `stride` apart. A block of columns stays in registers over all lines.
template <Reducer kReducer>
EGRET_VECTOR_INLINE void accumulate_lines_as(float* __restrict acc, const float* __restrict x,
                                             std::int64_t n, std::int64_t lines,
                                             std::int64_t stride) {
  constexpr std::int64_t kColumns = 16;
  std::int64_t first = 0;
  for (; first + kColumns <= n; first += kColumns) {
    float block[kColumns];
    for (std::int64_t i = 0; i < kColumns; ++i) block[i] = acc[first + i];
    for (std::int64_t line = 0; line < lines; ++line) {
      for (std::int64_t i = 0; i < kColumns; ++i)
        block[i] = combine(kReducer, block[i], x[line * stride + first + i]);
    }
    for (std::int64_t i = 0; i < kColumns; ++i) acc[first + i] = block[i];
  }
  for (std::int64_t line = 0; line < lines; ++line)
    accumulate_as<kReducer>(acc + first, x + line * stride + first, n - first);
}

EGRET_VECTOR_CLONES void accumulate_lines(Reducer reducer, float* acc, const float* x,
                                          std::int64_t n, std::int64_t lines, std::int64_t stride) {
  switch (reducer) {
    case Reducer::kSum: return accumulate_lines_as<Reducer::kSum>(acc, x, n, lines, stride);
    case Reducer::kMax: return accumulate_lines_as<Reducer::kMax>(acc, x, n, lines, stride);
    case Reducer::kMin: return accumulate_lines_as<Reducer::kMin>(acc, x, n, lines, stride);
  }
}

template <Reducer kReducer>
EGRET_VECTOR_INLINE void accumulate_run_as(float* __restrict acc, const float* __restrict x,
                                           std::int64_t n) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) accumulate_as<kReducer>(acc, x + i, kLanes);
  accumulate_as<kReducer>(acc, x + i, n - i);  // the rest of the run uses the first lanes
}

// A contiguous run into kLanes accumulators, in one call: runs may be short and many.
EGRET_VECTOR_CLONES void accumulate_run(Reducer reducer, float* acc, const float* x,
                                        std::int64_t n) {
  switch (reducer) {
    case Reducer::kSum: return accumulate_run_as<Reducer::kSum>(acc, x, n);
    case Reducer::kMax: return accumulate_run_as<Reducer::kMax>(acc, x, n);
    case Reducer::kMin: return accumulate_run_as<Reducer::kMin>(acc, x, n);
  }
}

// The sum of kLanes accumulators in f64, as a tree: a chain of additions would wait for each.
template <std::int64_t kWidth>
EGRET_VECTOR_INLINE double tree_sum(double* sums) {
  if constexpr (kWidth == 1) {
    return sums[0];
  } else {
    for (std::int64_t i = 0; i < kWidth / 2; ++i) sums[i] += sums[i + kWidth / 2];
    return tree_sum<kWidth / 2>(sums);
  }
}

EGRET_VECTOR_INLINE double sum_of(const float* acc) {
  double sums[kLanes];
  for (std::int64_t i = 0; i < kLanes; ++i) sums[i] = acc[i];
  return tree_sum<kLanes>(sums);
}

EGRET_VECTOR_CLONES double sum_of_lanes(const float* acc) { return sum_of(acc); }

// The sum of one contiguous run of at most kRun elements, in one call.
EGRET_VECTOR_CLONES double sum_of_run(const float* x, std::int64_t n) {
  float acc[kLanes] = {};
  accumulate_run_as<Reducer::kSum>(acc, x, n);
  return sum_of(acc);
}

float neutral(Reducer reducer) {
  switch (reducer) {
    case Reducer::kSum: return 0;
    case Reducer::kMax: return -std::numeric_limits<float>::infinity();
    case Reducer::kMin: return std::numeric_limits<float>::infinity();
  }
  return 0;
}

struct Axis {
  std::int64_t size, from, to;  // strides in elements; `to` is 0 for reduced axes
};

// Pieces of the reduced value, stored or computed.
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
  const float* at(std::int64_t offset, std::int64_t count) {
    return stored_ != nullptr ? stored_ + offset : reader_->at(offset, static_cast<int>(count));
  }

 private:
  const float* stored_ = nullptr;
  std::optional<LazyRegion::Reader> reader_;
};

// A reduction as loops over kept axes (one result each, divided among threads) and reduced axes.
// The innermost contiguous axis is separate: it is either kept (vectors) or reduced (runs).
class ReduceStep : public Step {
 public:
  // Of the stored value `source`, or of the region's.
  ReduceStep(const Operand& source, std::optional<LazyRegion> region, const Operand& target,
             Reducer reducer, std::vector<Axis> kept, std::vector<Axis> reduced, Axis inner,
             bool inner_kept, double scale, int threads)
      : source_(source),
        region_(std::move(region)),
        target_(target),
        reducer_(reducer),
        kept_(std::move(kept)),
        reduced_(std::move(reduced)),
        inner_(inner),
        inner_kept_(inner_kept),
        scale_(scale),
        threads_(threads) {
    for (const Axis& axis : kept_) outputs_ *= axis.size;
    for (const Axis& axis : reduced_) terms_ *= axis.size;
    chunks_ = inner_kept_ ? (inner_.size + kChunk - 1) / kChunk : 1;
  }

  base::Status run(const Addresses& addresses) override {
    const bool parallel = outputs_ * terms_ * inner_.size > 32768;
    const std::int64_t pieces = outputs_ * chunks_;
    const std::int64_t parts = parallel ? std::min<std::int64_t>(threads_, pieces) : 1;
    parallel_for(static_cast<int>(parts), parts, [&](std::int64_t part) {
      Source source(source_, region_, addresses, static_cast<int>(part));
      for (std::int64_t piece = pieces * part / parts; piece < pieces * (part + 1) / parts; ++piece)
        reduce(source, addresses.at(target_), piece);
    });
    return base::ok();
  }

 private:
  // Decomposes the piece into indices of the kept axes and, if the inner axis is kept, a chunk of
  // it.
  void reduce(Source& source, float* y, std::int64_t piece) const {
    std::int64_t rest = piece / chunks_;
    std::int64_t x = 0;
    for (std::size_t i = kept_.size(); i-- > 0;) {
      const std::int64_t at = rest % kept_[i].size;
      rest /= kept_[i].size;
      x += at * kept_[i].from;
      y += at * kept_[i].to;
    }
    if (inner_kept_) {
      const std::int64_t first = piece % chunks_ * kChunk;
      reduce_vectors(source, x + first, y + first * inner_.to,
                     std::min(kChunk, inner_.size - first));
    } else {
      *y = static_cast<float>(reduce_runs(source, x) * scale_);
    }
  }

  // Calls body(offset, count, stride) for the reduced positions along the last reduced axis.
  template <typename Body>
  void each_line(std::int64_t x, const Body& body) const {
    if (reduced_.empty()) return body(x, std::int64_t{1}, std::int64_t{0});
    const Axis& last = reduced_.back();
    for (std::int64_t t = 0; t < terms_ / last.size; ++t) {
      std::int64_t rest = t;
      std::int64_t offset = x;
      for (std::size_t i = reduced_.size() - 1; i-- > 0;) {
        offset += rest % reduced_[i].size * reduced_[i].from;
        rest /= reduced_[i].size;
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
  void reduce_vectors(Source& source, std::int64_t x, float* y, std::int64_t n) const {
    float acc[kChunk];
    // Uninitialized until the first flush; `flushed` guards it. Short sums thus skip f64 entirely.
    double total[kChunk];
    std::int64_t pending = 0;
    bool flushed = false;
    std::fill_n(acc, n, neutral(reducer_));
    // A call for each line would take longer than few columns of it.
    const std::int64_t at_once = source.is_stored() && n <= kNarrow ? kRun / kLanes : 1;
    each_line(x, [&](std::int64_t start, std::int64_t lines, std::int64_t stride) {
      for (std::int64_t first = 0, count = 0; first < lines; first += count) {
        count = std::min({lines - first, at_once, kRun / kLanes - pending});
        const float* const from = source.at(start + first * stride, n);
        if (count == 1) {
          accumulate(reducer_, acc, from, n);
        } else {
          accumulate_lines(reducer_, acc, from, n, count, stride);
        }
        if (reducer_ != Reducer::kSum || (pending += count) < kRun / kLanes) continue;
        for (std::int64_t i = 0; i < n; ++i) total[i] = (flushed ? total[i] : 0.0) + acc[i];
        std::fill_n(acc, n, 0.0F);
        flushed = true;
        pending = 0;
      }
    });
    for (std::int64_t i = 0; i < n; ++i) {
      y[i * inner_.to] = flushed ? static_cast<float>((total[i] + acc[i]) * scale_)
                                 : static_cast<float>(acc[i] * scale_);
    }
  }

  // 32 independent accumulators hide the latency of additions and let the compiler use vectors.
  double reduce_runs(Source& source, std::int64_t x) const {
    const bool one_run = terms_ == 1 && inner_.from == 1 && inner_.size <= kRun;
    if (one_run && source.is_stored() && reducer_ == Reducer::kSum)
      return sum_of_run(source.at(x, inner_.size), inner_.size);
    const std::int64_t longest = source.is_stored() ? kRun : std::int64_t{kBlockElements};
    double total = neutral(reducer_);
    float acc[kLanes];
    std::int64_t pending = 0;
    std::fill_n(acc, kLanes, neutral(reducer_));
    const auto flush = [&] {
      if (reducer_ == Reducer::kSum) {
        total += sum_of_lanes(acc);
      } else {
        for (const float lane : acc) total = combine(reducer_, static_cast<float>(total), lane);
      }
      std::fill_n(acc, kLanes, neutral(reducer_));
      pending = 0;
    };
    each_position(x, [&](std::int64_t run) {
      for (std::int64_t first = 0; first < inner_.size; first += longest) {
        const std::int64_t n = std::min(longest, inner_.size - first);
        reduce_run(acc, source.at(run + first * inner_.from, n), n);
        pending += n;
        if (pending >= kRun) flush();
      }
    });
    flush();
    return total;
  }

  void reduce_run(float* acc, const float* x, std::int64_t n) const {
    if (inner_.from != 1) {
      for (std::int64_t i = 0; i < n; ++i)
        acc[i % kLanes] = combine(reducer_, acc[i % kLanes], x[i * inner_.from]);
      return;
    }
    accumulate_run(reducer_, acc, x, n);
  }

  Operand source_;
  std::optional<LazyRegion> region_;
  Operand target_;
  Reducer reducer_;
  std::vector<Axis> kept_, reduced_;
  Axis inner_;
  bool inner_kept_;
  double scale_;
  int threads_;
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

base::Status make_reduce_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.root());
  if (node.type.dtype != ir::DType::kF32)
    return base::unsupported("reduction of a type other than f32");
  const ir::NodeId input = node.inputs[0];
  if (builder.node(input).type.elements() == 0) return base::unsupported("an empty tensor");
  const ir::Shape shape = builder.node(input).type.shape();
  Operand source;
  std::optional<LazyRegion> region;
  if (group.nodes.size() > 1) {
    EGRET_ASSIGN_OR_RETURN(
        region, LazyRegion::make(builder, std::span(group.nodes).first(group.nodes.size() - 1)));
    source = {.type = builder.node(input).type, .layout = region->layout()};
  } else {
    source = builder.home(input);
  }
  const ir::Integers& axes = node.attrs.integers("axes");
  const auto is_reduced = [&](std::size_t axis) {
    return std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
  };
  // The padding of kept channels is reduced to the padding of the result: zeros have the sum 0, the
  // maximum 0 and the minimum 0.
  const bool padded = is_padded(source.layout, shape);
  const bool keeps_padding = padded && !is_reduced(1) && node.attrs.integer("keepdims") != 0;
  if (padded && !keeps_padding) source = builder.in_row_major(input);
  const Layout layout = keeps_padding ? channel_blocked(node.type.shape(), source.layout.block)
                                      : row_major(node.type.shape());

  // Strides of the output by input axis, whether or not it keeps axes of size 1.
  ir::Shape to(shape.size(), 0);
  std::int64_t stride = 1;
  std::int64_t count = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (is_reduced(axis)) {
      count *= shape[axis];
    } else {
      to[axis] = stride;
      stride *= shape[axis];
    }
  }
  const StridedView view = strided_view(source.layout, shape);
  std::vector<Axis> kept, reduced;
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
    const std::size_t original = axis < shape.size() ? axis : 1;  // the channels of a block
    const bool blocks = source.layout.block > 1 && axis == 1;
    const std::int64_t of_channels = axis < shape.size() ? layout.strides[1] : 1;
    const Axis a{view.shape[axis], view.strides[axis],
                 keeps_padding && original == 1 ? of_channels
                 : keeps_padding                ? (is_reduced(axis) ? 0 : layout.strides[axis])
                 : blocks                       ? to[1] * source.layout.block
                                                : to[original]};
    (is_reduced(original) ? reduced : kept).push_back(a);
  }
  join(kept);
  join(reduced);

  // The axis of smallest stride becomes the inner loop. Fewer than 4 kept elements would waste most
  // of a vector, so such a reduction runs along the reduced axis.
  const auto smallest = [](const std::vector<Axis>& list) {
    return std::ranges::min_element(list, {}, [](const Axis& a) { return std::abs(a.from); });
  };
  const auto kept_inner = smallest(kept);
  const auto reduced_inner = smallest(reduced);
  const bool inner_kept =
      kept_inner != kept.end() && kept_inner->from == 1 && kept_inner->size >= 4;
  Axis inner{1, 1, 0};
  if (inner_kept) {
    inner = *kept_inner;
    kept.erase(kept_inner);
  } else if (reduced_inner != reduced.end()) {
    inner = *reduced_inner;
    reduced.erase(reduced_inner);
  }
  const std::string& op = node.op->name();
  const Reducer reducer = op == "reduce_max"   ? Reducer::kMax
                          : op == "reduce_min" ? Reducer::kMin
                                               : Reducer::kSum;
  const double scale = op == "reduce_mean" ? 1.0 / static_cast<double>(count) : 1.0;
  if (region && (inner.from != 1 || inner.size < kFewestLazy))
    return base::unsupported("a reduction of short runs that are not stored");
  const Operand target = builder.output(group.root(), layout);
  std::vector<Operand> touched = region ? region->touched() : std::vector{source};
  touched.push_back(target);
  std::string implementation = inner_kept ? "own:vectors" : "own:runs";
  if (region) implementation += " of " + std::to_string(region->instructions()) + " instructions";
  builder.add(
      std::make_unique<ReduceStep>(source, std::move(region), target, reducer, std::move(kept),
                                   std::move(reduced), inner, inner_kept, scale, builder.threads()),
      touched, "reduce", implementation);
  return base::ok();
}

}  // namespace egret::backends::cpu
