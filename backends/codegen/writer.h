// SPDX-License-Identifier: Apache-2.0
// The writer behind emit_kernel(): a stack of scopes (the kernel, loops, guarded blocks), each with
// its text and the names of what it has computed. A value is written into the outermost scope that
// binds all variables it depends on, so loop invariants leave their loops by themselves. What may
// fail, or read out of range unless a guard holds, does not leave its guard.
//
// Where a loop takes packs of elements (packing.h), what depends on its variable is an array of a
// pack's width, and each statement about such values is one for each of them, u being its number.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "backends/codegen/kernel_source.h"
#include "backends/codegen/nest_facts.h"
#include "backends/codegen/packing.h"
#include "backends/codegen/schedule.h"
#include "ir/nest/loop_nest.h"

namespace egret::backends::codegen {

// The C type of an element in memory.
std::string element_type(ir::DType type);
// Real arithmetic is done in f32, but in f64 where one goes in or out, and between integers alone.
bool computes_in_double(std::span<const ir::TensorType> inputs, ir::DType output);

class Writer {
 public:
  // `merged`: variables that are contiguous are joined (ir::merge_variables).
  Writer(const ir::LoopNest& merged, const Packing& packing, const Schedule& schedule,
         Target target, std::span<const ir::TensorType> inputs, ir::DType output);

  // The statements of the kernel, and how many operations they do.
  std::string body();
  double operations() const { return operations_; }

 private:
  // The variable whose values are taken a pack at a time.
  struct Packed {
    int symbol = -1;  // none
    int width = 1;
    std::string first{};  // the name of a pack's first value

    std::string each() const { return "(" + first + " + u)"; }
  };
  struct Scope {
    ir::VariableSet variables = 0;  // bound here
    bool guarded = false;
    bool divided = false;  // inside a loop that the threads of a block share out
    Packed packed{};
    double executions = 1;         // how often its text is run
    std::string header{}, text{};  // the text stands between the header's brace and its own
    std::map<int, std::string> nodes{}, symbols{};
  };

  // Scopes (writer_scopes.cc).
  void open(Scope scope) { scopes_.push_back(std::move(scope)); }
  Scope loop(std::string header, const std::vector<int>& bound, double times) const;
  void open_guarded(const std::string& header);
  void close_to(std::size_t depth);  // each scope's text goes to the end of the one around it
  void line(const std::string& text);
  std::size_t place(ir::VariableSet depends, bool safe) const;
  const std::string* find(std::map<int, std::string> Scope::*names, int id) const;
  // Runs `write` with scope `at` as the innermost.
  template <typename Write>
  auto within(std::size_t at, const Write& write);
  std::string fresh(const char* prefix) { return prefix + std::to_string(next_name_++); }
  std::string declare(const std::string& type, const std::string& value);
  // The same, of a value that depends on these variables: maybe one for each of a pack.
  std::string declare(ir::VariableSet depends, const std::string& type, const std::string& value);
  // Operations that the text says once, and such as it says once for each of a pack where what they
  // compute depends on these variables.
  void count(double operations) { operations_ += operations * scopes_.back().executions; }
  void count(double operations, ir::VariableSet depends) {
    count(is_packed(depends) ? operations * scopes_.back().packed.width : operations);
  }

  // Loops (writer_scopes.cc).
  void write_rows();
  void write_lanes();
  void write_store();
  // Loops that give `symbols` all their values: one in the other, or one flat loop from `first` by
  // `stride` to `end` whose counter is taken apart; the last symbol in packs of `width`.
  void open_nested(const std::vector<int>& symbols);
  void open_flat(const std::vector<int>& symbols, const std::string& first,
                 const std::string& stride, const std::string& end, int width = 1);
  // `header`: of the scope, by the name of the number of what it takes.
  void open_flat(const std::vector<int>& symbols, int width,
                 const std::function<std::string(const std::string& flat)>& header);
  // Flat, over blocks or threads, so many `takers`, each of which begins with its `own` number.
  // Where all take as many turns, and few, the compiler is told so: what a turn of one loop reads
  // is then known to be what the same turn of the next one does, and is read once.
  void open_spread(const std::vector<int>& symbols, const std::string& own, std::int64_t takers,
                   std::int64_t packs, int width);
  void open_shared(const std::vector<int>& symbols, int width);  // flat, over a block's threads

  // Packs (writer_packs.cc).
  bool is_packed(ir::VariableSet depends) const;
  // What makes a statement one for each of a pack; nothing where `packed` is false.
  std::string each(bool packed = true) const;
  // A variable: of a value that depends on these, maybe one for each of a pack.
  std::string array(ir::VariableSet depends, const std::string& type, const char* prefix,
                    const std::string& initial);
  std::string form_of_first(const ir::Affine& form);
  bool is_one(int guard) const;
  bool is_plain(int node);  // may be evaluated whether its value is needed or not
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
