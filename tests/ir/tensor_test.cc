// SPDX-License-Identifier: Apache-2.0
#include "ir/core/tensor.h"

#include <gtest/gtest.h>

namespace egret::ir {
namespace {

// 256 KiB: the hash of its contents is remembered.
Tensor large() { return Tensor::filled({DType::kF32, {256, 256}}, 1); }

TEST(TensorHash, FollowsWhatIsWritten) {
  Tensor tensor = large();
  const base::ContentHash before = tensor.content_hash();
  EXPECT_EQ(tensor.content_hash(), before);
  tensor.set_f64(77, 2);
  const base::ContentHash after = tensor.content_hash();
  EXPECT_NE(after, before);
  tensor.mutable_as<float>()[77] = 1;
  EXPECT_EQ(tensor.content_hash(), before);
  EXPECT_EQ(large().content_hash(), before) << "of another buffer";
}

TEST(TensorHash, OfACopyThatIsWrittenIsItsOwn) {
  const Tensor tensor = large();
  const base::ContentHash before = tensor.content_hash();
  Tensor copy = tensor;
  EXPECT_EQ(copy.content_hash(), before);
  copy.set_f64(0, 5);
  EXPECT_NE(copy.content_hash(), before);
  EXPECT_EQ(tensor.content_hash(), before);
}

TEST(TensorHash, NamesTheShapeToo) {
  const Tensor tensor = large();
  EXPECT_NE(tensor.reshaped(Shape{65536}).content_hash(), tensor.content_hash());
}

TEST(TensorHash, OfBuffersThatAreSharedAndWrittenInTurns) {
  Tensor first = large();
  const base::ContentHash before = first.content_hash();
  {
    Tensor second = first;
    first.set_f64(3, 9);  // a buffer of its own from here on
    EXPECT_EQ(second.content_hash(), before);
    second.set_f64(3, 8);  // the only owner of the old one
    EXPECT_NE(second.content_hash(), before);
    EXPECT_NE(second.content_hash(), first.content_hash());
  }
  first.set_f64(3, 1);
  EXPECT_EQ(first.content_hash(), before);
}

TEST(Tensor, OverMemoryOfSomebodyElseCopiesNothingUntilItIsWritten) {
  const std::shared_ptr<std::byte[]> memory(
      new (std::align_val_t(64)) std::byte[64]{},
      [](std::byte* p) { ::operator delete[](p, std::align_val_t(64)); });
  Tensor tensor = Tensor::over({DType::kF32, {4, 4}}, memory);
  EXPECT_EQ(tensor.data().data(), memory.get());
  tensor.set_f64(3, 7);
  EXPECT_EQ(tensor.f64_at(3), 7);
  EXPECT_EQ(reinterpret_cast<const float*>(memory.get())[3], 0);
}

TEST(Tensor, BorrowsOnlyWholeAlignedVectors) {
  alignas(64) const std::byte memory[192] = {};
  EXPECT_TRUE(Tensor::may_borrow(memory, 128));
  EXPECT_TRUE(Tensor::may_borrow(memory + 16, 64));
  EXPECT_FALSE(Tensor::may_borrow(memory + 4, 64));  // emitted kernels read packs of 16 bytes
  EXPECT_FALSE(Tensor::may_borrow(memory, 100));     // a vector at the end would cross the border
  EXPECT_FALSE(Tensor::may_borrow(memory, 0));
}

}  // namespace
}  // namespace egret::ir
