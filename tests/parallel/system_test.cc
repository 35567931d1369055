// SPDX-License-Identifier: Apache-2.0
#include "parallel/system/system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parallel/system/host.h"

namespace egret::parallel {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kSmall = R"(name = "small"
[accelerator]
name = "a"
memory_bytes = 1e9
bytes_per_second = 1e11
peak = {f32 = 1e12}
[[tier]]
name = "links"
devices = 4
bytes_per_second = 1e10
)";

std::string error_of(std::string text, const std::string& from = "", const std::string& to = "") {
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  const auto system = parse_system(text, "m.toml");
  return system.ok() ? "" : std::string(system.status().message());
}

System preset(const std::string& name) { return system_called(name).value(); }

TEST(SystemFile, SmallestFileParses) {
  const auto system = parse_system(kSmall, "m.toml");
  ASSERT_TRUE(system.ok()) << system.status().message();
  EXPECT_EQ(system->name, "small");
  EXPECT_EQ(system->accelerator.peak(Precision::kF32), 1e12);
  EXPECT_EQ(system->fabric.tiers.size(), 1U);
}

TEST(SystemFile, ErrorsNameTheFileTheLineAndTheKey) {
  EXPECT_THAT(error_of(kSmall, "memory_bytes", "memory_byte"),
              AllOf(HasSubstr("m.toml:4"), HasSubstr("memory_byte"), HasSubstr("the keys are")));
  EXPECT_THAT(error_of(kSmall, "1e11", "\"100 GB/s\""),
              AllOf(HasSubstr("m.toml:5"), HasSubstr("accelerator.bytes_per_second")));
  EXPECT_THAT(error_of(kSmall, "bytes_per_second = 1e10", "bytes_per_secondd = 1e10"),
              AllOf(HasSubstr("m.toml:"), HasSubstr("[0]"), HasSubstr("bytes_per_secondd")));
  EXPECT_THAT(error_of("name = ", "", ""), HasSubstr("m.toml:1"));
}

TEST(SystemFile, NumbersInOtherUnitsAreRejected) {
  // 100 GB/s as 100, and microseconds as 20.
  EXPECT_THAT(error_of(kSmall, "1e11", "100"), HasSubstr("bytes per second"));
  EXPECT_THAT(error_of(kSmall, "f32 = 1e12", "f32 = 312"), HasSubstr("operations per second"));
  EXPECT_THAT(error_of(kSmall, "memory_bytes = 1e9", "memory_bytes = 80"), HasSubstr("bytes"));
  EXPECT_THAT(error_of(std::string(kSmall) + "start_s = 20\n"), HasSubstr("seconds"));
}

constexpr const char* kHost = R"([host]
memory_bytes = 1e11
to_device_bytes_per_second = 1e10
from_device_bytes_per_second = 2e10
)";

TEST(SystemFile, AHostIsOptionalAndIsChecked) {
  const std::string text = std::string(kSmall) + kHost;
  const auto hosted = parse_hosted_system(text, "m.toml");
  ASSERT_TRUE(hosted.ok()) << hosted.status().message();
  ASSERT_TRUE(hosted->host.has_value());
  EXPECT_EQ(hosted->host->from_device_bytes_per_second, 2e10);
  EXPECT_EQ(hosted->host->disk_bytes, 0);
  EXPECT_FALSE(parse_hosted_system(kSmall, "m.toml")->host.has_value());
  EXPECT_TRUE(parse_system(text, "m.toml").ok());
  EXPECT_THAT(error_of(text, "to_device_bytes_per_second", "to_devices"), HasSubstr("to_devices"));
  EXPECT_THAT(error_of(text, "memory_bytes = 1e11\n", ""), HasSubstr("memory_bytes is missing"));
  EXPECT_THAT(error_of(text + "disk_bytes = 1e12\n"), HasSubstr("disk_read_bytes_per_second"));
  EXPECT_THAT(error_of(text, "1e10\nfrom", "10\nfrom"), HasSubstr("bytes per second"));
}

TEST(SystemFile, MissingFieldsAreErrors) {
  EXPECT_THAT(error_of(kSmall, "memory_bytes = 1e9\n", ""), HasSubstr("memory_bytes is missing"));
  EXPECT_THAT(error_of(kSmall, "peak = {f32 = 1e12}\n", ""), HasSubstr("peak is missing"));
  EXPECT_THAT(error_of(kSmall, "name = \"a\"\n", ""), HasSubstr("name is missing"));
  EXPECT_THAT(error_of(kSmall, "name = \"small\"\n", ""), HasSubstr("name is missing"));
  EXPECT_THAT(error_of(kSmall, "devices = 4\n", ""), HasSubstr("devices is missing"));
  const std::string text(kSmall);
  EXPECT_THAT(error_of(text.substr(0, text.find("[[tier]]"))), HasSubstr("[[tier]]"));
}

