// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/wide_resnet.h"

#include <array>
#include <vector>

#include "parallel/transformer/transformer_kernels.h"

namespace egret::parallel {
namespace {

// Of one block, on one device; channels are those of all tensor ranks.
struct Block {
  double in = 0, channels = 0, wide = 0, out = 0;
  double side_in = 0, side = 0;
  bool is_first = false;  // of its group, with a convolution beside
};

std::vector<std::int64_t> groups_of(std::int64_t depth) {
  if (depth == 50) return {3, 4, 6, 3};
  if (depth == 101) return {3, 4, 23, 3};
  return {};
}

std::vector<Block> blocks_of(const TrainingSetup& setup) {
  std::vector<Block> blocks;
  auto channels = static_cast<double>(setup.channels);
  double in = channels;
  double side = static_cast<double>(setup.image_size) / 4;  // behind convolution and pooling
  bool halves = false;
  for (const std::int64_t count : groups_of(setup.wide_resnet)) {
    for (std::int64_t i = 0; i < count; ++i) {
      const bool first = i == 0;
      const double before = side;
      if (first && halves) side /= 2;
      blocks.push_back({.in = in,
                        .channels = channels,
                        .wide = channels * static_cast<double>(setup.width_factor),
                        .out = 4 * channels,
                        .side_in = before,
                        .side = side,
                        .is_first = first});
      in = 4 * channels;
    }
    halves = true;
    channels *= 2;
  }
  return blocks;
}

double parameters_of(const Block& block, double tensor) {
  const double convolutions = block.in * block.channels + 9 * block.channels * block.wide +
                              block.wide * block.out + (block.is_first ? block.in * block.out : 0);
  // Scale and shift of each normalization.
  const double norms =
      2 * (block.channels + block.wide) / tensor + 2 * block.out * (block.is_first ? 2 : 1);
  return convolutions / tensor + norms;
}

double forward_flops(const Block& block, double images) {
  const double before = images * block.side_in * block.side_in,
               places = images * block.side * block.side;
  return 2 *
         (before * block.in * block.channels + places * 9 * block.channels * block.wide +
          places * block.wide * block.out + (block.is_first ? places * block.in * block.out : 0));
}

double stem_parameters(const TrainingSetup& setup) {
  return (3 * 7 * 7 + 2) * static_cast<double>(setup.channels);
}
double last_channels(const TrainingSetup& setup) {
  return 32 * static_cast<double>(setup.channels);
}

class Kernels {
 public:
  Kernels(const System& system, const TrainingSetup& setup)
      : system_(system),
        setup_(setup),
        images_(static_cast<double>(setup.micro_batch)),
        tensor_(static_cast<double>(setup.tensor)),
        element_(bytes_of(setup.precision)) {}

  ModelBlock block(const Block& block, bool recomputed) const {
    const double before = images_ * block.side_in * block.side_in;
    const double places = images_ * block.side * block.side;
    const double inner = block.channels / tensor_, wide = block.wide / tensor_;
    KernelList forward = list();
    convolve(forward, before, block.in, inner);
    normalize(forward, before * inner);
    convolve(forward, places, 9 * inner, block.wide);
    exchange(forward, CollectiveKind::kReduceScatter, places * block.wide);
    normalize(forward, places * wide);
    convolve(forward, places, wide, block.out);
    exchange(forward, CollectiveKind::kAllReduce, places * block.out);
    normalize(forward, places * block.out);
    if (block.is_first) {
      convolve(forward, places, block.in, block.out / tensor_);
      exchange(forward, CollectiveKind::kAllGather, places * block.out);
      normalize(forward, places * block.out);
    }
    forward.memory("residual", places * block.out * element_);
    KernelList backward = list();
    if (recomputed) backward.append(forward);
    backward.memory("residual'", places * block.out * element_);
    if (block.is_first) {
      normalize_backward(backward, places * block.out);
      convolve_backward(backward, places, block.in, block.out / tensor_);
    }
    normalize_backward(backward, places * block.out);
    convolve_backward(backward, places, wide, block.out);
    normalize_backward(backward, places * wide);
    exchange(backward, CollectiveKind::kAllGather, places * block.wide);
    convolve_backward(backward, places, 9 * inner, block.wide);
    normalize_backward(backward, before * inner);
    convolve_backward(backward, before, block.in, inner);
    exchange(backward, CollectiveKind::kAllReduce, before * block.in);
    const double input = element_ * before * block.in;
    return model_block(forward, backward, parameters_of(block, tensor_),
                       recomputed ? input : input + inner_bytes(block));
  }

