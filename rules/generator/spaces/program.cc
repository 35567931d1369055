// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/spaces/program.h"

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>

#include "ir/evaluate/direct_evaluator.h"
#include "ir/evaluate/field.h"
#include "ir/evaluate/graph_evaluation.h"
#include "ir/graph/body.h"

namespace egret::rules::generator {

using base::Result;
using ir::DType;

namespace {

constexpr std::size_t kMostInstructions = 4'000'000;

// A tensor whose elements are instructions.
struct Recorded {
  ir::TensorType type_{};
  std::vector<std::uint32_t> elements{};
  const ir::TensorType& type() const { return type_; }
};

}  // namespace

// Makes instructions, equal ones once, and is the domain that DirectEvaluator runs in.
// A tensor operator becomes a straight-line program over scalars by abstract execution: its
// definition runs on instruction numbers instead of numbers. Hash-consing makes equal instructions
// one. An operation that depends on values (a comparison) cannot be recorded.
class Recorder {
 public:
  using Value = std::uint32_t;
  using Op = Program::Op;

  explicit Recorder(Program& program) : program_(program) {}

  Recorded operand(std::size_t input, const ir::TensorType& type) {
    Recorded result{type, {}};
    for (std::int64_t i = 0; i < type.elements(); ++i) {
      result.elements.push_back(
          make({Op::kRead, static_cast<std::uint8_t>(input), static_cast<std::uint32_t>(i), 0}));
    }
    return result;
  }

  // One operator; composites through their body.
  Result<Recorded> apply(const ir::Operator& op, const ir::Attrs& attrs,
                         std::span<const Recorded> operands) {
    std::vector<ir::TensorType> types;
    for (const Recorded& operand : operands) types.push_back(operand.type_);
    return evaluate(op, attrs, types, operands);
  }
  const base::Status& status() const { return status_; }

  // --- what a domain offers
  Value read(int input, std::int64_t i) const {
    return inputs_[static_cast<std::size_t>(input)].elements[static_cast<std::size_t>(i)];
  }
  std::int64_t read_integer(int, std::int64_t) { return integers(); }
  Result<Value> constant(double value) {
    if (!std::isfinite(value)) return base::unsupported("a constant that is not finite");
    return number(value);
  }
  Value from_integer(DType, std::int64_t value) { return number(static_cast<double>(value)); }
  std::int64_t to_integer(DType, Value) { return integers(); }
  Value round_to(DType, Value value) const { return value; }
  Value add(Value a, Value b) {
    if (a != kNothing && is_number(a, 0)) return b;
    return b != kNothing && is_number(b, 0) ? a : make({Op::kAdd, 0, a, b});
  }
  Value sub(Value a, Value b) { return make({Op::kSub, 0, a, b}); }
  Value mul(Value a, Value b) { return make({Op::kMul, 0, a, b}); }
  Result<Value> div(Value a, Value b) { return make({Op::kDiv, 0, a, b}); }
  Value neg(Value a) { return make({Op::kNeg, 0, a, 0}); }
  Value min(Value a, Value b) { return extremum(Op::kMin, a, b); }
  Value max(Value a, Value b) { return extremum(Op::kMax, a, b); }
  bool less(Value, Value) { return choice(); }
  bool less_equal(Value, Value) { return choice(); }
  bool equal(Value, Value) { return choice(); }
  // An extremum of nothing, such as a row of a window that is padding: neutral in a larger one.
  Result<Value> empty(ir::Reduction) { return kNothing; }
  Result<Value> call(ir::Function function, Value a, Value b) {
    return make(
        {Op::kCall, static_cast<std::uint8_t>(function), a, ir::facts(function).arity > 1 ? b : 0});
  }

 private:
  struct Key {
    Program::Instruction i;
    friend bool operator==(const Key& x, const Key& y) {
      return x.i.op == y.i.op && x.i.input == y.i.input && x.i.a == y.i.a && x.i.b == y.i.b;
    }
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      const auto head = (static_cast<Word>(key.i.op) << 8) | key.i.input;
      return base::hash_combine(head, (static_cast<Word>(key.i.a) << 32) | key.i.b);
    }
  };

  static constexpr Value kNothing = 0xffffffffU;

