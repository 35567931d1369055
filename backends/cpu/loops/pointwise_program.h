// SPDX-License-Identifier: Apache-2.0
// A tree of pointwise operators as one short program over blocks of elements.
//
// The program is compiled from the operators' denotations, so fusion needs no code per operator. It
// runs instruction by instruction over blocks that stay in the first-level cache. An intermediate
// value costs a few cycles a vector instead of a pass over memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

inline constexpr int kBlockElements = 512;

enum class VectorOp : std::uint8_t {
  kCopy,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kNeg,
  kMin,
  kMax,
  kSelect,  // select: a != 0 ? b : c
  kLess,
  kLessEqual,
  kEqual,
  kAnd,
  kOr,
  kNot,  // truth values are 1 and 0
  kExp,
  kLog,
  kSqrt,
  kErf,
  kTanh,
  kFloor,
  kCeil,
  kRound,
  kTrunc,
  kAbs,
  kSquare,
  kScalarCall,  // any other function, one element at a time
};

struct Instruction {
  VectorOp op{};
  ir::Function function{};                        // kScalarCall only
  std::uint16_t target = 0, a = 0, b = 0, c = 0;  // registers
};

// Registers [0, inputs.size()) hold the inputs' elements, the next constants.size() the constants;
// the rest are computed. `results` are the registers of the values that are stored; no two are the
// same, and nothing else is written there. `read` are those of the values that the kernel reads
// when the code has run, inputs among them.
struct PointwiseProgram {
  std::vector<ir::NodeId> inputs{};  // nodes outside the region, each once
  std::vector<float> constants{};
  std::vector<Instruction> code{};
  int registers = 0;
  std::vector<int> results{};
  std::vector<int> read{};

  int result() const { return results.front(); }
};

// The most registers of programs that kernels of regions run.
inline constexpr int kMostRegisters = 256;

// Of the registers of all threads.
inline std::int64_t register_bytes(const PointwiseProgram& program, int threads) {
  return std::int64_t{program.registers} * kBlockElements * 4 * threads;
}

// Whether a node can be part of a region: each element of its f32 or bool output is a function of
// the inputs' elements at the same (broadcast) place.
bool is_pointwise(const ir::Graph& graph, ir::NodeId id);

// The program of a region: `nodes` ascending, the last is the root. `stored`: nodes whose values
// are results, too, behind the root's. Errors: those of compile_values().
base::Result<PointwiseProgram> compile_pointwise(const ir::Graph& graph,
                                                 std::span<const ir::NodeId> nodes,
                                                 std::span<const ir::NodeId> stored = {});

// The program of any nodes, ascending, that stores these values, in their order, and with `read`.
// Both may be nodes outside, and at least one is given. Errors: unsupported where a node is not
// pointwise, or does not have the results' shape, which is one for all, when it is broadcast.
base::Result<PointwiseProgram> compile_values(const ir::Graph& graph,
                                              std::span<const ir::NodeId> nodes,
                                              std::span<const ir::NodeId> stored,
                                              std::span<const ir::NodeId> read);

// Whether nothing reads the input after the instruction that writes the result: both may then be in
// one place.
bool may_share_place(const PointwiseProgram& program, std::size_t input, std::size_t result);

// Runs the code on `count` <= kBlockElements elements; registers[i] points to register i's.
void run_block(std::span<const Instruction> code, float* const* registers, int count);

}  // namespace egret::backends::cpu
