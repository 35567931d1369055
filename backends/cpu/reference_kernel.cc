// SPDX-License-Identifier: Apache-2.0
// The interpreter as the kernel of last resort. It allocates, and says so in the plan's report.
#include <cstring>

#include "backends/cpu/kernel_table.h"
#include "ir/interpreter.h"

namespace egret::backends::cpu {
namespace {

class ReferenceStep : public Step {
 public:
  ReferenceStep(const ir::Operator& op, ir::Attrs attrs, std::vector<Operand> inputs,
                const Operand& output)
      : op_(op), attrs_(std::move(attrs)), inputs_(std::move(inputs)), output_(output) {
    for (const Operand& input : inputs_) tensors_.emplace_back(input.type);
  }

  base::Status run(const Addresses& addresses) override {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto bytes = static_cast<std::size_t>(tensors_[i].bytes());
      if (bytes > 0)
        std::memcpy(tensors_[i].mutable_data().data(), addresses.at<std::byte>(inputs_[i]), bytes);
    }
    EGRET_ASSIGN_OR_RETURN(const ir::Tensor result,
                           ir::evaluate(op_, attrs_, tensors_, {.precision = ir::Precision::kF32}));
    if (result.bytes() > 0) {
      std::memcpy(addresses.at<std::byte>(output_), result.data().data(),
                  static_cast<std::size_t>(result.bytes()));
    }
    return base::ok();
  }

 private:
  const ir::Operator& op_;
  ir::Attrs attrs_;
  std::vector<Operand> inputs_;
  Operand output_;
  std::vector<ir::Tensor> tensors_;
};

}  // namespace

void make_reference_kernel(PlanBuilder& builder, ir::NodeId id, std::string reason) {
  const ir::Node& node = builder.node(id);
  std::vector<Operand> inputs;
  for (const ir::NodeId input : node.inputs) inputs.push_back(builder.in_row_major(input));
  const Operand output = builder.output(id, row_major(node.type.shape()));
  std::vector<Operand> touched = inputs;
  touched.push_back(output);
  builder.add(std::make_unique<ReferenceStep>(*node.op, node.attrs, std::move(inputs), output),
              touched, "reference", "interpreter");
  builder.add_fallback(id, std::move(reason));
}

}  // namespace egret::backends::cpu