  Value extremum(Op op, Value a, Value b) {
    if (a == kNothing) return b;
    return b == kNothing ? a : make({op, 0, a, b});
  }
  Value make(Program::Instruction instruction) {
    if (instruction.op != Op::kConst && instruction.op != Op::kRead &&
        (instruction.a == kNothing || instruction.b == kNothing)) {
      fail(base::unsupported("an extremum of nothing"));
      return 0;
    }
    const auto [found, is_new] =
        known_.emplace(Key{instruction}, static_cast<Value>(program_.code_.size()));
    if (is_new) program_.code_.push_back(instruction);
    if (program_.code_.size() > kMostInstructions)
      fail(base::limit_hit("an operator of too many steps"));
    return found->second;
  }
  Value number(double value) {
    const auto found = std::ranges::find(program_.constants_, value);
    const auto at = static_cast<std::uint32_t>(found - program_.constants_.begin());
    if (found == program_.constants_.end()) program_.constants_.push_back(value);
    return make({Op::kConst, 0, at, 0});
  }
  bool is_number(Value value, double number) const {
    const Program::Instruction& i = program_.code_[value];
    return i.op == Op::kConst && program_.constants_[i.a] == number;
  }
  void fail(base::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  std::int64_t integers() {
    fail(base::unsupported("tensors of integers in generated rules"));
    return 0;
  }
  bool choice() {
    fail(base::unsupported("an operator that compares elements"));
    return false;
  }

  Result<Recorded> evaluate(const ir::Operator& op, const ir::Attrs& attrs,
                            std::span<const ir::TensorType> types,
                            std::span<const Recorded> operands) {
    if (op.is_composite()) {
      EGRET_ASSIGN_OR_RETURN(const ir::Graph body, ir::body_graph(op, attrs, types));
      EGRET_ASSIGN_OR_RETURN(
          auto results,
          ir::evaluate_nodes<Recorded>(
              body, operands, [&](const ir::Node& node) { return tensor(node.data); },
              [&](const ir::Operator& inner, const ir::Attrs& inner_attrs,
                  std::span<const ir::TensorType> inner_types, std::span<const Recorded> arguments,
                  std::size_t) { return evaluate(inner, inner_attrs, inner_types, arguments); }));
      return std::move(results.front());
    }
    EGRET_ASSIGN_OR_RETURN(const ir::Denotation denotation, ir::denote_concrete(op, attrs, types));
    std::vector<DType> dtypes;
    std::vector<ir::Shape> shapes;
    for (const ir::TensorType& type : types) {
      dtypes.push_back(type.dtype);
      shapes.push_back(type.shape());
    }
    if (!ir::is_float(denotation.type.dtype))
      return base::unsupported("tensors of integers in generated rules");
    EGRET_ASSIGN_OR_RETURN(const ir::TermGraph graph, ir::term_graph(denotation, dtypes));
    Recorded out{denotation.type, {}};
    inputs_ = operands;
    ir::DirectEvaluator<Recorder> evaluator(graph, shapes, *this);
    const base::Status status = evaluator.run(
        denotation.type.shape(), [&](std::int64_t, Value value) { out.elements.push_back(value); },
        [&](std::int64_t, std::int64_t) { integers(); });
    if (!status.ok()) return status.at(op.name());
    if (!status_.ok()) return status_.at(op.name());
    return out;
  }

  Recorded tensor(const ir::Tensor& data) {
    Recorded result{data.type(), {}};
    for (std::int64_t i = 0; i < data.elements(); ++i)
      result.elements.push_back(number(data.f64_at(i)));
    return result;
  }

  Program& program_;
  boost::unordered_flat_map<Key, Value, Hash> known_;
  std::span<const Recorded> inputs_;
  base::Status status_;
};

Result<Program> Program::record(const OperatorChoice& choice, World world,
                                const std::vector<ir::TensorType>& operands) {
  if (choice.applies && !choice.applies(world, operands))
    return base::bad_input(choice.name + " is not meant for these operands");
  Program program;
  EGRET_RETURN_IF_ERROR(program.infer(choice, world, operands));
  program.samples_ = sample_positions(program.elements_);
  // If recording is not supported, the program falls back to running the definition itself.
  const base::Status recorded = program.record_steps(choice, operands);
  if (recorded.ok()) return program;
  if (recorded.code() != base::StatusCode::kUnsupported) return recorded;
  Program direct;
  direct.type_ = program.type_;
  direct.elements_ = program.elements_;
  direct.attrs_ = std::move(program.attrs_);
  direct.samples_ = std::move(program.samples_);
  direct.form_ = Form::kDefinition;
  direct.reads_all_ = true;  // as far as is known
  direct.choice_ = &choice;
  direct.operand_types_ = operands;
  return direct;
}

// Types and attributes of the steps. Requirements are checked here.
base::Status Program::infer(const OperatorChoice& choice, World world,
                            const std::vector<ir::TensorType>& operands) {
  std::vector<ir::TensorType> results;
  for (const Step& step : choice.steps) {
    std::vector<ir::TensorType> types;
    for (const int from : step.operands)
      types.push_back(from >= 0 ? operands[static_cast<std::size_t>(from)]
                                : results[static_cast<std::size_t>(-from - 1)]);
    std::optional<ir::Attrs> wanted = step.attrs ? step.attrs(world, types) : ir::Attrs();
    if (!wanted) return base::bad_input(choice.name + " has no attributes for these operands");
    EGRET_ASSIGN_OR_RETURN(ir::Attrs attrs, ir::canonical_attrs(step.op->attrs(), *wanted));
    EGRET_RETURN_IF_ERROR(ir::check_arity(*step.op, types.size()));
    EGRET_ASSIGN_OR_RETURN(ir::TensorType type, ir::infer_type(*step.op, attrs, types));
    if (!type.is_concrete() || type.elements() == 0) return base::bad_input("an empty tensor");
    results.push_back(std::move(type));
    attrs_.push_back(std::move(attrs));
  }
  type_ = results.back();
  elements_ = static_cast<std::size_t>(type_.elements());
  return base::ok();
}

base::Status Program::record_steps(const OperatorChoice& choice,
                                   const std::vector<ir::TensorType>& operands) {
  Recorder recorder(*this);
  std::vector<Recorded> inputs;
  std::size_t operand_elements = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    inputs.push_back(recorder.operand(i, operands[i]));
    operand_elements += static_cast<std::size_t>(operands[i].elements());
  }
  std::vector<Recorded> results;
  for (std::size_t i = 0; i < choice.steps.size(); ++i) {
    std::vector<Recorded> given;
    for (const int from : choice.steps[i].operands)
      given.push_back(from >= 0 ? inputs[static_cast<std::size_t>(from)]
                                : results[static_cast<std::size_t>(-from - 1)]);
    EGRET_ASSIGN_OR_RETURN(Recorded made, recorder.apply(*choice.steps[i].op, attrs_[i], given));
    results.push_back(std::move(made));
  }
  roots_ = results.back().elements;
  choose_samples();
  std::size_t reads = 0;
  for (const std::uint32_t i : everything_) reads += code_[i].op == Op::kRead ? 1 : 0;
  choose_form();
  reads_all_ = reads == operand_elements;
  forget_recording();
  return base::ok();
}

