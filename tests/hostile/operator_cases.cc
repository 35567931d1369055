// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "tests/frontends/onnx_model.h"
#include "tests/hostile/onnx_cases.h"

namespace egret::hostile {
namespace {

using frontends::Attributes;
using frontends::kInt64Code;
using frontends::OnnxModel;
using Integers = std::vector<std::int64_t>;

constexpr std::int64_t k2To40 = std::int64_t{1} << 40;
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();

// One node on an image x and constant integers a, b, c.
struct OneNode {
  std::string op;
  frontends::Names inputs;
  void (*attributes)(Attributes&) = [](Attributes&) {};
  Integers a{}, b{}, c{};
  int opset = 13;
};

std::string one_node(const OneNode& what) {
  OnnxModel m(what.opset);
  m.input("x", {1, 4, 8, 8});
  m.input("matrix", {4, 5});
  auto* kernel = m.initializer("kernel", frontends::kFloatCode, {4, 4, 3, 3});
  kernel->set_raw_data(std::string(4 * 4 * 9 * 4, '\0'));
  m.integers("a", what.a);
  m.integers("b", what.b);
  m.integers("c", what.c);
  Attributes attributes = m.node(what.op, what.inputs, {"y"});
  what.attributes(attributes);
  m.output("y");
  return m.bytes();
}

HostileFile refused(std::string name, const OneNode& what) {
  return {std::move(name), one_node(what), "node 0 (" + what.op + ")"};
}

// Constants that are computed from each other until somebody needs their value.
std::string folding_bomb() {
  OnnxModel m;
  m.input("x", {4});
  m.integers("shape", {1 << 15, 1 << 15});
  m.node("ConstantOfShape", {"shape"}, {"ones"});
  m.node("MatMul", {"ones", "ones"}, {"product"});
  m.node("ReduceSum", {"product"}, {"sum"}).integer("keepdims", 0);
  m.node("Cast", {"sum"}, {"target"}).integer("to", 7);
  m.node("Reshape", {"x", "target"}, {"y"});
  m.output("y");
  return m.bytes();
}

}  // namespace

std::vector<HostileFile> operator_cases() {
  const frontends::Names conv{"x", "kernel"};
  std::vector<HostileFile> files = {
      refused("Conv of group 0", {"Conv", conv, [](Attributes& a) { a.integer("group", 0); }}),
      refused("Conv of group -1", {"Conv", conv, [](Attributes& a) { a.integer("group", -1); }}),
      refused("Conv of group 2^63-1",
              {"Conv", conv, [](Attributes& a) { a.integer("group", kLargest); }}),
      refused("Conv with pads of 2^40",
              {"Conv", conv, [](Attributes& a) { a.integers("pads", Integers(4, k2To40)); }}),
      refused("Conv with pads of 2^63-1",
              {"Conv", conv, [](Attributes& a) { a.integers("pads", Integers(4, kLargest)); }}),
      refused("Conv with negative pads beyond the image",
              {"Conv", conv, [](Attributes& a) { a.integers("pads", Integers(4, -100)); }}),
      refused("Conv with one pad", {"Conv", conv, [](Attributes& a) { a.integers("pads", {1}); }}),
      {"Resize to 10^8 rows",
       one_node({"Resize", {"x", "", "", "a"}, [](Attributes&) {}, {1, 4, 100'000'000, 7}}),
       "node 0 (Resize): resize: an axis is resized to 100000000 elements"},
      refused("Conv of stride 0", {"Conv", conv,
                                   [](Attributes& a) {
                                     a.integers("strides", {0, 0});
                                   }}),
      refused("Conv of stride -1", {"Conv", conv,
                                    [](Attributes& a) {
                                      a.integers("strides", {-1, -1});
                                    }}),
      refused("Conv of dilation 2^62",
              {"Conv", conv,
               [](Attributes& a) { a.integers("dilations", Integers(2, std::int64_t{1} << 62)); }}),
      refused("Conv of a text as strides",
              {"Conv", conv, [](Attributes& a) { a.text("strides", "many"); }}),
      refused("Conv with an unknown auto_pad",
              {"Conv", conv, [](Attributes& a) { a.text("auto_pad", "SOMEHOW"); }}),
      refused("MaxPool of kernel 0", {"MaxPool",
                                      {"x"},
                                      [](Attributes& a) {
                                        a.integers("kernel_shape", {0, 0});
                                      }}),
      refused("MaxPool of kernel -3", {"MaxPool",
                                       {"x"},
                                       [](Attributes& a) {
                                         a.integers("kernel_shape", {-3, -3});
                                       }}),
      refused("MaxPool of kernel 2^40",
              {"MaxPool",
               {"x"},
               [](Attributes& a) { a.integers("kernel_shape", Integers(2, k2To40)); }}),
      refused("AveragePool without a kernel", {"AveragePool", {"x"}}),
      refused("ConstantOfShape of 4 TiB",
              {.op = "ConstantOfShape", .inputs = {"a"}, .a = {k2To40}}),
      refused("ConstantOfShape of 2^120",
              {.op = "ConstantOfShape", .inputs = {"a"}, .a = {k2To40, k2To40, k2To40}}),
      refused("ConstantOfShape of negative size",
              {.op = "ConstantOfShape", .inputs = {"a"}, .a = {-4}}),
      refused("Reshape to 2^80", {.op = "Reshape", .inputs = {"x", "a"}, .a = {k2To40, k2To40}}),
      refused("Reshape to two unknowns", {.op = "Reshape", .inputs = {"x", "a"}, .a = {-1, -1}}),
      refused("Reshape to the least integer",
              {.op = "Reshape", .inputs = {"x", "a"}, .a = {kSmallest}}),
      refused("Reshape to other elements", {.op = "Reshape", .inputs = {"x", "a"}, .a = {7}}),
      refused("Tile 2^40 times", {.op = "Tile", .inputs = {"x", "a"}, .a = {1, 1, k2To40, k2To40}}),
      refused("Tile -1 times", {.op = "Tile", .inputs = {"x", "a"}, .a = {1, 1, 1, -1}}),
      refused("Expand to 2^42 elements",
              {.op = "Expand", .inputs = {"x", "a"}, .a = {k2To40, 4, 8, 8}}),
      refused("Pad by 2^60",
              {.op = "Pad", .inputs = {"x", "a"}, .a = Integers(8, std::int64_t{1} << 60)}),
      refused("Pad of three numbers", {.op = "Pad", .inputs = {"x", "a"}, .a = {1, 2, 3}}),
      refused("Slice of step 0",
              {.op = "Slice", .inputs = {"x", "a", "b", "c", "a"}, .a = {0}, .b = {4}, .c = {0}}),
      refused("Slice along axis 9",
              {.op = "Slice", .inputs = {"x", "a", "b", "c"}, .a = {0}, .b = {4}, .c = {9}}),
      refused("Transpose by no permutation",
              {"Transpose", {"x"}, [](Attributes& a) { a.integers("perm", {0, 0, 1, 9}); }}),
      refused("Concat along axis 2^63-1",
              {"Concat", {"x", "x"}, [](Attributes& a) { a.integer("axis", kLargest); }}),
      refused("Concat of different ranks",
              {"Concat", {"x", "matrix"}, [](Attributes& a) { a.integer("axis", 0); }}),
      refused("Softmax along the least integer",
              {"Softmax", {"x"}, [](Attributes& a) { a.integer("axis", kSmallest); }}),
      refused("Gather along axis 4", {.op = "Gather",
                                      .inputs = {"x", "a"},
                                      .attributes = [](Attributes& a) { a.integer("axis", 4); },
                                      .a = {0}}),
      refused("MatMul of sizes that do not fit", {"MatMul", {"matrix", "matrix"}}),
      refused("Add without an input", {"Add", {"x"}}),
      refused("Relu of nothing", {"Relu", {}}),
      refused("Constant without a value", {"Constant", {}}),
      refused("Constant of 4 TiB",
              {"Constant",
               {},
               [](Attributes& a) { frontends::fill_header(a.tensor("value"), "", 1, {k2To40}); }}),
      refused("Squeeze of an axis of size 8", {.op = "Squeeze", .inputs = {"x", "a"}, .a = {2}}),
      refused("Unsqueeze of one axis twice",
              {.op = "Unsqueeze", .inputs = {"x", "a"}, .a = {0, 0}}),
      refused("Split into parts of another sum",
              {.op = "Split", .inputs = {"x", "a"}, .a = {1, 2}}),
      refused("Split into negative parts", {.op = "Split", .inputs = {"x", "a"}, .a = {-1, 2}}),
      refused("DepthToSpace in blocks of 0",
              {"DepthToSpace", {"x"}, [](Attributes& a) { a.integer("blocksize", 0); }}),
      refused("DepthToSpace in blocks of 2^40",
              {"DepthToSpace", {"x"}, [](Attributes& a) { a.integer("blocksize", k2To40); }}),
      {"Cast to type 77", one_node({"Cast", {"x"}, [](Attributes& a) { a.integer("to", 77); }}),
       "node 0 (Cast)", base::StatusCode::kUnsupported},
      {"a value that is expensive to fold", folding_bomb(), "node 4 (Reshape)",
       base::StatusCode::kUnsupported},
  };
  return files;
}

}  // namespace egret::hostile
