// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/fake_cuda.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <regex>

#include "backends/codegen/host_compiler.h"
#include "ir/dtype.h"

namespace egret::backends {
namespace cuda {

// What the driver's handles point to here.
struct ModuleTag {
  std::unique_ptr<codegen::HostLibrary> library;
};
struct FunctionTag {
  int (*launch)(unsigned blocks, unsigned threads, void** arguments);
  int arity;
};
struct GraphTag {
  std::vector<std::function<void()>> nodes;
};
struct GraphExecTag {
  std::vector<std::function<void()>> nodes;
};
struct NvrtcProgramTag {
  std::string source;
};
struct LtMatmulTag {
  int scale_type;
  bool transpose_a = false, transpose_b = false;
};
struct LtLayoutTag {
  int type;
  std::int64_t rows, columns, leading;
  std::int32_t batch = 1;
  std::int64_t batch_stride = 0;
};

struct DnnTensorTag {
  int type = 0;
  std::vector<int> sizes, strides;
};
struct DnnFilterTag {
  std::vector<int> sizes;
};
struct DnnConvolutionTag {
  std::vector<int> pads, strides, dilations;
  int groups = 1, math = 0;
};

}  // namespace cuda

namespace {

using namespace cuda;

struct State {
  FakeCuda shown;
  std::map<DevicePointer, std::size_t> allocations;
  std::vector<std::unique_ptr<FunctionTag>> functions;
  std::unique_ptr<GraphTag> capturing;
};

State& state() {
  static State* const made = new State;
  return *made;
}

void note(const char* call) { state().shown.calls.emplace_back(call); }

int do_or_capture(std::function<void()> work) {
  if (state().capturing != nullptr) {
    state().capturing->nodes.push_back(std::move(work));
  } else {
    work();
  }
  return 0;
}

std::byte* bytes_at(DevicePointer memory) { return reinterpret_cast<std::byte*>(memory); }

// The kernels as a library for the host: each can be launched with an array of its arguments.
std::string host_source(const std::string& kernels) {
  std::string text = "#include \"" EGRET_SOURCE_DIR "/tests/codegen/cuda_on_cpu.h\"\n";
  text += std::regex_replace(kernels, std::regex("extern \"C\" __global__"), "__global__");
  text += R"(
#include <utility>
template <class... A, std::size_t... I>
int call(void (*kernel)(A...), unsigned blocks, unsigned threads, void** p,
         std::index_sequence<I...>) {
  return launch(blocks, threads, [&] { kernel(*(A*)p[I]...); }) ? 0 : 1;
}
template <class... A>
int call(void (*kernel)(A...), unsigned blocks, unsigned threads, void** p) {
  return call(kernel, blocks, threads, p, std::make_index_sequence<sizeof...(A)>());
}
template <class... A> int arity(void (*)(A...)) { return sizeof...(A); }
)";
  const std::regex declaration("__global__ void (\\w+)\\(");
  for (std::sregex_iterator at(kernels.begin(), kernels.end(), declaration), end; at != end; ++at) {
    const std::string name = (*at)[1];
    text += "extern \"C\" int launch_" + name +
            "(unsigned b, unsigned t, void** p) { return call(" + name +
            ", b, t, p); }\nextern \"C\" int arity_" + name + "() { return arity(" + name +
            "); }\n";
  }
  return text;
}

void fill(DriverFunctions& d) {
  d.init = [](unsigned) { return state().shown.devices > 0 ? 0 : 100; };
  d.error_text = [](int, const char** text) { return *text = "an error of the fake", 0; };
  d.driver_version = [](int* version) { return *version = 12080, 0; };
  d.device_count = [](int* count) { return *count = state().shown.devices, 0; };
  d.device_get = [](int* device, int ordinal) { return *device = ordinal, 0; };
  d.device_name = [](char* name, int, int) { return std::strcpy(name, "Fake GPU"), 0; };
  d.device_uuid = [](DeviceUuid* uuid, int device) {
    return std::memset(uuid->bytes, 'a' + device, sizeof uuid->bytes), 0;
  };
  d.device_attribute = [](int* value, int attribute, int) {
    *value = attribute == kAttributeCapabilityMajor ? 9 : attribute == kAttributeMultiprocessors;
    return 0;
  };
  d.device_memory = [](std::size_t* bytes, int) { return *bytes = state().shown.memory_bytes, 0; };
  d.context_retain = [](Context* context, int) {
    return *context = reinterpret_cast<Context>(1), 0;
  };
  d.context_set = [](Context) { return 0; };
  d.stream_create = [](Stream* stream, unsigned) {
    return *stream = reinterpret_cast<Stream>(1), 0;
  };
  d.stream_destroy = [](Stream) { return 0; };
  d.stream_wait = [](Stream) { return note("stream_wait"), 0; };
  d.event_create = [](Event* event, unsigned) { return *event = reinterpret_cast<Event>(1), 0; };
  d.event_destroy = [](Event) { return 0; };
  d.event_record = [](Event, Stream) { return note("event_record"), 0; };
  d.event_query = [](Event) { return state().shown.hangs ? kDriverNotReady : 0; };
  d.stream_wait_event = [](Stream, Event, unsigned) { return note("stream_wait_event"), 0; };
  d.event_elapsed = [](float* milliseconds, Event, Event) { return *milliseconds = 1, 0; };

  d.allocate = [](DevicePointer* memory, std::size_t bytes) {
    note("allocate");
    if (state().shown.allocated + bytes > state().shown.memory_bytes) return kDriverOutOfMemory;
    *memory = reinterpret_cast<DevicePointer>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    std::memset(bytes_at(*memory), 0xcd, bytes);  // nothing may rely on what is there
    state().allocations[*memory] = bytes;
    state().shown.allocated += bytes;
    return 0;
  };
  d.free = [](DevicePointer memory) {
    note("free");
    state().shown.allocated -= state().allocations.at(memory);
    state().allocations.erase(memory);
    std::free(bytes_at(memory));
    return 0;
  };
  d.copy_in = [](DevicePointer to, const void* from, std::size_t bytes, Stream) {
    note("copy_in");
    return do_or_capture([=] { std::memcpy(bytes_at(to), from, bytes); });
  };
  d.copy_out = [](void* to, DevicePointer from, std::size_t bytes, Stream) {
    note("copy_out");
    return do_or_capture([=] { std::memcpy(to, bytes_at(from), bytes); });
  };
  d.copy_within = [](DevicePointer to, DevicePointer from, std::size_t bytes, Stream) {
    note("copy_within");
    return do_or_capture([=] { std::memcpy(bytes_at(to), bytes_at(from), bytes); });
  };
  d.copy_rows = [](const RowCopy* copy, Stream) {
    note("copy_rows");
    if (copy->from_memory != kDeviceMemory || copy->to_memory != kDeviceMemory ||
        copy->from_pitch < copy->row_bytes || copy->to_pitch < copy->row_bytes)
      return 1;
    return do_or_capture([copy = *copy] {
      for (std::size_t row = 0; row < copy.rows; ++row)
        std::memmove(bytes_at(copy.to) + row * copy.to_pitch,
                     bytes_at(copy.from) + row * copy.from_pitch, copy.row_bytes);
    });
  };
  d.set_bytes = [](DevicePointer memory, unsigned char value, std::size_t bytes, Stream) {
    note("set_bytes");
    return do_or_capture([=] { std::memset(bytes_at(memory), value, bytes); });
  };
}

void fill_execution(DriverFunctions& d) {
  d.module_load = [](Module* module, const void* image) {
    note("module_load");
    auto library = codegen::compile_for_host(host_source(static_cast<const char*>(image)), "-O0");
    if (!library.ok()) return 1;
    *module = new ModuleTag{*std::move(library)};
    return 0;
  };
  d.module_unload = [](Module module) {
    note("module_unload");
    delete module;
    return 0;
  };
  d.module_function = [](Function* function, Module module, const char* name) {
    auto found = std::make_unique<FunctionTag>();
    found->launch = reinterpret_cast<decltype(found->launch)>(
        module->library->find(std::string("launch_") + name));
    const auto arity =
        reinterpret_cast<int (*)()>(module->library->find(std::string("arity_") + name));
    if (arity == nullptr) return 500;
    found->arity = arity();
    *function = found.get();
    state().functions.push_back(std::move(found));
    return 0;
  };
  d.launch = [](Function function, unsigned grid, unsigned, unsigned, unsigned block, unsigned,
                unsigned, unsigned, Stream, void** arguments, void**) {
    note("launch");
    // The values are taken now, as the driver does.
    std::vector<DevicePointer> values;
    for (int i = 0; i < function->arity; ++i)
      values.push_back(*static_cast<DevicePointer*>(arguments[i]));
    return do_or_capture([=]() mutable {
      std::vector<void*> pointers;
      for (DevicePointer& value : values) pointers.push_back(&value);
      if (function->launch(grid, block, pointers.data()) != 0) std::abort();
    });
  };
  d.capture_begin = [](Stream, int) {
    note("capture_begin");
    state().capturing = std::make_unique<GraphTag>();
    return 0;
  };
  d.capture_end = [](Stream, Graph* graph) {
    note("capture_end");
    *graph = state().capturing.release();
    return 0;
  };
  d.graph_instantiate = [](GraphExec* exec, Graph graph, unsigned long long) {
    *exec = new GraphExecTag{graph->nodes};
    return 0;
  };
  d.graph_launch = [](GraphExec exec, Stream) {
    note("graph_launch");
    for (const auto& node : exec->nodes) node();
    return 0;
  };
  d.graph_destroy = [](Graph graph) {
    delete graph;
    return 0;
  };
  d.graph_exec_destroy = [](GraphExec exec) {
    delete exec;
    return 0;
  };
}

void fill(NvrtcFunctions& n) {
  n.version = [](int* major, int* minor) { return *major = 12, *minor = 8, 0; };
  n.architecture_count = [](int* count) { return *count = 1, 0; };
  n.architectures = [](int* architectures) { return architectures[0] = 90, 0; };
  n.create = [](NvrtcProgram* program, const char* source, const char*, int, const char* const*,
                const char* const*) {
    *program = new NvrtcProgramTag{source};
    return 0;
  };
  n.destroy = [](NvrtcProgram* program) {
    delete *program;
    return 0;
  };
  n.compile = [](NvrtcProgram, int, const char* const*) { return note("compile"), 0; };
  n.log_size = [](NvrtcProgram, std::size_t* bytes) { return *bytes = 0, 0; };
  n.log = [](NvrtcProgram, char*) { return 0; };
  n.cubin_size = [](NvrtcProgram program, std::size_t* bytes) {
    return *bytes = program->source.size() + 1, 0;
  };
  n.cubin = [](NvrtcProgram program, char* image) {
    std::memcpy(image, program->source.c_str(), program->source.size() + 1);
    return 0;
  };
  n.ptx_size = n.cubin_size;
  n.ptx = n.cubin;
}

// ---- Products

double load(int type, const void* data, std::int64_t i) {
  switch (type) {
    case kTypeF64: return static_cast<const double*>(data)[i];
    case kTypeF16: return ir::half_to_float(static_cast<const std::uint16_t*>(data)[i]);
    case kTypeBF16: return ir::bfloat16_to_float(static_cast<const std::uint16_t*>(data)[i]);
    default: return static_cast<const float*>(data)[i];
  }
}

void store(int type, void* data, std::int64_t i, double value) {
  const auto narrow = static_cast<float>(value);
  switch (type) {
    case kTypeF64: static_cast<double*>(data)[i] = value; break;
    case kTypeF16: static_cast<std::uint16_t*>(data)[i] = ir::float_to_half(narrow); break;
    case kTypeBF16: static_cast<std::uint16_t*>(data)[i] = ir::float_to_bfloat16(narrow); break;
    default: static_cast<float*>(data)[i] = narrow; break;
  }
}

void multiply(const LtMatmulTag& of, const void* a, const LtLayoutTag& a_layout, const void* b,
              const LtLayoutTag& b_layout, void* d, const LtLayoutTag& d_layout) {
  const std::int64_t depth = of.transpose_a ? a_layout.rows : a_layout.columns;
  const auto at = [](const LtLayoutTag& layout, bool transposed, std::int64_t batch,
                     std::int64_t row, std::int64_t column) {
    if (transposed) std::swap(row, column);
    return batch * layout.batch_stride + column * layout.leading + row;
  };
  for (std::int64_t batch = 0; batch < d_layout.batch; ++batch) {
    for (std::int64_t column = 0; column < d_layout.columns; ++column) {
      for (std::int64_t row = 0; row < d_layout.rows; ++row) {
        double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k)
          sum += load(a_layout.type, a, at(a_layout, of.transpose_a, batch, row, k)) *
                 load(b_layout.type, b, at(b_layout, of.transpose_b, batch, k, column));
        store(d_layout.type, d, at(d_layout, false, batch, row, column), sum);
      }
    }
  }
}

