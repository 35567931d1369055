// SPDX-License-Identifier: Apache-2.0
// The writer's scopes and loops.
#include <algorithm>

#include "backends/codegen/writer.h"

namespace egret::backends::codegen {

Writer::Scope Writer::loop(std::string header, const std::vector<int>& bound, double times) const {
  Scope scope;
  scope.header = std::move(header);
  for (const int symbol : bound) scope.variables |= nest_.symbol(symbol).depends;
  scope.executions = scopes_.back().executions * times;
  scope.divided = scopes_.back().divided;
  return scope;
}

void Writer::open_guarded(const std::string& header) {
  Scope scope = loop(header, {}, 1);
  scope.guarded = true;
  open(std::move(scope));
}

void Writer::close_to(std::size_t depth) {
  while (scopes_.size() > depth) {
    const Scope scope = std::move(scopes_.back());
    scopes_.pop_back();
    line(scope.header);
    scopes_.back().text += scope.text;
    line("}");
  }
}

void Writer::line(const std::string& text) {
  scopes_.back().text += std::string(2 * scopes_.size(), ' ') + text + "\n";
}

std::size_t Writer::place(ir::VariableSet depends, bool safe) const {
  std::size_t at = scopes_.size() - 1;
  while (at > 0 && (scopes_[at].variables & depends) == 0 && (safe || !scopes_[at].guarded)) --at;
  return at;
}

const std::string* Writer::find(std::map<int, std::string> Scope::*names, int id) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = ((*scope).*names).find(id);
    if (found != ((*scope).*names).end()) return &found->second;
  }
  return nullptr;
}

std::string Writer::declare(const std::string& type, const std::string& value) {
  const std::string name = fresh("v");
  line("const " + type + " " + name + " = " + value + ";");
  return name;
}

namespace {

std::int64_t extents(const ir::LoopNest& nest, const std::vector<int>& symbols) {
  std::int64_t product = 1;
  for (const int symbol : symbols) product *= nest.extent(symbol);
  return product;
}

}  // namespace

void Writer::open_nested(const std::vector<int>& symbols) {
  for (const int symbol : symbols) {
    const std::string name = "i" + std::to_string(symbol);
    const std::int64_t extent = nest_.extent(symbol);
    std::string header = "for (" + index_ + " " + name + " = 0; " + name + " < ";
    header += std::to_string(extent) + "; ++" + name + ") {";
    Scope scope = loop(std::move(header), {symbol}, static_cast<double>(extent));
    scope.symbols[symbol] = name;
    open(std::move(scope));
  }
}

void Writer::open_flat(const std::vector<int>& symbols, const std::string& first,
                       const std::string& stride, const std::string& end) {
  const std::string flat = symbols.size() == 1 ? "i" + std::to_string(symbols[0]) : fresh("t");
  Scope scope = loop("for (" + index_ + " " + flat + " = " + first + "; " + flat + " < " + end +
                         "; " + flat + " += " + stride + ") {",
                     symbols, static_cast<double>(extents(nest_, symbols)));
  if (symbols.size() == 1) scope.symbols[symbols[0]] = flat;
  open(std::move(scope));
  if (symbols.size() == 1) return;
  std::int64_t below = 1;
  for (std::size_t i = symbols.size(); i-- > 0;) {
    const std::string name = "i" + std::to_string(symbols[i]);
    std::string part = below == 1 ? flat : flat + " / " + std::to_string(below);
    if (i > 0)
      part =
          (below == 1 ? part : "(" + part + ")") + " % " + std::to_string(nest_.extent(symbols[i]));
    line("const " + index_ + " " + name + " = " + part + ";");
    scopes_.back().symbols[symbols[i]] = name;
    below *= nest_.extent(symbols[i]);
  }
  count(4.0 * static_cast<double>(symbols.size()));
}

void Writer::open_shared(const std::vector<int>& symbols) {
  open_flat(symbols, "(" + index_ + ")threadIdx.x", "(" + index_ + ")blockDim.x",
            std::to_string(extents(nest_, symbols)));
  scopes_.back().divided = true;
}

// ---- The loops around everything

std::string Writer::body() {
  scopes_.clear();
  open(Scope{});
  if (schedule_.by_rows) {
    write_rows();
  } else {
    write_lanes();
    write_store();
  }
  close_to(1);
  return scopes_.back().text;
}

void Writer::write_rows() {
  const std::string rows = std::to_string(schedule_.row_count);
  if (target_ == Target::kCuda) {
    open_flat(schedule_.rows, "(" + index_ + ")blockIdx.x", "(" + index_ + ")gridDim.x", rows);
  } else {
    open_flat(schedule_.rows, "(" + index_ + ")low", "1", "(" + index_ + ")high");
  }
  if (target_ == Target::kHost) {
    open_nested(schedule_.lanes);
  } else if (!schedule_.lanes.empty()) {
    open_shared(schedule_.lanes);
  }
  write_store();
}

void Writer::write_lanes() {
  if (target_ == Target::kHost) {
    open_flat(schedule_.lanes, "(" + index_ + ")low", "1", "(" + index_ + ")high");
  } else {
    open_flat(schedule_.lanes, "(" + index_ + ")blockIdx.x * blockDim.x + threadIdx.x",
              "(" + index_ + ")(gridDim.x * blockDim.x)", std::to_string(schedule_.lane_count));
    scopes_.back().divided = true;
  }
}

void Writer::write_store() {
  // What the store rounds need not be rounded before.
  const ir::NestNode& root = nest_.node(nest_.root);
  const bool rounded = root.op == ir::ExprOp::kCast && root.cast == output_ && root.is_real() &&
                       nest_.node(root.kids[0]).is_real() &&
                       (output_ == ir::DType::kF16 || output_ == ir::DType::kBF16);
  const std::string result = value(rounded ? root.kids[0] : nest_.root);
  const bool one_thread = target_ == Target::kCuda && schedule_.by_rows && schedule_.lanes.empty();
  std::string store = "out[" + form(nest_.output) + "] = ";
  switch (output_) {
    case ir::DType::kF16: store += "f16_bits(" + result + ")"; break;
    case ir::DType::kBF16: store += "bf16_bits(" + result + ")"; break;
    case ir::DType::kBool: store += result + " != 0"; break;
    default: store += "(" + element_type(output_) + ")" + result; break;
  }
  line((one_thread ? "if (threadIdx.x == 0) " : "") + store + ";");
  count(2);
}

}  // namespace egret::backends::codegen
