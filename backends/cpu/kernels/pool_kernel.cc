// SPDX-License-Identifier: Apache-2.0
// Pooling over windows: by vectors of channels where channels are innermost (blocked,
// channels-last), by lines of the image where tensors are row-major. oneDNN has no fast kernel for
// the latter without AVX-512.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/loops/instruction_set.h"
#include "backends/cpu/loops/parallel_loop.h"
#include "backends/cpu/loops/pool_rows.h"
#include "backends/cpu/loops/vector_math.h"

namespace egret::backends::cpu {
namespace {

struct Window {
  // Always three axes; missing ones come first with size 1.
  std::int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  std::int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {0, 0, 0};

  // The taps of an output position that fall inside the input.
  struct Taps {
    std::int64_t first, count;
  };
  Taps taps(std::size_t axis, std::int64_t o) const {
    const std::int64_t start = o * stride[axis] - pad[axis];
    const std::int64_t d = dilation[axis];
    // The first tap k with start + k d >= 0, and the end of the taps with start + k d < size.
    const std::int64_t first = start >= 0 ? 0 : (-start + d - 1) / d;
    const std::int64_t room = in[axis] - start;  // taps at k * d < room
    const std::int64_t end = room <= 0 ? 0 : std::min(kernel[axis], (room + d - 1) / d);
    return {first, std::max<std::int64_t>(end - first, 0)};
  }
  // Where the input has tap k of an output position.
  std::int64_t at(std::size_t axis, std::int64_t o, std::int64_t k) const {
    return o * stride[axis] - pad[axis] + k * dilation[axis];
  }
};

Window window_of(const ir::Node& node, const ir::Shape& source) {
  Window w;
  const ir::Shape target = node.type.shape();
  const ir::Integers& kernel = node.attrs.integers("kernel");
  const std::size_t shift = 3 - kernel.size();
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    w.in[i + shift] = source[i + 2];
    w.out[i + shift] = target[i + 2];
    w.kernel[i + shift] = kernel[i];
    w.stride[i + shift] = node.attrs.integers("strides")[i];
    w.dilation[i + shift] = node.attrs.integers("dilations")[i];
    w.pad[i + shift] = node.attrs.integers("pads")[i];
  }
  return w;
}

enum class Pooling : std::uint8_t { kMax, kMean, kMeanWithPadding };

// One vector of `lanes` neighbouring channels at a time.
EGRET_VECTOR_CLONES void max_into(float* to, const float* from, std::int64_t lanes) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < lanes; ++i) to[i] = vector::max(to[i], from[i]);
}
EGRET_VECTOR_CLONES void add_into(float* to, const float* from, std::int64_t lanes) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < lanes; ++i) to[i] += from[i];
}
EGRET_VECTOR_CLONES void divide(float* to, float by, std::int64_t lanes) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < lanes; ++i) to[i] /= by;
}
EGRET_VECTOR_CLONES void divide_each(float* to, const float* by, float factor, std::int64_t n) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) to[i] /= by[i] * factor;
}

// Maximum or sum over a window of blocks of channels, kept in registers. Written with vectors and
// compiled for each instruction set by itself, because the compiler lowers vectors before it clones
// functions, and does not find them in loops of 8 or 16. oneDNN's blocks have 8 channels with AVX2
// and 16 with AVX-512.
template <int kLanes>
struct BlockOf {
  using Type __attribute__((vector_size(4 * kLanes), aligned(4), may_alias)) = float;
};

#define EGRET_WINDOW(suffix, target)                                                         \
  template <int kLanes>                                                                      \
  target void window_##suffix(const float* from, std::int64_t row_stride, std::int64_t rows, \
                              std::int64_t columns, bool maximum, float* to) {               \
    using Block = typename BlockOf<kLanes>::Type;                                            \
    Block acc{};                                                                             \
    if (maximum) acc = *reinterpret_cast<const Block*>(from);                                \
    for (std::int64_t y = 0; y < rows; ++y) {                                                \
      const float* line = from + y * row_stride;                                             \
      for (std::int64_t x = 0; x < columns; ++x, line += kLanes) {                           \
        const Block value = *reinterpret_cast<const Block*>(line);                           \
        if (maximum) {                                                                       \
          const Block larger = acc > value ? acc : value; /* the value where it is NaN */    \
          acc = acc != acc ? acc : larger;                                                   \
        } else {                                                                             \
          acc += value;                                                                      \
        }                                                                                    \
      }                                                                                      \
    }                                                                                        \
    *reinterpret_cast<Block*>(to) = acc;                                                     \
  }
