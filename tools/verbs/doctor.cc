// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/backend.h"
#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "base/system/terminal.h"
#include "tools/frame/build_info.h"
#include "tools/frame/host_info.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

// One component, seen from the build and from this machine.
struct Finding {
  std::string name;
  std::string purpose;
  std::string remedy;
  std::string built;  // version linked, "at run time", "found, not used", or "no"
  std::string here;   // what the machine answered, "missing", or "-"
  bool required = false;
  bool ready = false;  // linked, or needed at run time only, and present here
};

std::string built_text(const Component& component) {
  switch (component.use) {
    case LibraryUse::kLinked:
      return component.version.empty() ? "yes" : std::string(component.version);
    case LibraryUse::kOpened: return "at run time";
    case LibraryUse::kNone: break;
  }
  return component.version.empty() ? "no" : "found, not used";
}

std::string here_text(const ProbeAnswer& answer) {
  if (answer.present) return answer.detail;
  return answer.detail.empty() ? "missing" : answer.detail;
}

// What the processor need not have: asked of the backend that would use it.
Finding bf16_finding() {
  const base::Status status =
      backends::find_backend("cpu")->takes_precision(backends::Precision::kBF16);
  return {.name = "bf16",
          .purpose = "products and convolutions in bf16 (--backend cpu --precision bf16)",
          .remedy = status.message(),
          .built = "at run time",
          .here = status.ok() ? "processor instructions" : "missing",
          .required = false,
          .ready = status.ok()};
}

std::vector<Finding> examine() {
  std::vector<Finding> findings;
  for (const Component& component : build_info().components) {
    const bool linked = component.use == LibraryUse::kLinked;
    Finding finding{std::string(component.name),
                    std::string(component.purpose),
                    std::string(component.remedy),
                    built_text(component),
                    "-",
                    component.required,
                    linked};
    if (const Probe* probe = find_probe(component.name)) {
      const ProbeAnswer answer = ask(*probe);
      // This program could not have started without the libraries it links; the probe may know only
      // other versions of them.
      if (answer.present || !linked) finding.here = here_text(answer);
      finding.ready = linked || (component.use == LibraryUse::kOpened && answer.present);
    }
    findings.push_back(std::move(finding));
  }
  for (const Probe& probe : probes()) {
    const bool known = std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
      return finding.name == probe.name;
    });
    if (known) continue;
    const ProbeAnswer answer = ask(probe);
    findings.push_back({std::string(probe.name), std::string(probe.purpose),
                        std::string(probe.remedy), "at run time", here_text(answer), false,
                        answer.present});
  }
  findings.push_back(bf16_finding());
  return findings;
}

base::Json to_json(const HostInfo& machine, const std::vector<Finding>& findings) {
  base::Json json = base::versioned_json();
  json.set("version", build_info().version).set("revision", build_info().revision);
  json.set("processor", machine.processor).set("threads", machine.threads);
  json.set("memory_bytes", static_cast<std::int64_t>(machine.memory_bytes));
  json.set("instruction_sets", base::Json::array(machine.instruction_sets));
  base::Json list = base::Json::array();
  for (const Finding& finding : findings) {
    base::Json item = base::Json::object();
    item.set("name", finding.name).set("built", finding.built).set("here", finding.here);
    item.set("required", finding.required).set("ready", finding.ready);
    item.set("purpose", finding.purpose).set("remedy", finding.remedy);
    list.push(std::move(item));
  }
  json.set("components", std::move(list));
  return json;
}

std::string to_text(const HostInfo& machine, const std::vector<Finding>& findings, bool color) {
  std::string text = "egret " + std::string(build_info().version) + " (" +
                     std::string(build_info().revision) + ", " +
                     std::string(build_info().build_type) + ", " +
                     std::string(build_info().compiler) + ")\n";
  text += machine.processor + ", " + base::counted(machine.threads, "thread") + ", " +
          base::format_bytes(machine.memory_bytes) + " memory";
  for (const std::string& set : machine.instruction_sets) text += ", " + set;
  base::TextTable table({{""}, {"component"}, {"in this build"}, {"on this machine"}, {"for"}});
  for (const Finding& finding : findings) {
    table.row({finding.ready      ? "+"
               : finding.required ? "!"
                                  : "-",
               finding.name, finding.built, finding.here, finding.purpose});
  }
  text += "\n\n" + table.render();
  std::string remedies;
  for (const Finding& finding : findings) {
    if (finding.ready || finding.built == "found, not used") continue;
    remedies += "  " + base::painted(finding.name, base::Paint::kBold, color) + ": " +
                finding.remedy + "\n";
  }
  if (!remedies.empty())
    text +=
        "\nTo install missing components (scripts/setup.sh installs all that the build needs):\n";
  return text + remedies;
}

class Doctor final : public Command {
 public:
  void declare(Arguments&) override {}

  base::Result<ExitCode> run(Console& console) override {
    const HostInfo machine = this_machine();
    const std::vector<Finding> findings = examine();
    console.result(to_json(machine, findings), to_text(machine, findings, console.color()));
    for (const Finding& finding : findings) {
      if (finding.required && !finding.ready) {
        return base::unavailable(finding.name + " is required: " + finding.remedy);
      }
    }
    return ExitCode::kOk;
  }
};

}  // namespace

Verb doctor_verb() {
  return {"doctor", "Show the libraries of this build and this machine",
          "Lists the libraries that Egret can use: \"+\" is ready, \"-\" is optional and missing, "
          "\"!\" is required and missing. For each library it shows whether this build contains "
          "it, whether this machine has it, its purpose and how to install it. The exit code is 7 "
          "if a required library is missing.",
          make_command<Doctor>};
}

}  // namespace egret::tools
