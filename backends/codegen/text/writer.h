// SPDX-License-Identifier: Apache-2.0
// The writer behind emit_kernel(): a stack of scopes (the kernel, loops, guarded blocks), each with
// its text and the names of its computed values. A value is written into the outermost scope that
// binds all variables it depends on; this hoists loop invariants. A value that may fail, or may
// read out of range without its guard, stays inside the guard.
//
// In a loop over packs (packing.h), a value that depends on the pack's variable is an array of the
// pack's width. Each statement about such values is repeated for every element u of the pack.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/codegen/text/kernel_failure.h"
#include "backends/codegen/text/nest_facts.h"
#include "backends/codegen/text/packing.h"
#include "backends/codegen/text/schedule.h"
#include "ir/nest/loop_nest.h"

namespace egret::backends::codegen {

// The C type of an element in memory.
std::string element_type(ir::DType type);
// Real arithmetic is in f64 where an input is f64, or where neither an input nor the output is a
// narrower float; else in f32.
bool computes_in_double(std::span<const ir::TensorType> inputs, ir::DType output);

class Writer {
 public:
  // contiguous variables are merged (ir::merge_variables)
  Writer(const ir::LoopNest& merged, const Packing& packing, const Schedule& schedule,
         Target target, std::span<const ir::TensorType> inputs, ir::DType output);

  // The statements of the kernel, and the number of operations that they execute.
  std::string body();
  double operations() const { return operations_; }

  // A loop that the caller writes around a value: its header (with the brace), the text of the
  // variables that it binds, statements at its beginning, and values that these compute.
  struct GivenLoop {
    std::string header;
    std::vector<std::pair<int, std::string>> symbols{};
    double times = 1;
    std::vector<std::string> lines{};
    std::vector<std::pair<int, std::string>> nodes{};
    bool guarded = false;  // it may run zero times where a value in it must not be computed
  };
  // Statements that compute the root's value inside these loops, outermost first, and hand it to
  // `store`, which makes a statement of it. Counts as body() does.
  std::string within_loops(std::span<const GivenLoop> loops,
                           const std::function<std::string(const std::string& value)>& store);
  // The same, and store the output's element.
  std::string store_within_loops(std::span<const GivenLoop> loops);

 private:
  // The variable that advances by packs.
  struct Packed {
    int symbol = -1;  // none
    int width = 1;
    std::string first{};  // the name of a pack's first value

    std::string each() const { return "(" + first + " + u)"; }
  };
  struct Scope {
    ir::VariableSet variables = 0;  // bound here
    bool guarded = false;
    bool divided = false;  // inside a loop that the threads of a block divide
    Packed packed{};
    double executions = 1;         // number of executions of its text
    std::string header{}, text{};  // the text stands between the header's brace and its own
    std::map<int, std::string> nodes{}, symbols{};
  };

  // Scopes (writer_scopes.cc).
  void open(Scope scope) { scopes_.push_back(std::move(scope)); }
  Scope loop(std::string header, const std::vector<int>& bound, double times) const;
  void open_guarded(const std::string& header);
  void close_to(std::size_t depth);  // appends each scope's text to the enclosing one
  void line(const std::string& text);
  std::size_t place(ir::VariableSet depends, bool safe) const;
  const std::string* find(std::map<int, std::string> Scope::*names, int id) const;
  // Runs `write` with scope `at` as the innermost.
  template <typename Write>
  auto within(std::size_t at, const Write& write);
  std::string fresh(const char* prefix) { return prefix + std::to_string(next_name_++); }
  std::string declare(const std::string& type, const std::string& value);
  // declare() for a value that depends on these variables: possibly an array over a pack.
  std::string declare(ir::VariableSet depends, const std::string& type, const std::string& value);
  // Counts operations that are executed once, or once for each element of a pack if they depend on
  // the packed variable.
  void count(double operations) { operations_ += operations * scopes_.back().executions; }
  void count(double operations, ir::VariableSet depends) {
    count(is_packed(depends) ? operations * scopes_.back().packed.width : operations);
  }

  // Loops (writer_scopes.cc).
  void write_rows();
  void write_lanes();
  void write_store();
  std::string stored_value();  // the root's value as the output holds it
  void open_given(std::span<const GivenLoop> loops);
  // Loops over all values of `symbols`: nested loops, or one flat loop from `first` by `stride` to
  // `end` whose counter is decomposed; the last symbol advances by packs of `width`.
  void open_nested(const std::vector<int>& symbols);
  void open_flat(const std::vector<int>& symbols, const std::string& first,
                 const std::string& stride, const std::string& end, int width = 1);
  // `header` makes the scope's header from the name of the flat counter.
  void open_flat(const std::vector<int>& symbols, int width,
                 const std::function<std::string(const std::string& flat)>& header);
  // A flat loop divided over `takers` blocks or threads, each of which starts at its `own` number.
  // Where all take equally many turns, and few, the loop is unrolled. The compiler then sees that
  // the same turn of two loops reads the same elements, and loads them once.
  void open_spread(const std::vector<int>& symbols, const std::string& own, std::int64_t takers,
                   std::int64_t packs, int width);
  void open_shared(const std::vector<int>& symbols, int width);  // flat, over a block's threads

  // Packs (writer_packs.cc).
  bool is_packed(ir::VariableSet depends) const;
  // The prefix that repeats a statement for each element of a pack; empty if not `packed`.
  std::string each(bool packed = true) const;
  // Declares a variable for a value that depends on these: possibly an array over a pack.
  std::string array(ir::VariableSet depends, const std::string& type, const char* prefix,
                    const std::string& initial);
  std::string form_of_first(const ir::Affine& form);
  bool is_one(int guard) const;
  bool is_plain(int node);  // may be evaluated even if its value is not needed
  bool goes_one_by_one(const ir::NestNode& node);
  std::string one_by_one(const ir::NestNode& node);
  std::string read_pack(const ir::NestNode& node, const std::string& good);
  void store_pack(const std::string& who, const std::string& element);

  // Expressions (writer.cc); each returns a name or a literal.
  std::string value(int node);
  std::string compute(const ir::NestNode& node);
  std::string constant(const ir::NestNode& node) const;
  std::string read(const ir::NestNode& node);
  std::string arithmetic(const ir::NestNode& node);
  static std::string call(const ir::NestNode& node, const std::string& a, const std::string& b);
  std::string integer_arithmetic(const ir::NestNode& node, const std::string& a,
                                 const std::string& b);
  std::string conversion(const ir::NestNode& node);
  std::string select(const ir::NestNode& node);
  std::string reduction(const ir::NestNode& node);
  int width_of_terms(const ir::NestNode& node) const;
  std::string guard(int id);
  std::string form(const ir::Affine& form);
  std::string symbol(int id);
  std::string quotient(const ir::IndexSymbol& symbol);
  std::string type_of(const ir::NestNode& node) const;

  const ir::LoopNest& nest_;
  const Packing& packing_;
  const Schedule& schedule_;
  Target target_;
  std::span<const ir::TensorType> inputs_;
  ir::DType output_;
  NestFacts facts_;
  std::string real_;   // "float" or "double"
  std::string index_;  // "int", or "i64" where sizes or data need it
  std::vector<Scope> scopes_;
  double operations_ = 0;
  int next_name_ = 0;
};

}  // namespace egret::backends::codegen
