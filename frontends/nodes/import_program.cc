// SPDX-License-Identifier: Apache-2.0
// The nodes of a program, one after the other, through the imports of their operators.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "frontends/nodes/frontend_operators.h"
#include "frontends/nodes/onnx_node.h"
#include "frontends/nodes/opaque_import.h"
#include "frontends/onnx.pb.h"
#include "frontends/wire/onnx_attributes.h"
#include "ir/core/expression_extent.h"
#include "ir/core/held_assumptions.h"
#include "ir/core/symbolic_scope.h"
#include "ir/graph/operator.h"
#include "ir/ops/opaque.h"

namespace egret::frontends {
namespace {

using ir::Value;

constexpr int kMaxRank = 64;
constexpr std::int64_t kNewestOpset = 30;

using ImportTable = std::map<std::pair<std::string_view, std::string_view>, const ir::OnnxImport*>;

const ImportTable& import_table() {
  static const ImportTable* const table = [] {
    auto* made = new ImportTable;  // immortal, like the operators
    for (const ir::Operator* op : ir::all_operators()) {
      for (const ir::OnnxImportRow& row : op->onnx_imports())
        made->emplace(std::pair(std::string_view(row.domain), std::string_view(row.op_type)),
                      &row.import);
    }
    return made;
  }();
  return *table;
}

const ir::OnnxImport* find_import(const onnx::NodeProto& node) {
  const std::string domain = canonical_domain(node.domain());
  const auto found = import_table().find({domain, node.op_type()});
  return found != import_table().end() ? found->second : nullptr;
}

// Operators whose meaning changed before opset 7 in ways that their import does not know, with the
// first version that it does. (Broadcasting by attribute, which ended with opset 7, is handled.)
struct Changed {
  std::string_view op_type;
  std::int64_t since;
};
constexpr std::array kChanged = {Changed{"Reshape", 5},
                                 Changed{"Cast", 6},
                                 Changed{"Pad", 2},
                                 Changed{"Tile", 6},
                                 Changed{"Split", 2},
                                 Changed{"Concat", 4},
                                 Changed{"LpNormalization", 1},
                                 Changed{"LpPool", 2},
                                 Changed{"LSTM", 7},
                                 Changed{"GRU", 7},
                                 Changed{"RNN", 7},
                                 Changed{"Upsample", 7}};

base::Status check_version(const OnnxProgram& program, const OnnxProgramNode& node) {
  const std::int64_t opset = program.opset(node);
  const std::string domain = canonical_domain(node.proto->domain());
  if (opset == 0) {
    return base::bad_input("the model does not import the operator set " +
                           in_quotes(domain.empty() ? "ai.onnx" : domain));
  }
  if (!domain.empty()) return base::ok();
  if (opset > kNewestOpset) {
    return base::unsupported("opset " + std::to_string(opset) + "; the newest supported opset is " +
                             std::to_string(kNewestOpset));
  }
  for (const Changed& row : kChanged) {
    if (row.op_type == node.proto->op_type() && opset < row.since) {
      return base::unsupported("its form of opset " + std::to_string(opset) +
                               "; convert the model to opset 7 or later");
    }
  }
  return base::ok();
}

// An If whose branches were not read: their outputs would be further inputs.
bool is_closed(const OnnxProgramNode& node) {
  return is_if(*node.proto) && static_cast<int>(node.inputs.size()) <= node.proto->input_size();
}

// Up to opset 6 the second operand of a binary operator was lined up by attributes: broadcast=1 and
// the axis of the first operand where the second's axes begin. Size-1 axes put behind it say the
// same in today's rule.
void align_legacy_broadcast(ImportedNode& node) {
  if (node.opset() >= 7 || node.integer("broadcast", 0) == 0) return;
  if (!node.has_attr("axis") || node.input_count() != 2 || !node.has_input(1)) return;
  const int rank = node.type(node.input(0)).rank();
  const ir::TensorType type = node.type(node.input(1));
  const std::int64_t axis = node.axis(node.integer("axis", 0), rank);
  ir::Integers target;
  for (const ir::Index& size : type.dims)
    target.push_back(size.is_constant() ? size.constant() : -1);
  while (axis + static_cast<std::int64_t>(target.size()) < rank) target.push_back(1);
  if (static_cast<int>(target.size()) > type.rank()) {
    node.replace_input(
        1, node.builder().add("reshape", {node.input(1)}, {{"shape", std::move(target)}}));
  }
}

base::Status check_sizes(const ir::Graph& graph, std::size_t first, std::int64_t max_bytes) {
  for (std::size_t i = first; i < graph.size(); ++i) {
    const ir::TensorType& type = graph.node(ir::NodeId(i)).type;
    if (type.rank() > kMaxRank) {
      return base::bad_input("has an output of " + std::to_string(type.rank()) + " axes; at most " +
                             std::to_string(kMaxRank) + " are allowed");
    }
    if (!within(type, max_bytes)) {
      return base::bad_input("has an output " + to_string(type) +
                             ", which is larger than the limit of " + std::to_string(max_bytes) +
                             " bytes for one value");
    }
  }
  return base::ok();
}

class ProgramImport {
 public:
  ProgramImport(const OnnxImportContext& context, std::vector<Value>& values,
                std::vector<std::string>& notes)
      : context_(context), values_(values), notes_(notes) {}