// What cuBLASLt demands of the shapes of a product.
bool fits(const LtMatmulTag& of, const LtLayoutTag& a, const LtLayoutTag& b, const LtLayoutTag& d) {
  const std::int64_t m = of.transpose_a ? a.columns : a.rows;
  const std::int64_t k = of.transpose_a ? a.rows : a.columns;
  const bool good = (of.transpose_b ? b.columns : b.rows) == k &&
                    (of.transpose_b ? b.rows : b.columns) == d.columns && m == d.rows;
  return good && a.leading >= a.rows && b.leading >= b.rows && d.leading >= d.rows &&
         a.batch == d.batch && b.batch == d.batch;
}

void fill(LtFunctions& lt) {
  lt.create = [](LtHandle* handle) { return *handle = reinterpret_cast<LtHandle>(1), 0; };
  lt.destroy = [](LtHandle) { return 0; };
  lt.matmul_create = [](LtMatmul* matmul, int, int scale_type) {
    *matmul = new LtMatmulTag{scale_type};
    return 0;
  };
  lt.matmul_destroy = [](LtMatmul matmul) {
    delete matmul;
    return 0;
  };
  lt.matmul_set = [](LtMatmul matmul, int attribute, const void* value, std::size_t bytes) {
    if (bytes != sizeof(std::int32_t)) return 7;
    const bool transposed = *static_cast<const std::int32_t*>(value) == kTransposed;
    (attribute == kMatmulTransposeA ? matmul->transpose_a : matmul->transpose_b) = transposed;
    return 0;
  };
  lt.layout_create = [](LtLayout* layout, int type, std::uint64_t rows, std::uint64_t columns,
                        std::int64_t leading) {
    *layout = new LtLayoutTag{type, static_cast<std::int64_t>(rows),
                              static_cast<std::int64_t>(columns), leading};
    return 0;
  };
  lt.layout_destroy = [](LtLayout layout) {
    delete layout;
    return 0;
  };
  lt.layout_set = [](LtLayout layout, int attribute, const void* value, std::size_t bytes) {
    if (attribute == kLayoutBatchCount && bytes == sizeof layout->batch) {
      layout->batch = *static_cast<const std::int32_t*>(value);
      return 0;
    }
    if (attribute != kLayoutBatchStride || bytes != sizeof layout->batch_stride) return 7;
    layout->batch_stride = *static_cast<const std::int64_t*>(value);
    return 0;
  };
  lt.preference_create = [](LtPreference* preference) {
    return *preference = reinterpret_cast<LtPreference>(1), 0;
  };
  lt.preference_destroy = [](LtPreference) { return 0; };
  lt.preference_set = [](LtPreference, int, const void*, std::size_t) { return 0; };
  lt.heuristic = [](LtHandle, LtMatmul matmul, LtLayout a, LtLayout b, LtLayout, LtLayout d,
                    LtPreference, int, LtHeuristic* results, int* found) {
    note("heuristic");
    if (!fits(*matmul, *a, *b, *d)) return 7;
    *found = state().shown.lt_has_algorithms ? 1 : 0;
    results[0] = {};
    return state().shown.lt_has_algorithms ? 0 : 15;
  };
  lt.matmul = [](LtHandle, LtMatmul matmul, const void*, const void* a, LtLayout a_layout,
                 const void* b, LtLayout b_layout, const void*, const void*, LtLayout, void* d,
                 LtLayout d_layout, const LtAlgorithm*, void*, std::size_t, Stream) {
    note("matmul");
    return do_or_capture([=] { multiply(*matmul, a, *a_layout, b, *b_layout, d, *d_layout); });
  };
}

