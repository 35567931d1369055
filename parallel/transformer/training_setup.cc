// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/training_setup.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "parallel/transformer/number_list.h"
#include "parallel/transformer/wide_resnet.h"

namespace egret::parallel {
namespace {

base::Status check_chunk_lists(const TrainingSetup& setup) {
  const auto chunks = static_cast<std::size_t>(setup.chunks());
  for (const auto& [flag, text] : {std::tuple("--stage-layers", &setup.stage_layers),
                                   {"--full-layers", &setup.full_layers},
                                   {"--selective-layers", &setup.selective_layers}}) {
    if (text->empty()) continue;
    const auto numbers = numbers_of(*text);
    // Larger ones would exceed 64 bits in sums.
    if (!numbers || numbers->size() != chunks ||
        std::ranges::any_of(*numbers, [](std::int64_t each) { return each > 1'000'000'000; })) {
      return base::usage_error(std::string(flag) + " needs a number for each of the " +
                               std::to_string(chunks) + " chunks (--pp x --vpp), as in 3,4,3");
    }
  }
  std::int64_t all = 0;
  for (const ChunkLayers& chunk : setup.chunks_by_recomputation()) {
    if (chunk.all() < 1) return base::usage_error("--stage-layers must be at least 1 each");
    if (chunk.kept < 0) {
      return base::usage_error("--full-layers and --selective-layers exceed the layers of a chunk");
    }
    all += chunk.all();
  }
  if (all != setup.layers) return base::usage_error("--stage-layers must sum to --model-layers");
  const bool lists = !setup.full_layers.empty() || !setup.selective_layers.empty();
  if (lists && setup.recompute != Recompute::kNone) {
    return base::usage_error(
        "--recompute cannot be combined with --full-layers and --selective-layers");
  }
  return base::ok();
}

base::Status check_stage_lists(const TrainingSetup& setup) {
  const auto ranks = static_cast<std::size_t>(setup.pipeline);
  for (const auto& [flag, text, least] : {std::tuple("--stage-tp", &setup.stage_tensor, 1),
                                          {"--stage-cp", &setup.stage_context, 1},
                                          {"--stage-dp", &setup.stage_data, 1},
                                          {"--stage-first", &setup.stage_first, 0}}) {
    if (text->empty()) continue;
    const auto numbers = numbers_of(*text);
    if (!numbers || numbers->size() != ranks ||
        std::ranges::any_of(*numbers, [least](auto each) { return each < least || each > 1e9; })) {
      return base::usage_error(std::string(flag) + " needs a number for each of the " +
                               std::to_string(ranks) + " pipeline ranks (--pp), as in 4,4,8");
    }
  }
  if (setup.tensor > 1 || setup.context > 1 || setup.data > 1) {
    return base::usage_error(
        "--tp, --cp and --dp are of all pipeline ranks; they cannot be combined with --stage-tp, "
        "--stage-cp, --stage-dp and --stage-first");
  }
  if (setup.experts > 0 || setup.schedule == PipelineKind::kDualPipe || setup.layer_kernels) {
    return base::usage_error(
        "--stage-tp, --stage-cp, --stage-dp and --stage-first cannot be combined with --experts, "
        "--schedule dualpipe and --from-graphs");
  }
  std::vector<StageDegrees> stages = setup.stages();
  for (const StageDegrees& stage : stages) {
    if (setup.micro_batch % stage.data != 0) {
      return base::usage_error(
          "--micro-batch, that of all replicas, must be a multiple of each "
          "of --stage-dp");
    }
    if (static_cast<double>(stage.tensor) * static_cast<double>(stage.context) *
            static_cast<double>(stage.data) >
        1e9)
      return base::usage_error("a pipeline rank must have at most 1e9 devices");
    EGRET_RETURN_IF_ERROR(setup.of_stage(stage).check());
  }
  std::ranges::sort(stages, {}, &StageDegrees::first_device);
  for (std::size_t i = 1; i < stages.size(); ++i) {
    if (stages[i - 1].first_device + stages[i - 1].devices() > stages[i].first_device)
      return base::usage_error("--stage-first gives a device to two pipeline ranks");
  }
  return base::ok();
}

base::Status check_wide_resnet(const TrainingSetup& setup) {
  const std::int64_t blocks = residual_blocks(setup.wide_resnet);
  if (blocks == 0) return base::usage_error("--wide-resnet must be 50 or 101");
  if (setup.layers != blocks) {
    return base::usage_error("--wide-resnet " + std::to_string(setup.wide_resnet) + " has " +
                             std::to_string(blocks) + " residual blocks: --model-layers must be " +
                             std::to_string(blocks));
  }
  if (setup.channels % setup.tensor != 0)
    return base::usage_error("--channels must be a multiple of --tp");
  if (setup.image_size % 32 != 0) return base::usage_error("--image-size must be a multiple of 32");
  if (setup.experts > 0 || setup.context > 1 || setup.sequence_parallel ||
      setup.virtual_stages > 1 || setup.schedule == PipelineKind::kDualPipe ||
      setup.layer_kernels) {
    return base::usage_error(
        "--wide-resnet cannot be combined with --experts, --cp, --sequence-parallel, --vpp, "
        "--schedule dualpipe and --from-graphs");
  }
  return base::ok();
}

std::string list_of(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers)
    text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

}  // namespace

const base::OptionTable<TrainingSetup>& TrainingSetup::table() {
  using S = TrainingSetup;
  const auto size = base::range(1, 1e9);
  static const base::OptionTable<S> rows{
      "simulate",
      {{"model-layers", &S::layers, "Layers of the transformer", size},
       {"hidden", &S::hidden, "Hidden size", size},
       {"heads", &S::heads, "Attention heads", size},
       {"kv-heads", &S::kv_heads, "Heads of keys and values; 0: as many as heads",
        base::range(0, 1e9)},
       {"head-size", &S::head_width, "Size of an attention head; 0: --hidden / --heads",
        base::range(0, 1e9)},
       {"ffn", &S::ffn, "Hidden size of the feed-forward layer; 0: four times --hidden",
        base::range(0, 1e9)},
       {"gated", &S::gated, "The feed-forward layer has a gate (SwiGLU)"},
       {"sequence-length", &S::sequence, "Tokens of a sequence", size},
       {"vocabulary", &S::vocabulary, "Entries of the vocabulary, padded", size},
       {"untied", &S::untied, "The output layer has weights of its own"},
       {"no-dropout", &S::no_dropout, "Train without dropout"},
       {"flash-attention", &S::flash_attention, "Attention is one kernel (FlashAttention)"},
       {"frozen", &S::frozen, "The weights get no gradients, as under LoRA"},
       {"experts", &S::experts, "Experts of a layer (mixture of experts); 0: layers are dense",
        base::range(0, 1e5)},
       {"top-k", &S::top_k, "Experts that each token goes to", size},
       {"capacity-factor", &S::capacity_factor,
        "Places of an expert relative to the mean number of its tokens; more are dropped, empty "
        "ones are padded; 0: as many as come",
        base::range(0, 1e6)},
       {"expert-ffn", &S::expert_ffn, "Hidden size of an expert; 0: that of --ffn",
        base::range(0, 1e9)},
       {"expert-interval", &S::expert_interval, "Every so many layers has experts", size},
       {"expert-skew", &S::expert_skew,
        "Exponent of the experts' popularity (Zipf's law); 0: all are equally popular",
        base::range(0, 10)},
       {"wide-resnet", &S::wide_resnet,
        "Train a Wide-ResNet of so many layers of weights instead of a transformer: 50 or 101, "
        "with "
        "--model-layers 16 or 33 residual blocks",
        base::range(0, 101)},
       {"channels", &S::channels, "Channels of the Wide-ResNet's first convolution", size},
       {"width-factor", &S::width_factor,
        "Channels of the Wide-ResNet's 3x3 convolutions relative to those of their inputs", size},
       {"image-size", &S::image_size, "Side of the Wide-ResNet's images", size},
       {"classes", &S::classes, "Classes of the Wide-ResNet", size},
       {"tp", &S::tensor, "Degree of tensor parallelism", size},
       {"pp", &S::pipeline, "Degree of pipeline parallelism", size},
       {"dp", &S::data, "Degree of data parallelism", size},
       {"cp", &S::context, "Degree of context parallelism", size},
       {"ep", &S::expert_parallel,
        "Degree of expert parallelism: ranks of a stage that divide the experts", size},
       {"expert-tp", &S::expert_tensor, "Tensor-parallel ranks of each expert; 0: those of --tp",
        base::range(0, 1e9)},
       {"vpp", &S::virtual_stages,
        "Chunks of layers of each pipeline rank; above 1 the schedule is interleaved", size},
       {"micro-batch", &S::micro_batch, "Sequences of a micro-batch", size},
       {"global-batch", &S::global_batch, "Sequences of a step", size},
       {"schedule", &S::schedule, "Schedule of the pipeline",
        base::one_of({kScheduleNames.begin(), kScheduleNames.end()})},
       {"recompute", &S::recompute, "Recomputation of activations",
        base::one_of({"none", "selective", "full"})},
       {"stage-layers", &S::stage_layers,
        "Layers of each chunk of the pipeline, as 3,4,3 (default: balanced)"},
       {"full-layers", &S::full_layers,
        "Layers of each chunk that are recomputed in full, as 2,1,0; the rest is not"},
       {"selective-layers", &S::selective_layers,
        "Layers of each chunk that recompute their attention, as 1,2,0"},
       {"stage-tp", &S::stage_tensor,
        "Degrees of tensor parallelism by pipeline rank, as 4,4,8, instead of --tp; then "
        "--micro-batch counts the sequences of all replicas of a rank"},
       {"stage-cp", &S::stage_context, "The same of context parallelism, instead of --cp"},
       {"stage-dp", &S::stage_data, "The same of data parallelism, instead of --dp"},
       {"stage-first", &S::stage_first,
        "First device of each pipeline rank, as 8,0,4; default: one after the other"},
       {"sequence-parallel", &S::sequence_parallel,
        "Split normalizations and dropout along the sequence between the tensor ranks"},
       {"distributed-optimizer", &S::distributed_optimizer,
        "Split the optimizer's state between the data-parallel ranks"},
       {"overlap-gradients", &S::overlap_gradients, "Exchange gradients during the backward pass"},
       {"overlap-transfers", &S::overlap_transfers,
        "Send activations between stages during computation"},
       {"overlap-tensor", &S::overlap_tensor,
        "Exchange tensor-parallel blocks beside the products that need or make them"},
       {"overlap-weights", &S::overlap_weights,
        "Exchange the gradients of a product's inputs between tensor-parallel ranks beside the "
        "product of its weights' gradients, as Megatron-LM does"},
       {"expert-exchange", &S::expert_exchange,
        "How tokens get to experts: in one message to each rank, within nodes first, or once to "
        "each "
        "node and rank with several of their experts (fastest: one of the first two)",
        base::one_of({"fastest", "direct", "hierarchical", "once"})},
       {"overlap-experts", &S::overlap_experts,
        "Exchange tokens with experts beside the computation of another micro-batch"},
       {"train-precision", &S::precision, "Element type of the products",
        base::one_of({kPrecisionNames.begin(), kPrecisionNames.end()})},
       {"gradient-bytes", &S::gradient_bytes, "Bytes of an accumulated gradient",
        base::range(2, 4)},
       {"optimizer-bytes", &S::optimizer_bytes, "Bytes of the optimizer's state of a parameter",
        base::range(0, 64)},
       {"logit-bytes", &S::logit_bytes, "Bytes of a logit, kept for the backward pass",
        base::range(0, 64)}}};
  return rows;
}

base::Status TrainingSetup::check() const {
  constexpr double kMostDevices = 1e9;  // their product fits into 64 bits with any other size
  constexpr std::int64_t kMostChunks = 100'000;  // priced one by one
  if (static_cast<double>(tensor) * static_cast<double>(pipeline) * static_cast<double>(data) *
          static_cast<double>(context) >
      kMostDevices)
    return base::usage_error("--tp x --pp x --dp x --cp must be at most 1e9");
  const auto divides = [](std::int64_t divisor, std::int64_t value) {
    return value % divisor == 0;
  };
  const bool attends = wide_resnet == 0;
  const std::int64_t groups = kv_heads > 0 ? kv_heads : heads;
  const std::tuple<bool, const char*> demands[] = {
      {!attends || head_width > 0 || divides(heads, hidden),
       "--hidden must be a multiple of --heads"},
      {!attends || divides(tensor, heads), "--heads must be a multiple of --tp"},
      {!attends || divides(tensor, ffn_size()), "--ffn must be a multiple of --tp"},
      {!attends || divides(groups, heads), "--heads must be a multiple of --kv-heads"},
      {!attends || divides(tensor, groups) || divides(groups, tensor),
       "--kv-heads must be a multiple of --tp, or --tp one of --kv-heads"},
      {divides(context * (sequence_parallel ? tensor : 1), sequence),
       "--sequence-length must be a multiple of --cp, and of --cp x --tp with --sequence-parallel"},
      {layers >= chunks(), "--model-layers must be at least --pp x --vpp"},
      {chunks() <= kMostChunks, "--pp x --vpp must be at most 100000"},
      {divides(data * micro_batch, global_batch),
       "--global-batch must be a multiple of --dp x --micro-batch"},
      {experts > 0 || expert_parallel == 1, "--ep needs --experts"},
      {experts == 0 || top_k <= experts, "--top-k must be at most --experts"},
      {divides(expert_parallel, experts), "--experts must be a multiple of --ep"},
      {divides(expert_parallel * expert_tensor_degree(), tensor * data * context),
       "--tp x --dp x --cp must be a multiple of --ep x --expert-tp"},
      {!attends || divides(expert_tensor_degree(), expert_ffn_size()),
       "--expert-ffn must be a multiple of --expert-tp"},
      {experts == 0 || tensor == 1 || sequence_parallel,
       "--experts with --tp need --sequence-parallel, so that each token is sent once"},
      {expert_interval <= layers, "--expert-interval must be at most --model-layers"},
      {virtual_stages == 1 || pipeline > 1, "--vpp needs --pp above 1"},
      {virtual_stages == 1 || schedule == PipelineKind::k1F1B, "--vpp needs --schedule 1f1b"},
      {virtual_stages == 1 || (global_batch >= data * micro_batch &&
                               divides(pipeline, global_batch / data / micro_batch)),
       "with --vpp, the number of micro-batches must be a multiple of --pp"}};
  for (const auto& [holds, message] : demands) {
    if (!holds) return base::usage_error(message);
  }
  if (wide_resnet > 0) EGRET_RETURN_IF_ERROR(check_wide_resnet(*this));
  EGRET_RETURN_IF_ERROR(check_chunk_lists(*this));
  return has_unlike_stages() ? check_stage_lists(*this) : base::ok();
}

std::int64_t TrainingSetup::devices() const {
  if (!has_unlike_stages()) return tensor * pipeline * data * context;
  std::int64_t all = 0;
  for (const StageDegrees& stage : stages()) all += stage.devices();
  return all;
}

std::int64_t TrainingSetup::end_device() const {
  if (!has_unlike_stages()) return devices();
  std::int64_t end = 0;
  for (const StageDegrees& stage : stages())
    end = std::max(end, stage.first_device + stage.devices());
  return end;
}

std::vector<StageDegrees> TrainingSetup::stages() const {
  const auto ranks = static_cast<std::size_t>(pipeline);
  const auto tensors = numbers_of(stage_tensor).value(),
             contexts = numbers_of(stage_context).value(),
             replicas = numbers_of(stage_data).value(), firsts = numbers_of(stage_first).value();
  std::vector<StageDegrees> result;
  std::int64_t next = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    StageDegrees stage{tensor, context, data, next};
    if (!tensors.empty()) stage.tensor = tensors[rank];
    if (!contexts.empty()) stage.context = contexts[rank];
    if (!replicas.empty()) stage.data = replicas[rank];
    if (!firsts.empty()) stage.first_device = firsts[rank];
    next = stage.first_device + stage.devices();
    result.push_back(stage);
  }
  return result;
}

void TrainingSetup::set_stages(const std::vector<StageDegrees>& stages) {
  const auto texts = [&](std::int64_t StageDegrees::*degree) {
    std::vector<std::int64_t> numbers;
    for (const StageDegrees& stage : stages) numbers.push_back(stage.*degree);
    return list_of(numbers);
  };
  stage_tensor = texts(&StageDegrees::tensor);
  stage_context = texts(&StageDegrees::context);
  stage_data = texts(&StageDegrees::data);
  stage_first = texts(&StageDegrees::first_device);
}

TrainingSetup TrainingSetup::of_stage(const StageDegrees& stage) const {
  TrainingSetup result = *this;
  if (!has_unlike_stages()) return result;
  result.set_stages({});
  result.tensor = stage.tensor;
  result.context = stage.context;
  result.data = stage.data;
  result.micro_batch /= stage.data;
  return result;
}

std::vector<std::int64_t> TrainingSetup::layers_of_chunks() const {
  if (!stage_layers.empty()) return numbers_of(stage_layers).value();
  std::vector<std::int64_t> result(static_cast<std::size_t>(chunks()), layers / chunks());
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers % chunks()); ++i) ++result[i];
  return result;
}

