// SPDX-License-Identifier: Apache-2.0
// Packs: loads, stores and per-element statements.
#include <utility>

#include "backends/codegen/text/writer.h"

namespace egret::backends::codegen {

using ir::ExprOp;
using ir::NestNode;

// A value that depends on the packed symbol is an array with an element for each of the pack; all
// others are single.
bool Writer::is_packed(ir::VariableSet depends) const {
  const Packed& packed = scopes_.back().packed;
  return packed.symbol >= 0 && (nest_.symbol(packed.symbol).depends & depends) != 0;
}

std::string Writer::each(bool packed) const {
  if (!packed) return {};
  return "EGRET_EACH(" + std::to_string(scopes_.back().packed.width) + ") ";
}

// The returned name is that of element u for an array over a pack.
std::string Writer::array(ir::VariableSet depends, const std::string& type, const char* prefix,
                          const std::string& initial) {
  std::string name = fresh(prefix);
  if (!is_packed(depends)) {
    line(type + " " + name + " = " + initial + ";");
    return name;
  }
  line(type + " " + name + "[" + std::to_string(scopes_.back().packed.width) + "];");
  name += "[u]";
  line(each() + name + " = " + initial + ";");
  return name;
}

// The form's value for the first element of a pack. Its other symbols do not depend on the packed
// one.
std::string Writer::form_of_first(const ir::Affine& form) {
  Scope& scope = scopes_.back();
  // The packed symbol is a plain one, with the first element's value, while the form is written.
  const Packed packed = std::exchange(scope.packed, {});
  scope.symbols[packed.symbol] = packed.first;
  std::string text = this->form(form);
  scopes_.back().packed = packed;
  scopes_.back().symbols[packed.symbol] = packed.each();
  return text;
}

bool Writer::is_one(int guard) const {
  const Packed& packed = scopes_.back().packed;
  return !is_packed(nest_.guard(guard).depends) ||
         packing_.is_one(guard, packed.symbol, packed.width);
}

// Whether a guard decides for each element of a pack what may be evaluated at all.
bool Writer::goes_one_by_one(const NestNode& node) {
  if (!is_packed(node.depends) || node.guard < 0 || is_one(node.guard)) return false;
  if (node.op == ExprOp::kReduce) return true;
  return !facts_.safe_guard(node.guard) || !is_plain(node.kids[0]) || !is_plain(node.kids[1]);
}

// Evaluates the node in a loop over the elements, in which the symbol is no longer packed: guards
// then protect each element.
std::string Writer::one_by_one(const NestNode& node) {
  const Packed packed = scopes_.back().packed;
  const std::string name = fresh("w");
  line(type_of(node) + " " + name + "[" + std::to_string(packed.width) + "];");
  const std::size_t depth = scopes_.size();
  Scope scope = loop(each() + "{", {packed.symbol}, packed.width);
  scope.packed = {};
  open(std::move(scope));
  const std::string result = compute(node);
  line(name + "[u] = " + result + ";");
  close_to(depth);
  return name + "[u]";
}

std::string Writer::read_pack(const NestNode& node, const std::string& good) {
  const Packed packed = scopes_.back().packed;
  const std::string width = std::to_string(packed.width);
  const std::string input = "in" + std::to_string(node.input);
  const std::string type = "Pack<" +
                           element_type(inputs_[static_cast<std::size_t>(node.input)].dtype) +
                           ", " + width + ">";
  const std::string load =
      "pack_at<" + width + ">(" + input + " + " + form_of_first(node.form) + ")";
  return declare(type, good.empty() ? load : good + " ? " + load + " : " + type + "{}") + ".at[u]";
}

// Gathers the elements into one pack and writes it with one vector access.
void Writer::store_pack(const std::string& who, const std::string& element) {
  const std::string width = std::to_string(scopes_.back().packed.width);
  const std::string pack = fresh("p");
  line("Pack<" + element_type(output_) + ", " + width + "> " + pack + ";");
  line(each() + pack + ".at[u] = " + element + ";");
  line(who + "put_pack(out + " + form_of_first(nest_.output) + ", " + pack + ");");
}

}  // namespace egret::backends::codegen
