// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/stored_values.h"

#include <utility>

namespace egret::backends::cpu {
namespace {

class StoreStep final : public Step {
 public:
  StoreStep(std::shared_ptr<ValueFile> file, std::int64_t offset, std::int64_t bytes,
            Operand source)
      : file_(std::move(file)), offset_(offset), bytes_(bytes), source_(std::move(source)) {}
  base::Status run(const Addresses& addresses) override {
    return file_->write(offset_,
                        {addresses.at<const std::byte>(source_), static_cast<std::size_t>(bytes_)});
  }

 private:
  const std::shared_ptr<ValueFile> file_;
  const std::int64_t offset_, bytes_;
  const Operand source_;
};

class BringBackStep final : public Step {
 public:
  BringBackStep(std::shared_ptr<ValueFile> file, std::int64_t offset, std::int64_t bytes,
                Operand target)
      : file_(std::move(file)), offset_(offset), bytes_(bytes), target_(std::move(target)) {}
  base::Status run(const Addresses& addresses) override {
    return file_->read(offset_,
                       {addresses.at<std::byte>(target_), static_cast<std::size_t>(bytes_)});
  }

 private:
  const std::shared_ptr<ValueFile> file_;
  const std::int64_t offset_, bytes_;
  const Operand target_;
};

}  // namespace

// The value of a given node is that of the last prepared node that it became.
base::Result<StoredValues> StoredValues::of(const PreparedGraph& prepared,
                                            const ValueStorage& storage) {
  StoredValues values;
  if (storage.values.empty()) return values;
  std::map<ir::NodeId, ir::NodeId> last;
  for (std::size_t i = 0; i < prepared.origin.size(); ++i) {
    if (prepared.origin[i].valid()) last[prepared.origin[i]] = ir::NodeId(i);
  }
  for (const StoredValue& value : storage.values) {
    if (!last.contains(value.from) || !last.contains(value.back))
      return base::bad_input("a value that leaves memory is not computed in each run");
    const ir::NodeId from = last[value.from];
    values.from_[last[value.back]] = from;
    values.places_[from] = std::nullopt;
  }
  EGRET_ASSIGN_OR_RETURN(std::unique_ptr<ValueFile> file, ValueFile::create(storage.folder));
  values.file_ = std::move(file);
  return values;
}

// In the layout in which it was computed, if that has no gaps.
void StoredValues::store(PlanBuilder& builder, ir::NodeId root) {
  const auto place = places_.find(root);
  if (place == places_.end()) return;
  Operand source = builder.home(root);
  if (!is_dense(source.layout, source.shape())) source = builder.in_row_major(root);
  const std::int64_t bytes = span_elements(source.layout, source.shape()) *
                             static_cast<std::int64_t>(ir::byte_size(source.type.dtype));
  place->second = Place{file_->add(bytes), bytes, source.layout};
  const Operand touched[] = {source};
  builder.add(std::make_unique<StoreStep>(file_, place->second->offset, bytes, source), touched,
              "store", "own:file");
}

void StoredValues::bring_back(PlanBuilder& builder, ir::NodeId root) const {
  const std::optional<Place>& place = places_.at(from_.at(root));
  EGRET_CHECK(place.has_value(), "a value is stored before it comes back");
  const Operand target = builder.output(root, place->layout);
  const Operand touched[] = {target};
  builder.add(std::make_unique<BringBackStep>(file_, place->offset, place->bytes, target), touched,
              "bring back", "own:file");
}

}  // namespace egret::backends::cpu
