// SPDX-License-Identifier: Apache-2.0
// Builds an instance of a rule: its sources from the leaves up, application by application, then
// its targets. Which types and attributes an application has is the caller's choice.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "ir/graph/type_memo.h"
#include "rules/tensors/binding.h"
#include "rules/tensors/graph_sink.h"
#include "rules/testing/instance.h"
#include "rules/testing/instance_conditions.h"
#include "rules/testing/shape_draws.h"

namespace egret::rules {

// Tensors of instances have at most so many elements.
inline constexpr std::int64_t kMostElements = 4096;

// The type of an application; nullopt where the operator refuses it or it has more elements.
std::optional<ir::TensorType> small_type(ir::TypeMemo& known, const ir::Operator& op,
                                         const ir::Attrs& attrs,
                                         std::span<const ir::TensorType> inputs,
                                         std::int64_t most_elements = kMostElements);

// The arguments of an application. Those that are not built are variables without a type yet.
struct Operands {
  std::vector<std::optional<TermSink::Handle>> built;
  std::vector<ir::TensorType> types;  // empty ones where not built

  std::size_t size() const { return built.size(); }
  bool all_built() const;
};

// 1. A variable is built, with its type, before the application in which it first occurs.
// 2. The environment has the tensors and attributes that are known so far. Callers may show types
//    and bind attributes there that they try.
class SourceBuilder {
 public:
  using Handle = TermSink::Handle;
  // Builds the application, with apply(); nullopt ends the attempt.
  using Application = base::FunctionRef<std::optional<Handle>(const Term&, Operands)>;

  struct Limits {
    std::int64_t most_elements = kMostElements;
    Sizes sizes = Sizes::kPositive;  // of variables
  };
  // Both outlive the builder.
  SourceBuilder(const Rule& rule, ir::TypeMemo& known, Limits limits);
  SourceBuilder(const SourceBuilder&) = delete;
  SourceBuilder& operator=(const SourceBuilder&) = delete;

  // The instance; nullopt if an application cannot be built, the sources do not match, or a target
  // has another type than its source. To be called once.
  std::optional<Instance> run(Application application);

  // The sources alone, without conditions and targets: `right` is empty and `left` has no outputs.
  // nullopt if an application cannot be built. To be called once.
  std::optional<Instance> run_sources(Application application);

  // Adds the application and the variables that are new in it, of the types in `operands`;
  // `splat_of` gives the number, of its element type, that all elements of a variable are, if any.
  // nullopt if a variable would have a size of 0 that is not allowed.
  using SplatOf = base::FunctionRef<std::optional<double>(int slot, ir::DType dtype)>;
  std::optional<Handle> apply(const Term& term, const Operands& operands, const ir::Attrs& attrs,
                              ir::TensorType type, SplatOf splat_of);

  // Whether a condition is known to fail once the application has these attributes. What is not
  // known yet has no value.
  bool fails(const InstanceConditions& conditions, const Term& term, const ir::Attrs& attrs);

  Environment& environment() { return environment_; }
  // The attributes that a spread captured; null: none so far.
  const ir::Attrs* captured(int spread) const;
  const TensorTypes& variable_types() const { return variable_types_; }  // as they were added

 private:
  std::optional<Handle> build(const Term& term, Application application);
  bool build_sources(Application application);
  bool is_typed(int slot) const { return !rule_.is_variable(slot) || variables_.contains(slot); }
  Handle variable(int slot, const ir::TensorType& type, std::optional<double> splat);
  void set_tensor(int slot, Handle handle);
  std::optional<Instance> build_targets();
  std::string describe();

  const Rule& rule_;
  const Sizes sizes_;
  Environment environment_;
  GraphSink sink_;
  std::map<int, Handle> variables_;            // by slot
  TensorTypes variable_types_;                 // in choice_
  std::vector<std::optional<double>> splats_;  // in the order of the graph's inputs
  std::vector<ir::Sign> signs_;                // likewise
  std::deque<ir::Attrs> attrs_;                // of matched_
  std::vector<MatchedTerm> matched_;
  std::map<int, const ir::Attrs*> spreads_;
  Choice choice_;
};

}  // namespace egret::rules
