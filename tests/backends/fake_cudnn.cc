// SPDX-License-Identifier: Apache-2.0
// cuDNN's graph interface: descriptors keep what they are given, and are refused where the real
// ones would be. There are three engines: one on tensor cores, one that wants more workspace than
// there is, and a plain one.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <vector>

#include "tests/backends/fake_cuda.h"
#include "tests/backends/fake_cuda_state.h"

namespace egret::backends {
namespace {

using namespace cuda;

constexpr int kBadParameter = 2000, kNotSupported = 3000;
enum Engine : std::int64_t { kTensorCores, kGreedy, kPlain, kEngines };
// Of the fake alone: which engine a descriptor stands for.
constexpr int kEngineNumber = -1, kEngineGraph = -2;

struct Descriptor {
  int kind = 0;
  bool finished = false;
  std::map<int, std::vector<char>> attributes{};

  bool has(int attribute) const { return attributes.contains(attribute); }
  template <typename T>
  std::vector<T> all(int attribute) const {
    const std::vector<char>& bytes = attributes.at(attribute);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
  template <typename T>
  T one(int attribute) const {
    return all<T>(attribute).at(0);
  }
  template <typename T>
  void put(int attribute, const T& value) {
    attributes[attribute].assign(reinterpret_cast<const char*>(&value),
                                 reinterpret_cast<const char*>(&value) + sizeof value);
  }
  const Descriptor& at(int attribute) const {
    return *static_cast<const Descriptor*>(one<DnnBackend>(attribute));
  }
};

Descriptor& of(DnnBackend descriptor) { return *static_cast<Descriptor*>(descriptor); }

std::size_t size_of(int type) {
  switch (type) {
    case kDnnBoolean:
    case kDnnChar: return 1;
    case kDnnHandle:
    case kDnnInt64:
    case kDnnDouble:
    case kDnnVoidPointer:
    case kDnnDescriptor: return 8;
    default: return 4;
  }
}

int set(DnnBackend descriptor, int attribute, int type, std::int64_t count, const void* values) {
  if (of(descriptor).finished || count < 1) return kBadParameter;
  if (type == kDnnDescriptor) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (!of(static_cast<const DnnBackend*>(values)[i]).finished) return kBadParameter;
    }
  }
  const auto* bytes = static_cast<const char*>(values);
  of(descriptor)
      .attributes[attribute]
      .assign(bytes, bytes + static_cast<std::size_t>(count) * size_of(type));
  return 0;
}

// ---- Tensors

struct Values {
  std::vector<std::int64_t> sizes, strides;
  std::vector<double> data;  // as far as the strides reach

  // At an index; an axis of one element is broadcast.
  std::size_t place(const std::vector<std::int64_t>& index) const {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < index.size(); ++i)
      at += (sizes[i] == 1 ? 0 : index[i]) * strides[i];
    return static_cast<std::size_t>(at);
  }
  double at(const std::vector<std::int64_t>& index) const { return data[place(index)]; }
  double& at(const std::vector<std::int64_t>& index) { return data[place(index)]; }
};

bool next(std::vector<std::int64_t>& index, const std::vector<std::int64_t>& sizes,
          std::size_t from = 0) {
  for (std::size_t i = index.size(); i-- > from;) {
    if (++index[i] < sizes[i]) return true;
    index[i] = 0;
  }
  return false;
}

int lt_type(int dnn_type) { return dnn_type == kDnnBF16 ? kTypeBF16 : dnn_type; }

// Runs a graph's operations on what lies at `pointers`, by id.
class Run {
 public:
  Run(const Descriptor& graph, std::map<std::int64_t, void*> pointers,
      std::map<std::int64_t, double> numbers)
      : graph_(graph), pointers_(std::move(pointers)), numbers_(std::move(numbers)) {}

  void run() {
    for (DnnBackend raw : graph_.all<DnnBackend>(kDnnGraphOperations)) {
      const Descriptor& operation = of(raw);
      switch (operation.kind) {
        case kDnnConvolutionForwardDescriptor: convolve(operation); break;
        case kDnnProductOperationDescriptor: multiply(operation); break;
        case kDnnReductionOperationDescriptor: reduce(operation); break;
        case kDnnAttentionDescriptor: attend(operation); break;
        default: combine(operation); break;
      }
    }
  }

