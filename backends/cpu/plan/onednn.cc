// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/onednn.h"

#include <omp.h>

#include <cstddef>
#include <new>

#include "backends/cpu/plan/plan_builder.h"
#include "backends/thread_team.h"
#include "base/lack_of_memory.h"

namespace egret::backends::cpu {

using dnnl::memory;

const dnnl::engine& onednn_engine() {
  static const auto* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

const dnnl::stream& onednn_stream() {
  static const auto* const stream = new dnnl::stream(onednn_engine());
  return *stream;
}

std::string onednn_version() {
  const dnnl_version_t* loaded = dnnl_version();
  return "oneDNN " + std::to_string(loaded->major) + "." + std::to_string(loaded->minor) + "." +
         std::to_string(loaded->patch);
}

ThreadScope::ThreadScope(int threads) : before_(omp_get_max_threads()) {
  ensure_team(threads);
  omp_set_num_threads(threads);
}
ThreadScope::~ThreadScope() { omp_set_num_threads(before_); }

namespace {

// oneDNN writes kernels' code to the place of memory that it did not get, and crashes. A kernel's
// buffer for code takes 256 KiB, and the allocator takes 32 MiB at a time.
constexpr std::size_t kRoomForKernels = std::size_t{48} << 20;

thread_local int guards = 0;  // around what this thread does

class Guard {
 public:
  Guard() { ++guards; }
  ~Guard() { --guards; }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
};

base::Status lack_of_memory() {
  if (guards > 0) throw std::bad_alloc();
  return base::limit_hit("not enough memory for the kernels");
}

}  // namespace

// oneDNN's C++ interface throws. The exceptions end here: a refusal means that the next candidate
// is tried. Lack of memory must not choose among candidates, so a guard within another hands it to
// the outer one. These are the guards of planning, where kernels are made.
base::Status guarded(const std::function<base::Status()>& body) {
  try {
    if (guards > 0 && !base::has_room(kRoomForKernels)) throw std::bad_alloc();
    const Guard guard;
    return body();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) return lack_of_memory();
    return base::unsupported(std::string("oneDNN: ") + error.what());
  } catch (const std::bad_alloc&) {
    return lack_of_memory();
  }
}

memory::desc descriptor(const ir::Shape& shape, const Layout& layout, Element element) {
  if (shape.empty()) return {{1}, element, memory::dims{1}};
  const memory::dims dims(shape.begin(), shape.end());
  if (layout.block > 1) {
    EGRET_CHECK(shape.size() >= 3 && shape.size() <= 5, "blocked layouts have 1 to 3 spatial axes");
    using tag = memory::format_tag;
    const tag tags[2][3] = {{tag::nCw8c, tag::nChw8c, tag::nCdhw8c},
                            {tag::nCw16c, tag::nChw16c, tag::nCdhw16c}};
    memory::desc md(dims, element, tags[layout.block == 16 ? 1 : 0][shape.size() - 3]);
    // A view into a larger tensor (a part of a concatenation) has other outer strides.
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      md.data.format_desc.blocking.strides[axis] = layout.strides[axis];
    }
    return md;
  }
  return {dims, element, memory::dims(layout.strides.begin(), layout.strides.end())};
}

memory::desc any_layout(const ir::Shape& shape, Element element) {
  return {memory::dims(shape.begin(), shape.end()), element, memory::format_tag::any};
}

Element element_of(ir::DType type) {
  switch (type) {
    case ir::DType::kBF16: return Element::bf16;
    case ir::DType::kI8: return Element::s8;
    case ir::DType::kU8: return Element::u8;
    default: return Element::f32;
  }
}

memory::desc descriptor_of(const Operand& operand) {
  return descriptor(operand.shape(), operand.layout, element_of(operand.type.dtype));
}

