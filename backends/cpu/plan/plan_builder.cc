// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/plan_builder.h"

#include <algorithm>

#include "backends/cpu/plan/copy_step.h"
#include "backends/cpu/plan/cpu_plan.h"
#include "backends/cpu/plan/onednn.h"
#include "backends/cpu/plan/reorder.h"
#include "backends/cpu/plan/rounding_step.h"

namespace egret::backends::cpu {
namespace {

// The inputs of a group from outside it, each once.
std::vector<ir::NodeId> outside_inputs(const ir::Graph& graph, const Group& group) {
  std::vector<ir::NodeId> inputs;
  for (const ir::NodeId id : group.nodes) {
    for (const ir::NodeId input : graph.node(id).inputs) {
      // The nodes of a group are sorted by id.
      if (!std::ranges::binary_search(group.nodes, input)) inputs.push_back(input);
    }
  }
  std::ranges::sort(inputs);
  const auto repeated = std::ranges::unique(inputs);
  inputs.erase(repeated.begin(), repeated.end());
  return inputs;
}

// From the first byte of an operand behind its last.
std::int64_t byte_span(const Operand& operand) {
  return span_elements(operand.layout, operand.shape()) *
         static_cast<std::int64_t>(ir::byte_size(operand.type.dtype));
}

// "conv{..}(f32[1,3,8,8], f32[4,3,3,3] const) relu(%0)".
std::string text_of(const ir::Graph& graph, const Group& group) {
  std::string text;
  for (const ir::NodeId id : group.nodes) {
    const ir::Node& node = graph.node(id);
    text += (text.empty() ? "" : " ") + node.op->name() + ir::to_string(node.attrs) + "(";
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ir::Node& input = graph.node(node.inputs[k]);
      const auto inside = std::ranges::find(group.nodes, node.inputs[k]);
      if (k > 0) text += ", ";
      if (inside != group.nodes.end()) {
        text += "%" + std::to_string(inside - group.nodes.begin());
      } else {
        text += ir::to_string(input.type);
        if (input.kind == ir::NodeKind::kConstant) text += " const";
      }
    }
    text += ")";
  }
  return text;
}

// Types and layouts; operands of one buffer have one number.
std::string text_of(std::span<const Operand> operands) {
  std::string text;
  std::vector<BufferId> seen;
  for (const Operand& operand : operands) {
    auto at = std::ranges::find(seen, operand.buffer);
    if (at == seen.end()) at = seen.insert(at, operand.buffer);
    text += " " + std::to_string(at - seen.begin()) + ":" + ir::to_string(operand.type) + " " +
            to_string(operand.layout, operand.shape());
  }
  return text;
}

}  // namespace

PlanBuilder::PlanBuilder(const ir::Graph& graph, std::vector<ir::Tensor> constants,
                         const CompileOptions& options, int threads)
    : winograd_budget(graph, options.thrift),
      graph_(graph),
      constants_(std::move(constants)),
      options_(options),
      threads_(threads),
      homes_(graph.size()),
      rounded_(graph.size()),
      reads_left_(graph.size(), 0) {}

// Counts the readers of each value: the groups that read it, plus one for each output of the graph.
// A value is dead when its count is 0. Inputs and constants get their homes here.
void PlanBuilder::count_reads(std::span<const Group> groups) {
  for (const Group& group : groups) {
    for (const ir::NodeId input : outside_inputs(graph_, group)) ++reads_left_[input.index()];
  }
  for (const auto& output : graph_.outputs()) ++reads_left_[output.node.index()];
  for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
    const ir::NodeId id = graph_.inputs()[i];
    const ir::TensorType& type = node(id).type;
    const BufferId buffer = new_buffer(
        {.kind = BufferKind::kInput, .bytes = type.bytes(), .index = static_cast<int>(i)});
    set_home(id, {buffer, 0, type, row_major(type.shape())});
  }
  for (std::size_t i = 0; i < graph_.size(); ++i) {
    const ir::NodeId id(i);
    if (node(id).kind == ir::NodeKind::kConstant && reads_left_[i] > 0)
      set_home(id, weights(std::move(constants_[i])));
  }
  constants_.clear();
  settled_ = buffers_.size();
}

void PlanBuilder::begin(const Group& group) {
  current_ = &group;
  touched_.clear();
}