 private:
  const Values& input(const Descriptor& tensor) {
    const auto id = tensor.one<std::int64_t>(kDnnTensorId);
    const auto known = values_.find(id);
    if (known != values_.end()) return known->second;
    Values& read = empty(tensor);
    if (const auto number = numbers_.find(id); number != numbers_.end()) {
      read.data[0] = number->second;
      return read;
    }
    const int type = lt_type(tensor.one<int>(kDnnTensorType));
    const void* data = pointers_.at(id);
    const auto promised = tensor.one<std::int64_t>(kDnnTensorAlignment);
    if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(promised) != 0)
      throw std::invalid_argument("a tensor does not begin where its description says");
    for (std::size_t i = 0; i < read.data.size(); ++i)
      read.data[i] = load_element(type, data, static_cast<std::int64_t>(i));
    return read;
  }

  Values& empty(const Descriptor& tensor) {
    Values& made = values_[tensor.one<std::int64_t>(kDnnTensorId)];
    made = {
        tensor.all<std::int64_t>(kDnnTensorSizes), tensor.all<std::int64_t>(kDnnTensorStrides), {}};
    std::vector<std::int64_t> last = made.sizes;
    for (std::int64_t& index : last) --index;
    made.data.assign(made.place(last) + 1, 0);
    return made;
  }

  // Rounds to the tensor's type, and stores what is not virtual.
  void leave(const Descriptor& tensor, Values& values) {
    const int type = lt_type(tensor.one<int>(kDnnTensorType));
    const auto pointer = pointers_.find(tensor.one<std::int64_t>(kDnnTensorId));
    double room = 0;
    std::vector<std::int64_t> index(values.sizes.size(), 0);
    do {  // and nothing of what lies between, which may be others'
      const std::size_t i = values.place(index);
      store_element(type, &room, 0, values.data[i]);
      values.data[i] = load_element(type, &room, 0);
      if (pointer != pointers_.end())
        store_element(type, pointer->second, static_cast<std::int64_t>(i), values.data[i]);
    } while (next(index, values.sizes));
  }

  void convolve(const Descriptor& operation) {
    const Values x = input(operation.at(kDnnForwardImage));
    const Values w = input(operation.at(kDnnForwardFilter));
    const Descriptor& how = operation.at(kDnnForwardConvolution);
    const auto pads = how.all<std::int64_t>(kDnnConvolutionPadsBefore);
    const auto strides = how.all<std::int64_t>(kDnnConvolutionStrides);
    const auto dilations = how.all<std::int64_t>(kDnnConvolutionDilations);
    const bool wide = how.one<int>(kDnnConvolutionComputeType) == kDnnF64;
    const double alpha =
        wide ? operation.one<double>(kDnnForwardAlpha) : operation.one<float>(kDnnForwardAlpha);
    const Descriptor& output = operation.at(kDnnForwardOutput);
    Values& y = empty(output);
    const std::int64_t groups = x.sizes[1] / w.sizes[1];
    std::vector<std::int64_t> o(y.sizes.size(), 0);
    do {
      double sum = 0;
      std::vector<std::int64_t> k(w.sizes.size(), 0);
      k[0] = o[1];
      do {
        std::vector<std::int64_t> at(o.size());
        at[0] = o[0];
        at[1] = o[1] / (w.sizes[0] / groups) * w.sizes[1] + k[1];
        bool inside = true;
        for (std::size_t i = 0; i < pads.size(); ++i) {
          at[i + 2] = o[i + 2] * strides[i] + k[i + 2] * dilations[i] - pads[i];
          inside = inside && at[i + 2] >= 0 && at[i + 2] < x.sizes[i + 2];
        }
        if (inside) sum += x.at(at) * w.at(k);
      } while (next(k, w.sizes, 1));
      y.at(o) = alpha * sum;
    } while (next(o, y.sizes));
    leave(output, y);
  }

  void combine(const Descriptor& operation) {
    const Values x = input(operation.at(kDnnOperationX));
    const Descriptor& how = operation.at(kDnnOperationPointwise);
    const int mode = how.one<int>(kDnnPointwiseMode);
    const double most = how.has(kDnnPointwiseReluMost) ? how.one<double>(kDnnPointwiseReluMost)
                                                       : std::numeric_limits<double>::max();
    const Values b = operation.has(kDnnOperationB) ? input(operation.at(kDnnOperationB)) : x;
    const Descriptor& output = operation.at(kDnnOperationY);
    Values& y = empty(output);
    const bool moves = fake_cuda().dnn_moves_masks && mode == kDnnAdd && b.sizes.size() == 4 &&
                       b.sizes[1] == 1 && y.sizes[1] > 1;
    std::vector<std::int64_t> o(y.sizes.size(), 0);
    do {
      std::vector<std::int64_t> of_b = o;
      if (moves) of_b[3] = std::min(o[3] + o[1], b.sizes[3] - 1);
      const double value = x.at(o), other = b.at(of_b);
      switch (mode) {
        case kDnnAdd: y.at(o) = value + other; break;
        case kDnnSubtract: y.at(o) = value - other; break;
        case kDnnDivide: y.at(o) = value / other; break;
        case kDnnMultiply: y.at(o) = value * other; break;
        case kDnnMax: y.at(o) = std::max(value, other); break;
        case kDnnMin: y.at(o) = std::min(value, other); break;
        case kDnnNegate: y.at(o) = -value; break;
        case kDnnReciprocal: y.at(o) = 1 / value; break;
        case kDnnExponential: y.at(o) = std::exp(value); break;
        case kDnnLogarithm: y.at(o) = std::log(value); break;
        case kDnnSquareRoot: y.at(o) = std::sqrt(value); break;
        case kDnnErf: y.at(o) = std::erf(value); break;
        case kDnnTanh: y.at(o) = std::tanh(value); break;
        case kDnnRelu: y.at(o) = std::clamp(value, 0.0, most); break;
        default: throw std::invalid_argument("a pointwise mode that this cuDNN does not know");
      }
    } while (next(o, y.sizes));
    leave(output, y);
  }

  void multiply(const Descriptor& operation) {
    const Values a = input(operation.at(kDnnProductA));
    const Values b = input(operation.at(kDnnProductB));
    const Descriptor& output = operation.at(kDnnProductC);
    Values& y = empty(output);
    const std::size_t last = y.sizes.size() - 1;
    std::vector<std::int64_t> o(y.sizes.size(), 0);
    do {
      std::vector<std::int64_t> of_a = o, of_b = o;
      double sum = 0;
      for (std::int64_t k = 0; k < a.sizes[last]; ++k) {
        of_a[last] = of_b[last - 1] = k;
        sum += a.at(of_a) * b.at(of_b);
      }
      y.at(o) = sum;
    } while (next(o, y.sizes));
    leave(output, y);
  }

  // Over [B, H, rows, width], a row of scores at a time.
  void attend(const Descriptor& operation) {
    const Values q = input(operation.at(kDnnAttentionQ)), k = input(operation.at(kDnnAttentionK)),
                 v = input(operation.at(kDnnAttentionV));
    const double scale = input(operation.at(kDnnAttentionScale)).data[0];
    const Descriptor& output = operation.at(kDnnAttentionOutput);
    Values& y = empty(output);
    std::vector<double> weights(static_cast<std::size_t>(k.sizes[2]));
    std::vector<std::int64_t> row(4, 0);
    const std::vector<std::int64_t> rows{y.sizes[0], y.sizes[1], y.sizes[2], 1};
    do {
      const std::size_t of_q = q.place(row);
      for (std::int64_t t = 0; t < k.sizes[2]; ++t) {
        const std::size_t of_k = k.place({row[0], row[1], t, 0});
        double sum = 0;
        for (std::int64_t d = 0; d < q.sizes[3]; ++d) {
          sum += q.data[of_q + static_cast<std::size_t>(d * q.strides[3])] *
                 k.data[of_k + static_cast<std::size_t>(d * k.strides[3])];
        }
        weights[static_cast<std::size_t>(t)] = scale * sum;
      }
      const double largest = *std::ranges::max_element(weights);
      double total = 0;
      for (double& weight : weights) total += weight = std::exp(weight - largest);
      const std::size_t of_y = y.place(row);
      for (std::int64_t t = 0; t < k.sizes[2]; ++t) {
        const std::size_t of_v = v.place({row[0], row[1], t, 0});
        for (std::int64_t e = 0; e < y.sizes[3]; ++e) {
          y.data[of_y + static_cast<std::size_t>(e * y.strides[3])] +=
              weights[static_cast<std::size_t>(t)] / total *
              v.data[of_v + static_cast<std::size_t>(e * v.strides[3])];
        }
      }
    } while (next(row, rows));
    leave(output, y);
  }

  void reduce(const Descriptor& operation) {
    const Values x = input(operation.at(kDnnReductionX));
    const bool sums =
        operation.at(kDnnReductionHow).one<int>(kDnnReductionOperator) == kDnnReduceSum;
    const Descriptor& output = operation.at(kDnnReductionY);
    Values& y = empty(output);
    std::ranges::fill(y.data, sums ? 0 : -std::numeric_limits<double>::infinity());
    std::vector<std::int64_t> i(x.sizes.size(), 0);
    do {
      double& at = y.at(i);
      at = sums ? at + x.at(i) : std::max(at, x.at(i));
    } while (next(i, x.sizes));
    leave(output, y);
  }

  const Descriptor& graph_;
  std::map<std::int64_t, void*> pointers_;
  std::map<std::int64_t, double> numbers_;  // those by value
  std::map<std::int64_t, Values> values_;
};

