// SPDX-License-Identifier: Apache-2.0
// Every ONNX backend test of every claimed operator passes, plain and after export; the others are
// refused, naming the operator.
//
//   conformance_tests                       as a test
//   conformance_tests --list-failed [TEXT]  one line a case that does not pass, those whose name
//                                           contains TEXT
//   conformance_tests --export FOLDER       writes every exported model there, for
//                                           tests/conformance/check_with_onnxruntime.py
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <string_view>

#include "tests/conformance/backend_case.h"

namespace egret::conformance {
namespace {

std::string data_folder() {
  const char* given = std::getenv("EGRET_ONNX_TESTDATA");
  return given != nullptr ? given : EGRET_ONNX_TESTDATA;
}

std::vector<CaseResult> run_all(const std::string& suite, std::string_view filter = "") {
  std::vector<CaseResult> results;
  for (const std::string& name : case_names(data_folder() + "/" + suite)) {
    const std::string full = suite + "/" + name;
    if (full.find(filter) == std::string::npos) continue;
    results.push_back(run_backend_case(data_folder() + "/" + full, full));
  }
  return results;
}

std::string summary(const std::vector<CaseResult>& results) {
  std::map<Outcome, int> count;
  for (const CaseResult& result : results) ++count[result.outcome];
  return "conformance: " + std::to_string(count[Outcome::kPassed]) + " passed, " +
         std::to_string(count[Outcome::kUnsupported] + count[Outcome::kRefused]) +
         " unsupported (" + std::to_string(count[Outcome::kRefused]) +
         " of them features of claimed operators), " + std::to_string(count[Outcome::kFailed]) +
         " failed";
}

constexpr const char* kSuites[] = {"node", "simple", "pytorch-converted", "pytorch-operator"};

class BackendTests : public testing::TestWithParam<const char*> {};

TEST_P(BackendTests, PassWhereOperatorsAreClaimed) {
  const auto results = run_all(GetParam());
  if (results.empty())
    GTEST_SKIP() << "no ONNX backend test data (Debian package libonnx-testdata) in '"
                 << data_folder() << "'";
  std::cout << GetParam() << " " << summary(results) << "\n";
  for (const CaseResult& result : results) {
    if (result.outcome == Outcome::kFailed) ADD_FAILURE() << result.name << ": " << result.message;
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
  for (const CaseResult& result : all) {
    static const std::map<Outcome, const char*> kNames = {{Outcome::kUnsupported, "unsupported"},
                                                          {Outcome::kRefused, "refused"},
                                                          {Outcome::kFailed, "FAILED"},
                                                          {Outcome::kPassed, "note"}};
    if (result.outcome == Outcome::kPassed && result.message.empty()) continue;
    std::cout << kNames.at(result.outcome) << "\t" << result.name << "\t" << result.message << "\n";
  }
  std::cout << summary(all) << "\n";
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
