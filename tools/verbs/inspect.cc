// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <optional>

#include "backends/division.h"
#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "driver/models/open_model.h"
#include "driver/report/graph_picture.h"
#include "driver/select/candidate.h"
#include "frontends/onnx_summary.h"
#include "ir/graph/graph_dot.h"
#include "ir/graph/graph_text.h"
#include "ir/nest/work.h"
#include "ir/ops/opaque.h"
#include "tools/arguments/model_file.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

enum class Show : unsigned char { kSummary, kText, kDot, kSvg, kKernels };

constexpr std::size_t kMostDrawn = 400;  // operators

struct InspectOptions {
  Show show = Show::kSummary;

  static const base::OptionTable<InspectOptions>& table() {
    using I = InspectOptions;
    static const base::OptionTable<I> rows{
        "inspect",
        {{"show", &I::show,
          "Output: a summary, the graph as text, the graph as "
          "DOT for Graphviz, a drawing as SVG, or the drawing "
          "with the kernels of the CPU backend",
          base::one_of({"summary", "text", "dot", "svg", "kernels"})}}};
    return rows;
  }
};

struct Totals {
  int operators = 0;
  double flops = 0;
  bool known = true;    // all sizes are
  bool defined = true;  // in Egret; others stay as they are
};

std::map<std::string, Totals> totals_by_operator(const ir::Graph& graph) {
  std::map<std::string, Totals> totals;
  for (const ir::Node& node : graph.nodes()) {
    if (node.kind != ir::NodeKind::kOperator || node.op == &ir::opaque_output()) continue;
    const bool opaque = node.op == &ir::opaque_operator();
    Totals& entry = totals[opaque ? node.attrs.text("type") : node.op->name()];
    ++entry.operators;
    entry.defined = entry.defined && (!opaque || ir::body_of(graph, node) != nullptr);
    const auto work = ir::work_of(graph, node);
    entry.known = entry.known && work.ok();
    if (work.ok()) entry.flops += work->flops;
  }
  return totals;
}