// The group has read its inputs: their counts and the pending reads of their buffers go down by
// one.
void PlanBuilder::end(const Group& group) {
  EGRET_CHECK(has_home(group.root()), "a kernel left no value");
  for (const ir::NodeId input : outside_inputs(graph_, group)) {
    --reads_left_[input.index()];
    for_each_place(input, [&](const Operand& operand) {
      --buffers_[outermost(operand.buffer).index()].pending;
    });
  }
  release_unread(group);
  current_ = nullptr;
}

// Frees constants that nothing will read again. They are read through homes and as packed forms.
// Two kinds can become free here: inputs of the group just built, and intermediate forms made for
// it (scaled, in another layout) that were only packed further.
void PlanBuilder::release_unread(const Group& built) {
  bool released = false;
  const auto release = [&](Buffer& buffer) {
    // A buffer that a step touches (first >= 0) belongs to the plan and stays.
    if (buffer.kind != BufferKind::kWeights || buffer.pending > 0 || buffer.first >= 0) return;
    buffer.data = {};
    released = true;
  };
  for (const ir::NodeId input : outside_inputs(graph_, built)) {
    for_each_place(input, [&](const Operand& operand) {
      release(buffers_[outermost(operand.buffer).index()]);
    });
  }
  // Buffers before settled_ were examined after an earlier group, so each buffer is visited once in
  // total.
  for (std::size_t i = settled_; i < buffers_.size(); ++i) release(buffers_[i]);
  settled_ = buffers_.size();
  if (!released) return;
  // A cached packed form must not outlive its freed data.
  std::erase_if(packed_, [&](const auto& entry) {
    const Buffer& packed = buffers_[outermost(entry.second.buffer).index()];
    return packed.kind == BufferKind::kWeights && packed.pending == 0 && packed.first < 0;
  });
}

// A kernel that refuses must leave no value behind, because another kernel will make it.
void PlanBuilder::abandon(const Group& group) {
  EGRET_CHECK(!has_home(group.root()), "a kernel that failed left a value");
  current_ = nullptr;
}

// The group is to be built as several groups instead. The parts are counted before the group is
// discounted, so that no count falls to 0 in between.
void PlanBuilder::recount(const Group& group, std::span<const Group> parts) {
  const auto change = [&](ir::NodeId id, int by) {
    reads_left_[id.index()] += by;
    for_each_place(id, [&](const Operand& operand) {
      buffers_[outermost(operand.buffer).index()].pending += by;
    });
  };
  for (const Group& part : parts) {
    for (const ir::NodeId input : outside_inputs(graph_, part)) change(input, 1);
  }
  for (const ir::NodeId input : outside_inputs(graph_, group)) change(input, -1);
}

bool PlanBuilder::is_constant(ir::NodeId id) const {
  return node(id).kind == ir::NodeKind::kConstant;
}

const Operand* PlanBuilder::find_home(ir::NodeId id, const Layout& layout) const {
  for (const Operand& operand : homes_[id.index()]) {
    if (same_layout(operand.layout, layout, operand.shape())) return &operand;
  }
  return nullptr;
}

Operand PlanBuilder::in_layout(ir::NodeId id, const Layout& layout) {
  // Three cases: the value exists in this layout; it is a constant and is copied now; or a reorder
  // step is added to every run.
  if (const Operand* there = find_home(id, layout)) {
    Operand same = *there;
    same.layout = layout;  // equal, but perhaps in other words where an axis has size 1
    return same;
  }
  const Operand source = home(id);
  if (buffers_[outermost(source.buffer).index()].kind == BufferKind::kWeights) {
    const std::int64_t elements = span_elements(layout, source.shape());
    Operand target = weights(ir::Tensor(source.type.dtype, ir::Shape{elements}));
    target.type = source.type;
    target.layout = layout;
    const base::Status copied = run_now(*make_copy_step(source, target, threads_));
    EGRET_CHECK(copied.ok(), "copying does not fail");
    set_home(id, target);
    return target;
  }
  const Operand target = temporary(source.type, layout);
  add_reorder(*this, source, target);
  set_home(id, target);
  return target;
}

// The value in its own type. A value that exists only in another form is widened on the first such
// request.
const Operand& PlanBuilder::home(ir::NodeId id) {
  std::vector<Operand>& homes = homes_[id.index()];
  if (homes.empty()) {
    const auto [source, scale] = rounded_[id.index()].front();
    const Operand target = temporary(node(id).type, source.layout);
    const base::Status widened = add_rounding(*this, source, target, scale);
    EGRET_CHECK(widened.ok(), "the layout is dense");
    set_home(id, target);
  }
  return homes.front();
}

