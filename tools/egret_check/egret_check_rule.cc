// SPDX-License-Identifier: Apache-2.0
// egret-check-rule PROOFS ...
//
// Replays the proofs of rules that `egret rules verify --certificates` wrote, without e-graph and
// without solver. docs/trust.md says what this program consists of.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/formats/json.h"
#include "base/status.h"
#include "base/system/file.h"
#include "base/system/in_order.h"
#include "base/system/thread_pool.h"
#include "rules/proofs/rule_certificate.h"

namespace egret::tools {
namespace {

constexpr std::string_view kHelp =
    R"(usage: egret-check-rule [OPTIONS] PROOFS ...

Replay the proofs of rules that `egret rules verify SELECTION --certificates PROOFS` wrote, one a
line. Each family of a rule's instances is proven again from the operators' definitions, and each
contradiction about sizes, indices or real numbers by its proof in the file.

Options:
  --assume-solver   Take contradictions that a file names as known from the solver alone for true
  --json            Print one JSON document for each rule
  --help            Print this text

Exit codes: 0 all accepted, 2 usage error, 3 malformed file, 5 some need the solver, 6 one is
rejected; the first wrong step is named.
)";

struct Arguments {
  std::vector<std::string> files;
  bool assume_solver = false;
  bool json = false;
  bool help = false;
};

base::Result<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view one = argv[i];
    if (one == "--json") {
      arguments.json = true;
    } else if (one == "--assume-solver") {
      arguments.assume_solver = true;
    } else if (one == "--help" || one == "-h") {
      arguments.help = true;
    } else if (one.starts_with("-") && one != "-") {
      return base::usage_error("unknown option '" + std::string(one) + "'");
    } else {
      arguments.files.emplace_back(one);
    }
  }
  if (!arguments.help && arguments.files.empty())
    return base::usage_error("a file of proofs is needed (see --help)");
  return arguments;
}

struct Outcome {
  std::string name;
  base::Result<rules::CheckedRule> checked;
  double seconds = 0;
};

Outcome check(std::string_view line, bool assume_solver, rules::KnownOperators& known) {
  const auto start = std::chrono::steady_clock::now();
  const auto checked = [&]() -> base::Result<rules::CheckedRule> {
    constexpr std::size_t kDeep = 64;
    EGRET_ASSIGN_OR_RETURN(const base::Json json, base::Json::parse(line, kDeep));
    EGRET_ASSIGN_OR_RETURN(const auto certificate, rules::parse_rule_certificate(json));
    return rules::check_rule(certificate, assume_solver, known);
  };
  Outcome outcome{"", checked(), 0};
  if (outcome.checked.ok()) outcome.name = outcome.checked->rule.name;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  outcome.seconds = seconds.count();
  return outcome;
}

std::string extent(const rules::ProvenClaim& claim) {
  if (claim.any_rank) return "any rank";
  std::string text = std::to_string(claim.complete) + " of " + std::to_string(claim.kinds) +
                     " kinds for all sizes, up to rank " + std::to_string(claim.rank);
  return claim.of_empty ? text + ", with a size of 0" : text;
}

void print(const Outcome& outcome, const std::string& place, bool as_json) {
  const auto& checked = outcome.checked;
  if (as_json) {
    base::Json made = base::versioned_json();
    made.set("place", place).set("accepted", checked.ok());
    if (checked.ok()) {
      made.set("rule", checked->rule.name).set("families", checked->claim.families);
      made.set("kinds", checked->claim.kinds).set("kinds_complete", checked->claim.complete);
      made.set("rank", checked->claim.rank).set("any_rank", checked->claim.any_rank);
      made.set("contradictions", std::uint64_t{checked->shown});
      made.set("assumed", std::uint64_t{checked->assumed});
    } else {
      made.set("error", checked.status().message());
      made.set("needs_solver", checked.status().code() == base::StatusCode::kLimit);
    }
    made.set("seconds", outcome.seconds);
    std::printf("%s\n", made.dump().c_str());
  } else if (checked.ok()) {
    std::printf("accepted: %s: %d families, %zu contradictions", checked->rule.name.c_str(),
                checked->claim.families, checked->shown);
    if (checked->assumed > 0) std::printf(", %zu assumed", checked->assumed);
    std::printf("; %s; %.2f s\n", extent(checked->claim).c_str(), outcome.seconds);
  } else {
    std::printf("%s: %s: %s\n",
                checked.status().code() == base::StatusCode::kLimit ? "open" : "rejected",
                place.c_str(), checked.status().message().c_str());
  }
}

base::Status run(int argc, char** argv) {
  EGRET_ASSIGN_OR_RETURN(const Arguments arguments, parse(argc, argv));
  if (arguments.help) {
    std::printf("%s", kHelp.data());
    return base::ok();
  }
  rules::KnownOperators known;
  base::Status worst = base::ok();
  std::size_t accepted = 0;
  std::size_t open = 0;
  std::size_t rejected = 0;
  for (const std::string& file : arguments.files) {
    EGRET_ASSIGN_OR_RETURN(const std::string text,
                           base::read_file(file, std::numeric_limits<std::int64_t>::max()));
    std::vector<std::string_view> lines;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      if (end > at) lines.push_back(std::string_view(text).substr(at, end - at));
      at = end + 1;
    }
    if (lines.empty()) return base::bad_input("there is no proof").at(file);
    base::in_order<Outcome>(
        base::shared_pool(), lines.size(),
        [&](std::size_t i) {
          return std::optional(check(lines[i], arguments.assume_solver, known));
        },
        [&](std::size_t i, const Outcome& outcome) {
          const std::string place = file + ":" + std::to_string(i + 1);
          print(outcome, place, arguments.json);
          if (outcome.checked.ok()) {
            ++accepted;
            return;
          }
          const base::Status& status = outcome.checked.status();
          const bool is_open = status.code() == base::StatusCode::kLimit;
          ++(is_open ? open : rejected);
          if (worst.ok() || (!is_open && worst.code() == base::StatusCode::kLimit))
            worst = status.at(place);
        });
  }
  if (!arguments.json)
    std::printf("%zu accepted, %zu need the solver, %zu rejected\n", accepted, open, rejected);
  return worst;
}

}  // namespace
}  // namespace egret::tools

int main(int argc, char** argv) {
  try {
    const egret::base::Status status = egret::tools::run(argc, argv);
    if (!status.ok())
      std::fprintf(stderr, "egret-check-rule: error: %s\n", status.message().c_str());
    return exit_code(status.code());
  } catch (const egret::base::CheckFailure& failure) {
    std::fprintf(stderr, "egret-check-rule: internal error at %s:%d\n", failure.file, failure.line);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "egret-check-rule: error: out of memory\n");
    return exit_code(egret::base::StatusCode::kLimit);
  }
  return 1;
}
