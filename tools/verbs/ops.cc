// SPDX-License-Identifier: Apache-2.0
#include "base/did_you_mean.h"
#include "base/formats/text_table.h"
#include "ir/graph/operator_docs.h"
#include "parallel/laws/stored_laws.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

struct OpsOptions {
  bool markdown = false;

  static const base::OptionTable<OpsOptions>& table() {
    using O = OpsOptions;
    static const base::OptionTable<O> rows{
        "ops",
        {{"markdown", &O::markdown, "Print the supported ONNX operators as a Markdown table"}}};
    return rows;
  }
};

// How the operator may be distributed, and what is proven of that.
base::Result<std::string> placements_of(const ir::Operator& op) {
  EGRET_ASSIGN_OR_RETURN(const parallel::StoredLaws stored,
                         parallel::parse_laws(parallel::builtin_laws()));
  base::TextTable table({{"placements"}, {"such as"}, {"known"}});
  for (const parallel::StoredLaw& law : stored.laws) {
    if (law.op == op.name()) table.row({law.law, law.application, std::string(name_of(law.scope))});
  }
  return table.empty() ? std::string() : "\n## Placements\n\n```\n" + table.render() + "```\n";
}

class Ops final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.optional("NAME", name_, "Operator whose inputs, attributes and definition to show");
    arguments.options(options_);
  }

  base::Result<ExitCode> run(Console& console) override {
    if (!name_.empty()) return show(console);
    base::Json json = base::versioned_json();
    base::Json list = base::Json::array();
    for (const ir::Operator* op : ir::all_operators()) {
      base::Json onnx = base::Json::array();
      for (const ir::OnnxImportRow& row : op->onnx_imports()) onnx.push(row.op_type);
      list.push(base::Json::object()
                    .set("name", op->name())
                    .set("kind", op->is_composite() ? "composite" : "primitive")
                    .set("doc", op->doc())
                    .set("onnx", std::move(onnx)));
    }
    json.set("operators", std::move(list));
    console.result(json, options_.markdown ? ir::onnx_support_table() : ir::operator_table());
    return ExitCode::kOk;
  }

 private:
  base::Result<ExitCode> show(Console& console) const {
    const ir::Operator* op = ir::find_operator(name_);
    if (op == nullptr) {
      std::vector<std::string> names;
      for (const ir::Operator* each : ir::all_operators()) names.push_back(each->name());
      return base::usage_error("unknown operator '" + name_ + "'" +
                               base::did_you_mean(name_, names));
    }
    EGRET_ASSIGN_OR_RETURN(const std::string placements, placements_of(*op));
    const std::string page = ir::operator_page(*op) + placements;
    console.result(base::versioned_json().set("name", op->name()).set("page", page), page);
    return ExitCode::kOk;
  }

  std::string name_;
  OpsOptions options_;
};

}  // namespace

Verb ops_verb() {
  return {"ops", "List operators, or show the definition of one",
          "Every operator has a definition: an index expression for one output element. `egret ops "
          "NAME` prints it. `egret ops --markdown` prints the supported ONNX operators and the "
          "operators that represent them.",
          make_command<Ops>};
}

}  // namespace egret::tools
