// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/copy_step.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "backends/cpu/loops/parallel_loop.h"

namespace egret::backends::cpu {
namespace {

constexpr std::int64_t kParallelBytes = 128 << 10;  // below this a team of threads costs more
constexpr std::int64_t kTile = 32;

struct Axis {
  std::int64_t size;
  std::int64_t from;  // strides in elements
  std::int64_t to;
};

// A rectangular copy: loops in `axes`, outermost first.
struct Nest {
  std::vector<Axis> axes;
  std::int64_t from_offset = 0;  // elements
  std::int64_t to_offset = 0;
};

// Orders the loops by the target's strides, so that writing is sequential, and joins what is
// contiguous in both.
void normalize(Nest& nest) {
  std::erase_if(nest.axes, [](const Axis& a) { return a.size == 1; });
  std::stable_sort(nest.axes.begin(), nest.axes.end(),
                   [](const Axis& a, const Axis& b) { return a.to > b.to; });
  std::vector<Axis> joined;
  for (const Axis& axis : nest.axes) {
    if (!joined.empty() && joined.back().from == axis.from * axis.size &&
        joined.back().to == axis.to * axis.size) {
      joined.back() = {joined.back().size * axis.size, axis.from, axis.to};
    } else {
      joined.push_back(axis);
    }
  }
  if (joined.empty()) joined.push_back({1, 1, 1});
  nest.axes = std::move(joined);
  // A transposition: the axis that is contiguous in the source goes next to the innermost, where
  // the two are walked in tiles.
  // Rotating keeps the relative order of the other loops. The innermost loop still writes
  // sequentially.
  if (nest.axes.back().from != 1) {
    const auto contiguous =
        std::find_if(nest.axes.begin(), nest.axes.end(), [](const Axis& a) { return a.from == 1; });
    if (contiguous != nest.axes.end()) std::rotate(contiguous, contiguous + 1, nest.axes.end() - 1);
  }
}

template <typename T>
void copy_line(const T* from, T* to, const Axis& axis) {
  if (axis.from == 1 && axis.to == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(axis.size) * sizeof(T));
  } else if (axis.from == 0 && axis.to == 1) {
    std::fill_n(to, axis.size, *from);
  } else {
    for (std::int64_t i = 0; i < axis.size; ++i) to[i * axis.to] = from[i * axis.from];
  }
}

template <typename T>
void copy_plane(const T* from, T* to, const Axis& outer, const Axis& inner) {
  // Either side is contiguous: copy line by line. Otherwise transpose in tiles of 32 x 32, so that
  // both sides use the cache lines that they touch.
  if (outer.from != 1 || inner.from <= 1) {
    for (std::int64_t i = 0; i < outer.size; ++i)
      copy_line(from + i * outer.from, to + i * outer.to, inner);
    return;
  }
  for (std::int64_t i0 = 0; i0 < outer.size; i0 += kTile) {
    const std::int64_t i1 = std::min(i0 + kTile, outer.size);
    for (std::int64_t j0 = 0; j0 < inner.size; j0 += kTile) {
      const std::int64_t j1 = std::min(j0 + kTile, inner.size);
      for (std::int64_t i = i0; i < i1; ++i) {
        for (std::int64_t j = j0; j < j1; ++j)
          to[i * outer.to + j * inner.to] = from[i * outer.from + j * inner.from];
      }
    }
  }
}

template <typename T>
void run_nest(const Nest& nest, const T* from, T* to, int threads) {
  const Axis inner = nest.axes.back();
  const Axis outer = nest.axes.size() > 1 ? nest.axes[nest.axes.size() - 2] : Axis{1, 0, 0};
  const std::size_t loops = nest.axes.size() > 2 ? nest.axes.size() - 2 : 0;
  std::int64_t planes = 1;
  for (std::size_t i = 0; i < loops; ++i) planes *= nest.axes[i].size;
  // A single plane is cut along its outer loop.
  // Cuts are at least a tile long.
  const std::int64_t cuts = planes == 1 ? std::clamp<std::int64_t>(outer.size / kTile, 1, 64) : 1;
  const std::int64_t bytes =
      planes * outer.size * inner.size * static_cast<std::int64_t>(sizeof(T));
  parallel_for(bytes >= kParallelBytes ? threads : 1, planes * cuts, [&](std::int64_t piece) {
    std::int64_t rest = piece / cuts;
    std::int64_t f = nest.from_offset, t = nest.to_offset;
    for (std::size_t i = loops; i-- > 0;) {
      const std::int64_t at = rest % nest.axes[i].size;
      rest /= nest.axes[i].size;
      f += at * nest.axes[i].from;
      t += at * nest.axes[i].to;
    }
    const std::int64_t begin = outer.size * (piece % cuts) / cuts;
    const std::int64_t end = outer.size * (piece % cuts + 1) / cuts;
    copy_plane(from + f + begin * outer.from, to + t + begin * outer.to,
               {end - begin, outer.from, outer.to}, inner);
  });
}

// The loops that copy channels [first, first + count), split in blocks when `block` > 1.
// A blocked side has a stride per block and stride 1 inside it. A plain side has the channel
// stride, times the block size for whole blocks. `first` is a multiple of the block size.
Nest channel_nest(const ir::Shape& shape, const Layout& from, const Layout& to, std::int64_t block,
                  std::int64_t first, std::int64_t count) {
  Nest nest;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis == 1 && block > 1) continue;
    nest.axes.push_back({shape[axis], from.strides[axis], to.strides[axis]});
  }
  if (block <= 1) return nest;
  const auto outer_stride = [&](const Layout& l) {
    return l.block > 1 ? l.strides[1] : l.strides[1] * block;
  };
  const auto inner_stride = [&](const Layout& l) { return l.block > 1 ? 1 : l.strides[1]; };
  const std::int64_t width = std::min(count, block);
  nest.axes.push_back({count / width, outer_stride(from), outer_stride(to)});
  nest.axes.push_back({width, inner_stride(from), inner_stride(to)});
  nest.from_offset = first / block * outer_stride(from);
  nest.to_offset = first / block * outer_stride(to);
  return nest;
}