  base::Status run() {
    for (const OnnxProgramNode& node : context_.program.nodes) {
      const base::Status status = import(node);
      if (!status.ok()) return status.at(context_.program.place(node));
    }
    return base::ok();
  }

 private:
  // What Egret cannot express stays as it is, where that is allowed.
  base::Status import(const OnnxProgramNode& node) {
    if (const auto element = element_of_sequence(node))
      return bind_outputs(node, {*element}, context_.builder.graph().size());
    base::Status status = import_known(node);
    if (context_.opaque == nullptr) return status;
    // A branch that is not taken need not have a meaning at the sizes of the model.
    if (status.code() == base::StatusCode::kBadInput && context_.program.in_branch(node.scope))
      status = base::unsupported(std::string(status.message()));
    if (status.code() != base::StatusCode::kUnsupported) return status;
    const base::Status left = context_.builder.take_error();  // what was built so far is not used
    const std::size_t first = context_.builder.graph().size();
    EGRET_ASSIGN_OR_RETURN(
        const std::vector<Value> outputs,
        context_.opaque->import(context_, node, values_, std::string(status.message())));
    EGRET_RETURN_IF_ERROR(context_.builder.status());
    notes_.push_back(context_.program.place(node) +
                     " stays as it is: " + std::string(status.message()));
    return bind_outputs(node, outputs, first);
  }

