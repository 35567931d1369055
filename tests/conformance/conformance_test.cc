// SPDX-License-Identifier: Apache-2.0
// Every ONNX backend test of every claimed operator passes, plain, after export, after optimize and
// on a backend; the others are refused, naming the operator.
//
//   conformance_tests                       as a test
//   conformance_tests --list-failed [TEXT]  one line a case that does not pass, those whose name
//                                           contains TEXT
//   conformance_tests --export FOLDER       writes every exported model there, for
//                                           tests/conformance/check_with_onnxruntime.py
//
// $EGRET_CONFORMANCE_PART=K/N runs each N-th case from the K-th on (0 <= K < N), for N processes.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string_view>

#include "backends/backend.h"
#include "tests/conformance/backend_case.h"

namespace egret::conformance {
namespace {

std::string data_folder() {
  const char* given = std::getenv("EGRET_ONNX_TESTDATA");
  return given != nullptr ? given : EGRET_ONNX_TESTDATA;
}

struct Part {
  std::size_t number = 0, of = 1;
};

Part part_under_test() {
  Part part;
  const char* given = std::getenv("EGRET_CONFORMANCE_PART");
  if (given == nullptr) return part;
  const bool good = std::sscanf(given, "%zu/%zu", &part.number, &part.of) == 2;
  EXPECT_TRUE(good && part.number < part.of) << "EGRET_CONFORMANCE_PART=" << given;
  return good ? part : Part{};
}

std::vector<CaseResult> run_all(const std::string& suite, std::string_view filter = "") {
  std::vector<CaseResult> results;
  const Part part = part_under_test();
  std::size_t number = 0;
  for (const std::string& name : case_names(data_folder() + "/" + suite)) {
    if (number++ % part.of != part.number) continue;
    const std::string full = suite + "/" + name;
    if (full.find(filter) == std::string::npos) continue;
    results.push_back(run_backend_case(data_folder() + "/" + full, full));
  }
  return results;
}

using Counts = std::map<Outcome, int>;

Counts count(const std::vector<CaseResult>& results, std::size_t way) {
  Counts counts;
  for (const CaseResult& result : results) ++counts[result.ways[way].outcome];
  return counts;
}

// One line a way.
std::string summary(std::string_view suite, const std::vector<CaseResult>& results) {
  std::string text;
  for (std::size_t way = 0; way < kWays.size(); ++way) {
    Counts counts = count(results, way);
    if (counts[Outcome::kNotRun] > 0) continue;
    text += std::string(suite) + " " + std::string(to_string(kWays[way])) + ": " +
            std::to_string(counts[Outcome::kPassed]) + " passed, " +
            std::to_string(counts[Outcome::kFailed]) + " failed, " +
            std::to_string(counts[Outcome::kUnsupported] + counts[Outcome::kRefused]) +
            " unsupported (" + std::to_string(counts[Outcome::kRefused]) +
            " of them features of claimed operators)\n";
  }
  return text;
}

// So many of the suite "node" pass in each way at least: a claim that was lost is a failure.
constexpr int kLeastNodeTests = 600;

constexpr const char* kSuites[] = {"node", "simple", "pytorch-converted", "pytorch-operator"};

class BackendTests : public testing::TestWithParam<const char*> {};

TEST_P(BackendTests, PassWhereOperatorsAreClaimed) {
  const backends::Backend* backend = backends::find_backend(backend_under_test());
  ASSERT_NE(backend, nullptr) << backend_under_test();
  if (!backend->availability().ok()) GTEST_SKIP() << backend->availability().message();
  const base::Status precision = backend->takes_precision(precision_under_test());
  if (!precision.ok()) GTEST_SKIP() << precision.message();
  const auto results = run_all(GetParam());
  if (results.empty())
    GTEST_SKIP() << "no ONNX backend test data (Debian package libonnx-testdata) in '"
                 << data_folder() << "'";
  std::cout << summary(GetParam(), results);
  const auto parts = static_cast<int>(part_under_test().of);
  const int least = parts == 1 ? kLeastNodeTests : kLeastNodeTests * 9 / 10 / parts;
  for (std::size_t way = 0; way < kWays.size(); ++way) {
    for (const CaseResult& result : results) {
      if (result.ways[way].outcome != Outcome::kFailed) continue;
      ADD_FAILURE() << result.name << " " << to_string(kWays[way]) << ": "
                    << result.ways[way].message;
    }
    if (std::string_view(GetParam()) == "node") {
      Counts counts = count(results, way);
      if (counts[Outcome::kNotRun] > 0) continue;
      EXPECT_GE(counts[Outcome::kPassed], least) << to_string(kWays[way]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Onnx, BackendTests, testing::ValuesIn(kSuites), [](const auto& param) {
  std::string name = param.param;
  std::erase(name, '-');
  return name;
});

int list_failed(std::string_view filter) {
  std::vector<CaseResult> all;
  for (const char* suite : kSuites) {
    for (CaseResult& result : run_all(suite, filter)) all.push_back(std::move(result));
  }
  static const std::map<Outcome, const char*> kNames = {
      {Outcome::kUnsupported, "unsupported"},
      {Outcome::kRefused, "refused"},
      {Outcome::kFailed, "FAILED"},
  };
  for (const CaseResult& result : all) {
    if (!result.note.empty()) std::cout << "note\t" << result.name << "\t" << result.note << "\n";
    for (std::size_t way = 0; way < kWays.size(); ++way) {
      const auto& [outcome, message] = result.ways[way];
      const auto name = kNames.find(outcome);
      if (name == kNames.end()) continue;
      if (outcome != Outcome::kFailed && kWays[way] != Way::kPlain) continue;  // said once
      std::cout << name->second << "\t" << result.name << "\t" << to_string(kWays[way]) << "\t"
                << message << "\n";
    }
  }
  std::cout << summary("all", all);
  return 0;
}

int export_all(const std::string& folder) {
  int errors = 0;
  for (const std::string suite : kSuites) {
    for (const std::string& name : case_names(data_folder() + "/" + suite)) {
      const auto status = export_backend_case(data_folder() + "/" + suite + "/" + name,
                                              folder + "/" + suite + "." + name + ".onnx");
      if (status.ok()) continue;
      ++errors;
      std::cerr << suite << "/" << name << ": " << status.message() << "\n";
    }
  }
  return errors == 0 ? 0 : 1;
}

}  // namespace
}  // namespace egret::conformance

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "--list-failed")
    return egret::conformance::list_failed(argc > 2 ? argv[2] : "");
  if (argc > 2 && std::string_view(argv[1]) == "--export")
    return egret::conformance::export_all(argv[2]);
  return RUN_ALL_TESTS();
}
