// SPDX-License-Identifier: Apache-2.0
#include "base/formats/json_stream.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace egret::base {
namespace {

using ErrorCode = boost::system::error_code;

constexpr std::string_view kSpace = " \t\r\n";

}  // namespace

// Puts Boost's parts of strings and numbers together and hands on whole ones. Boost's reals are not
// used because Boost 1.81 reads them only approximately (exact since 1.84).
class JsonStreamReader::Adapter {
 public:
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = max_object_size;
  static constexpr std::size_t max_key_size = max_object_size;
  static constexpr std::size_t max_string_size = max_object_size;

  Adapter(JsonHandler& handler, std::size_t max_string)
      : handler_(handler), max_string_(max_string) {}

  const Status& refusal() const { return refusal_; }

  bool on_document_begin(ErrorCode&) { return true; }
  bool on_document_end(ErrorCode&) { return true; }
  bool on_object_begin(ErrorCode& e) { return pass(handler_.begin_object(), e); }
  bool on_object_end(std::size_t, ErrorCode& e) { return pass(handler_.end_object(), e); }
  bool on_array_begin(ErrorCode& e) { return pass(handler_.begin_array(), e); }
  bool on_array_end(std::size_t, ErrorCode& e) { return pass(handler_.end_array(), e); }
  bool on_key_part(std::string_view part, std::size_t, ErrorCode& e) { return append(part, e); }
  bool on_key(std::string_view part, std::size_t, ErrorCode& e) {
    return append(part, e) && pass(handler_.key(text_), e);
  }
  bool on_string_part(std::string_view part, std::size_t, ErrorCode& e) { return append(part, e); }
  bool on_string(std::string_view part, std::size_t, ErrorCode& e) {
    return append(part, e) && pass(handler_.string(text_), e);
  }
  bool on_number_part(std::string_view part, ErrorCode& e) { return append(part, e); }
  bool on_int64(std::int64_t value, std::string_view, ErrorCode& e) {
    return pass(handler_.integer(value), e);
  }
  bool on_uint64(std::uint64_t value, std::string_view, ErrorCode& e) {
    return pass(handler_.large_integer(value), e);
  }
  bool on_double(double rough, std::string_view part, ErrorCode& e) {
    if (!append(part, e)) return false;
    double value = 0;
    const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    const bool tiny = std::abs(rough) < 1;  // underflow is a zero, overflow is refused
    if (code == std::errc::result_out_of_range && !tiny) {
      return pass(bad_input("the number is too large"), e);
    }
    return pass(handler_.real(value), e);
  }
  bool on_bool(bool value, ErrorCode& e) { return pass(handler_.boolean(value), e); }
  bool on_null(ErrorCode& e) { return pass(handler_.null(), e); }
  bool on_comment_part(std::string_view, ErrorCode&) { return true; }
  bool on_comment(std::string_view, ErrorCode&) { return true; }

 private:
  bool append(std::string_view part, ErrorCode& e) {
    if (part.size() > max_string_ - text_.size()) {
      refusal_ = bad_input("a string of more than " + std::to_string(max_string_) + " bytes");
      return stop(e);
    }
    text_ += part;
    return true;
  }
  // After a whole token.
  bool pass(Status status, ErrorCode& e) {
    text_.clear();
    if (status.ok()) return true;
    refusal_ = std::move(status);
    return stop(e);
  }
  static bool stop(ErrorCode& e) {
    e = boost::json::make_error_code(boost::json::error::syntax);
    return false;
  }

  JsonHandler& handler_;
  std::size_t max_string_;
  std::string text_;  // parts of the string, key or number being read
  Status refusal_;
};

struct JsonStreamReader::Parser {
  static boost::json::parse_options options(std::size_t max_depth) {
    boost::json::parse_options result;
    result.max_depth = max_depth;
    return result;
  }
  Parser(JsonHandler& handler, std::size_t max_depth, std::size_t max_string)
      : parser(options(max_depth), handler, max_string) {}

  boost::json::basic_parser<Adapter> parser;
};

JsonStreamReader::JsonStreamReader(JsonHandler& handler, std::size_t max_depth,
                                   std::size_t max_string)
    : parser_(std::make_unique<Parser>(handler, max_depth, max_string)) {}

JsonStreamReader::~JsonStreamReader() = default;

Status JsonStreamReader::failure(std::string_view piece, std::size_t used,
                                 std::string_view why) const {
  const std::string_view read = piece.substr(0, used);
  const auto lines = static_cast<std::uint64_t>(std::count(read.begin(), read.end(), '\n'));
  const std::size_t newline = read.rfind('\n');
  const std::uint64_t begin = newline == std::string_view::npos ? line_begin_ : byte_ + newline + 1;
  const std::uint64_t at = byte_ + used;
  std::string place = "line " + std::to_string(line_ + lines) + ", column " +
                      std::to_string(at - begin + 1) + " (byte " + std::to_string(at) + ")";
  const Status& refusal = parser_->parser.handler().refusal();
  if (!refusal.ok()) return refusal.at(place);
  return bad_input("malformed JSON at " + place + ": " + std::string(why));
}

Status JsonStreamReader::feed(std::string_view piece) {
  std::size_t used = 0;
  if (!parser_->parser.done()) {
    ErrorCode error;
    used = parser_->parser.write_some(true, piece.data(), piece.size(), error);
    if (error) return failure(piece, used, error.message());
  }
  const std::size_t extra = piece.find_first_not_of(kSpace, used);
  if (used < piece.size() && extra != std::string_view::npos) {
    return failure(piece, extra, "something follows the value");
  }
  line_ += static_cast<std::uint64_t>(std::count(piece.begin(), piece.end(), '\n'));
  if (const std::size_t newline = piece.rfind('\n'); newline != std::string_view::npos) {
    line_begin_ = byte_ + newline + 1;
  }
  byte_ += piece.size();
  return ok();
}

Status JsonStreamReader::finish() {
  if (parser_->parser.done()) return ok();
  ErrorCode error;
  parser_->parser.write_some(false, "", 0, error);
  return error ? failure("", 0, error.message()) : ok();
}

}  // namespace egret::base