EGRET_WINDOW(generic, )
#if defined(__x86_64__)
EGRET_WINDOW(v3, __attribute__((target("arch=x86-64-v3"))))
EGRET_WINDOW(v4, __attribute__((target("arch=x86-64-v4"))))
#endif
#undef EGRET_WINDOW

using WindowFunction = void (*)(const float*, std::int64_t, std::int64_t, std::int64_t, bool,
                                float*);

template <int kLanes>
WindowFunction best_window() {
#if defined(__x86_64__)
  return best_of<WindowFunction>({window_generic<kLanes>, window_v3<kLanes>, window_v4<kLanes>});
#else
  return window_generic<kLanes>;
#endif
}

// Null: none for so many channels.
WindowFunction window_for(std::int64_t lanes) {
  if (lanes == 8) return best_window<8>();
  return lanes == 16 ? best_window<16>() : nullptr;
}

class PoolStep : public Step {
 public:
  PoolStep(const Operand& source, const Operand& target, const Window& window, Pooling pooling,
           int threads)
      : source_(source), target_(target), w_(window), pooling_(pooling), threads_(threads) {
    const ir::Shape shape = source.shape();
    const bool blocked = source.layout.block > 1;
    lanes_ = blocked ? source.layout.block : shape[1];
    groups_ = blocked ? (shape[1] + lanes_ - 1) / lanes_ : 1;
    batch_ = shape[0];
    window_ = window_for(lanes_);
  }

  base::Status run(const Addresses& addresses) override {
    const float* const from = addresses.at(source_);
    float* const to = addresses.at(target_);
    const std::int64_t rows = batch_ * groups_ * w_.out[0] * w_.out[1];
    const bool parallel = rows * w_.out[2] * lanes_ > 16384;
    parallel_for(parallel ? threads_ : 1, rows, [&](std::int64_t row) { run_row(from, to, row); });
    return base::ok();
  }

 private:
  // One row of outputs of one group of channels. The inside part of each window is computed first,
  // so that the loops over taps need no bound checks.
  // Spatial axes that the rank lacks have one position and stride 0.
  void run_row(const float* from, float* to, std::int64_t row) const {
    const std::int64_t y = row % w_.out[1];
    const std::int64_t z = row / w_.out[1] % w_.out[0];
    const std::int64_t rest = row / w_.out[1] / w_.out[0];
    const std::int64_t n = rest / groups_, g = rest % groups_;
    const ir::Shape& s = source_.layout.strides;
    const ir::Shape& t = target_.layout.strides;
    const std::size_t rank = s.size();
    const std::int64_t sx = s[rank - 1], tx = t[rank - 1];
    const std::int64_t sy = rank > 3 ? s[rank - 2] : 0, ty = rank > 3 ? t[rank - 2] : 0;
    const std::int64_t sz = rank > 4 ? s[rank - 3] : 0, tz = rank > 4 ? t[rank - 3] : 0;
    const std::int64_t gs = groups_ > 1 ? s[1] : 0, gt = groups_ > 1 ? t[1] : 0;
    from += n * s[0] + g * gs;
    to += n * t[0] + g * gt + z * tz + y * ty;
    const Window::Taps zs = w_.taps(0, z), ys = w_.taps(1, y);
    const bool dense = w_.dilation[0] == 1 && w_.dilation[1] == 1 && w_.dilation[2] == 1;
    for (std::int64_t x = 0; x < w_.out[2]; ++x, to += tx) {
      const Window::Taps xs = w_.taps(2, x);
      const float* first = from + w_.at(0, z, zs.first) * sz + w_.at(1, y, ys.first) * sy +
                           w_.at(2, x, xs.first) * sx;
      // The register kernel needs blocks of 8 or 16 channels, undilated planar windows, and at
      // least one tap, since it starts from the first element.
      if (window_ != nullptr && dense && zs.count == 1 && ys.count > 0 && xs.count > 0 &&
          sx == lanes_) {
        window_(first, sy, ys.count, xs.count, pooling_ == Pooling::kMax, to);
      } else {
        std::fill_n(to, lanes_,
                    pooling_ == Pooling::kMax ? -std::numeric_limits<float>::infinity() : 0.0F);
        each_tap(first, {zs.count, ys.count, xs.count}, {sz, sy, sx}, to);
      }
      if (pooling_ == Pooling::kMean)
        divide(to, static_cast<float>(zs.count * ys.count * xs.count), lanes_);
      if (pooling_ == Pooling::kMeanWithPadding)
        divide(to, static_cast<float>(w_.kernel[0] * w_.kernel[1] * w_.kernel[2]), lanes_);
    }
  }