// Rounding and change of layout are one step if the source is dense; constants are rounded at once,
// while planning.
Operand PlanBuilder::rounded(ir::NodeId id, const Layout& layout, const Lowering& how) {
  const ir::TensorType type(element_of(how), node(id).type.shape());
  const float scale = how.form == OperandForm::kI8 ? how.scale : 1;
  const auto is_of_form = [&](const Rounded& one) {
    return one.operand.type.dtype == type.dtype && one.scale == scale;
  };
  const Operand* other = nullptr;  // in another layout
  for (const Rounded& one : rounded_[id.index()]) {
    const Operand& operand = one.operand;
    if (!is_of_form(one)) continue;
    if (same_layout(operand.layout, layout, operand.shape()))
      return {operand.buffer, operand.offset, type, layout};
    other = &operand;
  }
  Operand target;
  if (weights_data(place(id)) != nullptr) {
    const Operand source = in_layout(id, layout);
    target = weights(ir::Tensor(type.dtype, ir::Shape{span_elements(layout, source.shape())}));
    target.type = type;
    target.layout = layout;
    const base::Status rounded = round_now(*this, source, target, scale);
    EGRET_CHECK(rounded.ok(), "rounding does not fail");
  } else {
    target = temporary(type, layout);
    const Operand* there = find_home(id, layout);
    const bool has_other = there == nullptr && other != nullptr;
    const Operand source = has_other ? *other : there != nullptr ? *there : home(id);
    if (!add_rounding(*this, source, target, scale).ok()) {
      const base::Status rounded = add_rounding(*this, in_layout(id, layout), target, scale);
      EGRET_CHECK(rounded.ok(), "the layout is dense");
    }
  }
  add_rounded(id, {target, scale});
  return target;
}

Layout PlanBuilder::prefer(ir::NodeId id, const Layout& layout, int part) {
  const Layout before = home(id).layout;
  part_between_ = part;
  (void)in_layout(id, layout);
  part_between_ = -1;
  std::vector<Operand>& homes = homes_[id.index()];
  const auto wanted = std::ranges::find_if(homes, [&](const Operand& operand) {
    return same_layout(operand.layout, layout, operand.shape());
  });
  wanted->layout = layout;
  std::rotate(homes.begin(), wanted, wanted + 1);
  return before;
}

Operand PlanBuilder::in_row_major(ir::NodeId id) {
  return in_layout(id, row_major(node(id).type.shape()));
}

bool PlanBuilder::may_overwrite(ir::NodeId id, const Operand& operand) const {
  const Buffer& buffer = buffers_[outermost(operand.buffer).index()];
  // The current group is the last reader of this value, and nothing else in the outermost buffer
  // has a pending read (a view, or a part of a concatenation).
  return buffer.kind == BufferKind::kArena && reads_left_[id.index()] == 1 && buffer.pending == 1;
}

BufferId PlanBuilder::new_buffer(Buffer buffer) {
  buffers_.push_back(std::move(buffer));
  return BufferId(buffers_.size() - 1);
}

// Buffers nest (place_inside()): only the outermost one has memory and a lifetime.
BufferId PlanBuilder::outermost(BufferId id) const {
  while (buffers_[id.index()].outer.valid()) id = buffers_[id.index()].outer;
  return id;
}

Operand PlanBuilder::temporary(const ir::TensorType& type, const Layout& layout) {
  const std::int64_t bytes =
      span_elements(layout, type.shape()) * static_cast<std::int64_t>(ir::byte_size(type.dtype));
  return {new_buffer({.bytes = bytes}), 0, type, layout};
}

Operand PlanBuilder::output(ir::NodeId id, const Layout& layout) {
  const Operand operand = temporary(node(id).type, layout);
  set_home(id, operand);
  return operand;
}

Operand PlanBuilder::rounded_output(ir::NodeId id, const Layout& layout) {
  const Lowering& how = written_as[id.index()];
  const Operand operand = temporary(ir::TensorType(element_of(how), node(id).type.shape()), layout);
  add_rounded(id, {operand, how.form == OperandForm::kI8 ? how.scale : 1});
  return operand;
}

void PlanBuilder::set_home(ir::NodeId id, const Operand& operand) {
  homes_[id.index()].push_back(operand);
  count_reads_of(id, operand);
}

// Each new place can serve all reads that are left, so its buffer has as many pending ones. end()
// discounts every place.
void PlanBuilder::count_reads_of(ir::NodeId id, const Operand& operand) {
  buffers_[outermost(operand.buffer).index()].pending += reads_left_[id.index()];
}

