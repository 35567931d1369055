// SPDX-License-Identifier: Apache-2.0
// LaneEvaluator: executes a LanePlan. One instance serves one thread.
//
// A LaneSet holds the active lanes. It is an interval, which makes the guards of padding free per
// element, with a mask where an interval does not suffice. Operations compute all lanes of the
// interval; only reads, integer divisions and operations that can fail look at the mask. Within one
// iteration of the loops, sets only shrink from user to operand. An array once computed therefore
// stays valid for all later uses (a memo records the set that it was computed for).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/core/tensor.h"
#include "ir/evaluate/lane_plan.h"

namespace egret::ir {

class LaneEvaluator {
 public:
  LaneEvaluator(const LanePlan& plan, std::span<const Tensor> inputs, Precision precision);

  // Evaluates the steps [begin, end) of the plan's loops and stores their elements in `out`.
  base::Status run(std::int64_t begin, std::int64_t end, DType out_type, std::byte* out);
  // The number of steps of a plan.
  static std::int64_t steps(const LanePlan& plan);

 private:
  struct LaneSet {
    std::int64_t low = 0;
    std::int64_t high = 0;
    const std::uint8_t* mask = nullptr;  // by lane; nullptr: all of the interval
    int slot = -1;                       // of the mask in masks_
    bool empty() const { return low >= high; }
    bool has(std::int64_t lane) const { return mask == nullptr || mask[lane] != 0; }
    bool same(const LaneSet& other) const {
      return low == other.low && high == other.high && slot == other.slot;
    }
  };
  // The iteration and lane set that an array was computed for.
  struct Memo {
    std::uint64_t stamp = 0;
    std::int64_t low = 0, high = 0;
    std::uint64_t mask_id = 0;  // 0: no mask
    const void* lanes = nullptr;
  };
  struct Mask {
    std::unique_ptr<std::uint8_t[]> lanes;
    std::uint64_t id = 0;
    int parent = -1;  // slot of the mask that this one was cut from
  };
  template <typename T>
  struct Operand {
    const T* lanes;  // nullptr: all lanes are `value`
    T value;
  };

  // One number.
  template <typename T>
  T number(int node);
  template <typename T>
  T compute_number(const NestNode& node);
  template <typename T>
  T reduce_to_number(int id, const NestNode& node);
  std::int64_t symbol_number(int symbol);
  std::int64_t form_number(const Affine& form);
  bool guard_number(int guard);
  bool check_axis(std::int64_t at, const NestNode::CheckedAxis& axis);

  // Arrays.
  template <typename T>
  const T* lanes(int node, const LaneSet& set);
  template <typename T>
  Operand<T> operand(int node, const LaneSet& set);
  template <typename T>
  const T* compute_lanes(int id, const NestNode& node, const LaneSet& set);
  template <typename T>
  const T* read_lanes(int id, const NestNode& node, const LaneSet& set);
  template <typename T>
  const T* select_lanes(int id, const NestNode& node, const LaneSet& set);
  template <typename T>
  const T* reduce_lanes(int id, const NestNode& node, const LaneSet& set);
  template <typename T>
  void accumulate(const NestNode& node, T* into, const LaneSet& set);
  template <typename T>
  void cast_lanes(const NestNode& node, const LaneSet& set, T* out);
  const std::int64_t* symbol_lanes(int symbol, int lane, const LaneSet& set);
  void form_lanes(const Affine& form, int lane, const LaneSet& set, std::int64_t* out);
  // The lane-invariant part of a form; the lane's variable has its value at the start of the block.
  std::int64_t base_of(const Affine& form, int lane);
  bool has_lane_symbols(const Affine& form, int lane) const;

  // Sets.
  LaneSet where(int guard, int lane, const LaneSet& set);
  LaneSet masked(int guard, int lane, const LaneSet& set);
  template <typename T>
  LaneSet compared(const NestGuard& guard, const LaneSet& set);
  LaneSet difference(const LaneSet& set, const LaneSet& part);
  // The lanes of a set for which keep(lane) holds.
  template <typename Keep>
  LaneSet filtered(const LaneSet& set, const Keep& keep);
  bool covers(const Memo& memo, std::uint64_t stamp, const LaneSet& set) const;

  // Loops over reduction variables other than `lane`, innermost last.
  template <typename Visit>
  void for_each_iteration(const NestNode& node, int lane, const Visit& visit);
  void assign(int variable, std::int64_t value);
  bool varies(VariableSet depends, int lane) const;
  template <typename T>
  static T* typed(std::unique_ptr<std::byte[]>& made) {
    if (made == nullptr) made = std::make_unique<std::byte[]>(kLanes * sizeof(T));
    return reinterpret_cast<T*>(made.get());
  }
  template <typename T>
  T* buffer(int node) {
    return typed<T>(buffers_[static_cast<std::size_t>(node)]);
  }
  void fail(base::Status status);
  template <typename T>
  base::Status run_as(std::int64_t begin, std::int64_t end, DType out_type, std::byte* out);

  const LanePlan& plan_;
  const LoopNest& nest_;
  std::span<const Tensor> inputs_;
  std::vector<const std::byte*> data_;  // of the inputs
  Precision precision_;
  base::Status status_;
  bool failed_ = false;

  std::vector<std::int64_t> values_;   // of variables, by symbol
  std::vector<std::uint64_t> stamps_;  // by scope
  std::uint64_t tick_ = 1;
  std::int64_t lane_count_ = kLanes;        // of the block at hand
  std::vector<Memo> memos_, symbol_memos_;  // of arrays
  // Numbers, by node or symbol, and the stamp that they are valid for.
  std::vector<double> reals_;
  std::vector<std::int64_t> integers_, symbol_numbers_;
  std::vector<std::uint64_t> number_stamps_, symbol_stamps_;
  // Arrays of kLanes 64-bit elements, made when first used.
  using Buffer = std::unique_ptr<std::byte[]>;
  std::vector<Buffer> buffers_, symbol_buffers_;
  std::vector<Mask> masks_;  // a stack
  int masks_used_ = 0;
};

template <typename Visit>
void LaneEvaluator::for_each_iteration(const NestNode& node, int lane, const Visit& visit) {
  base::SmallVector<int, 8> loops;
  for (const int v : node.variables) {
    if (v != lane) loops.push_back(v);
  }
  for (const int v : loops) assign(v, 0);
  while (!failed_) {
    visit();
    std::size_t i = loops.size();
    for (; i-- > 0;) {
      const std::int64_t next = values_[static_cast<std::size_t>(loops[i])] + 1;
      if (next < nest_.extent(loops[i])) {
        assign(loops[i], next);
        break;
      }
      assign(loops[i], 0);
    }
    if (i == static_cast<std::size_t>(-1)) return;
  }
}

}  // namespace egret::ir
