// SPDX-License-Identifier: Apache-2.0
// Any bytes are refused or imported; what is imported is sound, can be written where all its
// operators have an ONNX form, and what is written imports again.
#include <cstdint>
#include <span>

#include "frontends/onnx.h"

namespace {

namespace frontends = egret::frontends;

void check(std::span<const std::byte> bytes, frontends::ImportOptions options) {
  // Small limits, so that an input is slow or large only where the importer itself is.
  options.max_value_bytes = 1 << 22;
  options.max_nodes = 2000;
  options.max_folded_elements = 1 << 12;
  const auto model = frontends::import_onnx_bytes(bytes, "", options);
  if (!model.ok()) return;
  const auto invariants = model->graph.check_invariants();
  EGRET_CHECK(invariants.ok(), "an imported graph breaks an invariant");
  const auto written = frontends::export_onnx(model->graph, model->info);
  if (!written.ok()) return;
  options.max_value_bytes = std::int64_t{1} << 40;
  options.max_nodes = 1'000'000;
  const auto again =
      frontends::import_onnx_bytes(std::as_bytes(std::span(written->bytes)), "", options);
  EGRET_CHECK(again.ok(), "an exported model does not import");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check(bytes, {});
  check(bytes, {.opaque_nodes = true});
  return 0;
}