TEST(SystemFile, TiersContainThoseBelow) {
  const auto with = [](const std::string& devices) {
    return std::string(kSmall) +
           "[[tier]]\nname = \"net\"\nbytes_per_second = 1e9\ndevices = " + devices + "\n";
  };
  EXPECT_EQ(error_of(with("8")), "");
  EXPECT_EQ(error_of(with("0")), "");
  EXPECT_THAT(error_of(with("6")), HasSubstr("multiple"));
  EXPECT_THAT(error_of(with("4")), HasSubstr("multiple"));
}

TEST(SystemFile, TopologiesAreChecked) {
  const std::string text(kSmall);
  EXPECT_EQ(error_of(text + "topology = {kind = \"torus\", dims = [2, 2]}\n"), "");
  EXPECT_THAT(error_of(text + "topology = {kind = \"torus\"}\n"), HasSubstr("dims is missing"));
  EXPECT_THAT(error_of(text + "topology = {kind = \"torus\", dims = [2, 3]}\n"),
              HasSubstr("product"));
  EXPECT_THAT(error_of(text + "topology = {kind = \"star\"}\n"), HasSubstr("fat-tree"));
  EXPECT_THAT(error_of(text + "topology = {kind = \"switch\", oversubscription = 0.5}\n"),
              HasSubstr("at least 1"));
  EXPECT_THAT(error_of(text + "shares = [[1, 0.5]]\n"), HasSubstr("pairs"));
}

// Larger ones would leave 64 bits in products.
TEST(SystemFile, CountsHaveBounds) {
  const std::string text(kSmall);
  EXPECT_THAT(error_of(kSmall, "devices = 4", "devices = 9223372036854775807"),
              HasSubstr("at most 1000000000"));
  EXPECT_THAT(error_of(text + "topology = {kind = \"torus\", dims = [3037000500, 3037000500]}\n"),
              HasSubstr("at most 1000000000"));
  EXPECT_THAT(error_of(text + "topology = {kind = \"torus\", dims = [65536, 65536, 65536]}\n"),
              HasSubstr("product"));
  EXPECT_THAT(error_of(text + "topology = {kind = \"rail\", leaf = 4611686018427387904}\n"),
              HasSubstr("at most 1000000000"));
  EXPECT_THAT(error_of(kSmall, "memory_bytes = 1e9", "memory_bytes = 1e9\nreserved_bytes = 1e9"),
              HasSubstr("less than memory_bytes"));
}

TEST(SystemFile, KnowsHowManyDevicesThereAre) {
  const auto devices = [](const std::string& text) {
    return parse_system(text, "m.toml").value().devices();
  };
  const std::string small(kSmall);
  EXPECT_EQ(devices(small), 4);
  EXPECT_EQ(devices(small + "[[tier]]\nname = \"net\"\nbytes_per_second = 1e9\ndevices = 0\n"), 0);
  std::string torus = small + "topology = {kind = \"torus\", dims = [3, 4, 5]}\n";
  torus.replace(torus.find("devices = 4"), 11, "devices = 0");
  EXPECT_EQ(devices(torus), 60);
  std::string pools = small;
  pools.replace(pools.find("[accelerator]"), 13, "[[accelerator]]\ndevices = 3");
  EXPECT_EQ(devices(pools), 3);
  EXPECT_EQ(preset("tpu-v4").devices(), 4096);
  EXPECT_EQ(preset("dgx-a100").devices(), 0);
}

TEST(SystemFile, RefusesStepsThatItCannotRun) {
  const System small = parse_system(kSmall, "m.toml").value();
  const auto error = [](const System& system, std::int64_t count, Precision precision) {
    return std::string(system.check(count, precision).message());
  };
  EXPECT_EQ(error(small, 4, Precision::kF16), "");  // computed as f32
  EXPECT_THAT(error(small, 5, Precision::kF16), HasSubstr("needs 5 devices, and small has 4"));
  std::string text(kSmall);
  text.replace(text.find("f32"), 3, "bf16");
  const System narrow = parse_system(text, "m.toml").value();
  EXPECT_EQ(error(narrow, 4, Precision::kFp8), "");
  EXPECT_THAT(error(narrow, 4, Precision::kF32), HasSubstr("no peak for --train-precision f32"));
}

