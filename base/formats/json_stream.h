// SPDX-License-Identifier: Apache-2.0
// JSON as a stream, for files too large to hold as a document (base/formats/json.h) and for readers
// that check while they read: events in, text out. Text comes in pieces of any size; memory is that
// of the nesting and of the longest string.
//
// Errors, the reader's own as well as the handler's, name line, column and byte. Text must be UTF-8
// and one value with nothing behind it but white space; the same document is accepted or refused
// however it is cut into pieces. Boost.JSON reads (json_stream.cc).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace egret::base {

// Events in document order. A failure ends reading and is returned with its position; the default
// implementation accepts and ignores everything.
class JsonHandler {
 public:
  virtual ~JsonHandler() = default;

  virtual Status begin_object() { return ok(); }
  virtual Status end_object() { return ok(); }
  virtual Status begin_array() { return ok(); }
  virtual Status end_array() { return ok(); }
  // Of the value that follows. Views are valid during the call.
  virtual Status key(std::string_view) { return ok(); }
  virtual Status string(std::string_view) { return ok(); }
  virtual Status integer(std::int64_t) { return ok(); }
  virtual Status large_integer(std::uint64_t) { return ok(); }  // above the former's range
  virtual Status real(double) { return ok(); }                  // exactly rounded, finite
  virtual Status boolean(bool) { return ok(); }
  virtual Status null() { return ok(); }
};

class JsonStreamReader {
 public:
  // Strings and keys above MAX_STRING bytes are refused, and nesting above MAX_DEPTH.
  explicit JsonStreamReader(JsonHandler& handler, std::size_t max_depth = 64,
                            std::size_t max_string = std::size_t{1} << 30);
  ~JsonStreamReader();

  // The next piece. After a failure nothing more may be fed.
  Status feed(std::string_view piece);
  // The text has ended.
  Status finish();

 private:
  class Adapter;
  struct Parser;

  Status failure(std::string_view piece, std::size_t used, std::string_view why) const;

  std::unique_ptr<Parser> parser_;
  // Where the next piece begins.
  std::uint64_t byte_ = 0;
  std::uint64_t line_ = 1;
  std::uint64_t line_begin_ = 0;
};

// Appends the value as Json(value).dump() writes it, for streaming writers.
void append_json_string(std::string& out, std::string_view text);
void append_json_real(std::string& out, double value);

}  // namespace egret::base
