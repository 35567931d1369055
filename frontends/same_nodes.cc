// SPDX-License-Identifier: Apache-2.0
// When nodes of two models that stay as they are mean the same in both.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontends/nodes/form_changes.h"
#include "frontends/nodes/node_parts.h"
#include "frontends/nodes/opaque_identity.h"
#include "frontends/onnx.h"
#include "frontends/onnx.pb.h"
#include "frontends/program/onnx_program.h"

namespace egret::frontends {
namespace {

// The functions of a model, as far as nodes call them that stay as they are.
class KeptFunctions {
 public:
  explicit KeptFunctions(const OnnxModelInfo& info) {
    for (const std::string& bytes : info.functions) {
      auto function = std::make_unique<onnx::FunctionProto>();
      if (!function->ParsePartialFromString(bytes)) continue;
      all_.emplace(function_key(*function), function.get());
      owned_.push_back(std::move(function));
    }
  }
  // By their keys. Those that are external lie in part in another file.
  struct Called {
    std::map<std::string, std::string> bytes;
    bool external = false;
  };
  Called called_by(const onnx::NodeProto& node) const {
    Functions found;
    collect_calls(node, all_, found);
    Called called;
    for (const auto& [key, function] : found) {
      called.bytes.emplace(key, function->SerializeAsString());
      called.external =
          called.external || std::ranges::any_of(function->node(), [](const onnx::NodeProto& one) {
            return has_external_tensor(one);
          });
    }
    return called;
  }

 private:
  Functions all_;
  std::vector<std::unique_ptr<onnx::FunctionProto>> owned_;
};

std::int64_t version_of(const OnnxModelInfo& info, const std::string& domain) {
  const auto found = info.opsets.find(domain);
  return found != info.opsets.end() ? found->second : 0;
}

// Whether a node of both models means the same in them: its bodies, too, call functions and have
// nodes of other domains.
base::Status check_same_surroundings(const OpaqueNode& kept, const OnnxModelInfo& a,
                                     const KeptFunctions& of_a, const OnnxModelInfo& b,
                                     const KeptFunctions& of_b) {
  onnx::NodeProto node;
  node.ParsePartialFromString(kept.proto);
  const KeptFunctions::Called called = of_a.called_by(node);
  if (called.bytes != of_b.called_by(node).bytes)
    return base::mismatch("the functions that it calls differ");
  if (called.external)
    return base::mismatch("a tensor of a function that it calls lies in another file");
  for (const std::string& domain : foreign_domains(node)) {
    const std::int64_t first = version_of(a, domain);
    const std::int64_t second = version_of(b, domain);
    if (first != second)
      return base::mismatch("the domain '" + domain + "' has the versions " +
                            std::to_string(first) + " and " + std::to_string(second));
  }
  // The bodies of a node of another domain are in the opset of the model.
  const std::int64_t low = std::min(version_of(a, ""), version_of(b, ""));
  const std::int64_t high = std::max(version_of(a, ""), version_of(b, ""));
  bool alike = true;
  for_each_node(node, [&](const onnx::NodeProto& one) {
    if (!canonical_domain(one.domain()).empty()) return;
    alike = alike && has_same_form(one.op_type(), static_cast<int>(low), static_cast<int>(high));
  });
  if (kept.opset == 0 && !alike)
    return base::mismatch("opset " + std::to_string(low) + " and opset " + std::to_string(high) +
                          " may read its bodies differently");
  return base::ok();
}

}  // namespace

base::Status check_same_nodes(const OnnxModelInfo& a, const OnnxModelInfo& b) {
  const KeptFunctions of_a(a);
  const KeptFunctions of_b(b);
  for (const auto& [key, node] : a.opaque_nodes) {
    const auto other = b.opaque_nodes.find(key);
    if (other == b.opaque_nodes.end()) continue;
    base::Status same = check_same_meaning(node, other->second);
    if (same.ok() && node.value.empty()) same = check_same_surroundings(node, a, of_a, b, of_b);
    if (!same.ok()) return same.at("node '" + key + "'");
  }
  if (a.foreign_inputs != b.foreign_inputs)
    return base::mismatch("the inputs of types that Egret lacks differ");
  return base::ok();
}

}  // namespace egret::frontends
