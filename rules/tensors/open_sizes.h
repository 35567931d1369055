// SPDX-License-Identifier: Apache-2.0
// Symbolic sizes while a program is optimized: what is decided about them must hold for all values.
//
//   OpenSizes sizes;                                   // before the model is imported
//   options.example_of = ...;                          // ImportOptions: the profile
//   ... import, rules::saturate(graph, ..., &sizes), export ...
//
// While the object lives, it is the thread's current ir::SymbolicScope. Graphs whose attributes
// hold symbolic integers must not outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ir/core/symbolic_scope.h"
#include "ir/graph/definition.h"
#include "ir/graph/graph.h"
#include "ir/graph/operator.h"
#include "verifier/index/size_prover.h"

namespace egret::rules {

// Values of all symbols, and how much they count in costs.
struct SizeProfile {
  ir::SymbolValues sizes;
  double weight = 1;
};

class OpenSizes {
 public:
  OpenSizes()
      : scope_(
            {}, [this](ir::Guard guard) { return prover_.holds(guard); },
            [this](ir::Guard guard) { prover_.assume(guard); }) {}

  // The requirements of an application over open sizes. A program's own requirements are taken to
  // hold: no input that breaks them is valid. Those of a node that a rule makes must be proven.
  enum class Of : std::uint8_t { kProgram, kRule };
  base::Status require(const ir::Operator& op, const ir::Attrs& attrs,
                       std::span<const ir::TensorType> inputs, Of of);
  // Whether two types are equal for all sizes.
  bool same(const ir::TensorType& a, const ir::TensorType& b);
  // Whether something was asked since the last call that depends on the sizes; counted.
  bool take_undecided();

  const std::vector<ir::Guard>& assumptions() const { return prover_.assumptions(); }
  // The values of the symbols that stand for all others where a number is needed: in costs.
  const ir::SymbolValues& examples() const { return scope_.examples(); }
  // The sizes at which results are priced and measured: the examples, and further ones. Their
  // weights sum to 1.
  const std::vector<SizeProfile>& profiles() const;
  // To be called when all symbols are known; the first profile has the examples.
  void set_profiles(std::vector<SizeProfile> profiles) { profiles_ = std::move(profiles); }
  // Examples and profiles that meet the requirements of the program, where those given do not: the
  // sizes of its inputs stay as they are, if possible. Examples that cannot be met stay, too.
  // Errors: bad_input for a requirement that no sizes meet.
  base::Status settle(const ir::Graph& program);
  // Restricts a symbol: what is decided need not hold beyond.
  void assume_range(std::string_view symbol, std::int64_t low, std::int64_t high);
  std::int64_t undecided() const { return undecided_; }
  ir::SymbolicScope& scope() { return scope_; }

 private:
  base::Status require_all(const ir::Graph& program);

  verifier::SizeProver prover_;
  ir::SymbolicScope scope_;
  std::int64_t undecided_ = 0;
  mutable std::vector<SizeProfile> profiles_;  // filled with the examples when first asked for
};

// The program for these values of the symbols: sizes and attributes become numbers. Errors: sizes
// that the program does not accept. Requires the scope of the program.
base::Result<ir::Graph> at_sizes(const ir::Graph& graph, const ir::SymbolValues& sizes);
// The same for one type and for attributes; the values must cover all of their symbols.
ir::TensorType at_sizes(const ir::TensorType& type, const ir::SymbolValues& sizes);
ir::Attrs at_sizes(const ir::Attrs& attrs, const ir::SymbolValues& sizes);

}  // namespace egret::rules