// ---- Convolutions

// Whether cuDNN would take these descriptors: the output has the sizes that the rest gives.
bool fits(const DnnTensorTag& x, const DnnFilterTag& w, const DnnConvolutionTag& c,
          const DnnTensorTag& y) {
  const std::size_t rank = x.sizes.size();
  bool good = rank >= 4 && w.sizes.size() == rank && y.sizes.size() == rank &&
              c.pads.size() == rank - 2 && x.sizes[0] == y.sizes[0] && w.sizes[0] == y.sizes[1] &&
              x.sizes[1] == w.sizes[1] * c.groups && w.sizes[0] % c.groups == 0;
  for (std::size_t i = 0; good && i < c.pads.size(); ++i) {
    const int reach = c.dilations[i] * (w.sizes[i + 2] - 1) + 1;
    good = y.sizes[i + 2] == (x.sizes[i + 2] + 2 * c.pads[i] - reach) / c.strides[i] + 1;
  }
  return good && (x.type != kDnnF32 || c.math == kDnnFmaMath);
}

// The next index of a box in row-major order; false at its end.
bool advance(std::vector<int>& index, const std::vector<int>& sizes, std::size_t from) {
  for (std::size_t i = index.size(); i-- > from;) {
    if (++index[i] < sizes[i]) return true;
    index[i] = 0;
  }
  return false;
}

