// SPDX-License-Identifier: Apache-2.0
// What reads as an e-graph must be written and read back as the same, and drawing, counting and
// adding it must not fail in any other way than by a Status.
#include <cstdint>

#include "egraph/core/view_statistics.h"
#include "egraph/formats/dump.h"
#include "egraph/formats/serialized_egraph.h"

namespace {

using namespace egret;
using namespace egret::egraph;

base::Result<SerializedEGraph> read(std::string_view text, std::size_t piece) {
  SerializedOptions options;
  options.ignore_missing_roots = true;
  SerializedReader reader(options);
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    EGRET_RETURN_IF_ERROR(reader.feed(text.substr(0, piece)));
  }
  return reader.finish();
}

std::string written(const SerializedEGraph& file) {
  std::string text;
  const base::Status status = write_serialized(file, [&](std::string_view piece) {
    text += piece;
    return base::ok();
  });
  EGRET_CHECK(status.ok());
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = read(text, text.size());
  const auto in_pieces = read(text, 3);
  EGRET_CHECK(file.ok() == in_pieces.ok(), "cutting the text changed the verdict");
  if (!file.ok()) {
    EGRET_CHECK(!file.status().message().empty());
    return 0;
  }
  const std::string once = written(*file);
  EGRET_CHECK(written(*in_pieces) == once, "cutting the text changed the e-graph");
  const auto again = read(once, 1000);
  EGRET_CHECK(again.ok(), "our own file does not read");
  EGRET_CHECK(written(*again) == once, "the e-graph changed");

  DumpOptions options;
  options.class_names = file->class_names;
  dump_dot(file->view, file->ops, options);
  dump_svg(file->view, file->ops, options);
  statistics(file->view, file->ops);
  OpTable ops;
  EGraph egraph(ops);
  if (add_serialized(*file, egraph).ok()) {
    EGRET_CHECK(egraph.check_invariants().ok(), "an invariant broke");
  }
  return 0;
}