  base::Status import_known(const OnnxProgramNode& node) {
    if (!is_known_operator(*node.proto)) return base::unsupported("Egret has no such operator");
    if (is_closed(node)) return base::unsupported("a branch has operators that Egret lacks");
    EGRET_RETURN_IF_ERROR(check_form(context_.program, node));
    std::vector<Value> inputs;
    for (const ValueId input : node.inputs)
      inputs.push_back(input.valid() ? values_[input.index()] : Value{});
    const auto untyped = [&](Value value) {
      return value.valid() && context_.opaque != nullptr && context_.opaque->is_untyped(value);
    };
    if (std::ranges::any_of(inputs, untyped)) {
      if (passes_through(node)) return bind_outputs(node, inputs, context_.builder.graph().size());
      return base::unsupported("it reads a value of unknown type");
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (node.inputs[i].valid() && !inputs[i].valid())
        return base::bad_input("input " + std::to_string(i) +
                               " is an output that its operator does not have");
    }
    ImportedNode imported(context_, node, std::move(inputs));
    const std::size_t first = context_.builder.graph().size();
    ir::SymbolicScope* const scope = ir::SymbolicScope::current();
    if (scope != nullptr) scope->take_undecided();
    // The sizes of a branch that is not taken need not meet what its nodes require.
    ir::HeldAssumptions assumed(context_.program.in_branch(node.scope)
                                    ? ir::HeldAssumptions::May::kNothing
                                    : ir::HeldAssumptions::May::kAssume);
    const auto outputs = import_operator(imported, *node.proto);
    const base::Status status = outputs.status();
    const bool undecided = scope != nullptr && scope->take_undecided();
    if (undecided) return base::unsupported("needs a number where a size is open");
    // What an operator asks of a size may hold though it does not follow.
    if (status.code() == base::StatusCode::kBadInput && scope != nullptr && reads_open_sizes(node))
      return base::unsupported(std::string(status.message()));
    EGRET_RETURN_IF_ERROR(status);
    EGRET_RETURN_IF_ERROR(check_sizes(context_.builder.graph(), first, context_.max_value_bytes));
    EGRET_RETURN_IF_ERROR(check_open_sizes(first));
    if (!assumed.keep()) return base::unsupported("its sizes do not go together");
    note_ignored(imported, node);
    if (context_.opaque == nullptr) return bind_outputs(node, *outputs, first);
    const auto whole = context_.opaque->kept_whole(context_, node, values_, *outputs);
    EGRET_RETURN_IF_ERROR(context_.builder.status());
    return bind_outputs(node, whole, first);
  }

  // An Identity whose result is no output of the model.
  bool passes_through(const OnnxProgramNode& node) const {
    return node.proto->op_type() == "Identity" && canonical_domain(node.proto->domain()).empty() &&
           node.inputs.size() == 1 && node.outputs.size() == 1 &&
           std::ranges::find(context_.program.outputs, node.outputs[0]) ==
               context_.program.outputs.end();
  }

  // Of SequenceAt: what its sequence was made of at a known position.
  std::optional<Value> element_of_sequence(const OnnxProgramNode& node) const {
    if (context_.opaque == nullptr || node.proto->op_type() != "SequenceAt" ||
        !canonical_domain(node.proto->domain()).empty() || node.inputs.size() != 2 ||
        !node.inputs[0].valid() || !node.inputs[1].valid())
      return std::nullopt;
    const Value whole = values_[node.inputs[0].index()];
    const Value index = values_[node.inputs[1].index()];
    if (!whole.valid() || !index.valid()) return std::nullopt;
    const ir::Graph& graph = context_.builder.graph();
    const ir::Node& sequence = graph.node(whole.id);
    if (sequence.op != &ir::opaque_output()) return std::nullopt;
    const ir::Node& made = graph.node(sequence.inputs[0]);
    const auto position = context_.constants.value(index.id);
    if (made.attrs.text("type") != "SequenceConstruct" || !position || position->elements() != 1)
      return std::nullopt;
    const auto count = static_cast<std::int64_t>(made.inputs.size());
    std::int64_t at = position->i64_at(0);
    if (at < 0) at += count;
    if (at < 0 || at >= count) return std::nullopt;
    const Value element{made.inputs[static_cast<std::size_t>(at)]};
    const bool untyped = context_.opaque->is_untyped(element);
    return untyped ? std::nullopt : std::optional(element);
  }

  // Of the nodes from `first` on.
  base::Status check_open_sizes(std::size_t first) {
    const ir::Graph& graph = context_.builder.graph();
    const ir::SymbolicScope* const scope = ir::SymbolicScope::current();
    for (std::size_t i = first; i < graph.size(); ++i) {
      for (const ir::Index& size : graph.node(ir::NodeId(i)).type.dims) {
        if (!meter_.is_short(size))
          return base::unsupported("a size of its result is too long an expression of open sizes");
        if (scope != nullptr && !ir::evaluate(size, scope->examples()))
          return base::unsupported("a size of its result exceeds 64 bits");
      }
    }
    return base::ok();
  }