  // Inputs and outputs of the inner convolutions, and what the last one adds.
  double inner_bytes(const Block& block) const {
    const double before = images_ * block.side_in * block.side_in;
    const double places = images_ * block.side * block.side;
    return element_ * (2 * before * block.channels / tensor_ + 2 * places * block.wide / tensor_ +
                       places * block.out * (block.is_first ? 2 : 1));
  }

  ModelBlock stem() const {
    const auto channels = static_cast<double>(setup_.channels);
    const double side = static_cast<double>(setup_.image_size) / 2;
    const double places = images_ * side * side;
    KernelList forward = list(), backward = list();
    convolve(forward, places, 3 * 7 * 7, channels);
    normalize(forward, places * channels);
    forward.memory("pooling", 1.25 * places * channels * element_);
    backward.memory("pooling'", 2.25 * places * channels * element_);
    normalize_backward(backward, places * channels);
    // Images need no gradient.
    backward.matmul("product' weight", 1, 3 * 7 * 7, channels, places);
    return model_block(forward, backward, stem_parameters(setup_),
                       element_ * places * (4 * 3 + 2 * channels));
  }

  ModelBlock head() const {
    const double channels = last_channels(setup_);
    const auto classes = static_cast<double>(setup_.classes);
    const double side = static_cast<double>(setup_.image_size) / 32;
    const double pooled = images_ * channels * side * side * element_;
    KernelList forward = list(), backward = list();
    forward.memory("pooling", pooled);
    forward.matmul("product", 1, images_, classes, channels);
    forward.memory("loss", 3 * images_ * classes * element_);
    backward.memory("loss'", 2 * images_ * classes * element_);
    convolve_backward(backward, images_, channels, classes);
    backward.memory("pooling'", pooled);
    return model_block(forward, backward, channels * classes,
                       pooled + images_ * (channels + classes) * element_);
  }

 private:
  KernelList list() const { return KernelList(system_, setup_.precision); }
  void convolve(KernelList& list, double places, double in, double out) const {
    list.matmul("convolution", 1, places, out, in);
  }
  void convolve_backward(KernelList& list, double places, double in, double out) const {
    product_backward(list, setup_, 1, places, out, in);
  }
  void normalize(KernelList& list, double elements) const {
    list.memory("normalization", 3 * elements * element_);
  }
  void normalize_backward(KernelList& list, double elements) const {
    list.memory("normalization'", 5 * elements * element_);
  }
  void exchange(KernelList& list, CollectiveKind kind, double elements) const {
    list.collective("exchange", kind, elements * element_, {setup_.tensor, 1});
  }
  ModelBlock model_block(const KernelList& forward, const KernelList& backward, double parameters,
                         double kept_bytes) const {
    return block_of(system_, setup_, forward, backward, parameters, kept_bytes);
  }

  const System& system_;
  const TrainingSetup& setup_;
  const double images_, tensor_, element_;
};

}  // namespace

std::int64_t residual_blocks(std::int64_t depth) {
  std::int64_t all = 0;
  for (const std::int64_t count : groups_of(depth)) all += count;
  return all;
}

ModelBlocks wide_resnet_blocks(const System& system, const TrainingSetup& setup) {
  const Kernels kernels(system, setup);
  ModelBlocks blocks;
  for (const Block& block : blocks_of(setup)) {
    const ModelBlock whole = kernels.block(block, false), again = kernels.block(block, true);
    // Nothing is between keeping all and computing the block again.
    blocks.layers.push_back({whole, whole, again});
    blocks.layer_workspace_bytes.push_back({0, 0, kernels.inner_bytes(block)});
  }
  blocks.embedding = kernels.stem();
  blocks.head = kernels.head();
  return blocks;
}

double residual_bytes(const TrainingSetup& setup, std::int64_t blocks) {
  const Block last = blocks_of(setup)[static_cast<std::size_t>(blocks - 1)];
  return bytes_of(setup.precision) * static_cast<double>(setup.micro_batch) * last.side *
         last.side * last.out;
}

double wide_resnet_parameters(const TrainingSetup& setup) {
  double all = stem_parameters(setup) + last_channels(setup) * static_cast<double>(setup.classes);
  for (const Block& block : blocks_of(setup)) all += parameters_of(block, 1);
  return all;
}

double wide_resnet_flops(const TrainingSetup& setup) {
  const auto images = static_cast<double>(setup.global_batch);
  const double side = static_cast<double>(setup.image_size) / 2;
  double forward = 2 * images * side * side * 3 * 7 * 7 * static_cast<double>(setup.channels) +
                   2 * images * last_channels(setup) * static_cast<double>(setup.classes);
  for (const Block& block : blocks_of(setup)) forward += forward_flops(block, images);
  return 3 * forward;
}

}  // namespace egret::parallel