void PlanBuilder::add_rounded(ir::NodeId id, const Rounded& rounded) {
  rounded_[id.index()].push_back(rounded);
  count_reads_of(id, rounded.operand);
}

Operand PlanBuilder::bytes(std::int64_t size) {
  const ir::Shape shape{size};
  return temporary(ir::TensorType(ir::DType::kU8, shape), row_major(shape));
}

Operand PlanBuilder::weights(ir::Tensor data) {
  const ir::TensorType type = data.type();
  const BufferId buffer =
      new_buffer({.kind = BufferKind::kWeights, .bytes = data.bytes(), .data = std::move(data)});
  return {buffer, 0, type, row_major(type.shape())};
}

const ir::Tensor& PlanBuilder::constant(ir::NodeId id) const {
  EGRET_CHECK(is_constant(id) && reads_left_[id.index()] > 0, "a constant to be read");
  return buffers_[homes_[id.index()].front().buffer.index()].data;
}

std::byte* PlanBuilder::weights_data(const Operand& operand) {
  Buffer& buffer = buffers_[outermost(operand.buffer).index()];
  if (buffer.kind != BufferKind::kWeights) return nullptr;
  // Constants share their buffer with the graph; only targets of run_now() are ever written, and
  // those are the plan's own.
  return const_cast<std::byte*>(buffer.data.data().data());
}

// Moves the data out only if no step and no other reader uses them; else returns an empty tensor.
ir::Tensor PlanBuilder::take_weights(ir::NodeId id) {
  Buffer& buffer = buffers_[home(id).buffer.index()];
  // The count of readers is one of groups. Inside the group, a second read (of the product's chain,
  // or as its other operand) needs the weights as they lie.
  std::ptrdiff_t reads = 0;
  for (const ir::NodeId reader : current_->nodes)
    reads += std::ranges::count(node(reader).inputs, id);
  const bool read_elsewhere = reads_left_[id.index()] != 1 || buffer.pending != 1 || reads != 1;
  if (buffer.kind != BufferKind::kWeights || buffer.first >= 0 || read_elsewhere ||
      homes_[id.index()].size() != 1)
    return {};
  return std::exchange(buffer.data, {});
}

const Operand* PlanBuilder::find_packed(const Operand& source, const std::string& form) const {
  const auto found = packed_.find({{source.buffer, source.offset}, form});
  return found != packed_.end() ? &found->second : nullptr;
}

void PlanBuilder::remember_packed(const Operand& source, const std::string& form,
                                  const Operand& packed) {
  packed_[{{source.buffer, source.offset}, form}] = packed;
}

std::int64_t PlanBuilder::offset_in_outermost(const Operand& operand) const {
  std::int64_t offset = operand.offset;
  // Offsets add up along the chain of enclosing buffers.
  for (BufferId id = operand.buffer; buffers_[id.index()].outer.valid();
       id = buffers_[id.index()].outer)
    offset += buffers_[id.index()].offset;
  return offset;
}

bool PlanBuilder::follows(const Operand* before, const Operand& part) const {
  if (before == nullptr) return offset_in_outermost(part) == 0;
  return outermost(part.buffer) == outermost(before->buffer) &&
         offset_in_outermost(part) == offset_in_outermost(*before) + byte_span(*before);
}

// Makes the parts' buffer a range of the outer one, so that their kernels write there and nothing
// is copied.
std::size_t PlanBuilder::place_inside(std::span<const Operand> parts, const Operand& outer,
                                      std::int64_t offset) {
  const BufferId id = outermost(parts.front().buffer);
  Buffer& inner = buffers_[id.index()];
  Buffer& root = buffers_[outermost(outer.buffer).index()];
  if (inner.kind != BufferKind::kArena || &inner == &root) return 0;
  // The parts must cover their buffer completely, in order: nothing else can then lie in it.
  std::int64_t end = 0;
  std::size_t count = 0;
  for (; count < parts.size() && end < inner.bytes; ++count) {
    const Operand& part = parts[count];
    if (!follows(count > 0 ? &parts[count - 1] : nullptr, part)) return 0;
    end += byte_span(part);
  }
  if (end != inner.bytes) return 0;
  inner.outer = outer.buffer;
  inner.offset = outer.offset + offset;
  // Lifetimes and pending reads move to the outermost buffer (invariant 3).
  root.pending += inner.pending;
  if (inner.first >= 0)
    root.first = root.first < 0 ? inner.first : std::min(root.first, inner.first);
  root.last = std::max(root.last, inner.last);
  return count;
}

