// SPDX-License-Identifier: Apache-2.0
// A model whose weights exceed the 2 GiB of one file, in and out.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/system/file.h"
#include "tests/frontends/onnx_model.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

constexpr std::int64_t kSide = 4096;
constexpr std::int64_t kBytes = kSide * kSide * 4;  // of a weight
constexpr int kWeights = 33;                        // 2.06 GiB
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// Of the machine; 0 where the system does not say.
std::int64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name;) {
    std::int64_t kib = 0;
    if (name == "MemAvailable:" && file >> kib) return kib * 1024;
    file.ignore(1 << 10, '\n');
  }
  return 0;
}

class LargeModel : public FolderTest {
 protected:
  // A chain of products with weights that are almost all 0, so that the file is sparse.
  void write() {
    frontends::OnnxModel model(17);
    model.input("x0", {0, kSide})->mutable_dim(0)->set_dim_param("n");
    std::ofstream data(path("m.data"), std::ios::binary);
    for (int i = 0; i < kWeights; ++i) {
      const std::string at = std::to_string(i);
      onnx::TensorProto* weight =
          model.initializer("w" + at, frontends::kFloatCode, {kSide, kSide});
      weight->set_data_location(1);
      const auto entry = [&](const char* key, const std::string& value) {
        auto* added = weight->add_external_data();
        added->set_key(key);
        added->set_value(value);
      };
      entry("location", "m.data");
      entry("offset", std::to_string(i * kBytes));
      entry("length", std::to_string(kBytes));
      const float one = 1;
      data.seekp(i * kBytes + 4 * i);  // w[0, i] is 1
      data.write(reinterpret_cast<const char*>(&one), sizeof(one));
      model.node("MatMul", {"x" + at, "w" + at}, {"m" + at});
      model.node("Identity", {"m" + at}, {"x" + std::to_string(i + 1)});
    }
    data.close();
    std::filesystem::resize_file(path("m.data"), kWeights * kBytes);
    model.output("x" + std::to_string(kWeights));
    ASSERT_TRUE(base::write_file(path("m.onnx"), model.bytes()).ok());
  }
};

TEST_F(LargeModel, IsOptimizedWithItsWeightsInAnotherFile) {
  if (available_memory() < 16 * kGiB) GTEST_SKIP() << "needs 16 GiB of memory";
  if (static_cast<std::int64_t>(std::filesystem::space(folder()).available) < 6 * kGiB)
    GTEST_SKIP() << "needs 6 GiB in the temporary folder";
  write();
  const ProgramRun run = run_program("optimize --quick " + path("m.onnx") + " -o " +
                                     path("o.onnx") + " --cost-db " + path("costs"));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(static_cast<std::int64_t>(std::filesystem::file_size(path("o.onnx.data"))),
            kWeights * kBytes);
  onnx::ModelProto result;
  const auto bytes = base::read_file(path("o.onnx"), kGiB);
  ASSERT_TRUE(bytes.ok() && result.ParseFromString(*bytes));
  EXPECT_EQ(result.graph().node_size(), kWeights);  // no Identity
  EXPECT_EQ(result.graph().initializer_size(), kWeights);
}

}  // namespace
}  // namespace egret::tools