// Whether the output has the sizes that the rest gives.
bool fits(const Descriptor& operation) {
  const auto sizes = [&](int attribute) {
    return operation.at(attribute).all<std::int64_t>(kDnnTensorSizes);
  };
  const auto x = sizes(kDnnForwardImage), w = sizes(kDnnForwardFilter),
             y = sizes(kDnnForwardOutput);
  const Descriptor& how = operation.at(kDnnForwardConvolution);
  const auto axes = static_cast<std::size_t>(how.one<std::int64_t>(kDnnConvolutionAxes));
  const auto before = how.all<std::int64_t>(kDnnConvolutionPadsBefore);
  const auto after = how.all<std::int64_t>(kDnnConvolutionPadsAfter);
  const auto strides = how.all<std::int64_t>(kDnnConvolutionStrides);
  const auto dilations = how.all<std::int64_t>(kDnnConvolutionDilations);
  bool good = axes >= 2 && x.size() == axes + 2 && w.size() == x.size() && y.size() == x.size() &&
              before.size() == axes && after.size() == axes && x[0] == y[0] && w[0] == y[1] &&
              x[1] % w[1] == 0 && w[0] % (x[1] / w[1]) == 0 &&
              how.one<int>(kDnnConvolutionMode) == kDnnCrossCorrelation;
  for (std::size_t i = 0; good && i < axes; ++i) {
    const std::int64_t reach = dilations[i] * (w[i + 2] - 1) + 1;
    good = y[i + 2] == (x[i + 2] + before[i] + after[i] - reach) / strides[i] + 1;
  }
  return good;
}

