// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/system/file.h"
#include "tests/frontends/onnx_model.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {

// A test that sends models through `egret optimize`.
class OptimizedModel : public FolderTest {
 protected:
  // Optimizes the model and reads the result.
  onnx::ModelProto optimized(const frontends::OnnxModel& model, const std::string& options) {
    EXPECT_TRUE(base::write_file(path("m.onnx"), model.bytes()).ok());
    run_ = run_program("optimize " + path("m.onnx") + " -o " + path("o.onnx") + " --cost-db " +
                       path("costs") + " " + options);
    EXPECT_EQ(run_.code, 0) << run_.err;
    onnx::ModelProto result;
    const auto bytes = base::read_file(path("o.onnx"), std::int64_t{1} << 30);
    EXPECT_TRUE(bytes.ok() && result.ParseFromString(*bytes));
    return result;
  }

  static std::vector<std::string> operators(const onnx::ModelProto& model) {
    std::vector<std::string> types;
    for (const auto& node : model.graph().node()) types.push_back(node.op_type());
    return types;
  }

  ProgramRun run_;  // the last
};

}  // namespace egret::tools
