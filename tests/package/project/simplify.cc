// SPDX-License-Identifier: Apache-2.0
// simplify TERM: the smallest equal term. A program outside Egret that uses its e-graph engine.
#include <cstdio>

#include "egraph/search/equivalence.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const char* rules =
      "commute-add: (+ ?a ?b) => (+ ?b ?a)\n"
      "commute-mul: (* ?a ?b) => (* ?b ?a)\n"
      "zero: (+ ?a 0) => ?a\n"
      "one: (* ?a 1) => ?a\n";
  std::printf("%s\n", egret::egraph::simplified({rules}, argv[1]).c_str());
  return 0;
}
