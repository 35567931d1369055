// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/fake_cuda.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <set>

#include "backends/codegen/host_compiler.h"
#include "ir/core/dtype.h"
#include "tests/backends/fake_cuda_state.h"
#include "tests/codegen/cuda_on_cpu_include.h"

namespace egret::backends {
namespace cuda {

// What the driver's handles point to here.
struct ModuleTag {
  std::shared_ptr<const codegen::HostLibrary> library;  // none where nothing is computed
  bool has_fragments = false;                           // multiplies on the tensor cores
};
struct StreamTag {};
struct EventTag {};
struct FunctionTag {
  int (*launch)(unsigned blocks, unsigned threads, void** arguments) = nullptr;
  int arity = 0;
  bool has_fragments = false;
};
// A kernel with its grid, its block and the addresses that it gets.
struct FakeLaunch {
  Function function = nullptr;
  unsigned grid = 0, block = 0;
  std::vector<DevicePointer> values{};

  bool operator==(const FakeLaunch&) const = default;
};
struct GraphTag {
  std::vector<std::function<void()>> nodes;
  FakeLaunch last{};  // the last node, if it is a launch
};
struct GraphExecTag {
  std::vector<std::function<void()>> nodes;
};
struct NvrtcProgramTag {
  std::string source;
};
struct LtMatmulTag {
  int scale_type, compute_type;
  bool transpose_a = false, transpose_b = false;
  std::int32_t epilogue = 0;
  const void* bias = nullptr;
};
struct LtLayoutTag {
  int type;
  std::int64_t rows, columns, leading;
  std::int32_t batch = 1;
  std::int64_t batch_stride = 0;
};

}  // namespace cuda

namespace {

using namespace cuda;

struct State {
  FakeCuda shown;
  FakeClock clock;
  std::map<DevicePointer, std::size_t> allocations;
  std::vector<std::unique_ptr<FunctionTag>> functions;
  std::unique_ptr<GraphTag> capturing;
  // Launched since anything but graphs ran: again they would change nothing, but for the rounding
  // of another way to compute the same.
  std::set<GraphExec> done;
};

State& state() {
  static State* const made = new State;
  return *made;
}

void note(const char* call) { note_call(call); }

// What computes nothing: only where there is a clock.
int keep_time(std::function<void()> work) {
  return state().shown.simulates ? do_or_capture(std::move(work)) : 0;
}

std::byte* bytes_at(DevicePointer memory) { return reinterpret_cast<std::byte*>(memory); }

// The kernels as a library for the host: each can be launched with an array of its arguments.
std::string host_source(const std::string& kernels) {
  std::string text = include_cuda_on_cpu();
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
  const std::regex declaration("__launch_bounds__\\(\\d+\\) (\\w+)\\(");
  for (std::sregex_iterator at(kernels.begin(), kernels.end(), declaration), end; at != end; ++at) {
    const std::string name = (*at)[1];
    text += "extern \"C\" int launch_" + name +
            "(unsigned b, unsigned t, void** p) { return call(" + name +
            ", b, t, p); }\nextern \"C\" int arity_" + name + "() { return arity(" + name +
            "); }\n";
  }
  return text;
}

// Whether an emitted kernel multiplies on the tensor cores.
bool has_fragments(std::string_view source) {
  return source.find("mma.sync") != std::string_view::npos;
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
    const bool is_large = state().shown.simulates;
    switch (attribute) {
      case kAttributeCapabilityMajor: *value = 9; break;
      case kAttributeMultiprocessors: *value = is_large ? 132 : 1; break;
      case kAttributeClockKilohertz: *value = 1'980'000; break;
      case kAttributeMemoryClockKilohertz: *value = 3'201'000; break;
      case kAttributeMemoryBusBits: *value = 6144; break;
      default: *value = 0; break;
    }
    return 0;
  };
  d.device_memory = [](std::size_t* bytes, int) { return *bytes = state().shown.memory_bytes, 0; };
  d.context_retain = [](Context* context, int) {
    return *context = reinterpret_cast<Context>(1), 0;
  };
  d.context_set = [](Context) { return 0; };
  d.stream_create = [](Stream* stream, unsigned) { return *stream = new StreamTag, 0; };
  d.stream_destroy = [](Stream stream) { return delete stream, 0; };
  d.stream_wait = [](Stream) { return note("stream_wait"), 0; };
  d.event_create = [](Event* event, unsigned) { return *event = new EventTag, 0; };
  d.event_destroy = [](Event event) {
    state().clock.forget(event);
    return delete event, 0;
  };
  d.event_record = [](Event event, Stream stream) {
    note("event_record");
    return keep_time([=] { state().clock.mark(event, stream); });
  };
  d.event_record_with_flags = [](Event event, Stream stream, unsigned) {
    note("event_mark");
    return keep_time([=] { state().clock.mark(event, stream); });
  };
  d.event_query = [](Event) { return state().shown.hangs ? kDriverNotReady : 0; };
  d.stream_wait_event = [](Stream stream, Event event, unsigned) {
    note("stream_wait_event");
    return keep_time([=] { state().clock.wait(stream, event); });
  };
  d.event_elapsed = [](float* milliseconds, Event before, Event after) {
    if (state().shown.simulates) {
      *milliseconds = static_cast<float>(1e3 * state().clock.between(before, after));
      return 0;
    }
    float& next = state().shown.milliseconds;
    *milliseconds = next;
    next *= state().shown.faster_each_time ? 0.9F : 1;
    return 0;
  };