int finish(DnnBackend descriptor) {
  Descriptor& made = of(descriptor);
  if (made.finished) return kBadParameter;
  if (made.kind == kDnnConvolutionForwardDescriptor && !fits(made)) return kBadParameter;
  made.finished = true;
  if (made.kind != kDnnPlanDescriptor) return 0;
  count_one(&FakeCuda::plans);
  const auto operations =
      made.at(kDnnPlanConfig).at(kEngineGraph).all<DnnBackend>(kDnnGraphOperations).size();
  return operations <= fake_cuda().dnn_compiles ? 0 : kNotSupported;
}

bool has_algorithms(const Descriptor& graph) {
  const Descriptor& first = of(graph.all<DnnBackend>(kDnnGraphOperations).at(0));
  const bool convolves = first.kind == kDnnConvolutionForwardDescriptor;
  const bool is_whole = first.kind == kDnnAttentionDescriptor;
  if (is_whole && !fake_cuda().dnn_has_attention) return false;
  const int type = first.at(convolves  ? kDnnForwardImage
                            : is_whole ? kDnnAttentionQ
                                       : kDnnProductA)
                       .one<int>(kDnnTensorType);
  const bool narrow = type != kDnnF32 && type != kDnnF64;
  return fake_cuda().dnn_has_algorithms && (!narrow || fake_cuda().narrow_types);
}