  bool reads_open_sizes(const OnnxProgramNode& node) const {
    return std::ranges::any_of(node.inputs, [&](ValueId input) {
      const bool known = input.valid() && values_[input.index()].valid();
      return known && !context_.builder.graph().node(values_[input.index()].id).type.is_concrete();
    });
  }

  base::Status bind_outputs(const OnnxProgramNode& node, const std::vector<Value>& outputs,
                            std::size_t first) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      if (!id.valid()) continue;
      // An output that is left invalid is an error only where somebody reads it.
      if (i >= outputs.size() || !outputs[i].valid()) continue;
      values_[id.index()] = outputs[i];
      // A value that is passed through keeps its name.
      const ir::NodeId made = outputs[i].id;
      if (made.index() >= first && context_.builder.graph().node(made).name.empty())
        context_.builder.set_name(outputs[i], context_.program.value_names[id.index()]);
    }
    return base::ok();
  }

  void note_ignored(const ImportedNode& imported, const OnnxProgramNode& node) {
    constexpr std::size_t kMaxNotes = 100;
    for (const std::string& name : imported.ignored_attributes()) {
      if (notes_.size() < kMaxNotes)
        notes_.push_back(context_.program.place(node) + ": attribute " + in_quotes(name) +
                         " has no effect");
    }
  }

  const OnnxImportContext& context_;
  std::vector<Value>& values_;
  std::vector<std::string>& notes_;
  ir::ExpressionMeter meter_;
};

}  // namespace

bool within(const ir::TensorType& type, std::int64_t max_bytes) {
  if (!type.is_concrete()) return true;
  const auto count = ir::element_count(type.shape());
  return count && *count <= max_bytes / static_cast<std::int64_t>(ir::byte_size(type.dtype));
}

bool is_known_operator(const onnx::NodeProto& node) {
  return find_import(node) != nullptr ||
         find_frontend_operator(canonical_domain(node.domain()), node.op_type()) != nullptr;
}

base::Status check_form(const OnnxProgram& program, const OnnxProgramNode& node) {
  EGRET_RETURN_IF_ERROR(check_version(program, node));
  return check_attributes(*node.proto, program.opset(node));
}

base::Result<std::vector<Value>> import_operator(ImportedNode& node, const onnx::NodeProto& proto) {
  align_legacy_broadcast(node);
  const FrontendImport own =
      find_frontend_operator(canonical_domain(proto.domain()), proto.op_type());
  auto outputs = own ? own(node) : ir::run_import(*find_import(proto), node);
  // What a getter noticed comes first: the rest may follow from it.
  EGRET_RETURN_IF_ERROR(node.status());
  EGRET_RETURN_IF_ERROR(outputs.status());
  EGRET_RETURN_IF_ERROR(node.builder().status());
  return outputs;
}

// As text: "Loop (2 nodes), com.example.Foo (1 node)".
base::Status check_operators(const OnnxProgram& program) {
  std::map<std::string, int> missing;
  for (const OnnxProgramNode& node : program.nodes) {
    const onnx::NodeProto& proto = *node.proto;
    if (proto.op_type().empty()) return base::bad_input(program.place(node) + ": has no op_type");
    if (is_known_operator(proto)) continue;
    const std::string domain = canonical_domain(proto.domain());
    ++missing[(domain.empty() ? "" : in_quotes(domain) + "::") + proto.op_type().substr(0, 80)];
  }
  if (missing.empty()) return base::ok();
  constexpr int kShown = 200;
  std::string text;
  int shown = 0;
  for (const auto& [name, count] : missing) {
    if (shown++ == kShown) {
      text += ", ...";
      break;
    }
    text += (text.empty() ? "" : ", ") + name + " (" + std::to_string(count) +
            (count == 1 ? " node)" : " nodes)");
  }
  return base::unsupported(
      (missing.size() == 1 ? "unsupported operator: " : "unsupported operators: ") + text);
}

base::Status import_program(const OnnxImportContext& context, std::vector<Value>& values,
                            std::vector<std::string>& notes) {
  return ProgramImport(context, values, notes).run();
}

}  // namespace egret::frontends
