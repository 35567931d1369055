// SPDX-License-Identifier: Apache-2.0
#include "parallel/laws/cut_form.h"

#include <algorithm>
#include <utility>

#include "parallel/laws/expression_nodes.h"
#include "parallel/laws/form_writer.h"
#include "parallel/laws/index_arithmetic.h"

namespace egret::parallel {

// The normal form of one device's part of an operator whose result is cut. NotCut is an exception,
// because the refusal comes from deep inside a recursion and needs no reason.
std::optional<CutForm> cut_form(const ir::Denotation& denotation,
                                std::span<const ir::TensorType> types, const Cut& cut,
                                FormTable& table) {
  try {
    WrittenForm written = write_form(denotation, types, &cut, nullptr, table);
    return CutForm{std::move(written.inputs), written.form};
  } catch (const NotCut&) {
    return std::nullopt;
  }
}

// First the halos that are needed are found, then the form is written from where they begin.
std::optional<CutForm> cut_form_with_halo(const ir::Denotation& denotation,
                                          std::span<const ir::TensorType> types, const Cut& cut,
                                          FormTable& table) {
  try {
    const std::vector<Halo> none(types.size());
    std::vector<Halo> halos = write_form(denotation, types, &cut, &none, table).needed;
    for (Halo& halo : halos) {
      if (halo.is_empty()) halo = {};
    }
    // Without any halo the form is the one of cut_form(), which failed before.
    if (std::ranges::all_of(halos, &Halo::is_empty)) return std::nullopt;
    WrittenForm written = write_form(denotation, types, &cut, &halos, table);
    return CutForm{std::move(written.inputs), written.form};
  } catch (const NotCut&) {
    return std::nullopt;
  }
}

// The form without a cut. On the types of the parts it is what one device computes.
std::optional<int> element_form(const ir::Denotation& denotation,
                                std::span<const ir::TensorType> types, FormTable& table) {
  try {
    return write_form(denotation, types, nullptr, nullptr, table).form;
  } catch (const NotCut&) {
    return std::nullopt;
  }
}

std::vector<const ir::ExprNode*> reductions_of(const ir::Denotation& denotation) {
  if (denotation.value.is_constant()) return {};
  return nodes_inside(denotation.value.node(), ir::ExprOp::kReduce);
}

}  // namespace egret::parallel
