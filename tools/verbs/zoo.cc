// SPDX-License-Identifier: Apache-2.0
#include "zoo/zoo.h"

#include "base/did_you_mean.h"
#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "base/stop.h"
#include "frontends/onnx.h"
#include "tools/arguments/output_file.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

struct ZooArguments {
  std::string output;
  std::int64_t batch = 1;
  std::int64_t seed = 1;
  std::int64_t sequence = 0;
  bool list = false;

  static const base::OptionTable<ZooArguments>& table() {
    using Z = ZooArguments;
    static const base::OptionTable<Z> rows{
        "zoo",
        {{"output", &Z::output, "File for the result; - is standard output", base::output_file(),
          'o'},
         {"batch", &Z::batch, "Batch size", base::range(1, 65536)},
         {"seed", &Z::seed, "Seed of random numbers", base::range(0)},
         {"sequence", &Z::sequence, "Sequence length of transformers; 0: the default of the model",
          base::range(0, 65536)},
         {"list", &Z::list, "List the models"}}};
    return rows;
  }
};

class Zoo final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.optional("NAME", name_, "Name of the model (default: list all models)");
    arguments.options(options_);
  }

  base::Result<ExitCode> run(Console& console) override {
    if (options_.list || name_.empty()) return list(console);
    const zoo::ZooRow* row = zoo::find_model(name_);
    if (row == nullptr) {
      std::vector<std::string> names;
      for (const zoo::ZooRow& each : zoo::models()) names.emplace_back(each.name);
      return base::usage_error("unknown model '" + name_ +
                               "' (`egret zoo --list` lists the models)" +
                               base::did_you_mean(name_, names));
    }
    if (options_.output.empty())
      return base::usage_error("the output is missing: give it with -o FILE");
    EGRET_ASSIGN_OR_RETURN(const ir::Graph graph,
                           row->build({.batch = options_.batch,
                                       .seed = static_cast<std::uint64_t>(options_.seed),
                                       .sequence = options_.sequence}));
    frontends::OnnxModelInfo info;
    info.producer_name = "egret zoo";
    frontends::ExportOptions exporting;
    exporting.external_data_path = external_data_of(options_.output);
    EGRET_ASSIGN_OR_RETURN(frontends::ExportedModel exported,
                           frontends::export_onnx(graph, info, exporting));
    if (base::stop_requested()) return base::limit_hit("interrupted; no output was written");
    EGRET_RETURN_IF_ERROR(write_model(console, options_.output, exported));
    if (options_.output == "-") return ExitCode::kOk;
    base::Json json = base::versioned_json();
    const auto bytes = exported.bytes.size() + static_cast<std::uint64_t>(exported.external_bytes);
    json.set("name", name_).set("bytes", bytes);
    json.set("operators", std::uint64_t{graph.operator_count()});
    console.result(
        json, name_ + ": " +
                  base::counted(static_cast<std::int64_t>(graph.operator_count()), "operator") +
                  ", " + base::format_bytes(static_cast<double>(bytes)) + "\n");
    return ExitCode::kOk;
  }

 private:
  static base::Result<ExitCode> list(Console& console) {
    base::Json json = base::versioned_json();
    base::Json models = base::Json::array();
    base::TextTable table({{"model"}, {"what"}});
    for (const zoo::ZooRow& row : zoo::models()) {
      models.push(base::Json::object().set("name", row.name).set("summary", row.summary));
      table.row({std::string(row.name), std::string(row.summary)});
    }
    json.set("models", std::move(models));
    console.result(json, table.render());
    return ExitCode::kOk;
  }

  std::string name_;
  ZooArguments options_;
};

}  // namespace

Verb zoo_verb() {
  return {"zoo", "Write a benchmark model as ONNX",
          "Builds a model that papers on tensor-graph optimization measure, with random weights, "
          "and writes it as ONNX. Weights above 2 GiB are written to OUTPUT.data. Without a name, "
          "it lists the models.",
          make_command<Zoo>};
}

}  // namespace egret::tools
