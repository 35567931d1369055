// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/contractions/contraction_text.h"

#include <algorithm>
#include <utility>

namespace egret::backends::codegen {

std::string text_of(std::int64_t value) { return std::to_string(value); }

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t equal_part(std::int64_t total, std::int64_t most) {
  return ceil_div(total, ceil_div(total, std::max<std::int64_t>(most, 1)));
}

std::string term_type(ir::DType sum, bool in_double) {
  if (sum == ir::DType::kF64) return in_double ? "double" : "float";
  return ir::byte_size(sum) > 4 ? "u64" : "unsigned int";
}

bool is_plain_read(const ContractionForm::Part& part, std::span<const ir::TensorType> inputs,
                   const std::string& type, int element) {
  const ir::NestNode& root = part.nest.node(part.nest.root);
  if (root.op != ir::ExprOp::kRead || !root.checked.empty()) return false;
  const bool variables = std::ranges::all_of(root.form.parts, [&](const auto& each) {
    return part.nest.symbol(each.symbol).kind == ir::IndexSymbol::Kind::kVariable;
  });
  const ir::DType stored = inputs[static_cast<std::size_t>(root.input)].dtype;
  const bool same = ir::is_float(stored)
                        ? element_type(stored) == type
                        : static_cast<int>(ir::byte_size(stored)) == element && !root.is_real();
  return variables && same;
}

Neighbours neighbours_in_memory(const ContractionForm::Part& part, const std::vector<int>& own) {
  Neighbours found;
  for (const ir::NestNode& node : part.nest.nodes) {
    if (node.op != ir::ExprOp::kRead) continue;
    const auto has = [&](const std::vector<int>& symbols) {
      return !symbols.empty() && node.form.factor(symbols.back()) == 1;
    };
    found.along_depth = found.along_depth || has(part.depth);
    found.along_own = found.along_own || has(own);
  }
  return found;
}

std::string digit(const std::string& flat, std::int64_t below, std::int64_t extent, bool first) {
  std::string text = below == 1 ? flat : flat + " / " + text_of(below);
  if (!first) text = "(" + text + ") % " + text_of(extent);
  return text;
}

std::string affine_text(const ir::Affine& form, const SymbolNames& names, int without) {
  std::string text = text_of(form.constant);
  for (const auto& part : form.parts) {
    if (part.symbol != without)
      text += " + " + names.at(part.symbol) + " * " + text_of(part.factor);
  }
  return text;
}

Writer::GivenLoop numbered_loop(const ir::LoopNest& nest, const std::vector<int>& symbols,
                                const std::string& prefix, const std::string& flat,
                                std::string header, double times, const std::string& type) {
  Writer::GivenLoop loop{.header = std::move(header), .times = times};
  std::int64_t below = 1;
  for (std::size_t i = symbols.size(); i-- > 0;) {
    const std::int64_t extent = nest.extent(symbols[i]);
    const std::string name = prefix + text_of(symbols[i]);
    loop.lines.push_back("const " + type + " " + name + " = " + digit(flat, below, extent, i == 0) +
                         ";");
    loop.symbols.emplace_back(symbols[i], name);
    below *= extent;
  }
  return loop;
}

}  // namespace egret::backends::codegen
