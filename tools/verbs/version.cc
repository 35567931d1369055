// SPDX-License-Identifier: Apache-2.0
#include "base/formats/text_table.h"
#include "tools/frame/build_info.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

class Version final : public Command {
 public:
  void declare(Arguments&) override {}

  base::Result<ExitCode> run(Console& console) override {
    const BuildInfo& build = build_info();
    base::Json json = base::versioned_json();
    json.set("version", build.version).set("revision", build.revision);
    json.set("build_type", build.build_type).set("compiler", build.compiler);
    base::Json built_in = base::Json::array();
    base::TextTable table({{""}, {""}});
    table.row({"revision", std::string(build.revision)});
    table.row({"build", std::string(build.build_type) + ", " + std::string(build.compiler)});
    for (const Component& component : build.components) {
      if (component.use == LibraryUse::kNone) continue;
      base::Json item = base::Json::object();
      item.set("name", component.name).set("version", component.version);
      built_in.push(std::move(item));
      table.row({std::string(component.name), std::string(component.version)});
    }
    json.set("built_in", std::move(built_in));
    console.result(json, "egret " + std::string(build.version) + "\n" + table.render());
    return ExitCode::kOk;
  }
};

}  // namespace

Verb version_verb() {
  return {"version", "Print the version and the linked libraries",
          "Prints the version, the source revision, the build type and compiler, and the linked "
          "libraries with their versions. `egret doctor` also shows missing libraries.",
          make_command<Version>};
}

}  // namespace egret::tools