// Heuristics name engines in configurations that the caller made; a configuration its engine.
int get(DnnBackend descriptor, int attribute, int, std::int64_t room, std::int64_t* count,
        void* values) {
  const Descriptor& asked = of(descriptor);
  if (!asked.finished) return kBadParameter;
  auto* others = static_cast<DnnBackend*>(values);
  switch (attribute) {
    case kDnnHeuristicsResults:
      if (room > 0) count_one(&FakeCuda::searches);
      *count = has_algorithms(asked.at(kDnnHeuristicsGraph)) ? std::int64_t{kEngines} : 0;
      for (std::int64_t i = 0; i < std::min(room, *count); ++i) {
        of(others[i]).put(kEngineNumber, i);
        of(others[i]).attributes[kEngineGraph] = asked.attributes.at(kDnnHeuristicsGraph);
        of(others[i]).finished = true;
      }
      return 0;
    case kDnnConfigEngine:
      of(others[0]).attributes = asked.attributes;
      of(others[0]).finished = true;
      *count = 1;
      return 0;
    case kDnnEngineNotes:
      *count = asked.one<std::int64_t>(kEngineNumber) == kTensorCores ? 1 : 0;
      if (*count == 1) *static_cast<int*>(values) = kDnnNoteTensorCore;
      return 0;
    case kDnnEngineBehavior: return *count = 0, 0;
    case kDnnPlanWorkspace:
      *static_cast<std::int64_t*>(values) =
          asked.at(kDnnPlanConfig).one<std::int64_t>(kEngineNumber) == kGreedy
              ? std::int64_t{1} << 40
              : 0;
      *count = 1;
      return 0;
    default: return kNotSupported;
  }
}

// ---- What operations amount to, as one kernel

double elements(const Descriptor& tensor) {
  double product = 1;
  for (const std::int64_t size : tensor.all<std::int64_t>(kDnnTensorSizes))
    product *= static_cast<double>(size);
  return product;
}

// Terms that each element of the operation's result is a sum of; 0 of pointwise ones.
std::int64_t depth_of(const Descriptor& operation) {
  const auto size = [&](int attribute, std::size_t axis) {
    return operation.at(attribute).all<std::int64_t>(kDnnTensorSizes).at(axis);
  };
  switch (operation.kind) {
    case kDnnConvolutionForwardDescriptor:
      return static_cast<std::int64_t>(elements(operation.at(kDnnForwardFilter))) /
             size(kDnnForwardFilter, 0);
    case kDnnProductOperationDescriptor: return size(kDnnProductB, 1);
    case kDnnAttentionDescriptor: return size(kDnnAttentionK, 2);
    default: return 0;
  }
}

