// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstdlib>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/paths.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kEngine =
    " --engine onnxruntime --engine-python " EGRET_SOURCE_DIR "/.venv/bin/python";

class VerbCompare : public FolderTest {
 protected:
  // x -> h1 = x w -> h2 -> y.
  std::string model(const std::string& name, const std::string& second) {
    const ir::TensorType matrix{ir::DType::kF32, {4, 4}};
    ir::GraphBuilder b;
    const ir::Value w = b.constant(ir::Tensor::filled(matrix, 0.5), "w");
    const ir::Value h1 = b.add("matmul", {b.input("x", matrix), w});
    b.set_name(h1, "h1");
    const ir::Value h2 = b.add(second, {h1});
    b.set_name(h2, "h2");
    b.output("y", b.add("exp", {h2}));
    const auto file = frontends::export_onnx(b.finish().value(), {}, {});
    EXPECT_TRUE(base::write_file(path(name), file->bytes).ok());
    return path(name);
  }
};

TEST_F(VerbCompare, ExplainsADifference) {
  const std::string files = model("a.onnx", "relu") + " " + model("b.onnx", "tanh");
  const ProgramRun plain = run_program("compare " + files);
  EXPECT_EQ(plain.code, 6);
  EXPECT_THAT(plain.out, Not(HasSubstr("first difference")));
  const ProgramRun run = run_program("compare --explain-diff " + files);
  EXPECT_EQ(run.code, 6) << run.err;
  EXPECT_THAT(run.out, HasSubstr("first difference: 'h2'"));
  EXPECT_THAT(run.out, HasSubstr("in A: relu of 'h1'"));
  EXPECT_THAT(run.out, HasSubstr("in B: tanh of 'h1'"));
  const auto json = base::Json::parse(run_program("compare --explain-diff --json " + files).out);
  ASSERT_TRUE(json.ok());
  const base::Json* found = json->find("first_difference");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->find("value")->as_string().value(), "h2");
  EXPECT_EQ(found->find("origin")->as_string().value(), "models");
}

TEST_F(VerbCompare, ReadsStandardInputOnce) {
  const std::string a = model("a.onnx", "relu"), b = model("b.onnx", "tanh");
  const ProgramRun run = run_program("compare --explain-diff " + a + " - < " + b);
  EXPECT_EQ(run.code, 6) << run.err;
  EXPECT_THAT(run.out, HasSubstr("first difference: 'h2'"));
}

TEST_F(VerbCompare, SaysNothingOfEqualModels) {
  const std::string files = model("a.onnx", "relu") + " " + model("b.onnx", "relu");
  const ProgramRun run = run_program("compare --explain-diff " + files);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, Not(HasSubstr("first difference")));
}

// An engine that is ONNX Runtime, but takes every Relu for a Tanh.
TEST_F(VerbCompare, FindsTheNodeThatAnEngineComputesWrongly) {
  const std::string python = EGRET_SOURCE_DIR "/.venv/bin/python";
  if (std::system((python + " -c 'import onnx, onnxruntime' 2> /dev/null").c_str()) != 0)
    GTEST_SKIP() << "ONNX Runtime is not installed";
  const char* const program = R"(
import json, sys
import numpy as np, onnx, onnxruntime
def answer(q):
    global session, feed, results
    if q["op"] == "version": return {"version": "1"}
    if q["op"] == "load":
        model = onnx.load(q["model"])
        for node in model.graph.node:
            if node.op_type == "Relu": node.op_type = "Tanh"
        session = onnxruntime.InferenceSession(model.SerializeToString())
    if q["op"] == "inputs":
        feed = {t["name"]: np.fromfile(t["file"], "float32").reshape(t["shape"]) for t in q["inputs"]}
    if q["op"] == "run":
        results = session.run(None, feed)
        return {"seconds": 1e-3}
    if q["op"] == "outputs":
        names = [o.name for o in session.get_outputs()]
        for t in q["outputs"]: results[names.index(t["name"])].tofile(t["file"])
    return {}
for line in sys.stdin:
    print(json.dumps({"ok": True} | answer(json.loads(line))), flush=True)
)";
  ASSERT_TRUE(base::write_file(path("engine.py"), program).ok());
  const std::string file = model("a.onnx", "relu");
  const ProgramRun run = run_program("compare --explain-diff " + file + " " + file +
                                     " --engine 'exec:" + python + " " + path("engine.py") + "'");
  EXPECT_EQ(run.code, 6) << run.err;
  EXPECT_THAT(run.out, HasSubstr("first difference: 'h2'"));
  EXPECT_THAT(run.out, HasSubstr("the run is wrong"));
  EXPECT_EQ(run_program("compare --explain-diff " + file + " " + file + kEngine).code, 0);
}

}  // namespace
}  // namespace egret::tools