std::vector<ChunkLayers> TrainingSetup::chunks_by_recomputation() const {
  std::vector<ChunkLayers> result;
  const std::vector<std::int64_t> full = numbers_of(full_layers).value();
  const std::vector<std::int64_t> selective = numbers_of(selective_layers).value();
  for (const std::int64_t count : layers_of_chunks()) {
    const std::size_t i = result.size();
    ChunkLayers chunk{.kept = count};
    if (full.empty() && selective.empty()) {
      (recompute == Recompute::kFull ? chunk.full : chunk.selective) +=
          recompute == Recompute::kNone ? 0 : count;
    }
    if (!full.empty()) chunk.full = full[i];
    if (!selective.empty()) chunk.selective = selective[i];
    chunk.kept -= chunk.full + chunk.selective;
    result.push_back(chunk);
  }
  return result;
}

void TrainingSetup::set_chunks(const std::vector<ChunkLayers>& chunks) {
  stage_layers.clear();
  full_layers.clear();
  selective_layers.clear();
  recompute = Recompute::kNone;
  std::int64_t full = 0, selective = 0;
  for (const ChunkLayers& chunk : chunks) {
    full += chunk.full;
    selective += chunk.selective;
  }
  if (full == layers || selective == layers) {
    recompute = full == layers ? Recompute::kFull : Recompute::kSelective;
    full = selective = 0;
  }
  const auto texts = [&](auto of) {
    std::vector<std::int64_t> numbers;
    for (const ChunkLayers& chunk : chunks) numbers.push_back(of(chunk));
    return numbers;
  };
  if (full > 0) full_layers = list_of(texts([](const ChunkLayers& each) { return each.full; }));
  if (selective > 0)
    selective_layers = list_of(texts([](const ChunkLayers& each) { return each.selective; }));
  const std::vector<std::int64_t> counts =
      texts([](const ChunkLayers& each) { return each.all(); });
  if (counts != layers_of_chunks()) stage_layers = list_of(counts);
}