// The lifetime of a buffer: the steps from the first to the last that touches it.
void PlanBuilder::touch(const Operand& operand, int step) {
  Buffer& buffer = buffers_[outermost(operand.buffer).index()];
  if (buffer.first < 0) buffer.first = step;
  buffer.last = std::max(buffer.last, step);
}

void PlanBuilder::add(std::unique_ptr<Step> step, std::span<const Operand> touched,
                      std::string name, std::string implementation) {
  const int index = static_cast<int>(steps_.size());
  for (const Operand& operand : touched) touch(operand, index);
  PlanReport::Kernel note;
  note.name = std::move(name);
  note.implementation = std::move(implementation);
  if (!touched.empty()) note.layout = to_string(touched.back().layout, touched.back().shape());
  const bool moves = current_ == nullptr || note.name == "reorder";
  if (!moves) note.ids = current_->nodes;
  if (!moves) touched_.insert(touched_.end(), touched.begin(), touched.end());
  note.part = current_ != nullptr ? current_->part : part_between_;
  if (options_.profile) {
    note.signature = note.name + " by " + note.implementation +
                     (moves ? "" : ", " + text_of(graph_, *current_)) + ", on" + text_of(touched);
  }
  notes_.push_back(std::move(note));
  steps_.push_back(std::move(step));
}

void PlanBuilder::fall_back(std::size_t step, ir::NodeId id, std::string reason) {
  PlanReport::Kernel& note = notes_[step];
  const std::size_t named = note.name.size() + 4 + note.implementation.size();  // "NAME by IMPL"
  note.name = "reference";
  note.implementation = "interpreter";
  if (!note.signature.empty())
    note.signature = "reference by interpreter" + note.signature.substr(named);
  fallbacks_.push_back({node_label(graph_, id), node(id).op->name(), std::move(reason)});
}

// Runs a step while the plan is made. Only weights have addresses at this time, so its operands
// must be weights.
base::Status PlanBuilder::run_now(Step& step) {
  std::vector<std::byte*> addresses(buffers_.size(), nullptr);
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].kind == BufferKind::kWeights)
      addresses[i] = const_cast<std::byte*>(buffers_[i].data.data().data());
  }
  return guarded([&] { return step.run(Addresses(addresses.data())); });
}

void PlanBuilder::place_outputs() {
  for (std::size_t k = 0; k < graph_.outputs().size(); ++k) {
    const ir::NodeId id = graph_.outputs()[k].node;
    const ir::TensorType& type = node(id).type;
    const Operand value = in_row_major(id);
    Buffer& buffer = buffers_[value.buffer.index()];
    // The value fills an arena buffer of its own: the caller's output replaces that buffer, and the
    // kernel writes there directly. Other values are copied.
    if (buffer.kind == BufferKind::kArena && !buffer.outer.valid() && value.offset == 0 &&
        buffer.bytes == type.bytes() && is_row_major(value.layout, type.shape())) {
      buffer.kind = BufferKind::kOutput;
      buffer.index = static_cast<int>(k);
      continue;
    }
    const Operand target{
        new_buffer(
            {.kind = BufferKind::kOutput, .bytes = type.bytes(), .index = static_cast<int>(k)}),
        0, type, row_major(type.shape())};
    const Operand touched[] = {value, target};
    add(make_copy_step(value, target, threads_), touched, "reorder", "own:copy");
  }
}

base::Result<std::unique_ptr<ExecutablePlan>> PlanBuilder::finish(
    const ir::Graph& original, std::span<const ir::NodeId> origin, std::int64_t folded_nodes) {
  place_outputs();
  PlanReport report;
  report.folded_nodes = folded_nodes;
  report.fallbacks = std::move(fallbacks_);
  report.missing = std::move(missing);
  report.layouts = std::move(layouts);
  for (PlanReport::Kernel& note : notes_) {
    std::vector<ir::NodeId> known;
    for (const ir::NodeId id : note.ids) {
      const ir::NodeId source = origin[id.index()];
      if (source.valid() && (known.empty() || known.back() != source)) known.push_back(source);
    }
    note.ids = std::move(known);
    for (const ir::NodeId id : note.ids) note.nodes.push_back(node_label(original, id));
    report.kernels.push_back(std::move(note));
  }
  return CpuPlan::make(original, options_, threads_, std::move(buffers_), std::move(steps_),
                       std::move(report));
}

}  // namespace egret::backends::cpu
