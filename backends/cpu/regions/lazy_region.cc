// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/regions/lazy_region.h"

#include <algorithm>

namespace egret::backends::cpu {
namespace {

// Whether the input's elements lie in memory as the loops count them.
bool follows_memory(const RegionInput& input, const ir::Shape& loops) {
  std::int64_t stride = 1;
  for (std::size_t i = loops.size(); i-- > 0; stride *= loops[i]) {
    if (input.strides[i] != stride) return false;
  }
  return input.operand.type.dtype == ir::DType::kF32;
}

}  // namespace

base::Result<LazyRegion> LazyRegion::make(PlanBuilder& builder, std::span<const ir::NodeId> nodes,
                                          std::span<const ir::NodeId> read,
                                          std::span<const ir::NodeId> stored) {
  const ir::Shape shape = builder.node(read.front()).type.shape();
  LazyRegion region;
  EGRET_ASSIGN_OR_RETURN(region.program_, compile_values(builder.graph(), nodes, stored, read));
  if (region.program_.registers > kMostRegisters)
    return base::unsupported("a region of more values than a block holds");
  region.layout_ = choose_layout(builder, region.program_, shape);
  if (region.layout_.block > 1) return base::unsupported("a region in blocks of channels");
  for (const ir::NodeId id : region.program_.inputs) {
    RegionInput& input = region.inputs_.emplace_back();
    EGRET_CHECK(place_input(builder, id, shape, region.layout_, input),
                "dense layouts without blocks can be followed");
  }
  region.loops_ = join_loops(region.layout_, shape, region.inputs_);
  if (region.loops_.empty()) {  // a single element
    region.loops_ = {1};
    for (RegionInput& input : region.inputs_) input.strides = {1};
  }
  for (RegionInput& input : region.inputs_) {
    region.in_place_.push_back(follows_memory(input, region.loops_));
    input.direct = input.operand.type.dtype == ir::DType::kF32 && input.strides.back() == 1;
  }
  region.registers_ = builder.bytes(register_bytes(region.program_, builder.threads()));
  return region;
}

void LazyRegion::place_outputs(PlanBuilder& builder, std::span<const ir::NodeId> stored) {
  for (std::size_t i = 0; i < stored.size(); ++i)
    outputs_.push_back(place_output(builder, program_, inputs_, i, stored[i], layout_));
}

std::vector<Operand> LazyRegion::touched() const {
  std::vector<Operand> operands{registers_};
  operands.insert(operands.end(), outputs_.begin(), outputs_.end());
  for (const RegionInput& input : inputs_) operands.push_back(input.operand);
  return operands;
}

LazyRegion::Reader::Reader(const LazyRegion& region, const Addresses& addresses, int part)
    : region_(region), addresses_(addresses) {
  const PointwiseProgram& program = region.program_;
  float* const base =
      addresses.at(region.registers_) + std::int64_t{part} * program.registers * kBlockElements;
  for (std::size_t r = 0; r < static_cast<std::size_t>(program.registers); ++r)
    own_[r] = registers_[r] = base + static_cast<std::int64_t>(r) * kBlockElements;
  for (std::size_t i = 0; i < program.constants.size(); ++i)
    std::fill_n(own_[region.inputs_.size() + i], kBlockElements, program.constants[i]);
}

void LazyRegion::Reader::compute(std::int64_t offset, int count) {
  const PointwiseProgram& program = region_.program_;
  for (std::size_t i = 0; i < region_.inputs_.size(); ++i) registers_[i] = load(i, offset, count);
  for (std::size_t i = 0; i < region_.outputs_.size(); ++i) {
    registers_[static_cast<std::size_t>(program.results[i])] =
        addresses_.at(region_.outputs_[i]) + offset;
  }
  run_block(program.code, registers_.data(), count);
}

// Along the innermost loop at a time. A piece of one such line is read in place where it can be.
float* LazyRegion::Reader::load(std::size_t which, std::int64_t offset, std::int64_t count) const {
  const RegionInput& input = region_.inputs_[which];
  if (region_.in_place_[which]) return addresses_.at(input.operand) + offset;
  const ir::Shape& loops = region_.loops_;
  const std::int64_t inner = loops.back();
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t first = (offset + done) % inner;
    std::int64_t line = (offset + done) / inner;
    std::int64_t at = first * input.strides.back();
    for (std::size_t i = loops.size() - 1; i-- > 0; line /= loops[i])
      at += line % loops[i] * input.strides[i];
    const std::int64_t n = std::min(count - done, inner - first);
    if (n == count && input.direct) return addresses_.at(input.operand) + at;
    copy_rows(input.operand, addresses_, at, 0, input.strides.back(), 1, n, own_[which] + done);
    done += n;
  }
  return own_[which];
}

}  // namespace egret::backends::cpu