void convolve(const DnnTensorTag& x, const void* image, const DnnFilterTag& w, const void* filter,
              const DnnConvolutionTag& c, const DnnTensorTag& y, void* out) {
  const int type = x.type == kDnnF64 ? kTypeF64 : kTypeF32;
  std::int64_t at = 0;
  for (std::vector<int> o(y.sizes.size(), 0); at == 0 || advance(o, y.sizes, 0); ++at) {
    double sum = 0;
    std::vector<int> k(w.sizes.size(), 0);
    k[0] = o[1];
    do {
      std::int64_t from = static_cast<std::int64_t>(o[0]) * x.strides[0];
      const int channel = o[1] / (w.sizes[0] / c.groups) * w.sizes[1] + k[1];
      from += static_cast<std::int64_t>(channel) * x.strides[1];
      bool inside = true;
      for (std::size_t i = 0; i < c.pads.size(); ++i) {
        const int place = o[i + 2] * c.strides[i] + k[i + 2] * c.dilations[i] - c.pads[i];
        inside = inside && place >= 0 && place < x.sizes[i + 2];
        from += static_cast<std::int64_t>(place) * x.strides[i + 2];
      }
      std::int64_t weight = 0;
      for (std::size_t i = 0; i < k.size(); ++i) weight = weight * w.sizes[i] + k[i];
      if (inside) sum += load(type, image, from) * load(type, filter, weight);
    } while (advance(k, w.sizes, 1));
    store(type, out, at, sum);
  }
}

