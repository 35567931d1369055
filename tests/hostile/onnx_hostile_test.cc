// SPDX-License-Identifier: Apache-2.0
// Every hostile file is refused with the right code and a message that names the place, in less
// than a second and 256 MB.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "frontends/onnx.h"
#include "tests/hostile/confined_run.h"
#include "tests/hostile/onnx_cases.h"

namespace egret::hostile {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSlack = 10;  // sanitizers cost time and memory
#else
constexpr double kSlack = 1;
#endif

void expect_refused(const std::vector<HostileFile>& files) {
  for (const HostileFile& file : files) {
    SCOPED_TRACE(file.name);
    const ConfinedResult result = run_confined([&] {
      return frontends::import_onnx_bytes(std::as_bytes(std::span(file.bytes)), "").status();
    });
    ASSERT_TRUE(result.finished) << "crashed, or used more than a minute or 2 GiB";
    EXPECT_EQ(result.code, file.code) << result.message;
    EXPECT_THAT(result.message, testing::HasSubstr(file.place));
    EXPECT_LT(result.message.size(), 20'000U);
    EXPECT_LT(result.seconds, 1 * kSlack);
    EXPECT_LT(result.peak_megabytes, 256 * kSlack);
  }
}

TEST(HostileOnnx, CasesAreManyAndHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const auto& family : {wire_cases(), structure_cases(), tensor_cases(), operator_cases()}) {
    for (const HostileFile& file : family) {
      EXPECT_TRUE(names.insert(file.name).second) << file.name << " is there twice";
    }
  }
  RecordProperty("hostile_files", static_cast<int>(names.size()));
  EXPECT_GE(names.size(), 40U);
}

TEST(HostileOnnx, BrokenWireFormatIsRefused) { expect_refused(wire_cases()); }
TEST(HostileOnnx, ContradictoryStructureIsRefused) { expect_refused(structure_cases()); }
TEST(HostileOnnx, ImpossibleWeightsAreRefused) { expect_refused(tensor_cases()); }
TEST(HostileOnnx, ExplodingOperatorsAreRefused) { expect_refused(operator_cases()); }

}  // namespace
}  // namespace egret::hostile
