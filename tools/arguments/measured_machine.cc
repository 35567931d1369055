// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/measured_machine.h"

#include <optional>

#include "driver/measure/machine_fingerprint.h"
#include "parallel/machine/named_cluster.h"

namespace egret::tools {
namespace {

// A rank computes with one thread.
std::string note_key() { return "links of " + driver::machine_fingerprint({.threads = 1}); }

}  // namespace

base::Status keep_measured_machine(cost::Database& database, const parallel::Cluster& machine) {
  return database.store_note(note_key(), to_toml(machine));
}

base::Result<parallel::Cluster> cluster_argument(const std::string& name, const std::string& mesh) {
  if (name != kMeasuredMachine) return parallel::cluster_called(name, mesh);
  EGRET_ASSIGN_OR_RETURN(const auto database, cost::open_database_to_read(""));
  EGRET_ASSIGN_OR_RETURN(const std::optional<std::string> text, database->find_note(note_key()));
  if (!text) {
    return base::unavailable(
        "the links between ranks of this machine are not measured: run `mpirun -n RANKS egret "
        "costs profile --collectives`");
  }
  EGRET_ASSIGN_OR_RETURN(const parallel::Cluster machine,
                         parallel::parse_cluster(*text, "the database of costs"));
  if (mesh.empty()) return machine;
  EGRET_ASSIGN_OR_RETURN(const parallel::Mesh devices, parallel::Mesh::parse(mesh));
  return machine.with_mesh(devices);
}

}  // namespace egret::tools