void fill(DnnFunctions& dnn) {
  dnn.create = [](DnnHandle* handle) { return *handle = reinterpret_cast<DnnHandle>(1), 0; };
  dnn.destroy = [](DnnHandle) { return 0; };
  dnn.set_stream = [](DnnHandle, Stream) { return 0; };
  dnn.tensor_create = [](DnnTensor* tensor) { return *tensor = new DnnTensorTag, 0; };
  dnn.tensor_destroy = [](DnnTensor tensor) { return delete tensor, 0; };
  dnn.tensor_set = [](DnnTensor tensor, int type, int rank, const int* sizes, const int* strides) {
    *tensor = {type, {sizes, sizes + rank}, {strides, strides + rank}};
    return 0;
  };
  dnn.filter_create = [](DnnFilter* filter) { return *filter = new DnnFilterTag, 0; };
  dnn.filter_destroy = [](DnnFilter filter) { return delete filter, 0; };
  dnn.filter_set = [](DnnFilter filter, int, int format, int rank, const int* sizes) {
    filter->sizes = {sizes, sizes + rank};
    return format == kDnnRowMajor ? 0 : 9;
  };
  dnn.convolution_create = [](DnnConvolution* made) { return *made = new DnnConvolutionTag, 0; };
  dnn.convolution_destroy = [](DnnConvolution convolution) { return delete convolution, 0; };
  dnn.convolution_set = [](DnnConvolution convolution, int rank, const int* pads,
                           const int* strides, const int* dilations, int mode, int) {
    convolution->pads = {pads, pads + rank};
    convolution->strides = {strides, strides + rank};
    convolution->dilations = {dilations, dilations + rank};
    return mode == kDnnCrossCorrelation ? 0 : 9;
  };
  dnn.convolution_set_groups = [](DnnConvolution convolution, int groups) {
    return convolution->groups = groups, 0;
  };
  dnn.convolution_set_math = [](DnnConvolution convolution, int math) {
    return convolution->math = math, 0;
  };
  dnn.algorithms = [](DnnHandle, DnnTensor x, DnnFilter w, DnnConvolution convolution, DnnTensor y,
                      int, int* found, DnnAlgorithm* algorithms) {
    if (!fits(*x, *w, *convolution, *y)) return 3;
    algorithms[0] = {};
    algorithms[0].memory = std::size_t{1} << 40;  // more than there is
    algorithms[1] = {};
    *found = state().shown.dnn_has_algorithms ? 2 : 1;
    return 0;
  };
  dnn.convolve = [](DnnHandle, const void*, DnnTensor x, const void* image, DnnFilter w,
                    const void* filter, DnnConvolution convolution, int, void*, std::size_t,
                    const void*, DnnTensor y, void* out) {
    note("convolve");
    return do_or_capture([=] { convolve(*x, image, *w, filter, *convolution, *y, out); });
  };
}

}  // namespace

std::size_t FakeCuda::count(const std::string& call) const {
  return static_cast<std::size_t>(std::ranges::count(calls, call));
}

FakeCuda& fake_cuda() { return state().shown; }

const cuda::Libraries& fake_libraries() {
  static const Libraries libraries = [] {
    Libraries made;
    fill(made.driver);
    fill_execution(made.driver);
    fill(made.nvrtc);
    fill(made.lt);
    fill(made.dnn);
    made.driver_version = 12080;
    made.nvrtc_version = 12080;
    return made;
  }();
  return libraries;
}

}  // namespace egret::backends
