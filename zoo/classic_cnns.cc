// SPDX-License-Identifier: Apache-2.0
// AlexNet, VGG, U-Net, SqueezeNet, MobileNetV2, DenseNet, CSRNet's back end, and Unity's MLP.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "zoo/builders.h"
#include "zoo/network.h"

namespace egret::zoo {
namespace {

constexpr std::int64_t kClasses = 1000;

Conv with_bias(Conv layer) {
  layer.bias = true;
  return layer;
}

// Iandola et al. 2016: squeeze to few channels, expand by 1x1 and 3x3 side by side.
Value fire(Network& n, Value x, std::int64_t squeeze, std::int64_t expand) {
  const Value s = n.conv_relu(x, with_bias(conv(squeeze, 1)));
  const Value parts[] = {n.conv_relu(s, with_bias(conv(expand, 1))),
                         n.conv_relu(s, with_bias(conv(expand, 3)))};
  return n.concat(parts, 1);
}

Value squeezenet_classifier(Network& n, Value x) {
  x = n.conv_relu(x, with_bias(conv(kClasses, 1)));
  return n.flatten(n.global_avg_pool(x));
}

constexpr Pool kHalve{.kernel = 3, .stride = 2, .pad = 0};

// Sandler et al. 2018.
Value relu6(Network& n, Value x) { return n.apply("clip", {x}, {{"min", 0.0}, {"max", 6.0}}); }

Value inverted_residual(Network& n, Value x, std::int64_t expansion, std::int64_t filters,
                        std::int64_t stride) {
  const std::int64_t channels = n.size(x, 1);
  const std::int64_t hidden = channels * expansion;
  Value y = x;
  if (expansion > 1) y = relu6(n, n.conv_bn(y, conv(hidden, 1)));
  y = relu6(
      n,
      n.conv_bn(
          y, {.filters = hidden, .kernel_h = 3, .kernel_w = 3, .stride = stride, .group = hidden}));
  y = n.conv_bn(y, conv(filters, 1));
  return stride == 1 && channels == filters ? n.add(x, y) : y;
}

// Huang et al. 2017: every layer sees the concatenation of all before it.
Value dense_block(Network& n, Value x, int layers, std::int64_t growth) {
  std::vector<Value> features = {x};
  for (int i = 0; i < layers; ++i) {
    Value y = i == 0 ? x : n.concat(features, 1);
    y = n.conv(n.relu(n.batch_norm(y)), conv(4 * growth, 1));
    y = n.conv(n.relu(n.batch_norm(y)), conv(growth, 3));
    features.push_back(y);
  }
  return n.concat(features, 1);
}

// Simonyan and Zisserman 2015: so many convolutions in each of five stages.
base::Result<ir::Graph> vgg(std::string name, const std::array<std::int64_t, 5>& convolutions,
                            const ZooOptions& options) {
  constexpr std::array<std::int64_t, 5> kFilters = {64, 128, 256, 512, 512};
  Network n(std::move(name), options.seed);
  Value x = n.input("input", {options.batch, 3, 224, 224});
  for (std::size_t stage = 0; stage < kFilters.size(); ++stage) {
    for (std::int64_t i = 0; i < convolutions[stage]; ++i)
      x = n.conv_relu(x, with_bias(conv(kFilters[stage], 3)));
    x = n.max_pool(x, {.kernel = 2, .stride = 2, .pad = 0});
  }
  x = n.relu(n.linear(n.flatten(x), 4096));
  x = n.relu(n.linear(x, 4096));
  return n.finish(n.linear(x, kClasses));
}

}  // namespace

base::Result<ir::Graph> alexnet(const ZooOptions& options) {
  Network n("alexnet", options.seed);
  Value x = n.input("input", {options.batch, 3, 224, 224});
  x = n.conv_relu(x, {.filters = 64,
                      .kernel_h = 11,
                      .kernel_w = 11,
                      .stride = 4,
                      .pad_h = 2,
                      .pad_w = 2,
                      .bias = true});
  x = n.max_pool(x, kHalve);
  x = n.conv_relu(x, with_bias(conv(192, 5)));
  x = n.max_pool(x, kHalve);
  x = n.conv_relu(x, with_bias(conv(384, 3)));
  x = n.conv_relu(x, with_bias(conv(256, 3)));
  x = n.conv_relu(x, with_bias(conv(256, 3)));
  x = n.flatten(n.max_pool(x, kHalve));
  x = n.relu(n.linear(x, 4096));
  x = n.relu(n.linear(x, 4096));
  return n.finish(n.linear(x, kClasses));
}

// Ronneberger, Fischer, Brox 2015. The paper's convolutions have no padding, and its skips are
// cropped; padded ones are usual today.
base::Result<ir::Graph> unet(const ZooOptions& options) {
  constexpr std::int64_t kWidest = 512, kNarrowest = 32;
  Network n("unet", options.seed);
  Value x = n.input("input", {options.batch, 3, 128, 128});
  std::vector<Value> skips;
  for (std::int64_t filters = kNarrowest; filters <= kWidest; filters *= 2) {
    if (filters > kNarrowest) x = n.max_pool(x, {.kernel = 2, .stride = 2, .pad = 0});
    for (int i = 0; i < 2; ++i) x = n.conv_relu(x, with_bias(conv(filters, 3)));
    if (filters < kWidest) skips.push_back(x);
  }
  for (std::int64_t filters = kWidest / 2; filters >= kNarrowest; filters /= 2) {
    x = n.apply("conv_transpose", {x, n.weight({2 * filters, filters, 2, 2}, 2 * filters)},
                {{"strides", ir::Integers{2, 2}},
                 {"pads", ir::Integers{0, 0, 0, 0}},
                 {"dilations", ir::Integers{1, 1}},
                 {"output_padding", ir::Integers{0, 0}}});
    const Value parts[] = {skips.back(), x};
    skips.pop_back();
    x = n.concat(parts, 1);
    for (int i = 0; i < 2; ++i) x = n.conv_relu(x, with_bias(conv(filters, 3)));
  }
  return n.finish(n.conv(x, with_bias(conv(2, 1))));
}

base::Result<ir::Graph> vgg16(const ZooOptions& options) {
  return vgg("vgg16", {2, 2, 3, 3, 3}, options);
}
base::Result<ir::Graph> vgg19(const ZooOptions& options) {
  return vgg("vgg19", {2, 2, 4, 4, 4}, options);
}

base::Result<ir::Graph> squeezenet_1_0(const ZooOptions& options) {
  Network n("squeezenet1.0", options.seed);
  Value x = n.input("input", {options.batch, 3, 224, 224});
  x = n.conv_relu(x, {.filters = 96,
                      .kernel_h = 7,
                      .kernel_w = 7,
                      .stride = 2,
                      .pad_h = 0,
                      .pad_w = 0,
                      .bias = true});
  x = n.max_pool(x, kHalve);
  x = fire(n, fire(n, fire(n, x, 16, 64), 16, 64), 32, 128);
  x = n.max_pool(x, kHalve);
  x = fire(n, fire(n, fire(n, fire(n, x, 32, 128), 48, 192), 48, 192), 64, 256);
  x = n.max_pool(x, kHalve);
  return n.finish(squeezenet_classifier(n, fire(n, x, 64, 256)));
}

base::Result<ir::Graph> squeezenet_1_1(const ZooOptions& options) {
  Network n("squeezenet1.1", options.seed);
  Value x = n.input("input", {options.batch, 3, 224, 224});
  x = n.conv_relu(x, {.filters = 64,
                      .kernel_h = 3,
                      .kernel_w = 3,
                      .stride = 2,
                      .pad_h = 0,
                      .pad_w = 0,
                      .bias = true});
  x = fire(n, fire(n, n.max_pool(x, kHalve), 16, 64), 16, 64);
  x = fire(n, fire(n, n.max_pool(x, kHalve), 32, 128), 32, 128);
  x = n.max_pool(x, kHalve);
  x = fire(n, fire(n, fire(n, fire(n, x, 48, 192), 48, 192), 64, 256), 64, 256);
  return n.finish(squeezenet_classifier(n, x));
}

base::Result<ir::Graph> mobilenet_v2(const ZooOptions& options) {
  struct Stage {
    std::int64_t expansion, filters, blocks, stride;
  };
  constexpr std::array<Stage, 7> kStages = {{{1, 16, 1, 1},
                                             {6, 24, 2, 2},
                                             {6, 32, 3, 2},
                                             {6, 64, 4, 2},
                                             {6, 96, 3, 1},
                                             {6, 160, 3, 2},
                                             {6, 320, 1, 1}}};
  Network n("mobilenet-v2", options.seed);
  Value x = relu6(n, n.conv_bn(n.input("input", {options.batch, 3, 224, 224}), conv(32, 3, 2)));
  for (const Stage& stage : kStages) {
    for (std::int64_t i = 0; i < stage.blocks; ++i) {
      x = inverted_residual(n, x, stage.expansion, stage.filters, i == 0 ? stage.stride : 1);
    }
  }
  x = relu6(n, n.conv_bn(x, conv(1280, 1)));
  return n.finish(n.linear(n.flatten(n.global_avg_pool(x)), kClasses));
}

base::Result<ir::Graph> densenet121(const ZooOptions& options) {
  constexpr std::array<int, 4> kLayers = {6, 12, 24, 16};
  Network n("densenet121", options.seed);
  Value x = n.input("input", {options.batch, 3, 224, 224});
  x = n.conv_bn_relu(
      x, {.filters = 64, .kernel_h = 7, .kernel_w = 7, .stride = 2, .pad_h = 3, .pad_w = 3});
  x = n.max_pool(x, {.kernel = 3, .stride = 2, .pad = 1});
  for (std::size_t stage = 0; stage < kLayers.size(); ++stage) {
    x = dense_block(n, x, kLayers[stage], 32);
    x = n.relu(n.batch_norm(x));
    if (stage + 1 == kLayers.size()) break;
    x = n.conv(x, conv(n.size(x, 1) / 2, 1));
    x = n.avg_pool(x, {.kernel = 2, .stride = 2, .pad = 0});
  }
  return n.finish(n.linear(n.flatten(n.global_avg_pool(x)), kClasses));
}

base::Result<ir::Graph> csrnet_backend(const ZooOptions& options) {
  Network n("csrnet-backend", options.seed);
  Value x = n.input("input", {options.batch, 512, 14, 14});
  for (const std::int64_t filters : {512, 512, 512, 256, 128, 64}) {
    x = n.conv_relu(x, {.filters = filters, .kernel_h = 3, .kernel_w = 3, .dilation = 2});
  }
  return n.finish(x);
}

base::Result<ir::Graph> mlp(const ZooOptions& options) {
  Network n("mlp", options.seed);
  std::array<Value, 2> towers = {n.input("left", {options.batch, 1024}),
                                 n.input("right", {options.batch, 1024})};
  for (Value& tower : towers) {
    for (int layer = 0; layer < 8; ++layer) {
      tower = n.linear(tower, 8192, false);
      if (layer < 7) tower = n.relu(tower);
    }
  }
  return n.finish(n.softmax(n.add(towers[0], towers[1])));
}

}  // namespace egret::zoo
