// SPDX-License-Identifier: Apache-2.0
#include "frontends/wire/onnx_file.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/stop.h"
#include "base/system/file.h"
#include "base/system/random_access_file.h"
#include "frontends/onnx.pb.h"
#include "frontends/wire/onnx_wire.h"

namespace egret::frontends {
namespace {

constexpr std::int64_t kMaxModelBytes = std::numeric_limits<std::int32_t>::max();
// Of a file, for the check of its wire form, which skips weights, and for the parser.
constexpr std::size_t kWireWindow = 4096;
constexpr int kReadBuffer = 1 << 18;

constexpr std::string_view kBrokenWire = "is no ONNX model: its wire format is broken";

// A file's bytes, front to back, for the parser.
class FileBytes : public google::protobuf::io::CopyingInputStream {
 public:
  explicit FileBytes(const base::RandomAccessFile& file) : file_(file) {}

  // What ended reading before the file's end.
  const base::Status& status() const { return status_; }

  int Read(void* buffer, int size) override {
    if (base::stop_requested()) {
      status_ = base::limit_hit("interrupted while the model was read");
      return -1;
    }
    const auto got = file_.read_at(
        at_, {static_cast<std::byte*>(buffer), static_cast<std::size_t>(std::max(size, 0))});
    if (!got.ok()) {
      status_ = got.status();
      return -1;
    }
    at_ += static_cast<std::int64_t>(*got);
    return static_cast<int>(*got);
  }

 private:
  const base::RandomAccessFile& file_;
  std::int64_t at_ = 0;
  base::Status status_ = base::ok();
};

base::Status check_file_wire(const base::RandomAccessFile& file) {
  std::vector<std::byte> window(kWireWindow);
  const auto read = [&](std::int64_t offset) -> base::Result<std::span<const std::byte>> {
    EGRET_ASSIGN_OR_RETURN(const std::size_t got, file.read_at(offset, window));
    return std::span<const std::byte>(window).first(got);
  };
  return check_model_wire(file.size(), read);
}

// Weights are in memory once, as the parser keeps them: the file is read through a small buffer,
// for the check and again for the parser.
base::Status parse_regular_file(const std::string& path, onnx::ModelProto& model) {
  EGRET_ASSIGN_OR_RETURN(const auto file, base::RandomAccessFile::open(path, kMaxModelBytes));
  if (const auto status = check_file_wire(file); !status.ok()) return status.at(path);
  FileBytes bytes(file);
  google::protobuf::io::CopyingInputStreamAdaptor stream(&bytes, kReadBuffer);
  const bool parsed = model.ParseFromZeroCopyStream(&stream);
  EGRET_RETURN_IF_ERROR(bytes.status());
  return parsed ? base::ok() : base::bad_input(std::string(kBrokenWire)).at(path);
}

}  // namespace

base::Status parse_onnx(std::span<const std::byte> bytes, onnx::ModelProto& model) {
  if (static_cast<std::int64_t>(bytes.size()) > kMaxModelBytes)
    return base::bad_input("is larger than 2 GiB, the limit of ONNX files");
  EGRET_RETURN_IF_ERROR(check_model_wire(bytes));
  if (model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return base::ok();
  return base::bad_input(std::string(kBrokenWire));
}

// Pipes and devices have no places to come back to.
base::Status parse_onnx_file(const std::string& path, onnx::ModelProto& model) {
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) return parse_regular_file(path, model);
  EGRET_ASSIGN_OR_RETURN(const std::string bytes, base::read_file(path, kMaxModelBytes));
  return parse_onnx(std::as_bytes(std::span(bytes)), model).at(path);
}

}  // namespace egret::frontends
