// SPDX-License-Identifier: Apache-2.0
// Placement laws proven by the verifier for all sizes and any number of devices.
//
// A law with a cut output, for p devices, parts of size n and any rank r, 0 <= r < p:
//
//     slice[r*m, m](op(x, w))  =  op'(slice[r*n, n](x), w)          sizes of what is cut are p*n
//
//     slice[r*n, n+a+b](pad[a, b](x))  is read where x is cut with a halo S(d)-a+b
//
// A law with a partial output, for two devices whose parts have any sizes:
//
//     op(concat(x1, x2), w)  =  op'(x1, w) + op'(x2, w)             (max(.., ..) for P(max))
//     op(x1 + x2, w)         =  op'(x1, w) + op'(x2, w)             where x itself is partial
//
// The case of any number of devices follows from two by induction: the sizes are arbitrary, so x2
// may be the part of all other devices. Laws of copies are trivial and need no proof.
//
// Sizes and integer attributes are symbols, as many as the proof succeeds with. Ranks of tensors,
// axes and decisions of the definitions are those of the example (ir/core/symbolic_scope.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/laws/laws.h"

namespace egret::parallel {

struct LawProof {
  // The scope of the proof, apart from the number of devices. Not proven does not mean wrong.
  enum class Scope : std::uint8_t {
    kAllSizes,  // all sizes, and all integers that the definition treats as sizes
    kSizes,     // all sizes, with the attributes of the example
    kCut,       // all sizes of what is cut; the others, and the attributes, are the example's
    kNone,
  };
  Scope scope = Scope::kNone;
  std::string reason{};              // why it is not proven
  std::vector<std::string> where{};  // decisions taken from the example
};

// `law` is one of laws_of(op, attrs, inputs, devices), or a wrong one.
LawProof prove_law(const ir::Operator& op, const ir::Attrs& attrs,
                   std::span<const ir::TensorType> inputs, const Law& law, std::int64_t devices);

}  // namespace egret::parallel