double TrainingSetup::qkv_factor() const {
  const double part = kv_heads > 0 ? static_cast<double>(kv_heads) / static_cast<double>(heads) : 1;
  return attended_factor() * (1 + 2 * part);
}

double TrainingSetup::held_qkv_factor() const {
  if (kv_heads == 0) return qkv_factor();
  const double part = static_cast<double>(std::max(kv_heads, tensor)) / static_cast<double>(heads);
  return attended_factor() * (1 + 2 * part);
}

double TrainingSetup::layer_parameters(LayerKind kind) const {
  const auto h = static_cast<double>(hidden);
  const double attention = h * h * (held_qkv_factor() + attended_factor());
  const double dense = (gated ? 3 : 2) * h * static_cast<double>(ffn_size());
  return (attention + (kind == LayerKind::kDense ? dense : 0)) / static_cast<double>(tensor) +
         common_parameters(kind) + expert_parameters(kind);
}

double TrainingSetup::common_parameters(LayerKind kind) const {
  const auto routes = static_cast<double>(kind == LayerKind::kExperts ? experts : 0);
  return static_cast<double>(hidden) * (4 + routes);
}

double TrainingSetup::expert_parameters(LayerKind kind) const {
  if (kind == LayerKind::kDense) return 0;
  return static_cast<double>(experts / expert_parallel) * (gated ? 3 : 2) *
         static_cast<double>(hidden) * static_cast<double>(expert_ffn_size()) /
         static_cast<double>(expert_tensor_degree());
}