  // The general case: any dilation, three axes, any number of channels.
  void each_tap(const float* first, const std::array<std::int64_t, 3>& counts,
                const std::array<std::int64_t, 3>& strides, float* to) const {
    for (std::int64_t kz = 0; kz < counts[0]; ++kz) {
      for (std::int64_t ky = 0; ky < counts[1]; ++ky) {
        for (std::int64_t kx = 0; kx < counts[2]; ++kx) {
          const float* const tap = first + kz * w_.dilation[0] * strides[0] +
                                   ky * w_.dilation[1] * strides[1] +
                                   kx * w_.dilation[2] * strides[2];
          if (pooling_ == Pooling::kMax) {
            max_into(to, tap, lanes_);
          } else {
            add_into(to, tap, lanes_);
          }
        }
      }
    }
  }

  Operand source_, target_;
  WindowFunction window_ = nullptr;
  Window w_;
  Pooling pooling_;
  int threads_;
  std::int64_t lanes_ = 1, groups_ = 1, batch_ = 1;
};

// Of a row-major tensor: the lines of a window are folded into one, and this along itself.
class RowPoolStep : public Step {
 public:
  RowPoolStep(const Operand& source, const Operand& target, const Operand& scratch,
              const Window& window, Pooling pooling, int threads)
      : source_(source),
        target_(target),
        scratch_(scratch),
        w_(window),
        line_(line_of(window)),
        pooling_(pooling),
        threads_(threads) {
    const ir::Shape shape = source.shape();
    images_ = shape[0] * shape[1];
    for (std::int64_t x = 0; pooling == Pooling::kMean && x < w_.out[2]; ++x)
      counts_.push_back(static_cast<float>(w_.taps(2, x).count));
  }

  static PoolLine line_of(const Window& w) {
    return {.in = w.in[2],
            .out = w.out[2],
            .kernel = w.kernel[2],
            .stride = w.stride[2],
            .dilation = w.dilation[2],
            .pad = w.pad[2]};
  }

  base::Status run(const Addresses& addresses) override {
    const std::int64_t lines = images_ * w_.out[0] * w_.out[1];
    const bool parallel = lines * w_.out[2] > 16384;
    const std::int64_t parts = parallel ? std::min<std::int64_t>(threads_, lines) : 1;
    parallel_for(static_cast<int>(parts), parts, [&](std::int64_t part) {
      float* const own = addresses.at(scratch_) + part * line_.scratch_elements();
      for (std::int64_t i = lines * part / parts; i < lines * (part + 1) / parts; ++i)
        run_line(addresses.at(source_), i, own, addresses.at(target_) + i * w_.out[2]);
    });
    return base::ok();
  }

 private:
  static constexpr std::size_t kRowsAtOnce = 32;

