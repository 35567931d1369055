// SPDX-License-Identifier: Apache-2.0
#include "tests/frontends/onnx_model.h"
#include "tests/hostile/onnx_cases.h"

namespace egret::hostile {
namespace {

using base::StatusCode;
using frontends::add_node;
using frontends::OnnxModel;

template <typename Change>
std::string changed(const Change& change) {
  OnnxModel m;
  m.input("x", {2});
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  change(m);
  return m.bytes();
}

onnx::TypeProto* type_of_input(OnnxModel& m) { return m.graph().mutable_input(0)->mutable_type(); }

onnx::TensorShapeProto* shape_of_input(OnnxModel& m) {
  return type_of_input(m)->mutable_tensor_type()->mutable_shape();
}

std::string long_cycle(int length) {
  OnnxModel m;
  m.input("x", {2});
  for (int i = 0; i < length; ++i) {
    m.node("Add", {"x", "v" + std::to_string((i + 1) % length)}, {"v" + std::to_string(i)});
  }
  m.output("v0");
  return m.bytes();
}

// f0 calls f1 twice, f1 calls f2 twice, ...: 2^levels nodes.
std::string function_bomb(int levels, int calls, bool recursive) {
  OnnxModel m;
  m.opset_import("local", 1);
  m.input("x", {2});
  m.node("f0", {"x"}, {"y"});
  m.graph().mutable_node(0)->set_domain("local");
  m.output("y");
  for (int level = 0; level < levels; ++level) {
    onnx::FunctionProto& f = *m.proto.add_functions();
    f.set_name("f" + std::to_string(level));
    f.set_domain("local");
    f.add_input("a");
    f.add_output("v" + std::to_string(calls));
    const int next = recursive ? level : level + 1;
    const bool last = next == levels;
    for (int i = 0; i < calls; ++i) {
      add_node(f, last ? "Relu" : "f" + std::to_string(next),
               {i == 0 ? "a" : "v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
      if (!last) f.mutable_node(i)->set_domain("local");
    }
  }
  return m.bytes();
}

std::string nested_branches(int depth) {
  OnnxModel m;
  m.input("x", {2});
  m.input("c", {}, 9);
  onnx::GraphProto* at = &m.graph();
  for (int i = 0; i < depth; ++i) {
    auto attributes = add_node(*at, "If", {"c"}, {"y"});
    auto* other = attributes.graph("else_branch");
    add_node(*other, "Relu", {"x"}, {"z"});
    other->add_output()->set_name("z");
    at = attributes.graph("then_branch");
    at->add_output()->set_name("y");
  }
  add_node(*at, "Loop", {"x"}, {"y"});
  m.output("y");
  return m.bytes();
}

}  // namespace

std::vector<HostileFile> structure_cases() {
  return {
      {"no outputs", changed([](OnnxModel& m) { m.graph().clear_output(); }), "no outputs"},
      {"an output that nothing makes", changed([](OnnxModel& m) { m.output("ghost"); }), "'ghost'"},
      {"an output listed twice", changed([](OnnxModel& m) { m.output("y"); }), "'y'"},
      {"an output without a name", changed([](OnnxModel& m) { m.output(""); }), "output ''"},
      {"an input that nothing makes", changed([](OnnxModel& m) {
         m.node("Add", {"x", "ghost"}, {"z"});
       }),
       "node 1 (Add): input 1 'ghost'"},
      {"two nodes with one output", changed([](OnnxModel& m) { m.node("Exp", {"x"}, {"y"}); }),
       "node 1 (Exp): the name 'y' is defined twice"},
      {"a node that redefines an input", changed([](OnnxModel& m) { m.node("Exp", {"y"}, {"x"}); }),
       "'x' is defined twice"},
      {"an input listed twice", changed([](OnnxModel& m) { m.input("x", {2}); }),
       "'x' is defined twice"},
      {"an input without a name", changed([](OnnxModel& m) { m.input("", {2}); }),
       "graph input 1 has no name"},
      {"an initializer listed twice", changed([](OnnxModel& m) {
         m.integers("w", {1});
         m.integers("w", {2});
       }),
       "'w' is defined twice"},
      {"a node that reads itself", changed([](OnnxModel& m) { m.node("Exp", {"z"}, {"z"}); }),
       "node 1 (Exp): depends on its own output"},
      {"a cycle of two", changed([](OnnxModel& m) {
         m.node("Exp", {"b"}, {"a"});
         m.node("Log", {"a"}, {"b"});
       }),
       "cycle"},
      {"a cycle of 50000", long_cycle(50'000), "cycle"},
      {"a node without an operator", changed([](OnnxModel& m) { m.node("", {"x"}, {"z"}); }),
       "node 1 (no operator)"},
      {"unknown operators", changed([](OnnxModel& m) {
         m.node("Frobnicate", {"x"}, {"z"});
         m.node("Frobnicate", {"x"}, {"z2"});
         m.node("Scan", {"x"}, {"z3"});
       }),
       "Frobnicate (2 nodes), Scan (1 node)", StatusCode::kUnsupported},
      {"no operator set", changed([](OnnxModel& m) { m.proto.clear_opset_import(); }),
       "node 0 (Relu)"},
      {"operator set 0",
       changed([](OnnxModel& m) { m.proto.mutable_opset_import(0)->set_version(0); }), "version 0"},
      {"operator set 10^6",
       changed([](OnnxModel& m) { m.proto.mutable_opset_import(0)->set_version(1'000'000); }),
       "opset 1000000", StatusCode::kUnsupported},
      {"an operator set in two versions",
       changed([](OnnxModel& m) { m.opset_import("ai.onnx", 12); }), "in two versions"},
      {"an input without a type",
       changed([](OnnxModel& m) { m.graph().mutable_input(0)->clear_type(); }),
       "graph input 'x': has no type"},
      {"an input of no element type",
       changed([](OnnxModel& m) { type_of_input(m)->mutable_tensor_type()->set_elem_type(0); }),
       "graph input 'x'"},
      {"an input of element type -5",
       changed([](OnnxModel& m) { type_of_input(m)->mutable_tensor_type()->set_elem_type(-5); }),
       "graph input 'x'"},
      {"an input of strings",
       changed([](OnnxModel& m) { type_of_input(m)->mutable_tensor_type()->set_elem_type(8); }),
       "string", StatusCode::kUnsupported},
      {"an input that is a sequence",
       changed([](OnnxModel& m) { type_of_input(m)->mutable_sequence_type(); }), "graph input 'x'",
       StatusCode::kUnsupported},
      {"an input without a shape",
       changed([](OnnxModel& m) { type_of_input(m)->mutable_tensor_type()->clear_shape(); }),
       "graph input 'x'", StatusCode::kUnsupported},
      {"an input of negative size",
       changed([](OnnxModel& m) { shape_of_input(m)->mutable_dim(0)->set_dim_value(-2); }),
       "axis 0 has size -2"},
      {"an input of size 2^62", changed([](OnnxModel& m) {
         shape_of_input(m)->mutable_dim(0)->set_dim_value(std::int64_t{1} << 62);
       }),
       "graph input 'x'"},
      {"an input of 2^80 elements", changed([](OnnxModel& m) {
         shape_of_input(m)->mutable_dim(0)->set_dim_value(std::int64_t{1} << 40);
         shape_of_input(m)->add_dim()->set_dim_value(std::int64_t{1} << 40);
       }),
       "graph input 'x'"},
      {"an input of 1000 axes", changed([](OnnxModel& m) {
         for (int i = 0; i < 1000; ++i) shape_of_input(m)->add_dim()->set_dim_value(1);
       }),
       "1001 axes"},
      {"an output of another type", changed([](OnnxModel& m) {
         m.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(7);
       }),
       "graph output 'y' is declared as i64"},
      {"a function that calls itself", function_bomb(1, 1, true), "function 'f0' calls itself"},
      {"functions that double 40 times", function_bomb(40, 2, false), "nodes after its functions"},
      {"a function defined twice", changed([](OnnxModel& m) {
         m.proto.add_functions()->set_name("f");
         m.proto.add_functions()->set_name("f");
       }),
       "function 'f' is defined twice"},
      {"an If without branches", changed([](OnnxModel& m) {
         m.input("c", {}, 9);
         m.node("If", {"c"}, {"z"});
       }),
       "node 1 (If): has no then_branch"},
      {"a Loop below 25 branches", nested_branches(25), "Loop", StatusCode::kUnsupported},
      {"a name of a megabyte", changed([](OnnxModel& m) {
         m.node("Add", {"x", std::string(1 << 20, 'n')}, {"z"});
       }),
       "nnn...' is not produced"},
      {"a name of control characters", changed([](OnnxModel& m) {
         m.node("Add", {"x", "\x1b[2J\n"}, {"z"});
       }),
       "'?[2J?' is not produced"},
  };
}

}  // namespace egret::hostile
