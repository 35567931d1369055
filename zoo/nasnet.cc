// SPDX-License-Identifier: Apache-2.0
// The two results of neural architecture search that TASO measures: NASNet-A (Zoph et al. 2018,
// figure 4) in the configuration of TASO's artefact, and NasRNN (Zoph and Le 2017, figure 8).
#include <array>
#include <vector>

#include "zoo/builders.h"
#include "zoo/network.h"

namespace egret::zoo {
namespace {

class NasNet {
 public:
  explicit NasNet(const ZooOptions& options)
      : n_("nasnet-a", options.seed), batch_(options.batch) {}

  base::Result<ir::Graph> build() {
    Value x = n_.input("input", {batch_, 3, 224, 224});
    x = n_.conv_relu(x, conv(64, 7, 2));
    Value current = n_.max_pool(x, {.kernel = 3, .stride = 2, .pad = 1});
    Value previous = current;
    std::int64_t filters = 128;
    for (int stage = 0; stage < 3; ++stage) {
      for (int cell = 0; cell < 5; ++cell) {
        const Value next = normal_cell(previous, current, filters);
        previous = current;
        current = next;
      }
      filters *= 2;
      const Value next = reduction_cell(previous, current, filters);
      previous = current;
      current = next;
    }
    return n_.finish(current);
  }

 private:
  // Depthwise, then pointwise.
  Value separable(Value x, std::int64_t kernel, std::int64_t stride) {
    const std::int64_t channels = n_.size(x, 1);
    x = n_.conv(x, {.filters = channels,
                    .kernel_h = kernel,
                    .kernel_w = kernel,
                    .stride = stride,
                    .group = channels});
    return n_.conv(x, conv(channels, 1));
  }

  // Makes the cell before the last fit the last one: by stride where its image is larger.
  Value fit(Value previous, Value current) {
    const std::int64_t filters = n_.size(current, 1);
    if (n_.size(previous, 2) == n_.size(current, 2))
      return n_.conv_relu(previous, conv(filters, 1));
    return n_.conv_relu(previous, conv(filters, 3, 2));
  }

  Value average(Value x, std::int64_t stride = 1) {
    return n_.avg_pool(x, {.kernel = 3, .stride = stride}, true);
  }
  Value maximum(Value x, std::int64_t stride) {
    return n_.max_pool(x, {.kernel = 3, .stride = stride});
  }

  Value normal_cell(Value previous, Value current, std::int64_t filters) {
    current = n_.conv_relu(current, conv(filters, 1));
    previous = fit(previous, current);
    const std::array<Value, 5> blocks = {
        n_.add(separable(current, 3, 1), current),
        n_.add(separable(previous, 3, 1), separable(current, 5, 1)),
        n_.add(average(current), previous),
        n_.add(average(previous), average(previous)),
        n_.add(separable(previous, 5, 1), separable(previous, 3, 1)),
    };
    return n_.concat(blocks, 1);
  }

  Value reduction_cell(Value previous, Value current, std::int64_t filters) {
    current = n_.conv_relu(current, conv(filters, 1));
    previous = fit(previous, current);
    const Value first = n_.add(separable(previous, 7, 2), separable(current, 5, 2));
    const Value second = n_.add(maximum(current, 2), separable(previous, 7, 2));
    const Value third = n_.add(average(current, 2), separable(previous, 5, 2));
    const Value fourth = n_.add(maximum(current, 2), separable(first, 3, 1));
    const Value fifth = n_.add(average(first), second);
    const std::array<Value, 4> blocks = {second, third, fourth, fifth};
    return n_.concat(blocks, 1);
  }

  Network n_;
  std::int64_t batch_;
};

// One step: eight gates, each a sum of two matrix products, combined by the cell that was found.
Value nasrnn_step(Network& n, Value state, Value x) {
  const std::int64_t hidden = n.size(state, 1);
  const auto unary = [&](const char* op, Value v) { return n.apply(op, {v}); };
  const auto gate = [&] {
    return n.add(n.linear(x, hidden, false), n.linear(state, hidden, false));
  };
  std::array<Value, 8> g;
  for (Value& value : g) value = gate();
  const Value a = n.add(n.relu(g[0]), unary("sigmoid", g[3]));
  const Value b = n.add(unary("sigmoid", g[1]), unary("tanh", g[2]));
  const Value c = n.mul(unary("sigmoid", g[4]), unary("tanh", g[5]));
  const Value d = n.mul(unary("sigmoid", g[6]), n.relu(g[7]));
  const Value e = n.add(unary("sigmoid", b), unary("tanh", c));
  const Value f = n.mul(unary("tanh", a), unary("tanh", d));
  return unary("tanh", n.mul(unary("tanh", e), unary("tanh", f)));
}

}  // namespace

base::Result<ir::Graph> nasnet_a(const ZooOptions& options) { return NasNet(options).build(); }

base::Result<ir::Graph> nasrnn(const ZooOptions& options) {
  constexpr std::int64_t kHidden = 512;
  constexpr int kSteps = 5;
  Network n("nasrnn", options.seed);
  Value state = n.input("state", {options.batch, kHidden});
  for (int step = 0; step < kSteps; ++step) {
    const Value x = n.input("x" + std::to_string(step), {options.batch, kHidden});
    state = nasrnn_step(n, state, x);
  }
  return n.finish(state);
}

}  // namespace egret::zoo