// The loops over what pads the last block of channels, at every position of `shape`. Everything
// else in the memory stays, since `shape` may be a part of what lies there.
Nest padding_nest(const ir::Shape& shape, const Layout& to) {
  Nest nest;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis != 1) nest.axes.push_back({shape[axis], 0, to.strides[axis]});
  }
  const std::int64_t used = shape[1] % to.block;
  nest.axes.push_back({to.block - used, 0, 1});
  nest.to_offset = shape[1] / to.block * to.strides[1] + used;
  return nest;
}

// A change of layout as one or two rectangular copies: whole blocks of channels, and the remainder.
class CopyStep : public Step {
 public:
  CopyStep(const Operand& source, const Operand& target, int threads)
      : source_(source), target_(target), threads_(threads) {
    const ir::Shape shape = source.shape();
    EGRET_CHECK(shape == target.shape() && source.type.dtype == target.type.dtype,
                "a copy changes layout alone");
    if (source.type.elements() == 0) return;
    const std::int64_t block = std::max(source.layout.block, target.layout.block);
    EGRET_CHECK(std::min(source.layout.block, target.layout.block) == 1 ||
                    source.layout.block == target.layout.block,
                "two sizes of blocks");
    if (block == 1) {
      nests_.push_back(channel_nest(shape, source.layout, target.layout, 1, 0, 0));
    } else {
      // A partial last block needs loops of its own, with fewer channels.
      const std::int64_t tail = shape[1] % block;
      if (shape[1] > tail)
        nests_.push_back(
            channel_nest(shape, source.layout, target.layout, block, 0, shape[1] - tail));
      if (tail > 0)
        nests_.push_back(
            channel_nest(shape, source.layout, target.layout, block, shape[1] - tail, tail));
    }
    if (is_padded(target.layout, shape)) padding_ = padding_nest(shape, target.layout);
    for (Nest& nest : nests_) normalize(nest);
    if (padding_) normalize(*padding_);
  }

  base::Status run(const Addresses& addresses) override {
    switch (ir::byte_size(source_.type.dtype)) {
      case 1: run_as<std::uint8_t>(addresses); break;
      case 2: run_as<std::uint16_t>(addresses); break;
      case 4: run_as<std::uint32_t>(addresses); break;
      default: run_as<std::uint64_t>(addresses); break;
    }
    return base::ok();
  }

 private:
  template <typename T>
  void run_as(const Addresses& addresses) const {
    const T zero{0};
    if (padding_) run_nest(*padding_, &zero, addresses.at<T>(target_), threads_);
    for (const Nest& nest : nests_)
      run_nest(nest, addresses.at<T>(source_), addresses.at<T>(target_), threads_);
  }

  Operand source_;
  Operand target_;
  int threads_;
  std::vector<Nest> nests_;
  std::optional<Nest> padding_;  // set to 0
};

class FillStep : public Step {
 public:
  FillStep(const Operand& target, ir::Tensor element)
      : target_(target), element_(std::move(element)) {}

  base::Status run(const Addresses& addresses) override {
    const std::size_t size = ir::byte_size(target_.type.dtype);
    const auto count = static_cast<std::size_t>(span_elements(target_.layout, target_.shape()));
    std::byte* const to = addresses.at<std::byte>(target_);
    const std::byte* const element = element_.data().data();
    if (std::all_of(element, element + size, [](std::byte b) { return b == std::byte{0}; })) {
      std::memset(to, 0, count * size);
    } else {
      for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * size, element, size);
    }
    return base::ok();
  }

 private:
  Operand target_;
  ir::Tensor element_;
};

}  // namespace

std::unique_ptr<Step> make_copy_step(const Operand& source, const Operand& target, int threads) {
  return std::make_unique<CopyStep>(source, target, threads);
}

std::unique_ptr<Step> make_fill_step(const Operand& target, const ir::Tensor& element) {
  return std::make_unique<FillStep>(target, element);
}

// A box keeps the strides of the whole tensor; only its first element and its sizes differ.
Operand box_of(Operand whole, const ir::TensorType& type, const ir::Integers& start) {
  const auto element = static_cast<std::int64_t>(ir::byte_size(whole.type.dtype));
  for (std::size_t i = 0; i < start.size(); ++i)
    whole.offset += start[i] * whole.layout.strides[i] * element;
  whole.type = type;
  return whole;
}

}  // namespace egret::backends::cpu
