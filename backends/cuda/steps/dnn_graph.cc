// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/dnn_graph.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

namespace egret::backends::cuda {
namespace {

constexpr std::int64_t kMostConfigurations = 256;
constexpr std::int64_t kMostNotes = 32;
// The second mode is asked only where the first one proposes too few engines. Its engines work, but
// may be slow.
constexpr int kModes[] = {kDnnHeuristicsA, kDnnHeuristicsFallback};

// Of one value of an attribute.
std::size_t size_of(int type) {
  switch (type) {
    case kDnnInt64: return sizeof(std::int64_t);
    case kDnnDouble: return sizeof(double);
    case kDnnFloat: return sizeof(float);
    case kDnnBoolean: return sizeof(bool);
    case kDnnChar: return sizeof(char);
    case kDnnHandle:
    case kDnnVoidPointer: return sizeof(void*);
    default: return sizeof(int);  // enumerations
  }
}

bool is_listed(std::span<const int> notes, int note) {
  return std::ranges::find(notes, note) != notes.end();
}

// What a configuration's engine says of itself; nullopt where it does not answer.
std::optional<std::vector<int>> notes_of(const DnnFunctions& dnn, DnnBackend config, int attribute,
                                         int type) {
  DnnDescriptors own(dnn);
  DnnBackend engine = own.make(kDnnEngineDescriptor);
  own.get(config, kDnnConfigEngine, kDnnDescriptor, 1, &engine);
  std::vector<int> notes(kMostNotes);
  const std::int64_t count = own.get(engine, attribute, type, kMostNotes, notes.data());
  if (!own.ok()) return std::nullopt;
  notes.resize(static_cast<std::size_t>(std::min(count, kMostNotes)));
  return notes;
}

}  // namespace

int dnn_type(ir::DType type) {
  switch (type) {
    case ir::DType::kF64: return kDnnF64;
    case ir::DType::kF16: return kDnnF16;
    case ir::DType::kBF16: return kDnnBF16;
    default: return kDnnF32;
  }
}

// ---- Descriptors

DnnDescriptors::~DnnDescriptors() {
  while (!all_.empty()) {  // what is made of others before those
    dnn_.backend_destroy(all_.back());
    all_.pop_back();
  }
}

DnnBackend DnnDescriptors::make(int kind) {
  DnnBackend made = nullptr;
  if (ok()) status_ = dnn_.backend_create(kind, &made);
  if (made != nullptr) all_.push_back(made);
  say(kind);
  return made;
}

void DnnDescriptors::set(DnnBackend descriptor, int attribute, int type, std::int64_t count,
                         const void* values) {
  if (ok()) status_ = dnn_.backend_set(descriptor, attribute, type, count, values);
  // Descriptors by their numbers: where they lie says nothing.
  const auto number = [&](DnnBackend of) { return std::ranges::find(all_, of) - all_.begin(); };
  say(number(descriptor));
  say(attribute);
  say(count);
  // `said_` is a text of everything that was described. Equal texts mean equal computations,
  // whatever the addresses of the descriptors.
  if (type != kDnnDescriptor) {
    said_.append(static_cast<const char*>(values), static_cast<std::size_t>(count) * size_of(type));
    return;
  }
  for (const DnnBackend& each :
       std::span(static_cast<const DnnBackend*>(values), static_cast<std::size_t>(count)))
    say(number(each));
}

void DnnDescriptors::set(DnnBackend descriptor, int attribute,
                         std::span<const std::int64_t> values) {
  set(descriptor, attribute, kDnnInt64, static_cast<std::int64_t>(values.size()), values.data());
}

void DnnDescriptors::finish(DnnBackend descriptor) {
  if (ok()) status_ = dnn_.backend_finalize(descriptor);
}

std::int64_t DnnDescriptors::get(DnnBackend descriptor, int attribute, int type, std::int64_t room,
                                 void* values) {
  std::int64_t count = 0;
  if (ok()) status_ = dnn_.backend_get(descriptor, attribute, type, room, &count, values);
  return ok() ? count : 0;
}

// ---- Operations

DnnBackend DnnOperations::tensor(const DnnTensorInfo& info) {
  DnnBackend made = descriptors_.make(kDnnTensorDescriptor);
  descriptors_.set(made, kDnnTensorType, kDnnDataType, dnn_type(info.type));
  descriptors_.set(made, kDnnTensorSizes, info.sizes);
  descriptors_.set(made, kDnnTensorStrides, info.strides);
  descriptors_.set(made, kDnnTensorId, kDnnInt64, info.id);
  descriptors_.set(made, kDnnTensorAlignment, kDnnInt64, info.alignment);
  if (info.is_virtual) descriptors_.set(made, kDnnTensorIsVirtual, kDnnBoolean, true);
  if (info.is_by_value) descriptors_.set(made, kDnnTensorIsByValue, kDnnBoolean, true);
  descriptors_.finish(made);
  return made;
}

void DnnOperations::convolution(DnnBackend image, DnnBackend filter, DnnBackend output,
                                const Window& window, double scale, ir::DType compute) {
  DnnBackend how = descriptors_.make(kDnnConvolutionDescriptor);
  descriptors_.set(how, kDnnConvolutionComputeType, kDnnDataType, dnn_type(compute));
  descriptors_.set(how, kDnnConvolutionMode, kDnnConvolutionModeType, kDnnCrossCorrelation);
  descriptors_.set(how, kDnnConvolutionAxes, kDnnInt64,
                   static_cast<std::int64_t>(window.strides.size()));
  descriptors_.set(how, kDnnConvolutionStrides, window.strides);
  descriptors_.set(how, kDnnConvolutionDilations, window.dilations);
  descriptors_.set(how, kDnnConvolutionPadsBefore, window.pads_before);
  descriptors_.set(how, kDnnConvolutionPadsAfter, window.pads_after);
  descriptors_.finish(how);
  DnnBackend made = begin(kDnnConvolutionForwardDescriptor, {{kDnnForwardImage, image},
                                                             {kDnnForwardFilter, filter},
                                                             {kDnnForwardOutput, output},
                                                             {kDnnForwardConvolution, how}});
  if (compute == ir::DType::kF64) {
    descriptors_.set(made, kDnnForwardAlpha, kDnnDouble, scale);
    descriptors_.set(made, kDnnForwardBeta, kDnnDouble, 0.0);
  } else {
    descriptors_.set(made, kDnnForwardAlpha, kDnnFloat, static_cast<float>(scale));
    descriptors_.set(made, kDnnForwardBeta, kDnnFloat, 0.0F);
  }
  end(made);
}

DnnBackend DnnOperations::begin(int kind, std::initializer_list<Part> parts) {
  DnnBackend made = descriptors_.make(kind);
  for (const Part& part : parts) {
    if (part.descriptor != nullptr)
      descriptors_.set(made, part.attribute, kDnnDescriptor, part.descriptor);
  }
  return made;
}

void DnnOperations::end(DnnBackend operation) {
  descriptors_.finish(operation);
  operations_.push_back(operation);
}

void DnnOperations::pointwise(int mode, DnnBackend a, DnnBackend b, DnnBackend output,
                              ir::DType compute) {
  add_pointwise(pointwise_mode(mode, compute), a, b, output);
}

void DnnOperations::relu(DnnBackend x, DnnBackend output, double most, ir::DType compute) {
  DnnBackend how = pointwise_mode(kDnnRelu, compute);
  if (std::isfinite(most)) descriptors_.set(how, kDnnPointwiseReluMost, kDnnDouble, most);
  add_pointwise(how, x, nullptr, output);
}

DnnBackend DnnOperations::pointwise_mode(int mode, ir::DType compute) {
  DnnBackend how = descriptors_.make(kDnnPointwiseDescriptor);
  descriptors_.set(how, kDnnPointwiseMode, kDnnPointwiseModeType, mode);
  descriptors_.set(how, kDnnPointwiseComputeType, kDnnDataType, dnn_type(compute));
  return how;
}

void DnnOperations::product(DnnBackend a, DnnBackend b, DnnBackend output, ir::DType compute) {
  DnnBackend how = descriptors_.make(kDnnProductDescriptor);
  descriptors_.set(how, kDnnProductComputeType, kDnnDataType, dnn_type(compute));
  descriptors_.finish(how);
  end(begin(kDnnProductOperationDescriptor,
            {{kDnnProductA, a}, {kDnnProductB, b}, {kDnnProductC, output}, {kDnnProductHow, how}}));
}

void DnnOperations::reduce(int with, DnnBackend x, DnnBackend output, ir::DType compute) {
  DnnBackend how = descriptors_.make(kDnnReductionDescriptor);
  descriptors_.set(how, kDnnReductionOperator, kDnnReductionType, with);
  descriptors_.set(how, kDnnReductionComputeType, kDnnDataType, dnn_type(compute));
  descriptors_.finish(how);
  end(begin(kDnnReductionOperationDescriptor,
            {{kDnnReductionX, x}, {kDnnReductionY, output}, {kDnnReductionHow, how}}));
}

void DnnOperations::attention(DnnBackend q, DnnBackend k, DnnBackend v, DnnBackend scale,
                              DnnBackend output) {
  end(begin(kDnnAttentionDescriptor, {{kDnnAttentionQ, q},
                                      {kDnnAttentionK, k},
                                      {kDnnAttentionV, v},
                                      {kDnnAttentionOutput, output},
                                      {kDnnAttentionScale, scale}}));
}

void DnnOperations::add_pointwise(DnnBackend how, DnnBackend x, DnnBackend b, DnnBackend output) {
  descriptors_.finish(how);
  end(begin(kDnnPointwiseOperationDescriptor, {{kDnnOperationPointwise, how},
                                               {kDnnOperationX, x},
                                               {kDnnOperationB, b},
                                               {kDnnOperationY, output}}));
}

// ---- Plans

bool DnnOperations::has_engines(const DnnTarget& target, const DnnWish& wish) {
  finish_graph(target);
  // ask() advances to the next heuristic mode and returns false after the last one.
  while (configs_.empty() && ask(target, wish)) {
  }
  return !configs_.empty();
}

// Up to `most` plans in the order of cuDNN's heuristics. Engines that compile at run time are slow
// to prepare, so at most kMostCompiled of them are tried.
std::span<const DnnOperations::Plan> DnnOperations::plans(const DnnTarget& target,
                                                          const DnnWish& wish, std::size_t most) {
  finish_graph(target);
  while (found_.size() < most && (!configs_.empty() || ask(target, wish))) {
    if (configs_.empty()) continue;
    DnnBackend config = configs_.front();
    configs_.pop_front();
    const bool compiles = is_compiled(config);
    if (compiles && compiled_ >= kMostCompiled) continue;
    const std::size_t before = found_.size();
    add_plan(config, target, wish.workspace);
    if (compiles) compiled_ += found_.size() - before;
  }
  return std::span(found_).first(std::min(most, found_.size()));
}

// Forgets engines and plans, not the operations, so that they can be made again with another
// handle.
void DnnOperations::restart() {
  graph_ = nullptr;
  asked_ = compiled_ = 0;
  configs_.clear();
  found_.clear();
}

void DnnOperations::finish_graph(const DnnTarget& target) {
  if (graph_ != nullptr) return;
  graph_ = descriptors_.make(kDnnGraphDescriptor);
  descriptors_.set(graph_, kDnnGraphOperations, kDnnDescriptor,
                   static_cast<std::int64_t>(operations_.size()), operations_.data());
  if (target.handle != nullptr)
    descriptors_.set(graph_, kDnnGraphHandle, kDnnHandle, target.handle);
  descriptors_.finish(graph_);
}

// What one mode does not know is no failure of the whole.
bool DnnOperations::ask(const DnnTarget& target, const DnnWish& wish) {
  if (!descriptors_.ok() || asked_ == std::size(kModes)) return false;
  made_.push_back(std::make_unique<DnnDescriptors>(dnn_));
  DnnDescriptors& own = *made_.back();
  DnnBackend heuristics = own.make(kDnnHeuristicsDescriptor);
  own.set(heuristics, kDnnHeuristicsGraph, kDnnDescriptor, graph_);
  own.set(heuristics, kDnnHeuristicsMode, kDnnHeuristicsModeType, kModes[asked_++]);
  if (target.device != nullptr)
    own.set(heuristics, kDnnHeuristicsDevice, kDnnDescriptor, target.device);
  own.finish(heuristics);
  // A call without room returns the number of results. cuDNN then fills in descriptors that exist.
  std::vector<DnnBackend> configs(static_cast<std::size_t>(
      std::min(kMostConfigurations,
               own.get(heuristics, kDnnHeuristicsResults, kDnnDescriptor, 0, nullptr))));
  for (DnnBackend& config : configs) config = own.make(kDnnConfigDescriptor);
  if (configs.empty() || !own.ok()) return true;
  const std::int64_t count = own.get(heuristics, kDnnHeuristicsResults, kDnnDescriptor,
                                     static_cast<std::int64_t>(configs.size()), configs.data());
  configs.resize(
      static_cast<std::size_t>(std::min(count, static_cast<std::int64_t>(configs.size()))));
  std::ranges::copy_if(configs, std::back_inserter(configs_),
                       [&](DnnBackend config) { return keeps_digits(config, wish); });
  return true;
}

// Excludes engines whose results vary from run to run or that lose precision: reduced sums,
// converted inputs and, for exact f32, tensor cores (TF32).
bool DnnOperations::keeps_digits(DnnBackend config, const DnnWish& wish) const {
  const auto notes = notes_of(dnn_, config, kDnnEngineNotes, kDnnNoteType);
  if (!notes || is_listed(*notes, kDnnNoteNondeterministic) ||
      is_listed(*notes, kDnnNoteReducedSums))
    return false;
  if (wish.type != ir::DType::kF32) return true;
  if (is_listed(*notes, kDnnNoteConvertsInputs)) return false;
  return wish.precision != Precision::kF32 || !is_listed(*notes, kDnnNoteTensorCore);
}

bool DnnOperations::is_compiled(DnnBackend config) const {
  const auto notes = notes_of(dnn_, config, kDnnEngineBehavior, kDnnBehaviorType);
  return notes && is_listed(*notes, kDnnBehaviorCompiled);
}

// A configuration that cuDNN cannot finish, or that needs too large a workspace, makes no plan.
// That is no error.
void DnnOperations::add_plan(DnnBackend config, const DnnTarget& target, std::size_t workspace) {
  auto own = std::make_unique<DnnDescriptors>(dnn_);
  Plan made{own->make(kDnnPlanDescriptor)};
  own->set(made.plan, kDnnPlanConfig, kDnnDescriptor, config);
  if (target.handle != nullptr) own->set(made.plan, kDnnPlanHandle, kDnnHandle, target.handle);
  if (target.device != nullptr) own->set(made.plan, kDnnPlanDevice, kDnnDescriptor, target.device);
  own->finish(made.plan);
  std::int64_t bytes = 0;
  own->get(made.plan, kDnnPlanWorkspace, kDnnInt64, 1, &bytes);
  if (!own->ok() || bytes > static_cast<std::int64_t>(workspace)) return;
  made.workspace = static_cast<std::size_t>(bytes);
  found_.push_back(made);
  made_.push_back(std::move(own));
}

// A variant pack binds the numbers of the tensors to addresses, for one execution.
base::Status run_dnn_plan(const DnnFunctions& dnn, DnnHandle handle, DnnBackend plan,
                          std::span<const std::int64_t> ids, std::span<void* const> pointers,
                          void* workspace) {
  DnnDescriptors own(dnn);
  DnnBackend pack = own.make(kDnnPackDescriptor);
  own.set(pack, kDnnPackIds, ids);
  own.set(pack, kDnnPackPointers, kDnnVoidPointer, static_cast<std::int64_t>(pointers.size()),
          pointers.data());
  own.set(pack, kDnnPackWorkspace, kDnnVoidPointer, workspace);
  own.finish(pack);
  const int status = own.ok() ? dnn.backend_execute(handle, plan, pack) : own.status();
  if (status == 0) return base::ok();
  return base::unavailable("cuDNN: a plan failed with status " + std::to_string(status));
}

}  // namespace egret::backends::cuda
