// SPDX-License-Identifier: Apache-2.0
// Inception-v3 (Szegedy et al. 2016) in torchvision's form, without the auxiliary classifier.
#include <vector>

#include "zoo/builders.h"
#include "zoo/network.h"

namespace egret::zoo {
namespace {

class Inception {
 public:
  Inception(std::string name, bool with_batch_norm, const ZooOptions& options)
      : n_(std::move(name), options.seed),
        with_batch_norm_(with_batch_norm),
        batch_(options.batch) {}

  base::Result<ir::Graph> build() {
    Value x = n_.input("input", {batch_, 3, 299, 299});
    x = square(x, 32, 3, 2, 0);
    x = square(x, 32, 3, 1, 0);
    x = square(x, 64, 3, 1, 1);
    x = n_.max_pool(x, kHalve);
    x = square(x, 80, 1, 1, 0);
    x = square(x, 192, 3, 1, 0);
    x = n_.max_pool(x, kHalve);
    for (const std::int64_t pool_filters : {32, 64, 64}) x = module_a(x, pool_filters);
    x = reduction_b(x);
    for (const std::int64_t width : {128, 160, 160, 192}) x = module_c(x, width);
    x = reduction_d(x);
    x = module_e(module_e(x));
    return n_.finish(n_.linear(n_.flatten(n_.global_avg_pool(x)), 1000));
  }

 private:
  static constexpr Pool kHalve{.kernel = 3, .stride = 2, .pad = 0};

  Value layer(Value x, Conv conv) {
    conv.bias = !with_batch_norm_;
    return with_batch_norm_ ? n_.conv_bn_relu(x, conv) : n_.conv_relu(x, conv);
  }
  Value square(Value x, std::int64_t filters, std::int64_t kernel, std::int64_t stride,
               std::int64_t pad) {
    return layer(x, {.filters = filters,
                     .kernel_h = kernel,
                     .kernel_w = kernel,
                     .stride = stride,
                     .pad_h = pad,
                     .pad_w = pad});
  }
  Value same(Value x, std::int64_t filters, std::int64_t kernel_h, std::int64_t kernel_w) {
    return layer(x, {.filters = filters, .kernel_h = kernel_h, .kernel_w = kernel_w});
  }
  Value pooled(Value x, std::int64_t filters) {
    return same(n_.avg_pool(x, {.kernel = 3, .stride = 1, .pad = 1}, true), filters, 1, 1);
  }

  Value module_a(Value x, std::int64_t pool_filters) {
    const Value b1 = same(x, 64, 1, 1);
    const Value b5 = same(same(x, 48, 1, 1), 64, 5, 5);
    const Value b3 = same(same(same(x, 64, 1, 1), 96, 3, 3), 96, 3, 3);
    const Value parts[] = {b1, b5, b3, pooled(x, pool_filters)};
    return n_.concat(parts, 1);
  }

  Value reduction_b(Value x) {
    const Value b3 = square(x, 384, 3, 2, 0);
    const Value double3 = square(same(same(x, 64, 1, 1), 96, 3, 3), 96, 3, 2, 0);
    const Value parts[] = {b3, double3, n_.max_pool(x, kHalve)};
    return n_.concat(parts, 1);
  }

  Value module_c(Value x, std::int64_t width) {
    const Value b1 = same(x, 192, 1, 1);
    const Value b7 = same(same(same(x, width, 1, 1), width, 1, 7), 192, 7, 1);
    Value double7 = same(same(x, width, 1, 1), width, 7, 1);
    double7 = same(same(same(double7, width, 1, 7), width, 7, 1), 192, 1, 7);
    const Value parts[] = {b1, b7, double7, pooled(x, 192)};
    return n_.concat(parts, 1);
  }

  Value reduction_d(Value x) {
    const Value b3 = square(same(x, 192, 1, 1), 320, 3, 2, 0);
    const Value b7 = square(same(same(same(x, 192, 1, 1), 192, 1, 7), 192, 7, 1), 192, 3, 2, 0);
    const Value parts[] = {b3, b7, n_.max_pool(x, kHalve)};
    return n_.concat(parts, 1);
  }

  Value split_13_31(Value x) {
    const Value parts[] = {same(x, 384, 1, 3), same(x, 384, 3, 1)};
    return n_.concat(parts, 1);
  }

  Value module_e(Value x) {
    const Value b1 = same(x, 320, 1, 1);
    const Value b3 = split_13_31(same(x, 384, 1, 1));
    const Value double3 = split_13_31(same(same(x, 448, 1, 1), 384, 3, 3));
    const Value parts[] = {b1, b3, double3, pooled(x, 192)};
    return n_.concat(parts, 1);
  }

  Network n_;
  bool with_batch_norm_;
  std::int64_t batch_;
};

}  // namespace

base::Result<ir::Graph> inception_v3(const ZooOptions& options) {
  return Inception("inception-v3", true, options).build();
}

base::Result<ir::Graph> inception_v3_nobn(const ZooOptions& options) {
  return Inception("inception-v3-nobn", false, options).build();
}

}  // namespace egret::zoo
