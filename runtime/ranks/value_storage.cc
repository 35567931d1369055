// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/value_storage.h"

#include <utility>
#include <vector>

namespace egret::runtime {

base::Result<ValueStorage> ValueStorage::in(const std::string& folder,
                                            const parallel::PlacedGraph& graph) {
  ValueStorage storage;
  EGRET_ASSIGN_OR_RETURN(storage.file_, backends::cpu::ValueFile::create(folder));
  const std::vector<bool> copied = copied_out(graph);
  for (std::size_t node = 0; node < copied.size(); ++node) {
    if (copied[node]) storage.offsets_[node] = storage.file_->add(graph.nodes[node].type.bytes());
  }
  EGRET_RETURN_IF_ERROR(storage.file_->reserve());
  return storage;
}

base::Status ValueStorage::put(std::size_t node, const ir::Tensor& value) {
  if (file_ != nullptr) return file_->write(offsets_.at(node), value.data());
  values_[node] = value;
  return base::ok();
}

base::Result<ir::Tensor> ValueStorage::get(std::size_t node, const ir::TensorType& type) const {
  if (file_ == nullptr) return values_.at(node);
  ir::Tensor value = ir::Tensor::unfilled(type);
  EGRET_RETURN_IF_ERROR(file_->read(offsets_.at(node), value.mutable_data()));
  return value;
}

}  // namespace egret::runtime