  void run_line(const float* from, std::int64_t line, float* own, float* to) const {
    const std::int64_t y = line % w_.out[1];
    const std::int64_t z = line / w_.out[1] % w_.out[0];
    from += line / w_.out[1] / w_.out[0] * w_.in[0] * w_.in[1] * w_.in[2];
    const Window::Taps zs = w_.taps(0, z), ys = w_.taps(1, y);
    const std::int64_t count = zs.count * ys.count;
    std::array<const float*, kRowsAtOnce> rows{};
    const bool maximum = pooling_ == Pooling::kMax;
    const auto row = [&](std::int64_t i) {
      const std::int64_t at_z = w_.at(0, z, zs.first + i / ys.count);
      const std::int64_t at_y = w_.at(1, y, ys.first + i % ys.count);
      return from + (at_z * w_.in[1] + at_y) * w_.in[2];
    };
    const auto few = std::min(count, static_cast<std::int64_t>(kRowsAtOnce));
    for (std::int64_t i = 0; i < few; ++i) rows[static_cast<std::size_t>(i)] = row(i);
    FoldedLine folded(line_, maximum, {rows.data(), static_cast<std::size_t>(few)}, own);
    for (std::int64_t i = few; i < count; ++i) folded.add(row(i));
    folded.pool(to);
    if (pooling_ == Pooling::kMean)
      divide_each(to, counts_.data(), static_cast<float>(count), w_.out[2]);
    if (pooling_ == Pooling::kMeanWithPadding)
      divide(to, static_cast<float>(w_.kernel[0] * w_.kernel[1] * w_.kernel[2]), w_.out[2]);
  }

  Operand source_, target_, scratch_;
  Window w_;
  PoolLine line_;
  Pooling pooling_;
  int threads_;
  std::int64_t images_ = 1;
  std::vector<float> counts_;  // elements of a window along the line, inside of the input
};

void add_row_pool(PlanBuilder& builder, const Group& group, Pooling pooling) {
  const ir::Node& node = builder.node(group.root());
  const Operand source = builder.in_row_major(node.inputs[0]);
  const Window window = window_of(node, source.shape());
  const std::int64_t elements = RowPoolStep::line_of(window).scratch_elements();
  const Operand scratch = builder.bytes(elements * builder.threads() * 4);
  const Operand target = builder.output(group.root(), row_major(node.type.shape()));
  const Operand touched[] = {source, scratch, target};
  builder.add(
      std::make_unique<RowPoolStep>(source, target, scratch, window, pooling, builder.threads()),
      touched, "pool", "own:rows");
}

// Where a value lies in row-major and, for a convolution, in blocks, the pool takes the blocks:
// what it makes is mostly for convolutions, too.
const Operand& place_to_pool(PlanBuilder& builder, const Group& group, ir::NodeId id) {
  const Operand& home = builder.home(id);
  if (group.layouts) return home;
  for (const Operand& place : builder.places(id)) {
    if (place.layout.block > 1) return place;
  }
  return home;
}

}  // namespace

// In the layout of the input: by lines where it is row-major, else by vectors of channels.
base::Status make_pool_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.root());
  if (node.type.dtype != ir::DType::kF32 || node.type.rank() < 3 || node.type.rank() > 5 ||
      node.type.elements() == 0)
    return base::unsupported("pooling of this type");
  const Pooling pooling = node.op->name() == "max_pool"                  ? Pooling::kMax
                          : node.attrs.integer("count_include_pad") != 0 ? Pooling::kMeanWithPadding
                                                                         : Pooling::kMean;
  const Operand& home = place_to_pool(builder, group, node.inputs[0]);
  const ir::Shape from = home.shape();
  const ir::Shape to = node.type.shape();
  const bool blocked = home.layout.block > 1;
  const bool last = !blocked && same_layout(home.layout, channels_last(from), from);
  if (!blocked && (!last || is_row_major(home.layout, from))) {
    add_row_pool(builder, group, pooling);
    return base::ok();
  }
  const Layout source_layout = blocked ? home.layout : channels_last(from);
  const Operand source = builder.in_layout(node.inputs[0], source_layout);
  const Operand target = builder.output(
      group.root(), blocked ? channel_blocked(to, home.layout.block) : channels_last(to));
  const Operand touched[] = {source, target};
  builder.add(
      std::make_unique<PoolStep>(source, target, window_of(node, from), pooling, builder.threads()),
      touched, "pool", "own:channel vectors");
  return base::ok();
}

}  // namespace egret::backends::cpu
