// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/onnx_form.h"

#include <limits>
#include <string>

namespace egret::ir {
namespace {

// Runs an export without writing, in an opset above all others, to see whether it succeeds.
class NoWriter : public OnnxWriter {
 public:
  NoWriter(const Attrs& attrs, std::span<const TensorType> inputs, const TensorType& output)
      : attrs_(attrs), inputs_(inputs), output_(output) {}

  int opset() const override { return std::numeric_limits<int>::max(); }
  const Attrs& attrs() const override { return attrs_; }
  int input_count() const override { return static_cast<int>(inputs_.size()); }
  std::string input(int i) const override { return std::to_string(i); }
  const TensorType& input_type(int i) const override {
    return inputs_[static_cast<std::size_t>(i)];
  }
  const TensorType& output_type() const override { return output_; }
  std::string emit(std::string_view, std::vector<std::string>, std::vector<Attribute>,
                   std::string_view, int, int) override {
    return {};
  }
  std::string constant(const Tensor&) override { return {}; }

 private:
  const Attrs& attrs_;
  std::span<const TensorType> inputs_;
  const TensorType& output_;
};

}  // namespace

bool is_written_whole(const Operator& op, const Attrs& attrs, std::span<const TensorType> inputs,
                      const TensorType& output) {
  if (!op.is_composite()) return true;
  if (!op.onnx_export()) return false;
  NoWriter writer(attrs, inputs, output);
  return op.onnx_export()(writer).ok();
}

}  // namespace egret::ir