base::Status Program::evaluate_steps(Residues& domain, std::span<const Word* const> operands,
                                     Word* out) const {
  std::vector<ir::FieldTensor> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto count = static_cast<std::size_t>(operand_types_[i].elements());
    inputs.emplace_back(operand_types_[i], std::vector<Word>(operands[i], operands[i] + count));
  }
  std::vector<ir::FieldTensor> results;
  for (std::size_t i = 0; i < choice_->steps.size(); ++i) {
    std::vector<ir::FieldTensor> given;
    for (const int from : choice_->steps[i].operands)
      given.push_back(from >= 0 ? inputs[static_cast<std::size_t>(from)]
                                : results[static_cast<std::size_t>(-from - 1)]);
    EGRET_ASSIGN_OR_RETURN(
        ir::FieldTensor made,
        ir::evaluate_field(*choice_->steps[i].op, attrs_[i], given, domain.key(), domain.field()));
    results.push_back(std::move(made));
  }
  std::ranges::copy(results.back().values(), out);
  return base::ok();
}

// What is undefined, a quotient by 0, is noted and has no value.
void Program::run_definition(Residues& domain, std::span<const Word* const> operands,
                             Word* out) const {
  if (evaluate_steps(domain, operands, out).ok()) return;
  domain.note_undefined();
  std::fill_n(out, elements_, Word{0});
}

// Definitions that choose by value are run in fields alone.
void Program::run_definition(Numbers& domain, std::span<const Word* const>, Word* out) const {
  domain.note_undefined();
  std::fill_n(out, elements_, Word{0});
}

// Each element may depend on all that any operand's element depends on.
void Program::run_definition(Masks&, std::span<const Word* const> operands, Word* out) const {
  Word all = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto count = static_cast<std::size_t>(operand_types_[i].elements());
    for (const Word mask : std::span(operands[i], count)) all |= mask;
  }
  std::fill_n(out, elements_, all);
}

