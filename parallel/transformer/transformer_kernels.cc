// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/transformer_kernels.h"

#include <algorithm>

#include "parallel/transformer/expert_kernels.h"
#include "parallel/transformer/experts.h"
#include "parallel/transformer/segment_lists.h"

namespace egret::parallel {
namespace {

constexpr double kElement = 2;  // bytes of an activation
constexpr double kMask = 1;     // bytes of an element of a dropout mask

// A product of the tensor group's region, [m, k] x [k, n].
struct Product {
  double m, n, k;
};
constexpr Product kNoProduct = {0, 0, 0};

// Bytes of dropout beside reading and writing: the mask.
double dropout(const TrainingSetup& setup, double elements) {
  return setup.no_dropout ? 0 : elements * kMask;
}

// Sizes on one device for one micro-batch.
struct Sizes {
  explicit Sizes(const TrainingSetup& setup)
      : batch(static_cast<double>(setup.micro_batch)),
        tensor(static_cast<double>(setup.tensor)),
        hidden(static_cast<double>(setup.hidden)),
        ffn(static_cast<double>(setup.ffn_size()) / tensor),
        sequence(static_cast<double>(setup.sequence)),
        queries(sequence / static_cast<double>(setup.context)),
        tokens(batch * queries),
        heads(static_cast<double>(setup.heads) / tensor),
        head_size(setup.head_size()),
        qkv(setup.held_qkv_factor() * hidden / tensor),
        attended(setup.attention_size() / tensor),
        hidden_bytes(tokens * hidden * kElement),
        split_bytes(setup.sequence_parallel ? hidden_bytes / tensor : hidden_bytes),
        score_bytes(batch * heads * queries * sequence * kElement),
        vocabulary(setup.vocabulary_part()) {}

  double batch, tensor, hidden, ffn, sequence;
  double queries;  // of one sequence: positions that this device computes
  double tokens, heads, head_size;
  double qkv;           // columns of the fused product
  double attended;      // rows of the projection
  double hidden_bytes;  // of a whole activation [tokens, hidden]
  double split_bytes;   // of the part in normalizations and dropout
  double score_bytes;
  double vocabulary;

  double inner_bytes() const { return tokens * ffn * kElement; }
  // Of the keys and values of the other ranks of a ring.
  double ring_bytes(const TrainingSetup& setup) const {
    return (static_cast<double>(setup.context) - 1) * tokens * (qkv - attended) * kElement;
  }
  // Of a mask of dropout over a split activation.
  double masked(const TrainingSetup& setup) const { return dropout(setup, split_bytes / kElement); }