class Inspect final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("MODEL", path_, "An ONNX file, or - for standard input");
    arguments.options(options_);
    arguments.options(model_);
  }

  base::Result<ExitCode> run(Console& console) override {
    if (console.options().json && options_.show != Show::kSummary)
      return base::usage_error("--json cannot be combined with --show text, dot, svg or kernels");
    EGRET_ASSIGN_OR_RETURN(const ModelSource source, source_of(path_));
    // As `optimize` reads it: open sizes and operators that Egret lacks stay.
    std::optional<rules::OpenSizes> open;
    const auto model = driver::read_open_model(source, model_, {}, {}, open);
    if (!model.ok()) {
      if (options_.show == Show::kSummary) summarize_file(source, console);
      return model.status();
    }
    report_notes(*model, console);
    switch (options_.show) {
      case Show::kText: console.data(ir::to_text(model->graph)); break;
      case Show::kDot: console.data(ir::to_dot(model->graph)); break;
      case Show::kSvg: draw(model->graph, {}, {}, console); break;
      case Show::kKernels: {
        EGRET_RETURN_IF_ERROR(draw_kernels(model->graph, open ? &*open : nullptr, console));
        break;
      }
      case Show::kSummary: summarize(*model, console); break;
    }
    return ExitCode::kOk;
  }

 private:
  // As the model is run: at the examples of open sizes, without the nodes that Egret lacks. A model
  // may say itself which kernels it was chosen for.
  static base::Status draw_kernels(const ir::Graph& model, const rules::OpenSizes* open,
                                   Console& console) {
    const backends::Backend& cpu = *backends::find_backend("cpu");
    EGRET_ASSIGN_OR_RETURN(const ir::Graph graph, driver::runnable(model, open));
    backends::Division kernels = backends::stored_division(graph, cpu.name());
    const backends::DivisionLayouts layouts = backends::stored_layouts(graph, kernels, cpu.name());
    if (kernels.empty()) {
      EGRET_ASSIGN_OR_RETURN(kernels, cpu.divide(graph, {}));
    }
    draw(graph, kernels, layouts, console);
    return base::ok();
  }

  // The operators nearest to the inputs, if there are many.
  static void draw(const ir::Graph& graph, const backends::Division& kernels,
                   const backends::DivisionLayouts& layouts, Console& console) {
    std::size_t hidden = 0;
    const driver::Picture picture =
        driver::picture_of_graph(graph, kMostDrawn, false, hidden, kernels, layouts);
    const std::string note = hidden == 0
                                 ? ""
                                 : base::counted(static_cast<std::int64_t>(hidden), "operator") +
                                       " not shown; --show dot has all";
    if (!note.empty()) console.note(note);
    console.data(driver::draw_file(picture, note));
  }

  // Of a model that cannot be imported, what its file says; nothing where that cannot be read.
  void summarize_file(const ModelSource& source, Console& console) const {
    const auto file = source.bytes
                          ? frontends::summarize_onnx_bytes(std::as_bytes(std::span(*source.bytes)))
                          : frontends::summarize_onnx(source.path);
    if (!file.ok()) return;
    base::Json json = base::Json::object();
    base::TextTable facts({{""}, {""}});
    add_values(json, facts, "input", file->inputs);
    add_values(json, facts, "output", file->outputs);
    facts.row({"weights", base::counted(file->initializers, "tensor") + ", " +
                              base::format_short(file->initializer_elements) + " elements"});
    facts.row({"nodes", std::to_string(file->nodes)});
    add_origin(json, facts, file->info);
    base::TextTable table({{"ONNX operator"}, {"nodes", base::Align::kRight}, {""}});
    base::Json operators = base::Json::array();
    for (const auto& op : file->operators) {
      table.row({op.name, std::to_string(op.nodes), op.supported ? "" : "unsupported"});
      operators.push(base::Json::object()
                         .set("name", op.name)
                         .set("count", op.nodes)
                         .set("supported", op.supported));
    }
    json.set("nodes", file->nodes)
        .set("initializers", file->initializers)
        .set("weights", file->initializer_elements)
        .set("operators", std::move(operators));
    console.partial_result(std::move(json), facts.render() + "\n" + table.render());
  }

  static void add_values(base::Json& json, base::TextTable& facts, const std::string& role,
                         const std::vector<frontends::OnnxSummary::Value>& values) {
    base::Json list = base::Json::array();
    for (const auto& value : values) {
      facts.row({role, value.name + "  " + value.type});
      list.push(base::Json::object().set("name", value.name).set("type", value.type));
    }
    json.set(role + "s", std::move(list));
  }

  static void add_origin(base::Json& json, base::TextTable& facts,
                         const frontends::OnnxModelInfo& info) {
    std::vector<base::Json::Member> opsets;
    for (const auto& [domain, version] : info.opsets) {
      facts.row({"opset", std::to_string(version) + (domain.empty() ? "" : " of " + domain)});
      opsets.emplace_back(domain.empty() ? "ai.onnx" : domain, version);
    }
    std::string producer = info.producer_name;
    if (!info.producer_version.empty()) producer += " " + info.producer_version;
    if (!producer.empty()) facts.row({"producer", producer});
    json.set("opsets", base::Json::from_members(std::move(opsets))).set("producer", producer);
  }

  static void summarize(const frontends::ImportedModel& model, Console& console) {
    const ir::Graph& graph = model.graph;
    base::Json json = base::versioned_json();
    base::TextTable facts({{""}, {""}});
    base::Json inputs = base::Json::array();
    base::Json outputs = base::Json::array();
    const auto value = [](const std::string& name, const ir::TensorType& type) {
      return base::Json::object().set("name", name).set("type", ir::to_string(type));
    };
    for (const ir::NodeId id : graph.inputs()) {
      const ir::Node& node = graph.node(id);
      facts.row({"input", node.name + "  " + ir::to_string(node.type)});
      inputs.push(value(node.name, node.type));
    }
    for (const auto& output : graph.outputs()) {
      const ir::TensorType& type = graph.node(output.node).type;
      facts.row({"output", output.name + "  " + ir::to_string(type)});
      outputs.push(value(output.name, type));
    }
    std::int64_t parameters = 0;
    std::int64_t bytes = 0;
    for (const ir::Node& node : graph.nodes()) {
      if (node.kind != ir::NodeKind::kConstant) continue;
      parameters += node.type.elements();
      bytes += node.type.bytes();
    }
    facts.row({"weights", base::counted(parameters, "element") + ", " +
                              base::format_bytes(static_cast<double>(bytes))});
    add_origin(json, facts, model.info);
    base::TextTable table(
        {{"operator"}, {"number", base::Align::kRight}, {"FLOP", base::Align::kRight}});
    base::Json operators = base::Json::array();
    for (const auto& [name, entry] : totals_by_operator(graph)) {
      const bool counted = entry.known && entry.defined;
      table.row({name, std::to_string(entry.operators),
                 counted         ? base::format_short(entry.flops)
                 : entry.defined ? "open sizes"
                                 : "not defined; stays as it is"});
      base::Json item = base::Json::object()
                            .set("name", name)
                            .set("count", entry.operators)
                            .set("defined", entry.defined);
      if (counted) item.set("flops", entry.flops);
      operators.push(std::move(item));
    }
    json.set("inputs", std::move(inputs)).set("outputs", std::move(outputs));
    json.set("weights", parameters)
        .set("weight_bytes", bytes)
        .set("operators", std::move(operators));
    console.result(json, facts.render() + "\n" + table.render());
  }

  std::string path_;
  InspectOptions options_;
  ModelOptions model_;
};

}  // namespace

Verb inspect_verb() {
  return {"inspect", "Describe a model",
          "Prints the inputs, outputs and weights, and for each kind of operator the number of "
          "nodes and their arithmetic. --show prints the whole graph as text or DOT, or draws it. "
          "Symbolic "
          "sizes may stay unbound. For a model that cannot be imported, it prints a summary of the "
          "file and the unsupported operators, besides the error.",
          make_command<Inspect>};
}

}  // namespace egret::tools
