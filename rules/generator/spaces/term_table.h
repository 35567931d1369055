// SPDX-License-Identifier: Apache-2.0
// Terms over a space, each once: an id is a row in flat arrays. A term has a joint type: its types
// in all worlds. Programs of operator choices are recorded once for the joint types of operands.
//
// Operands of a choice that does not mind their order (found by trying it on random tensors) stand
// in one order, so that terms that differ in it are one.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/small_vector.h"
#include "rules/generator/spaces/program.h"
#include "rules/generator/spaces/space.h"

namespace egret::rules::generator {

using TermId = std::uint32_t;
using TypeId = std::uint32_t;
inline constexpr TermId kNoTerm = 0xffffffffU;

// Start tensors by number, as bits.
using Variables = std::uint64_t;

// What start tensors are replaced by: `to[v]`, a start tensor of the same joint type.
struct Renaming {
  std::array<std::uint8_t, 64> to{};
  static Renaming identity();
};

class TermTable {
 public:
  static constexpr std::size_t kMostOperands = 3;
  static constexpr std::uint16_t kStart = 0xffff;  // choice of a start tensor

  // Errors: more than 64 start tensors, an operator with more than 3 operands.
  static base::Result<std::unique_ptr<TermTable>> create(const Space& space);

  const Space& space() const { return space_; }
  TermId start(std::size_t number) const { return static_cast<TermId>(number); }
  // The term, if it has a type in each world.
  std::optional<TermId> apply(std::size_t choice, std::span<const TermId> operands);
  // The type that the term would have.
  std::optional<TypeId> type_of(std::size_t choice, std::span<const TypeId> operands);
  TermId renamed(TermId term, const Renaming& renaming);
  // The same with its operands as they are given, in any order.
  std::optional<TermId> apply_as_given(std::size_t choice, std::span<const TermId> operands);
  // Whether the choice, of two operands, gives the same when they are exchanged.
  bool is_symmetric(std::size_t choice, TypeId a, TypeId b);

  bool is_start(TermId term) const { return rows_[term].choice == kStart; }
  std::size_t start_number(TermId term) const { return rows_[term].operands[0]; }
  std::size_t choice(TermId term) const { return rows_[term].choice; }
  std::span<const TermId> operands(TermId term) const;
  TypeId type(TermId term) const { return types_of_[term]; }
  Variables variables(TermId term) const { return variables_[term]; }
  // Operators below and with this one, each once, ascending by id.
  std::vector<TermId> applications(TermId term) const;
  std::size_t size() const { return rows_.size(); }

  const std::vector<ir::TensorType>& types(TypeId id) const { return joint_types_[id]; }
  std::size_t elements(TypeId id, World world) const {
    return static_cast<std::size_t>(joint_types_[id][world].elements());
  }
  // Of an application, in a world.
  const Program& program(TermId term, World world);
  const Program& program(std::size_t choice, std::span<const TypeId> operands, World world);

  // Start tensors of a joint type, ascending.
  const std::vector<std::uint8_t>& starts_of(TypeId type) const { return starts_of_[type]; }
  TypeId type_of_start(std::size_t number) const { return types_of_[number]; }

  std::string text(TermId term) const;
  std::size_t bytes() const;

 private:
  struct Row {
    std::uint16_t choice;
    std::array<TermId, kMostOperands> operands;
    friend bool operator==(const Row&, const Row&) = default;
  };
  struct RowHash {
    std::size_t operator()(const Row& row) const;
  };
  // A choice on joint types.
  struct Typed {
    bool fits = false;
    TypeId type = 0;
    std::vector<Program> programs;  // by world
  };
  using TypedKey = std::array<std::uint32_t, kMostOperands + 1>;
  struct TypedHash {
    std::size_t operator()(const TypedKey& key) const;
  };

  explicit TermTable(const Space& space) : space_(space) {}
  TypeId intern(const std::vector<ir::TensorType>& types);
  const Typed& typed(std::size_t choice, std::span<const TypeId> operands);
  TermId add(const Row& row, TypeId type, Variables variables);

  const Space& space_;
  std::vector<Row> rows_;
  std::vector<TypeId> types_of_;
  std::vector<Variables> variables_;
  boost::unordered_flat_map<Row, TermId, RowHash> known_;
  std::vector<std::vector<ir::TensorType>> joint_types_;
  std::map<std::string, TypeId> type_ids_;
  std::vector<std::vector<std::uint8_t>> starts_of_;
  boost::unordered_flat_map<TypedKey, std::unique_ptr<const Typed>, TypedHash> typed_;
  boost::unordered_flat_map<TypedKey, bool, TypedHash> symmetric_;
};

}  // namespace egret::rules::generator