  d.allocate = [](DevicePointer* memory, std::size_t bytes) {
    note("allocate");
    if (state().shown.allocated + bytes > state().shown.memory_bytes) return kDriverOutOfMemory;
    *memory = reinterpret_cast<DevicePointer>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    if (!state().shown.simulates)
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
    const bool fragments = has_fragments(static_cast<const char*>(image));
    if (state().shown.simulates) return *module = new ModuleTag{nullptr, fragments}, 0;
    auto library = codegen::compile_for_host(host_source(static_cast<const char*>(image)), "-O0");
    if (!library.ok()) return 1;
    *module = new ModuleTag{*std::move(library), fragments};
    return 0;
  };
  d.module_unload = [](Module module) {
    note("module_unload");
    delete module;
    return 0;
  };
  d.module_function = [](Function* function, Module module, const char* name) {
    auto found = std::make_unique<FunctionTag>();
    found->has_fragments = module->has_fragments;
    if (module->library != nullptr) {
      found->launch = reinterpret_cast<decltype(found->launch)>(
          module->library->find(std::string("launch_") + name));
      const auto arity =
          reinterpret_cast<int (*)()>(module->library->find(std::string("arity_") + name));
      if (arity == nullptr) return 500;
      found->arity = arity();
    }
    *function = found.get();
    state().functions.push_back(std::move(found));
    return 0;
  };
  d.launch = [](Function function, unsigned grid, unsigned, unsigned, unsigned block, unsigned,
                unsigned, unsigned, Stream stream, void** arguments, void**) {
    note("launch");
    if (function->has_fragments && !state().shown.fragments_run) return 701;
    constexpr double kBytesOfThread = 16;
    // A guess, too: the text of a kernel does not say how long its sums are.
    constexpr double kFlopsOfThread = 2.0 * 32 * 4096;
    // The values are taken now, as the driver does.
    std::vector<DevicePointer> values;
    for (int i = 0; i < function->arity; ++i)
      values.push_back(*static_cast<DevicePointer*>(arguments[i]));
    const double threads = double(grid) * block;
    const FakeWork work{.flops = function->has_fragments ? threads * kFlopsOfThread : 0,
                        .bytes = threads * kBytesOfThread};
    FakeLaunch own{function, grid, block, values};
    // A kernel on the tensor cores takes long here, and a second time it computes the same.
    GraphTag* const capturing = state().shown.simulates ? nullptr : state().capturing.get();
    if (capturing != nullptr && capturing->last == own) return 0;
    const int status = run_or_capture(stream, work, [=]() mutable {
      std::vector<void*> pointers;
      for (DevicePointer& value : values) pointers.push_back(&value);
      if (function->launch(grid, block, pointers.data()) != 0) std::abort();
    });
    if (capturing != nullptr) capturing->last = std::move(own);
    return status;
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
  d.graph_launch = [](GraphExec exec, Stream stream) {
    note("graph_launch");
    if (state().done.contains(exec) && !state().shown.simulates) return 0;
    state().clock.begin_graph(stream);
    for (const auto& node : exec->nodes) node();
    state().clock.end_graph(stream);
    state().done.insert(exec);
    return 0;
  };
  d.graph_destroy = [](Graph graph) {
    delete graph;
    return 0;
  };
  d.graph_exec_destroy = [](GraphExec exec) {
    state().done.erase(exec);
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
  n.compile = [](NvrtcProgram program, int, const char* const*) {
    note("compile");
    constexpr int kCompilation = 6;  // NVRTC_ERROR_COMPILATION
    return state().shown.fragments_compile || !has_fragments(program->source) ? 0 : kCompilation;
  };
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

void multiply(const LtMatmulTag& of, double alpha, const void* a, const LtLayoutTag& a_layout,
              const void* b, const LtLayoutTag& b_layout, double beta, const void* c, void* d,
              const LtLayoutTag& d_layout) {
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
          sum += load_element(a_layout.type, a, at(a_layout, of.transpose_a, batch, row, k)) *
                 load_element(b_layout.type, b, at(b_layout, of.transpose_b, batch, k, column));
        const std::int64_t place = at(d_layout, false, batch, row, column);
        sum *= alpha;
        if (beta != 0) sum += beta * load_element(d_layout.type, c, place);
        if ((of.epilogue & kEpilogueBias) != 0) sum += load_element(d_layout.type, of.bias, row);
        if ((of.epilogue & kEpilogueRelu) != 0) sum = std::max(sum, 0.0);
        store_element(d_layout.type, d, place, sum);
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
         a.batch == d.batch && b.batch == d.batch && a.type == b.type &&
         (d.type == a.type || (d.type == kTypeF32 && a.type != kTypeF64));
}

FakeWork work_of(const LtMatmulTag& of, const LtLayoutTag& a, const LtLayoutTag& b,
                 const LtLayoutTag& d) {
  const auto bytes = [](const LtLayoutTag& layout) {
    const double width = layout.type == kTypeF64 ? 8 : layout.type == kTypeF32 ? 4 : 2;
    const double batches = layout.batch_stride == 0 ? 1 : layout.batch;
    return width * batches * static_cast<double>(layout.rows * layout.columns);
  };
  const std::int64_t depth = of.transpose_a ? a.rows : a.columns;
  return {.flops = 2.0 * d.batch * static_cast<double>(d.rows * d.columns * depth),
          .bytes = bytes(a) + bytes(b) + bytes(d),
          .depth = depth,
          .on_tensor_cores = a.type == kTypeF16 || a.type == kTypeBF16 ||
                             (of.compute_type != kComputeF32 && of.compute_type != kComputeF64)};
}

void fill(LtFunctions& lt) {
  lt.create = [](LtHandle* handle) { return *handle = reinterpret_cast<LtHandle>(1), 0; };
  lt.destroy = [](LtHandle) { return 0; };
  lt.matmul_create = [](LtMatmul* matmul, int compute_type, int scale_type) {
    state().shown.compute_types.insert(compute_type);
    *matmul = new LtMatmulTag{scale_type, compute_type};
    return 0;
  };
  lt.matmul_destroy = [](LtMatmul matmul) {
    delete matmul;
    return 0;
  };
  lt.matmul_set = [](LtMatmul matmul, int attribute, const void* value, std::size_t bytes) {
    if (bytes != (attribute == kMatmulBias ? sizeof(void*) : sizeof(std::int32_t))) return 7;
    if (attribute == kMatmulBias) {
      std::memcpy(&matmul->bias, value, bytes);
      return 0;
    }
    const std::int32_t number = *static_cast<const std::int32_t*>(value);
    if (attribute == kMatmulEpilogue) {
      matmul->epilogue = number;
    } else {
      (attribute == kMatmulTransposeA ? matmul->transpose_a : matmul->transpose_b) =
          number == kTransposed;
    }
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
    if (a->type != kTypeF32 && a->type != kTypeF64 && !state().shown.narrow_types) return 15;
    *found = state().shown.lt_has_algorithms ? 2 : 0;
    results[0] = results[1] = {};
    results[1].algorithm.data[0] = 1;
    return state().shown.lt_has_algorithms ? 0 : 15;
  };
  lt.matmul = [](LtHandle, LtMatmul matmul, const void* alpha, const void* a, LtLayout a_layout,
                 const void* b, LtLayout b_layout, const void* beta, const void* c, LtLayout,
                 void* d, LtLayout d_layout, const LtAlgorithm* algorithm, void*, std::size_t,
                 Stream stream) {
    note("matmul");
    if (!state().shown.libraries_run) return 13;
    state().shown.algorithms.push_back(algorithm->data[0]);
    const auto factor = [&](const void* at) {
      return matmul->scale_type == kTypeF64 ? *static_cast<const double*>(at)
                                            : *static_cast<const float*>(at);
    };
    const FakeWork work = work_of(*matmul, *a_layout, *b_layout, *d_layout);
    return run_or_capture(stream, work,
                          [=, alpha = factor(alpha), beta = factor(beta), of = *matmul] {
                            multiply(of, alpha, a, *a_layout, b, *b_layout, beta, c, d, *d_layout);
                          });
  };
}

}  // namespace

namespace {
std::mutex counting;
}  // namespace

void note_call(const char* call) {
  const std::lock_guard lock(counting);
  state().shown.calls.emplace_back(call);
}

void count_one(int FakeCuda::*what, int by) {
  const std::lock_guard lock(counting);
  state().shown.*what += by;
}

bool is_capturing() { return state().capturing != nullptr; }

int do_or_capture(std::function<void()> work) {
  if (state().capturing != nullptr) {
    state().capturing->nodes.push_back(std::move(work));
    state().capturing->last = {};
  } else {
    work();
    state().done.clear();
  }
  return 0;
}

int run_or_capture(Stream stream, const FakeWork& work, std::function<void()> compute) {
  if (!state().shown.simulates) return do_or_capture(std::move(compute));
  return do_or_capture([=] { state().clock.run(stream, work); });
}

double load_element(int type, const void* data, std::int64_t i) {
  switch (type) {
    case kTypeF64: return static_cast<const double*>(data)[i];
    case kTypeF16: return ir::half_to_float(static_cast<const std::uint16_t*>(data)[i]);
    case kTypeBF16: return ir::bfloat16_to_float(static_cast<const std::uint16_t*>(data)[i]);
    default: return static_cast<const float*>(data)[i];
  }
}

void store_element(int type, void* data, std::int64_t i, double value) {
  const auto narrow = static_cast<float>(value);
  switch (type) {
    case kTypeF64: static_cast<double*>(data)[i] = value; break;
    case kTypeF16: static_cast<std::uint16_t*>(data)[i] = ir::float_to_half(narrow); break;
    case kTypeBF16: static_cast<std::uint16_t*>(data)[i] = ir::float_to_bfloat16(narrow); break;
    default: static_cast<float*>(data)[i] = narrow; break;
  }
}

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
    fill_fake_cudnn(made.dnn);
    made.driver_version = 12080;
    made.nvrtc_version = 12080;
    return made;
  }();
  return libraries;
}

}  // namespace egret::backends