  Product qkv_product() const { return {tokens, qkv, hidden}; }
  Product projection() const { return {tokens, hidden, attended}; }
  Product inner(const TrainingSetup& setup) const {
    return {tokens, (setup.gated ? 2 : 1) * ffn, hidden};
  }
  Product outer() const { return {tokens, hidden, ffn}; }
  Product logits() const { return {tokens, vocabulary, hidden}; }
};

RankGroup tensor_group(const TrainingSetup& setup) { return {setup.tensor, 1}; }

// An exchange before or after a product. Beside it, block by block, only the first block of the
// exchange, and what takes longer than the other blocks' products, is seen.
void exchange(KernelList& list, const System& system, const TrainingSetup& setup, const Sizes& z,
              std::string_view name, CollectiveKind kind, const Product& beside) {
  if (!setup.overlap_tensor || setup.tensor == 1) {
    list.collective(name, kind, z.hidden_bytes, tensor_group(setup));
    return;
  }
  const Accelerator& device = system.accelerator;
  const double whole =
      system.fabric.collective(kind, z.hidden_bytes, tensor_group(setup)).seconds();
  const double product = device.matmul_seconds(1, beside.m, beside.n, beside.k, setup.precision);
  const double blocks = z.tensor;
  const double later = whole * (blocks - 1) / blocks;
  const double hidden = std::min(later, product * (blocks - 1) / blocks);
  list.add({name, KernelKind::kCollective, whole - hidden + hidden * device.overlap_slowdown,
            device.host_seconds_per_collective});
}

// The gradients of a column-split product's input, exchanged beside the product of its weights'
// gradients (BESIDE; Megatron-LM's LinearWithGradAccumulationAndAsyncCommunication). What the
// exchange takes longer is seen. Without the option, or where exchanges overlap block by block
// anyway, as in leave_tensor_region().
void leave_column_product(KernelList& list, const System& system, const TrainingSetup& setup,
                          const Sizes& z, const Product& forward) {
  const bool scatters = setup.sequence_parallel;
  const auto kind = scatters ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  const std::string_view name = scatters ? "reduce-scatter" : "all-reduce";
  // Schedules that put the products of weights off have none beside the exchange.
  const bool apart =
      setup.schedule == PipelineKind::kZbH1 || setup.schedule == PipelineKind::kDualPipe;
  if (!setup.overlap_weights || setup.overlap_tensor || setup.tensor == 1 || setup.frozen || apart)
    return exchange(list, system, setup, z, name, kind, forward);
  const Accelerator& device = system.accelerator;
  const double whole =
      system.fabric.collective(kind, z.hidden_bytes, tensor_group(setup)).seconds();
  const double product = device.matmul_seconds(1, forward.k, forward.n, forward.m, setup.precision);
  const double hidden = std::min(whole, product);
  list.add({name, KernelKind::kCollective, whole - hidden + hidden * device.overlap_slowdown,
            device.host_seconds_per_collective});
}

// Before a product split by columns.
void enter_tensor_region(KernelList& list, const System& system, const TrainingSetup& setup,
                         const Sizes& z, const Product& product) {
  if (setup.sequence_parallel)
    exchange(list, system, setup, z, "all-gather", CollectiveKind::kAllGather, product);
}
// After a product split by rows.
void leave_tensor_region(KernelList& list, const System& system, const TrainingSetup& setup,
                         const Sizes& z, const Product& product) {
  const bool scatters = setup.sequence_parallel;
  exchange(list, system, setup, z, scatters ? "reduce-scatter" : "all-reduce",
           scatters ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce, product);
}

// Keys and values of other ranks, of so many bytes together, circulate between the context-parallel
// ranks behind the computation of blocks.
void exposed_ring(KernelList& list, const System& system, const TrainingSetup& setup, double bytes,
                  double attention_s, double passes) {
  if (setup.context == 1) return;
  const double steps = static_cast<double>(setup.context) - 1;
  const double sending = system.fabric.transfer(bytes / steps, setup.tensor).seconds() * passes;
  const double computing = attention_s / static_cast<double>(setup.context);
  if (sending > computing) {
    list.add({"exposed ring exchange", KernelKind::kCollective, steps * (sending - computing),
              system.accelerator.host_seconds_per_collective});
  }
}

void attention_forward(KernelList& list, const System& system, const TrainingSetup& setup,
                       const Sizes& z) {
  const double groups = z.batch * z.heads;
  KernelList alone(system, setup.precision);
  if (setup.flash_attention) {
    // The mask leaves half of the products.
    alone.attention_matmul("attention", groups, z.queries, z.sequence, z.head_size, 0.5);
    alone.attention_matmul("attention", groups, z.queries, z.head_size, z.sequence, 0.5);
  } else {
    alone.attention_matmul("scores", groups, z.queries, z.sequence, z.head_size);
    alone.memory("scale, mask, softmax", 2 * z.score_bytes);
    if (!setup.no_dropout)
      alone.memory("dropout", 2 * z.score_bytes + dropout(setup, z.score_bytes / kElement));
    alone.attention_matmul("context", groups, z.queries, z.head_size, z.sequence);
  }
  list.append(alone);
  exposed_ring(list, system, setup, z.ring_bytes(setup), alone.time().device_s, 1);
}

void attention_backward(KernelList& list, const System& system, const TrainingSetup& setup,
                        const Sizes& z) {
  const double groups = z.batch * z.heads;
  KernelList alone(system, setup.precision);
  if (setup.flash_attention) {
    // Five products of half of the positions: the scores are computed again.
    alone.attention_matmul("attention'", groups, z.queries, z.sequence, z.head_size, 1.0);
    alone.attention_matmul("attention'", groups, z.queries, z.head_size, z.sequence, 1.5);
  } else {
    alone.attention_matmul("context' probabilities", groups, z.queries, z.sequence, z.head_size);
    alone.attention_matmul("context' values", groups, z.sequence, z.head_size, z.queries);
    if (!setup.no_dropout)
      alone.memory("dropout'", 2 * z.score_bytes + dropout(setup, z.score_bytes / kElement));
    alone.memory("softmax'", 3 * z.score_bytes);
    alone.attention_matmul("scores' queries", groups, z.queries, z.head_size, z.sequence);
    alone.attention_matmul("scores' keys", groups, z.sequence, z.head_size, z.queries);
  }
  list.append(alone);
  exposed_ring(list, system, setup, z.ring_bytes(setup), alone.time().device_s, 2);
}

}  // namespace

void product_backward(KernelList& list, const TrainingSetup& setup, double batch, double m,
                      double n, double k) {
  list.matmul("product' input", batch, m, k, n);
  if (setup.frozen) return;
  list.matmul("product' weight", batch, k, n, m);
  list.memory("sum of gradients",
              batch * k * n * (kElement + 2 * static_cast<double>(setup.gradient_bytes)));
}

namespace {

void attention_half_forward(KernelList& list, const System& system, const TrainingSetup& setup,
                            const Sizes& z) {
  list.memory("normalization", 2 * z.split_bytes);
  enter_tensor_region(list, system, setup, z, z.qkv_product());
  list.matmul("queries, keys, values", 1, z.tokens, z.qkv, z.hidden);
  list.memory("bias and layout", 2 * z.tokens * z.qkv * kElement);
  attention_forward(list, system, setup, z);
  list.memory("layout", 2 * z.tokens * z.attended * kElement);
  list.matmul("projection", 1, z.tokens, z.hidden, z.attended);
  leave_tensor_region(list, system, setup, z, z.projection());
  list.memory("bias, dropout, add", 3 * z.split_bytes + z.masked(setup));
}

void attention_half_backward(KernelList& list, const System& system, const TrainingSetup& setup,
                             const Sizes& z) {
  list.memory("bias, dropout, add'", 2 * z.split_bytes + z.masked(setup));
  enter_tensor_region(list, system, setup, z, z.projection());
  product_backward(list, setup, 1, z.tokens, z.hidden, z.attended);
  list.memory("layout'", 2 * z.tokens * z.attended * kElement);
  if (setup.recompute == Recompute::kSelective && !setup.flash_attention)
    attention_forward(list, system, setup, z);
  attention_backward(list, system, setup, z);
  list.memory("bias and layout'", 2 * z.tokens * z.qkv * kElement);
  product_backward(list, setup, 1, z.tokens, z.qkv, z.hidden);
  leave_column_product(list, system, setup, z, z.qkv_product());
  list.memory("normalization'", 4 * z.split_bytes);
  list.memory("add'", 3 * z.split_bytes);
}

void feed_forward(KernelList& list, const System& system, const TrainingSetup& setup,
                  const Sizes& z) {
  enter_tensor_region(list, system, setup, z, z.inner(setup));
  list.matmul("feed-forward in", 1, z.tokens, (setup.gated ? 2 : 1) * z.ffn, z.hidden);
  list.memory("activation", (setup.gated ? 3 : 2) * z.inner_bytes());
  list.matmul("feed-forward out", 1, z.tokens, z.hidden, z.ffn);
  leave_tensor_region(list, system, setup, z, z.outer());
}

void feed_forward_backward(KernelList& list, const System& system, const TrainingSetup& setup,
                           const Sizes& z) {
  enter_tensor_region(list, system, setup, z, z.outer());
  product_backward(list, setup, 1, z.tokens, z.hidden, z.ffn);
  list.memory("activation'", (setup.gated ? 5 : 3) * z.inner_bytes());
  product_backward(list, setup, 1, z.tokens, (setup.gated ? 2 : 1) * z.ffn, z.hidden);
  leave_column_product(list, system, setup, z, z.inner(setup));
}

void attention_segment(KernelList& list, const System& system, const TrainingSetup& setup,
                       decltype(segment_forward)& pass, SegmentPart part, double passes) {
  const SegmentKernels& segment = setup.layer_kernels->attention;
  pass(list, setup, segment, part);
  KernelList alone(system, setup.precision);
  pass(alone, setup, segment, SegmentPart::kCore);
  exposed_ring(list, system, setup, segment.ring_bytes, alone.time().device_s, passes);
}

KernelList graph_layer_forward(const System& system, const TrainingSetup& setup, LayerKind kind) {
  const Sizes z(setup);
  const LayerKernels& layer = *setup.layer_kernels;
  KernelList list(system, setup.precision);
  enter_tensor_region(list, system, setup, z, z.qkv_product());
  attention_segment(list, system, setup, segment_forward, SegmentPart::kAll, 1);
  leave_tensor_region(list, system, setup, z, z.projection());
  segment_forward(list, setup, layer.join);
  if (kind == LayerKind::kExperts) {
    experts_forward(list, system, setup);
  } else {
    enter_tensor_region(list, system, setup, z, z.inner(setup));
    segment_forward(list, setup, layer.feed_forward);
    leave_tensor_region(list, system, setup, z, z.outer());
  }
  segment_forward(list, setup, layer.join);
  return list;
}

KernelList graph_layer_backward(const System& system, const TrainingSetup& setup, LayerKind kind) {
  const Sizes z(setup);
  const LayerKernels& layer = *setup.layer_kernels;
  KernelList list(system, setup.precision);
  if (setup.recompute == Recompute::kFull) list.append(graph_layer_forward(system, setup, kind));
  segment_backward(list, setup, layer.join);
  if (kind == LayerKind::kExperts) {
    experts_backward(list, system, setup);
  } else {
    enter_tensor_region(list, system, setup, z, z.outer());
    segment_backward(list, setup, layer.feed_forward);
    leave_column_product(list, system, setup, z, z.inner(setup));
  }
  segment_backward(list, setup, layer.join);
  enter_tensor_region(list, system, setup, z, z.projection());
  if (setup.recompute == Recompute::kSelective && !setup.flash_attention)
    attention_segment(list, system, setup, segment_forward, SegmentPart::kCore, 1);
  attention_segment(list, system, setup, segment_backward, SegmentPart::kAll, 2);
  leave_column_product(list, system, setup, z, z.qkv_product());
  return list;
}

// Without what is seen of overlapped exchanges.
KernelList bare_layer_forward(const System& system, const TrainingSetup& setup, LayerKind kind) {
  if (setup.layer_kernels != nullptr) return graph_layer_forward(system, setup, kind);
  const Sizes z(setup);
  KernelList list(system, setup.precision);
  attention_half_forward(list, system, setup, z);
  list.memory("normalization", 2 * z.split_bytes);
  if (kind == LayerKind::kExperts) {
    experts_forward(list, system, setup);
  } else {
    feed_forward(list, system, setup, z);
  }
  list.memory("bias, dropout, add", 3 * z.split_bytes + z.masked(setup));
  return list;
}

KernelList bare_layer_backward(const System& system, const TrainingSetup& setup, LayerKind kind) {
  if (setup.layer_kernels != nullptr) return graph_layer_backward(system, setup, kind);
  const Sizes z(setup);
  KernelList list(system, setup.precision);
  if (setup.recompute == Recompute::kFull) list.append(bare_layer_forward(system, setup, kind));
  list.memory("bias, dropout, add'", 2 * z.split_bytes + z.masked(setup));
  if (kind == LayerKind::kExperts) {
    experts_backward(list, system, setup);
  } else {
    feed_forward_backward(list, system, setup, z);
  }
  list.memory("normalization'", 4 * z.split_bytes);
  list.memory("add'", 3 * z.split_bytes);
  attention_half_backward(list, system, setup, z);
  return list;
}

// Maximum, target and sum of each token.
void exchange_of_loss(KernelList& list, const TrainingSetup& setup, const Sizes& z) {
  for (const char* name : {"maximum of ranks", "target of ranks", "sum of ranks"})
    list.collective(name, CollectiveKind::kAllReduce, 4 * z.tokens, tensor_group(setup));
}

}  // namespace

KernelList layer_forward(const System& system, const TrainingSetup& setup, LayerKind kind) {
  KernelList list = bare_layer_forward(system, setup, kind);
  if (kind == LayerKind::kExperts) hide_exchanges(list, system, setup, 2);
  return list;
}

KernelList layer_backward(const System& system, const TrainingSetup& setup, LayerKind kind) {
  KernelList list = bare_layer_backward(system, setup, kind);
  if (kind == LayerKind::kExperts)
    hide_exchanges(list, system, setup, expert_exchanges(setup.recompute) - 2);
  return list;
}

KernelList embedding_forward(const System& system, const TrainingSetup& setup) {
  const Sizes z(setup);
  KernelList list(system, setup.precision);
  if (const auto& graphs = setup.layer_kernels) {
    segment_forward(list, setup, graphs->embedding);
    leave_tensor_region(list, system, setup, z, kNoProduct);
    segment_forward(list, setup, graphs->start);
    return list;
  }
  list.memory("embedding", 2 * z.hidden_bytes);
  leave_tensor_region(list, system, setup, z, kNoProduct);
  list.memory("positions, dropout", 3 * z.split_bytes);
  return list;
}

KernelList embedding_backward(const System& system, const TrainingSetup& setup) {
  const Sizes z(setup);
  KernelList list(system, setup.precision);
  if (const auto& graphs = setup.layer_kernels) {
    segment_backward(list, setup, graphs->start);
    enter_tensor_region(list, system, setup, z, kNoProduct);
    segment_backward(list, setup, graphs->embedding);
    return list;
  }
  list.memory("positions, dropout'", 3 * z.split_bytes);
  enter_tensor_region(list, system, setup, z, kNoProduct);
  if (setup.frozen) return list;
  list.memory("embedding'", 2 * z.hidden_bytes);
  list.memory(
      "sum of gradients",
      z.vocabulary * z.hidden * (2 * kElement + 2 * static_cast<double>(setup.gradient_bytes)));
  return list;
}

KernelList head_forward(const System& system, const TrainingSetup& setup) {
  const Sizes z(setup);
  const double logits = z.tokens * z.vocabulary;
  KernelList list(system, setup.precision);
  if (const auto& graphs = setup.layer_kernels) {
    enter_tensor_region(list, system, setup, z, z.logits());
    segment_forward(list, setup, graphs->loss);
    exchange_of_loss(list, setup, z);
    return list;
  }
  list.memory("normalization", 2 * z.split_bytes);
  enter_tensor_region(list, system, setup, z, z.logits());
  list.matmul("logits", 1, z.tokens, z.vocabulary, z.hidden);
  list.memory("logits in f32", logits * (kElement + 4));
  // In f32: maximum, difference, exponential, sum, quotient.
  for (const auto& [name, bytes] : {std::pair{"maximum", 4.0},
                                    {"difference", 8.0},
                                    {"exponential", 8.0},
                                    {"sum", 4.0},
                                    {"quotient", 8.0}})
    list.memory(name, logits * bytes);
  exchange_of_loss(list, setup, z);
  return list;
}

KernelList head_backward(const System& system, const TrainingSetup& setup) {
  const Sizes z(setup);
  const double logits = z.tokens * z.vocabulary;
  KernelList list(system, setup.precision);
  if (const auto& graphs = setup.layer_kernels) {
    segment_backward(list, setup, graphs->loss);
    leave_tensor_region(list, system, setup, z, z.logits());
    return list;
  }
  list.memory("loss'", logits * 8);
  list.memory("logits in f32'", logits * (kElement + 4));
  product_backward(list, setup, 1, z.tokens, z.vocabulary, z.hidden);
  leave_tensor_region(list, system, setup, z, z.logits());
  list.memory("normalization'", 4 * z.split_bytes);
  return list;
}

KernelList optimizer_step(const System& system, const TrainingSetup& setup, double parameters) {
  KernelList list(system, setup.precision);
  if (setup.frozen) return list;
  const auto gradient = static_cast<double>(setup.gradient_bytes);
  if (setup.wide_resnet > 0) {
    // Reads the gradient, reads and writes weight and momentum.
    list.memory("SGD", parameters * (gradient + 2 * setup.weight_bytes() + 2 * 4));
    return list;
  }
  list.memory("norm of gradients", parameters * gradient);
  // Reads the gradient, master weight and two moments; writes the latter and the weight.
  list.memory("Adam", parameters * (gradient + 3 * 4 + 3 * 4 + kElement));
  return list;
}

}  // namespace egret::parallel
