// SPDX-License-Identifier: Apache-2.0
// Z3. One context serves all queries of an object, because making a context costs more than most
// queries. Each query has its own solver with a fixed seed.
#include <z3++.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "verifier/solver/solver.h"

namespace egret::verifier {
namespace {

using Op = Query::Op;

class Translation {
 public:
  Translation(z3::context& context, const Query& query) : made_(context) {
    const bool integers = query.sort() == Query::Sort::kInteger;
    for (const Query::Node& node : query.nodes()) {
      const auto argument = [&](std::size_t i) { return expression(node.arguments[i]); };
      switch (node.op) {
        case Op::kUnknown: {
          const char* name = query.text(node).c_str();
          made_.push_back(integers ? context.int_const(name) : context.real_const(name));
          break;
        }
        case Op::kNumber: {
          const char* text = query.text(node).c_str();
          made_.push_back(integers ? context.int_val(text) : context.real_val(text));
          break;
        }
        case Op::kTruth: made_.push_back(context.bool_val(query.text(node) == "true")); break;
        case Op::kSum: made_.push_back(z3::sum(arguments(context, node))); break;
        case Op::kProduct: {
          z3::expr product = argument(0);
          for (std::size_t i = 1; i < node.arguments.size(); ++i) product = product * argument(i);
          made_.push_back(product);
          break;
        }
        case Op::kLess: made_.push_back(argument(0) < argument(1)); break;
        case Op::kLessEqual: made_.push_back(argument(0) <= argument(1)); break;
        case Op::kEqual: made_.push_back(argument(0) == argument(1)); break;
        case Op::kNot: made_.push_back(!argument(0)); break;
        case Op::kAnd: made_.push_back(z3::mk_and(arguments(context, node))); break;
        case Op::kOr: made_.push_back(z3::mk_or(arguments(context, node))); break;
        case Op::kImplies: made_.push_back(z3::implies(argument(0), argument(1))); break;
        case Op::kIf: made_.push_back(z3::ite(argument(0), argument(1), argument(2))); break;
      }
    }
  }

  z3::expr expression(std::uint32_t node) const { return made_[static_cast<int>(node)]; }

 private:
  z3::expr_vector arguments(z3::context& context, const Query::Node& node) const {
    z3::expr_vector all(context);
    for (const std::uint32_t argument : node.arguments) all.push_back(expression(argument));
    return all;
  }

  z3::expr_vector made_;  // by node
};

// Whether Z3 reports that an allocation failed, after which it answers nothing else. Egret sets it
// no limit of memory.
bool lacks_memory(std::string_view said) {
  constexpr std::string_view kWords[] = {"out of memory", "memout", "memory exceeded"};
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return said.find(word) != std::string_view::npos; });
}

class Z3 final : public Solver {
 public:
  std::string_view name() const override { return "Z3"; }

  Answer ask(const Query& query, unsigned limit) override {
    work_ = 0;
    try {
      if (!context_) context_.emplace();
      return checked(query, limit);
    } catch (const z3::exception& error) {
      context_.reset();
      // What memory decides is no answer: a rule would count as not proven.
      if (lacks_memory(error.msg())) throw std::bad_alloc();
      return Answer::kUnknown;
    }
  }

  std::uint64_t work() const override { return work_; }
  std::unique_ptr<Solver> fresh() const override { return make_z3(); }

  std::map<std::string, std::int64_t, std::less<>> numbers() const override { return numbers_; }

 private:
  Answer checked(const Query& query, unsigned limit) {
    // The tactics for nonlinear integers depend on addresses; the core solver repeats its work.
    z3::solver solver = query.logic() == "QF_NIA"
                            ? z3::solver(*context_, z3::solver::simple())
                            : z3::solver(*context_, std::string(query.logic()).c_str());
    z3::params parameters(*context_);
    parameters.set("rlimit", limit);
    parameters.set("random_seed", 0U);
    // Z3 would put a handler of its own in the place of the program's while it works. With several
    // threads, one that has ended stays there.
    parameters.set("ctrl_c", false);
    solver.set(parameters);
    const Translation translated(*context_, query);
    for (const std::uint32_t assertion : query.assertions())
      solver.add(translated.expression(assertion));
    const z3::check_result result = solver.check();
    note_work(solver);
    numbers_.clear();
    if (result == z3::sat && query.sort() == Query::Sort::kInteger)
      note_numbers(solver.get_model());
    switch (result) {
      case z3::unsat: return Answer::kUnsatisfiable;
      case z3::sat: return Answer::kSatisfiable;
      case z3::unknown: break;
    }
    if (lacks_memory(solver.reason_unknown())) throw std::bad_alloc();
    return Answer::kUnknown;
  }

  void note_numbers(const z3::model& model) {
    for (unsigned i = 0; i < model.num_consts(); ++i) {
      const z3::func_decl unknown = model.get_const_decl(i);
      std::int64_t number = 0;
      if (model.get_const_interp(unknown).is_numeral_i64(number))
        numbers_.emplace(unknown.name().str(), number);
    }
  }

  // Z3 counts work over all queries of a context, so this takes the difference.
  void note_work(const z3::solver& solver) {
    const z3::stats statistics = solver.statistics();
    for (unsigned i = 0; i < statistics.size(); ++i) {
      if (statistics.key(i) != "rlimit count") continue;
      const std::uint64_t total = statistics.uint_value(i);
      work_ = total - total_;
      total_ = total;
    }
  }

  std::optional<z3::context> context_;
  std::map<std::string, std::int64_t, std::less<>> numbers_;  // of the last query
  std::uint64_t total_ = 0;
  std::uint64_t work_ = 0;
};

}  // namespace

std::unique_ptr<Solver> make_z3() { return std::make_unique<Z3>(); }

std::optional<std::vector<std::uint32_t>> contradictory_core(const Query& query, unsigned limit) {
  try {
    z3::context context;
    z3::solver solver(context, z3::solver::simple());
    z3::params parameters(context);
    parameters.set("rlimit", limit);
    parameters.set("random_seed", 0U);
    parameters.set("ctrl_c", false);
    parameters.set("core.minimize", true);
    solver.set(parameters);
    const Translation translated(context, query);
    z3::expr_vector names(context);
    std::map<std::string, std::uint32_t> places;
    for (std::uint32_t i = 0; i < query.assertions().size(); ++i) {
      // A name that no unknown has.
      const std::string name = ".assertion " + std::to_string(i);
      places.emplace(name, i);
      names.push_back(context.bool_const(name.c_str()));
      solver.add(z3::implies(names.back(), translated.expression(query.assertions()[i])));
    }
    const z3::check_result result = solver.check(names);
    if (result == z3::unknown && lacks_memory(solver.reason_unknown())) throw std::bad_alloc();
    if (result != z3::unsat) return std::nullopt;
    std::vector<std::uint32_t> core;
    for (const z3::expr& name : solver.unsat_core())
      core.push_back(places.at(name.decl().name().str()));
    std::ranges::sort(core);
    return core;
  } catch (const z3::exception& error) {
    if (lacks_memory(error.msg())) throw std::bad_alloc();
    return std::nullopt;
  }
}

}  // namespace egret::verifier