// Few positions: first, last and two between. Their values make a fingerprint that is cheap to
// compute, and equal fingerprints are compared in full later.
std::vector<std::uint32_t> Program::sample_positions(std::size_t elements) {
  const auto count = static_cast<std::uint32_t>(elements);
  std::vector<std::uint32_t> positions;
  for (const std::uint32_t at : {std::uint32_t{0}, count - 1, count / 2, count / 3}) {
    if (std::ranges::find(positions, at) == positions.end()) positions.push_back(at);
  }
  return positions;
}

// Which instructions the samples need, and which any element needs.
void Program::choose_samples() {
  // Operands have smaller numbers than their users, so one descending pass marks everything that
  // the roots need.
  const auto needed = [&](const std::vector<std::uint32_t>& roots) {
    std::vector<bool> mark(code_.size(), false);
    for (const std::uint32_t root : roots) mark[root] = true;
    std::vector<std::uint32_t> schedule;
    for (std::size_t i = code_.size(); i-- > 0;) {
      if (!mark[i]) continue;
      schedule.push_back(static_cast<std::uint32_t>(i));
      const Instruction& instruction = code_[i];
      if (instruction.op == Op::kConst || instruction.op == Op::kRead) continue;
      const bool unary = instruction.op == Op::kNeg ||
                         (instruction.op == Op::kCall &&
                          ir::facts(static_cast<ir::Function>(instruction.input)).arity == 1);
      mark[instruction.a] = true;
      if (!unary) mark[instruction.b] = true;
    }
    std::ranges::reverse(schedule);
    return schedule;
  };
  everything_ = needed(roots_);
  std::vector<std::uint32_t> roots;
  for (const std::uint32_t sample : samples_) roots.push_back(roots_[sample]);
  schedule_ = needed(roots);
}

// Keeps what the form needs, without room to spare.
void Program::forget_recording() {
  if (form_ == Form::kMoves) {
    std::vector<Instruction> moves;
    for (const std::uint32_t root : roots_) moves.push_back(code_[root]);
    code_ = std::move(moves);
  }
  if (form_ == Form::kProducts) code_ = {};
  if (form_ != Form::kCode) {
    constants_ = {};
    roots_ = {};
    schedule_ = {};
    everything_ = {};
  }
  if (form_ != Form::kProducts) {
    products_ = {};
    begin_ = {};
  }
  code_.shrink_to_fit();
  products_.shrink_to_fit();
  roots_.shrink_to_fit();
}

// Recognizes two frequent shapes that run faster than instructions: a permutation or selection of
// elements, and sums of products of two operands (matrix products, convolutions).
void Program::choose_form() {
  const auto is = [&](std::uint32_t i, Op op) { return code_[i].op == op; };
  if (std::ranges::all_of(roots_, [&](std::uint32_t root) { return is(root, Op::kRead); })) {
    form_ = Form::kMoves;
    return;
  }
  bool first = true;
  for (const std::uint32_t root : roots_) {
    begin_.push_back(static_cast<std::uint32_t>(products_.size()));
    std::vector<std::uint32_t> pending{root};
    while (!pending.empty()) {
      const Instruction& instruction = code_[pending.back()];
      pending.pop_back();
      if (instruction.op == Op::kAdd) {
        pending.push_back(instruction.a);
        pending.push_back(instruction.b);
        continue;
      }
      const bool product = instruction.op == Op::kMul && is(instruction.a, Op::kRead) &&
                           is(instruction.b, Op::kRead);
      if (!product) return;
      const Instruction& a = code_[instruction.a];
      const Instruction& b = code_[instruction.b];
      if (first) {
        left_ = a.input;
        right_ = b.input;
        first = false;
      }
      if (a.input != left_ || b.input != right_) return;
      products_.push_back({a.a, b.a});
    }
  }
  begin_.push_back(static_cast<std::uint32_t>(products_.size()));
  form_ = Form::kProducts;
}

std::vector<Word> random_elements(const ir::TensorType& type, Word prime, base::Random& random) {
  std::vector<Word> elements(static_cast<std::size_t>(type.elements()));
  constexpr Word kSmall = 11;
  const Word bound = ir::is_float(type.dtype) ? prime : (type.dtype == DType::kBool ? 2 : kSmall);
  for (Word& element : elements) element = random.below(bound);
  return elements;
}

}  // namespace egret::rules::generator