TEST(SystemFile, DevicesMayDiffer) {
  constexpr const char* kMixed = R"(name = "mixed"
[[accelerator]]
name = "fast"
devices = 8
memory_bytes = 8e10
bytes_per_second = 2e12
peak = {f32 = 2e13, f16 = 3e14}
[[accelerator]]
name = "slow"
memory_bytes = 1.6e10
bytes_per_second = 9e11
peak = {f32 = 1.5e13, f16 = 1.2e14}
[[tier]]
name = "links"
devices = 0
bytes_per_second = 1e10
)";
  const auto system = parse_system(kMixed, "m.toml");
  ASSERT_TRUE(system.ok()) << system.status().message();
  EXPECT_EQ(system->seen_by(0, 8).accelerator.name, "fast");
  EXPECT_EQ(system->seen_by(8, 8).accelerator.name, "slow");
  EXPECT_EQ(system->seen_by(0, 16).accelerator.name, "slow");
  EXPECT_EQ(system->seen_by(100, 4).accelerator.name, "slow");
  EXPECT_THAT(error_of(kMixed, "devices = 8\n", ""), HasSubstr("[0]: devices is missing"));
}

TEST(SystemFile, MeasuredLayersNeedTheirSizesAndOneKindOfDevice) {
  const std::string layer = R"([[measured_layer]]
hidden = 1024
heads = 16
sequence-length = 512
tp = 2
micro-batch = 4
recompute = "full"
seconds = 3e-3
)";
  const auto system = parse_system(kSmall + layer, "m.toml");
  ASSERT_TRUE(system.ok()) << system.status().message();
  ASSERT_EQ(system->measured_layers.size(), 1U);
  EXPECT_EQ(system->measured_layers[0].tensor, 2);
  EXPECT_EQ(system->measured_layers[0].recompute, "full");
  EXPECT_EQ(system->measured_layers[0].seconds, 3e-3);
  EXPECT_THAT(error_of(kSmall + layer, "tp = 2\n"), HasSubstr("tp is missing"));
  EXPECT_THAT(error_of(kSmall + layer, "\"full\"", "\"all\""),
              HasSubstr("none, selective or full"));
  EXPECT_THAT(error_of(kSmall + layer, "3e-3", "3000"), HasSubstr("seconds"));
  std::string mixed = kSmall + layer;
  mixed.replace(mixed.find("[accelerator]"), 13, "[[accelerator]]\ndevices = 1");
  mixed += R"([[accelerator]]
name = "b"
memory_bytes = 1e9
bytes_per_second = 1e11
peak = {f32 = 1e12}
)";
  EXPECT_THAT(error_of(mixed), HasSubstr("one kind of accelerator"));
}

TEST(SystemPresets, AllParseAndHaveTheNameOfTheirFile) {
  EXPECT_GE(system_presets().size(), 13U);
  for (const SystemPreset& each : system_presets()) {
    const auto system = parse_system(each.toml, each.name);
    ASSERT_TRUE(system.ok()) << system.status().message();
    EXPECT_EQ(system->name, each.name);
  }
  EXPECT_THAT(std::string(system_called("dgx-a10").status().message()), HasSubstr("dgx-a100"));
}