// A descriptor as a layout of the plan, if it is plain or has blocks of 8 or 16 channels.
base::Result<Layout> layout_of(const memory::desc& md) {
  const dnnl_memory_desc_t& data = md.data;
  if (data.format_kind != dnnl_blocked || data.extra.flags != 0 || data.offset0 != 0)
    return base::unsupported("an opaque layout");
  const dnnl_blocking_desc_t& blocking = data.format_desc.blocking;
  Layout layout;
  layout.strides.assign(blocking.strides, blocking.strides + data.ndims);
  if (blocking.inner_nblks == 0) return layout;
  if (blocking.inner_nblks != 1 || blocking.inner_idxs[0] != 1 ||
      (blocking.inner_blks[0] != 8 && blocking.inner_blks[0] != 16) || data.ndims < 3 ||
      data.ndims > 5)
    return base::unsupported("a layout with blocks of other axes than the channels");
  layout.block = blocking.inner_blks[0];
  return layout;
}

std::vector<float> scales_of(const Lowering& lowering) {
  std::vector<float> scales = lowering.weight_scales;
  for (float& scale : scales) scale *= lowering.scale;
  return scales;
}

dnnl::post_ops with_rounding(dnnl::post_ops ops, const Lowering& target) {
  if (target.form == OperandForm::kI8)
    ops.append_eltwise(1, dnnl::algorithm::eltwise_linear, 1 / target.scale, 0);
  return ops;
}

// oneDNN falls back to slow reference code without an error; only the implementation's name tells.
base::Status reject_reference(const std::string& implementation) {
  if (implementation.find("ref") == std::string::npos) return base::ok();
  return base::unsupported("oneDNN has only its unoptimized " + implementation);
}

PrimitiveStep::PrimitiveStep(dnnl::primitive primitive, std::vector<Argument> arguments)
    : primitive_(std::move(primitive)), arguments_(std::move(arguments)) {
  for (const Argument& argument : arguments_) {
    memories_.emplace_back(argument.descriptor, onednn_engine(), nullptr);
    packed_.push_back({argument.key, memories_.back().get()});
  }
}

// Addresses change between runs for inputs and outputs only, so handles are set where they differ.
base::Status PrimitiveStep::run(const Addresses& addresses) {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    void* const data = addresses.at<void*>(arguments_[i].operand);
    if (memories_[i].get_data_handle() != data) memories_[i].set_data_handle(data);
  }
  dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive_.get(), onednn_stream().get(),
                                                 static_cast<int>(packed_.size()), packed_.data()),
                          "a primitive failed");
  return base::ok();
}

std::vector<Operand> PrimitiveStep::operands() const {
  std::vector<Operand> all;
  for (const Argument& argument : arguments_) all.push_back(argument.operand);
  return all;
}

base::Result<Operand> weights_operand(PlanBuilder& builder, const memory::desc& from,
                                      const Operand& source, const memory::desc& wanted) {
  if (from == wanted) return source;
  // The same weights in several places (a recurrence) are packed once. Descriptors are plain data;
  // at worst, two equal ones differ in unused bytes and are packed twice.
  std::string form(reinterpret_cast<const char*>(&from.data), sizeof from.data);
  form.append(reinterpret_cast<const char*>(&wanted.data), sizeof wanted.data);
  if (const Operand* packed = builder.find_packed(source, form)) return *packed;
  dnnl::reorder::primitive_desc reorder(onednn_engine(), from, onednn_engine(), wanted);
  const auto size = static_cast<std::int64_t>(wanted.get_size());
  const bool constant = builder.weights_data(source) != nullptr;
  const Operand packed =
      constant ? builder.weights(ir::Tensor(ir::DType::kU8, ir::Shape{size})) : builder.bytes(size);
  auto step = std::make_unique<PrimitiveStep>(
      dnnl::reorder(reorder), std::vector<PrimitiveStep::Argument>{{DNNL_ARG_FROM, from, source},
                                                                   {DNNL_ARG_TO, wanted, packed}});
  if (constant) {
    EGRET_RETURN_IF_ERROR(builder.run_now(*step));
    builder.remember_packed(source, form, packed);
  } else {
    const std::vector<Operand> touched = step->operands();
    builder.add(std::move(step), touched, "reorder", reorder.impl_info_str());
  }
  return packed;
}

}  // namespace egret::backends::cpu
