// SPDX-License-Identifier: Apache-2.0
// What was decided of candidates, in a file, so that a generation that was killed goes on where it
// was: enumeration is repeated, proofs are not. The file names what its decisions depend on (space,
// seed, options, definitions of all operators); of others it is begun anew.
//
//   {"key":"..."}
//   {"candidate":"relu(relu(m0)) = relu(m0)","rule":"rule candidate\n...","status":"proven",...}
//
// Lines; a last one that was not written in full is left out. Results do not depend on whether a
// decision comes from the file.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/status.h"
#include "rules/generator/candidate_rule.h"

namespace egret::rules::generator {

class DecisionLog {
 public:
  // Reads what is in the file, if it has this key. An empty path keeps nothing.
  static base::Result<DecisionLog> open(std::string path, const std::string& key);

  struct Decision {
    std::optional<Generalized> made;  // none: no rule can be stated
  };
  const Decision* find(const std::string& candidate) const;
  void record(const std::string& candidate, const std::optional<Generalized>& made);
  // Writes what was recorded since. Fails when the file cannot be written.
  base::Status save();
  // The work is done: takes the file away.
  void remove();
  std::size_t size() const { return decisions_.size(); }

 private:
  std::string path_;
  std::string text_;  // of the file
  bool changed_ = false;
  std::map<std::string, Decision, std::less<>> decisions_;
};

}  // namespace egret::rules::generator