double TrainingSetup::vocabulary_part() const {
  return static_cast<double>((vocabulary + tensor - 1) / tensor);
}

double TrainingSetup::embedding_parameters() const {
  return vocabulary_part() * static_cast<double>(hidden);
}

double TrainingSetup::weight_bytes() const { return wide_resnet > 0 ? bytes_of(precision) : 2; }

double TrainingSetup::model_parameters() const {
  if (wide_resnet > 0) return wide_resnet_parameters(*this);
  const auto t = static_cast<double>(tensor), h = static_cast<double>(hidden);
  const double copied = h * h * (held_qkv_factor() - qkv_factor());
  const auto of_layer = [&](LayerKind kind) {
    const double common = common_parameters(kind);
    return t * (layer_parameters(kind) - expert_parameters(kind) - common) + common - copied;
  };
  return static_cast<double>(layers - expert_layers()) * of_layer(LayerKind::kDense) +
         static_cast<double>(expert_layers()) * of_layer(LayerKind::kExperts) +
         t * (untied ? 2 : 1) * embedding_parameters() + all_expert_parameters();
}

double TrainingSetup::all_expert_parameters() const {
  return static_cast<double>(expert_layers() * expert_parallel * expert_tensor_degree()) *
         expert_parameters();
}

double TrainingSetup::active_parameters() const {
  if (experts == 0) return model_parameters();
  const double idle =
      all_expert_parameters() * static_cast<double>(experts - top_k) / static_cast<double>(experts);
  return model_parameters() - idle;
}

double TrainingSetup::model_flops() const {
  if (wide_resnet > 0) return (frozen ? 2.0 / 3 : 1) * wide_resnet_flops(*this);
  const auto tokens = static_cast<double>(global_batch) * static_cast<double>(sequence);
  const auto h = static_cast<double>(hidden);
  const double matrices = (gated ? 3 : 2) * h;
  const double dense = h * h * (qkv_factor() + attended_factor()) +
                       matrices * static_cast<double>(ffn_size()) +
                       2 * attention_size() * static_cast<double>(sequence);
  // Instead of the feed-forward layer: the router, and the experts of a token.
  const double more =
      h * static_cast<double>(experts) +
      matrices * (static_cast<double>(top_k * expert_ffn_size()) - static_cast<double>(ffn_size()));
  const double forward =
      2 * tokens *
      (static_cast<double>(layers) * dense + static_cast<double>(expert_layers()) * more +
       h * static_cast<double>(vocabulary));
  return (frozen ? 2 : 3) * forward;
}

}  // namespace egret::parallel
