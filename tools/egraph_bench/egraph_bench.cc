// SPDX-License-Identifier: Apache-2.0
// egraph_bench: the literature's saturation workloads, timed. Parsing and rule compilation are not
// part of the time; adding the terms is not either (tens of nodes).
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "base/formats/units.h"
#include "base/status.h"
#include "base/system/peak_memory.h"
#include "base/system/thread_pool.h"
#include "egraph/workloads/workload.h"
#include "tools/egraph_bench/instruction_counter.h"

namespace egret::tools {
namespace {

using egraph::RunReport;
using egraph::workloads::Session;

constexpr std::string_view kUsage =
    "usage: egraph_bench --workload NAME [--repeat N] [--threads N] [--iterations] [--rules] "
    "[--json] [--proofs]\n"
    "       egraph_bench --list | --list-tests | --show NAME\n"
    "  --list         the benchmarks; --list-tests: egg's own tests, also as NAME/goal\n"
    "  --show NAME    the rules and start terms of a workload\n"
    "  --repeat N     run N times, report the fastest (default 1)\n"
    "  --threads N    search with so many threads (default 1); results do not depend on it\n"
    "  --iterations   a line per iteration\n"
    "  --rules        a line per rule\n"
    "  --json         one JSON object on stdout\n"
    "  --proofs       record proofs; their bytes are part of the e-graph's\n";

struct Options {
  std::vector<std::string_view> workloads;
  std::vector<std::string_view> shown;
  std::int64_t repeat = 1;
  std::int64_t threads = 1;
  bool list = false;
  bool list_tests = false;
  bool json = false;
  bool iterations = false;
  bool rules = false;
  bool proofs = false;
};

struct Measurement {
  RunReport report;
  std::size_t nodes = 0;
  std::size_t classes = 0;
  std::size_t bytes = 0;
  std::optional<std::uint64_t> instructions;
};

base::Result<Options> parse(const std::vector<std::string_view>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view flag = arguments[i];
    const auto value = [&]() -> base::Result<std::string_view> {
      if (i + 1 < arguments.size()) return arguments[++i];
      return base::usage_error(std::string(flag) + " needs a value");
    };
    if (flag == "--list") {
      options.list = true;
    } else if (flag == "--list-tests") {
      options.list_tests = true;
    } else if (flag == "--json") {
      options.json = true;
    } else if (flag == "--iterations") {
      options.iterations = true;
    } else if (flag == "--proofs") {
      options.proofs = true;
    } else if (flag == "--rules") {
      options.rules = true;
    } else if (flag == "--workload") {
      EGRET_ASSIGN_OR_RETURN(const std::string_view name, value());
      options.workloads.push_back(name);
    } else if (flag == "--show") {
      EGRET_ASSIGN_OR_RETURN(const std::string_view name, value());
      options.shown.push_back(name);
    } else if (flag == "--repeat" || flag == "--threads") {
      EGRET_ASSIGN_OR_RETURN(const std::string_view text, value());
      const base::Result<std::int64_t> count = base::parse_integer(text);
      if (!count.ok() || *count < 1) {
        return base::usage_error(std::string(flag) + ": '" + std::string(text) +
                                 "' is not a count");
      }
      (flag == "--repeat" ? options.repeat : options.threads) = *count;
    } else {
      return base::usage_error("unknown argument '" + std::string(flag) + "'\n" +
                               std::string(kUsage));
    }
  }
  const bool lists = options.list || options.list_tests || !options.shown.empty();
  if (!lists && options.workloads.empty()) return base::usage_error(std::string(kUsage));
  return options;
}

base::Result<Measurement> measure(std::string_view name, const Options& options) {
  Measurement best;
  base::ThreadPool pool(static_cast<std::size_t>(options.threads));
  for (std::int64_t i = 0; i < options.repeat; ++i) {
    EGRET_ASSIGN_OR_RETURN(egraph::workloads::Workload workload,
                           egraph::workloads::find_workload(name));
    workload.proofs = options.proofs;
    EGRET_ASSIGN_OR_RETURN(const auto session, Session::open(std::move(workload)));
    session->runner().set_threads(&pool);
    const InstructionCounter counter;
    RunReport report = session->runner().run();
    const auto instructions = counter.read();
    if (i > 0 && report.seconds >= best.report.seconds) continue;
    best = {std::move(report), session->egraph().node_count(), session->egraph().class_count(),
            session->egraph().bytes(), instructions};
  }
  return best;
}

double bytes_per_node(const Measurement& m) {
  return static_cast<double>(m.bytes) / static_cast<double>(m.nodes);
}

base::Json to_json(std::string_view name, const Options& options, const Measurement& m) {
  base::Json result = base::versioned_json();
  result.set("workload", name);
  result.set("threads", options.threads);
  result.set("nodes", m.nodes);
  result.set("classes", m.classes);
  result.set("seconds", m.report.seconds);
  result.set("search_s", m.report.search_seconds());
  result.set("apply_s", m.report.apply_seconds());
  result.set("rebuild_s", m.report.rebuild_seconds());
  result.set("bytes_per_node", bytes_per_node(m));
  result.set("peak_bytes", base::peak_memory_bytes());
  result.set("instructions", m.instructions ? base::Json(*m.instructions) : base::Json());
  result.set("ticks", m.report.ticks);
  result.set("iterations", m.report.iterations.size());
  result.set("stop_reason", egraph::to_string(m.report.stop));
  if (const auto egg = egraph::workloads::egg_figures(name)) {
    result.set("egg_seconds", egg->seconds);
    result.set("egg_bytes_per_node", egg->bytes_per_node);
    result.set("same_size_as_egg", egg->nodes == m.nodes && egg->classes == m.classes);
  }
  return result;
}

void print_details(const Options& options, const RunReport& report) {
  if (options.iterations) {
    std::printf("  %4s %10s %10s %10s %10s %8s %8s %8s\n", "iter", "nodes", "classes", "matches",
                "applied", "search", "apply", "rebuild");
    for (std::size_t i = 0; i < report.iterations.size(); ++i) {
      const auto& it = report.iterations[i];
      std::printf("  %4zu %10zu %10zu %10llu %10llu %8.4f %8.4f %8.4f\n", i + 1, it.nodes,
                  it.classes, static_cast<unsigned long long>(it.matches),
                  static_cast<unsigned long long>(it.applied), it.search_seconds, it.apply_seconds,
                  it.rebuild_seconds);
    }
  }
  if (!options.rules) return;
  std::printf("  %-16s %10s %10s %10s %5s %8s %8s\n", "rule", "matches", "applied", "rejected",
              "bans", "search", "apply");
  for (const auto& rule : report.rules) {
    std::printf("  %-16s %10llu %10llu %10llu %5llu %8.4f %8.4f\n", rule.name.c_str(),
                static_cast<unsigned long long>(rule.matches),
                static_cast<unsigned long long>(rule.applied),
                static_cast<unsigned long long>(rule.rejected),
                static_cast<unsigned long long>(rule.bans), rule.search_seconds,
                rule.apply_seconds);
  }
}

void print(std::string_view name, const Measurement& m) {
  const RunReport& report = m.report;
  std::printf(
      "%-20s %9zu nodes %8zu classes  %7.3f s = search %.3f + apply %.3f + rebuild %.3f  "
      "%5.1f B/node  %zu iterations, %s\n",
      std::string(name).c_str(), m.nodes, m.classes, report.seconds, report.search_seconds(),
      report.apply_seconds(), report.rebuild_seconds(), bytes_per_node(m), report.iterations.size(),
      std::string(egraph::to_string(report.stop)).c_str());
  std::printf("%-20s %llu ticks, %s instructions, peak %lld MiB", "",
              static_cast<unsigned long long>(report.ticks),
              m.instructions ? std::to_string(*m.instructions).c_str() : "uncounted",
              static_cast<long long>(base::peak_memory_bytes() >> 20));
  if (const auto egg = egraph::workloads::egg_figures(name)) {
    std::printf("; egg 0.11 on its machine: %.3g s (%.1f times ours), %.0f B/node", egg->seconds,
                egg->seconds / report.seconds, egg->bytes_per_node);
  }
  std::printf("\n");
}

base::Status show(std::string_view name) {
  EGRET_ASSIGN_OR_RETURN(const egraph::workloads::Workload workload,
                         egraph::workloads::find_workload(name));
  std::printf("rules:%s%s", workload.theory.rules.starts_with('\n') ? "" : "\n",
              std::string(workload.theory.rules).c_str());
  std::printf("terms:\n");
  for (const std::string_view term : workload.terms) {
    std::printf("%s\n", std::string(term).c_str());
  }
  return base::ok();
}

base::Status run(const std::vector<std::string_view>& arguments) {
  EGRET_ASSIGN_OR_RETURN(const Options options, parse(arguments));
  if (options.list) {
    for (const std::string_view name : egraph::workloads::workload_names()) {
      std::printf("%s\n", std::string(name).c_str());
    }
  }
  if (options.list_tests) {
    for (const std::string_view name : egraph::workloads::egg_test_names()) {
      std::printf("%s\n", std::string(name).c_str());
    }
  }
  for (const std::string_view name : options.shown) EGRET_RETURN_IF_ERROR(show(name));
  for (const std::string_view name : options.workloads) {
    EGRET_ASSIGN_OR_RETURN(const Measurement m, measure(name, options));
    if (options.json) {
      std::printf("%s\n", to_json(name, options, m).dump().c_str());
    } else {
      print(name, m);
      print_details(options, m.report);
    }
  }
  return base::ok();
}

}  // namespace
}  // namespace egret::tools

int main(int argc, char** argv) {
  try {
    const egret::base::Status status = egret::tools::run({argv + 1, argv + argc});
    if (!status.ok()) std::fprintf(stderr, "egraph_bench: %s\n", status.message().c_str());
    return exit_code(status.code());
  } catch (const egret::base::CheckFailure& failure) {
    std::fprintf(stderr, "egraph_bench: internal error at %s:%d\n", failure.file, failure.line);
    return 1;
  }
}
