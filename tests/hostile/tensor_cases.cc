// SPDX-License-Identifier: Apache-2.0
#include "tests/frontends/onnx_model.h"
#include "tests/hostile/onnx_cases.h"

namespace egret::hostile {
namespace {

using base::StatusCode;
using frontends::kFloatCode;
using frontends::OnnxModel;

constexpr std::int64_t k2To32 = std::int64_t{1} << 32;

template <typename Fill>
std::string with_weight(int code, const std::vector<std::int64_t>& dims, const Fill& fill) {
  OnnxModel m;
  m.input("x", {1});
  onnx::TensorProto* w = m.initializer("w", code, dims);
  fill(*w);
  m.node("Cast", {"w"}, {"f"}).integer("to", 1);
  m.node("Add", {"x", "f"}, {"y"});
  m.output("y");
  return m.bytes();
}

std::string external(const std::string& location, int offsets = 0) {
  return with_weight(kFloatCode, {1}, [&](onnx::TensorProto& w) {
    w.set_data_location(1);
    auto* entry = w.add_external_data();
    entry->set_key("location");
    entry->set_value(location);
    for (int i = 0; i < offsets; ++i) {
      entry = w.add_external_data();
      entry->set_key("offset");
      entry->set_value(std::to_string(4 * i));
    }
  });
}

const auto kNothing = [](onnx::TensorProto&) {};

auto raw(std::size_t bytes) {
  return [bytes](onnx::TensorProto& w) { w.set_raw_data(std::string(bytes, '\0')); };
}

}  // namespace

std::vector<HostileFile> tensor_cases() {
  const std::string place = "initializer 'w'";
  return {
      {"a negative size", with_weight(kFloatCode, {2, -3}, raw(24)), place},
      {"sizes whose product is 2^64", with_weight(kFloatCode, {k2To32, k2To32}, kNothing), place},
      {"sizes whose product wraps to 4", with_weight(kFloatCode, {k2To32 + 1, k2To32, 4}, raw(16)),
       place},
      {"4 TiB without data", with_weight(kFloatCode, {std::int64_t{1} << 40}, kNothing), place},
      {"32 GiB without data", with_weight(kFloatCode, {std::int64_t{1} << 33}, kNothing), place},
      {"32 GiB of raw data that is 8 bytes",
       with_weight(kFloatCode, {std::int64_t{1} << 33}, raw(8)), place},
      {"a zero among huge sizes, with data", with_weight(kFloatCode, {0, k2To32, k2To32}, raw(4)),
       place},
      {"raw data a byte short", with_weight(kFloatCode, {4}, raw(15)), "has 15 bytes"},
      {"raw data a byte long", with_weight(kFloatCode, {4}, raw(17)), "has 17 bytes"},
      {"too few typed elements",
       with_weight(kFloatCode, {4}, [](onnx::TensorProto& w) { w.add_float_data(1); }),
       "has 1 elements"},
      {"elements in another type's field",
       with_weight(kFloatCode, {1}, [](onnx::TensorProto& w) { w.add_int32_data(1); }), place},
      {"two storage forms",
       with_weight(kFloatCode, {1},
                   [](onnx::TensorProto& w) {
                     w.add_float_data(1);
                     w.set_raw_data(std::string(4, '\0'));
                   }),
       "more than one field"},
      {"300 as a byte", with_weight(2, {1}, [](onnx::TensorProto& w) { w.add_int32_data(300); }),
       "element 0 (300)"},
      {"element type 0", with_weight(0, {1}, raw(4)), place},
      {"element type 999", with_weight(999, {1}, raw(4)), place, StatusCode::kUnsupported},
      {"strings", with_weight(8, {1}, [](onnx::TensorProto& w) { w.add_string_data("text"); }),
       "string", StatusCode::kUnsupported},
      {"a million axes", with_weight(kFloatCode, std::vector<std::int64_t>(1'000'000, 1), raw(4)),
       "1000000 axes"},
      {"an initializer without a name",
       with_weight(kFloatCode, {1}, [](onnx::TensorProto& w) { w.clear_name(); }),
       "an initializer has no name"},
      {"external data with two offsets", external("weights.bin", 2), "'offset' given twice"},
      {"external data of a model without a folder", external("weights.bin"), "'weights.bin'"},
  };
}

}  // namespace egret::hostile