// NVIDIA's and AMD's data sheets, and the papers on TPU v4 and on Llama 3.
TEST(SystemPresets, HaveTheFiguresOfDataSheets) {
  struct Row {
    const char* name;
    double bf16, memory_gb, memory_tb_s, link_gb_s, adapter_gbit_s;
  };
  for (const Row& row : {Row{"dgx-a100", 312e12, 85.9, 2.039, 300, 200},
                         {"dgx-h100", 989.4e12, 85.9, 3.35, 450, 400},
                         {"hgx-h200", 989.4e12, 141, 4.8, 450, 400},
                         {"dgx-b200", 2.25e15, 180, 8, 900, 400},
                         {"gb200-nvl72", 2.5e15, 186, 8, 900, 400},
                         {"rail-100k", 989.4e12, 85.9, 3.35, 450, 400}}) {
    const System system = preset(row.name);
    EXPECT_NEAR(system.accelerator.peak(Precision::kBf16), row.bf16, row.bf16 * 1e-3) << row.name;
    EXPECT_NEAR(system.accelerator.memory_bytes / 1e9, row.memory_gb, 0.1) << row.name;
    EXPECT_NEAR(system.accelerator.bytes_per_second / 1e12, row.memory_tb_s, 1e-3) << row.name;
    EXPECT_NEAR(system.fabric.tiers[0].bytes_per_second / 1e9, row.link_gb_s, 1e-3) << row.name;
    EXPECT_NEAR(system.fabric.tiers[1].bytes_per_second * 8 / 1e9, row.adapter_gbit_s, 1e-3)
        << row.name;
  }
  EXPECT_EQ(preset("gb200-nvl72").fabric.tiers[0].devices, 72);
  const Tier infinity = preset("mi300x").fabric.tiers[0];
  EXPECT_NEAR(infinity.bytes_per_second * infinity.topology.ring_links(8), 448e9, 1);
  const Tier ici = preset("tpu-v4").fabric.tiers[0];
  EXPECT_NEAR(ici.bytes_per_second * ici.topology.ring_links(4096), 300e9, 1);
}

TEST(Precisions, UnsupportedOnesUseTheNextWider) {
  const Accelerator v100 = preset("v100-quad").accelerator;
  EXPECT_EQ(v100.peak(Precision::kFp8), 125e12);
  EXPECT_EQ(v100.peak(Precision::kTf32), 15.7e12);
  EXPECT_EQ(bytes_of(Precision::kFp4), 0.5);
}

TEST(Accelerator, LargeProductsReachTheirEfficiencyAndSmallOnesDoNot) {
  const Accelerator a100 = preset("dgx-a100").accelerator;
  const auto reached = [&](double n) {
    const double seconds = a100.matmul_seconds(1, n, n, n, Precision::kBf16);
    return 2 * n * n * n / seconds / a100.peak(Precision::kBf16);
  };
  EXPECT_GT(reached(16384), 0.9 * a100.matmul_efficiency);
  EXPECT_LE(reached(16384), a100.matmul_efficiency);
  EXPECT_LT(reached(256), 0.1);
}

TEST(Accelerator, NarrowProductsHaveAnEfficiencyOfTheirOwn) {
  Accelerator device;
  device.peak_flops_per_second = {1e14, 1e14, 1e14, 1e14, 2e14, 0};
  device.bytes_per_second = 1e20;
  device.matmul_efficiency = 0.9;
  device.narrow_efficiency = 0.5;
  const auto rate = [&](Precision precision) {
    return 2 * std::pow(16384, 3) / device.matmul_seconds(1, 16384, 16384, 16384, precision);
  };
  EXPECT_NEAR(rate(Precision::kFp8) / rate(Precision::kBf16), 2 * 0.5, 1e-9);
  EXPECT_EQ(device.product_efficiency(Precision::kBf16), 0.9);
  EXPECT_EQ(device.product_efficiency(Precision::kFp4), 0.45) << "computed as fp8";
  device.peak_flops_per_second[4] = 0;
  EXPECT_EQ(device.product_efficiency(Precision::kFp8), 0.9) << "computed as bf16";
}

TEST(Accelerator, TheLastWaveCosts) {
  const Accelerator a100 = preset("dgx-a100").accelerator;
  // 108 tiles of 256 x 128 fill the device; one row of tiles more needs a second wave.
  const double full = a100.matmul_seconds(1, 9 * 256, 12 * 128, 4096, Precision::kF16);
  const double more = a100.matmul_seconds(1, 9 * 256 + 1, 12 * 128, 4096, Precision::kF16);
  EXPECT_GT(more, 1.1 * full);
}

TEST(Accelerator, OddRowsAreSlower) {
  const Accelerator a100 = preset("dgx-a100").accelerator;
  EXPECT_GT(a100.matmul_seconds(1, 1024, 50257, 1024, Precision::kF16),
            2 * a100.matmul_seconds(1, 1024, 50304, 1024, Precision::kF16));
}

TEST(Accelerator, ProductsAreNeverFasterThanTheirBytes) {
  const Accelerator a100 = preset("dgx-a100").accelerator;
  // A vector times a matrix reads the matrix.
  const double bytes = 2.0 * 8192 * 8192;
  EXPECT_GE(a100.matmul_seconds(1, 1, 8192, 8192, Precision::kF16), bytes / a100.bytes_per_second);
}

}  // namespace
}  // namespace egret::parallel
