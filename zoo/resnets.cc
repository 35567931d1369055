// SPDX-License-Identifier: Apache-2.0
// ResNet (He et al. 2016) and ResNeXt (Xie et al. 2017) in torchvision's form, where a block's
// stride is in its 3x3 convolution; and the two as TASO's artefact measured them.
#include <array>

#include "zoo/builders.h"
#include "zoo/network.h"

namespace egret::zoo {
namespace {

using Depths = std::array<int, 4>;

Value stem(Network& n, Value x) {
  x = n.conv_bn_relu(
      x, {.filters = 64, .kernel_h = 7, .kernel_w = 7, .stride = 2, .pad_h = 3, .pad_w = 3});
  return n.max_pool(x, {.kernel = 3, .stride = 2, .pad = 1});
}

Value shortcut(Network& n, Value x, std::int64_t filters, std::int64_t stride) {
  const bool same = stride == 1 && n.size(x, 1) == filters;
  return same ? x : n.conv_bn(x, conv(filters, 1, stride));
}

Value basic_block(Network& n, Value x, std::int64_t width, std::int64_t stride) {
  Value y = n.conv_bn_relu(x, conv(width, 3, stride));
  y = n.conv_bn(y, conv(width, 3));
  return n.relu(n.add(y, shortcut(n, x, width, stride)));
}

Value bottleneck(Network& n, Value x, std::int64_t width, std::int64_t outputs, std::int64_t stride,
                 std::int64_t group) {
  Value y = n.conv_bn_relu(x, conv(width, 1));
  y = n.conv_bn_relu(
      y, {.filters = width, .kernel_h = 3, .kernel_w = 3, .stride = stride, .group = group});
  y = n.conv_bn(y, conv(outputs, 1));
  return n.relu(n.add(y, shortcut(n, x, outputs, stride)));
}

base::Result<ir::Graph> finish(Network& n, Value x) {
  return n.finish(n.linear(n.flatten(n.global_avg_pool(x)), 1000));
}

base::Result<ir::Graph> basic_resnet(std::string name, const Depths& depths,
                                     const ZooOptions& options) {
  Network n(std::move(name), options.seed);
  Value x = stem(n, n.input("input", {options.batch, 3, 224, 224}));
  for (std::size_t stage = 0; stage < depths.size(); ++stage) {
    for (int block = 0; block < depths[stage]; ++block) {
      x = basic_block(n, x, std::int64_t{64} << stage, stage > 0 && block == 0 ? 2 : 1);
    }
  }
  return finish(n, x);
}

base::Result<ir::Graph> bottleneck_resnet(std::string name, const Depths& depths,
                                          std::int64_t base_width, std::int64_t group,
                                          const ZooOptions& options) {
  Network n(std::move(name), options.seed);
  Value x = stem(n, n.input("input", {options.batch, 3, 224, 224}));
  for (std::size_t stage = 0; stage < depths.size(); ++stage) {
    for (int block = 0; block < depths[stage]; ++block) {
      x = bottleneck(n, x, base_width << stage, std::int64_t{256} << stage,
                     stage > 0 && block == 0 ? 2 : 1, group);
    }
  }
  return finish(n, x);
}

// TASO's blocks have neither batch norm nor stem; the shortcut has a relu of its own in neither.
Value taso_block(Network& n, Value x, std::int64_t width, std::int64_t outputs, std::int64_t stride,
                 std::int64_t group) {
  Value y = n.conv_relu(x, conv(width, 1));
  y = n.conv_relu(
      y, {.filters = width, .kernel_h = 3, .kernel_w = 3, .stride = stride, .group = group});
  y = n.conv(y, conv(outputs, 1));
  const bool same = stride == 1 && n.size(x, 1) == outputs;
  return n.relu(n.add(y, same ? x : n.conv_relu(x, conv(outputs, 1, stride))));
}

base::Result<ir::Graph> taso_resnet(std::string name, std::int64_t width, std::int64_t expansion,
                                    std::int64_t group, const ZooOptions& options) {
  constexpr Depths kDepths = {3, 4, 6, 3};
  Network n(std::move(name), options.seed);
  Value x = n.input("input", {options.batch, 64, 56, 56});
  for (std::size_t stage = 0; stage < kDepths.size(); ++stage) {
    for (int block = 0; block < kDepths[stage]; ++block) {
      const std::int64_t w = width << stage;
      x = taso_block(n, x, w, expansion * w, stage > 0 && block == 0 ? 2 : 1, group);
    }
  }
  return n.finish(x);
}

}  // namespace

base::Result<ir::Graph> resnet18(const ZooOptions& options) {
  return basic_resnet("resnet18", {2, 2, 2, 2}, options);
}
base::Result<ir::Graph> resnet34(const ZooOptions& options) {
  return basic_resnet("resnet34", {3, 4, 6, 3}, options);
}
base::Result<ir::Graph> resnet50(const ZooOptions& options) {
  return bottleneck_resnet("resnet50", {3, 4, 6, 3}, 64, 1, options);
}
base::Result<ir::Graph> resnet101(const ZooOptions& options) {
  return bottleneck_resnet("resnet101", {3, 4, 23, 3}, 64, 1, options);
}
base::Result<ir::Graph> resnext50(const ZooOptions& options) {
  return bottleneck_resnet("resnext50", {3, 4, 6, 3}, 128, 32, options);
}
base::Result<ir::Graph> resnet50_taso(const ZooOptions& options) {
  return taso_resnet("resnet50-taso", 64, 4, 1, options);
}
base::Result<ir::Graph> resnext50_taso(const ZooOptions& options) {
  return taso_resnet("resnext50-taso", 128, 2, 32, options);
}

}  // namespace egret::zoo
