// SPDX-License-Identifier: Apache-2.0
// Single changes that make a model simpler, without regard to what it computes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace egret::onnx {
class ModelProto;
}

namespace egret::frontends {

// Changes a model; false: it does not apply, and the model is as it was, or is useless.
using Simplification = std::function<bool(onnx::ModelProto&)>;

// Of names, texts and metadata: nothing that is computed changes.
std::vector<Simplification> texts_to_drop();
// Readers of a node's output read one of its operands instead, as if the node did nothing. One a
// node and operand; from the last node to the first.
std::vector<Simplification> nodes_to_bypass(const onnx::ModelProto& model);
// One an attribute, and one an optional operand, which are whatever the operator makes of their
// absence.
std::vector<Simplification> attributes_to_drop(const onnx::ModelProto& model);
// One an initializer of reals: all of its elements become 0, or 1.
std::vector<Simplification> weights_to_level(const onnx::ModelProto& model);
// One a size above 1 that inputs or initializers have, and a smaller number: it takes the place of
// that size in all of them, and in small integer constants, which may be shapes. Weights lose the
// elements beyond. Then the same of single axes of inputs. Types of inner values and outputs are no
// longer stated.
std::vector<Simplification> sizes_to_shrink(const onnx::ModelProto& model);
// All symbolic sizes become this number.
Simplification fixed_sizes(std::int64_t size);

}  // namespace egret::frontends