FakeWork work_of(const Descriptor& graph, std::int64_t engine) {
  constexpr int kTensors[] = {
      kDnnForwardFilter, kDnnForwardImage, kDnnForwardOutput,  kDnnOperationX, kDnnOperationB,
      kDnnOperationY,    kDnnProductA,     kDnnProductB,       kDnnProductC,   kDnnAttentionQ,
      kDnnAttentionK,    kDnnAttentionV,   kDnnAttentionOutput};
  FakeWork work{.on_tensor_cores = engine == kTensorCores};
  for (DnnBackend raw : graph.all<DnnBackend>(kDnnGraphOperations)) {
    const Descriptor& operation = of(raw);
    for (const int attribute : kTensors) {
      if (!operation.has(attribute) || operation.at(attribute).has(kDnnTensorIsVirtual)) continue;
      const int type = operation.at(attribute).one<int>(kDnnTensorType);
      work.bytes += elements(operation.at(attribute)) * (type == kDnnF32 ? 4 : 2);
    }
    const std::int64_t depth = depth_of(operation);
    const int result = operation.kind == kDnnConvolutionForwardDescriptor ? kDnnForwardOutput
                       : operation.kind == kDnnProductOperationDescriptor ? kDnnProductC
                                                                          : kDnnAttentionOutput;
    if (depth > 0) work.flops += 2.0 * static_cast<double>(depth) * elements(operation.at(result));
    work.depth = std::max(work.depth, depth);
  }
  return work;
}

// ---- Runs

std::map<DnnHandle, Stream>& streams() {
  static std::map<DnnHandle, Stream> of_handles;
  return of_handles;
}

bool is_attention(const Descriptor& graph) {
  return std::ranges::any_of(graph.all<DnnBackend>(kDnnGraphOperations), [](DnnBackend operation) {
    const int kind = of(operation).kind;
    return kind == kDnnAttentionDescriptor || kind == kDnnReductionOperationDescriptor;
  });
}

int execute(DnnHandle handle, DnnBackend plan, DnnBackend pack) {
  note_call("execute");
  if (!fake_cuda().libraries_run) return kNotSupported;
  const auto ids = of(pack).all<std::int64_t>(kDnnPackIds);
  const auto places = of(pack).all<void*>(kDnnPackPointers);
  if (ids.size() != places.size()) return kBadParameter;
  std::map<std::int64_t, void*> pointers;
  for (std::size_t i = 0; i < ids.size(); ++i) pointers[ids[i]] = places[i];
  const Descriptor& config = of(plan).at(kDnnPlanConfig);
  const auto engine = config.one<std::int64_t>(kEngineNumber);
  fake_cuda().engines.push_back(engine);
  const Descriptor& graph = config.at(kEngineGraph);
  // Numbers are taken now, and not when what is captured is launched.
  std::map<std::int64_t, double> numbers;
  for (DnnBackend raw : graph.all<DnnBackend>(kDnnGraphOperations)) {
    for (const int attribute : {kDnnOperationB, kDnnAttentionScale}) {
      if (!of(raw).has(attribute)) continue;
      const Descriptor& number = of(raw).at(attribute);
      const auto id = number.one<std::int64_t>(kDnnTensorId);
      if (number.has(kDnnTensorIsByValue))
        numbers[id] = *static_cast<const float*>(pointers.at(id));
    }
  }
  // Attention is computed where all else is simulated too: whoever asks for it tries it first.
  if (fake_cuda().simulates && is_attention(graph) && !is_capturing())
    Run(graph, pointers, numbers).run();
  return run_or_capture(streams()[handle], work_of(graph, engine),
                        [&graph, pointers, numbers] { Run(graph, pointers, numbers).run(); });
}

}  // namespace

void fill_fake_cudnn(DnnFunctions& dnn) {
  dnn.create = [](DnnHandle* handle) { return *handle = reinterpret_cast<DnnHandle>(1), 0; };
  dnn.destroy = [](DnnHandle) { return 0; };
  dnn.set_stream = [](DnnHandle handle, Stream stream) { return streams()[handle] = stream, 0; };
  dnn.backend_create = [](int kind, DnnBackend* made) {
    return *made = new Descriptor{.kind = kind}, count_one(&FakeCuda::descriptors), 0;
  };
  dnn.backend_destroy = [](DnnBackend descriptor) {
    return delete &of(descriptor), count_one(&FakeCuda::descriptors, -1), 0;
  };
  dnn.backend_set = set;
  dnn.backend_get = get;
  dnn.backend_finalize = finish;
  dnn.backend_execute = execute;
}

}  // namespace egret::backends
