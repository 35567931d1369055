// SPDX-License-Identifier: Apache-2.0
#include "base/formats/json_stream.h"

#include <gtest/gtest.h>

#include <string>

#include "base/formats/json.h"

namespace egret::base {
namespace {

// Writes down what it is told, and refuses the string "bad".
class Recorder : public JsonHandler {
 public:
  Status begin_object() override { return note("{"); }
  Status end_object() override { return note("}"); }
  Status begin_array() override { return note("["); }
  Status end_array() override { return note("]"); }
  Status key(std::string_view text) override { return note(std::string(text) + "="); }
  Status string(std::string_view text) override {
    if (text == "bad") return bad_input("a bad string");
    return note("'" + std::string(text) + "'");
  }
  Status integer(std::int64_t value) override { return note(std::to_string(value)); }
  Status large_integer(std::uint64_t value) override { return note(std::to_string(value) + "u"); }
  Status real(double value) override { return note(Json(value).dump()); }
  Status boolean(bool value) override { return note(value ? "true" : "false"); }
  Status null() override { return note("null"); }

  std::string events;

 private:
  Status note(const std::string& event) {
    events += event + " ";
    return ok();
  }
};

// Events, or the message of the failure.
std::string read(std::string_view text, std::size_t piece, std::size_t max_string = 1000) {
  Recorder recorder;
  JsonStreamReader reader(recorder, 8, max_string);
  for (std::size_t at = 0; at < text.size(); at += piece) {
    if (const Status status = reader.feed(text.substr(at, piece)); !status.ok()) {
      return status.message();
    }
  }
  const Status status = reader.finish();
  return status.ok() ? recorder.events : status.message();
}

TEST(JsonStreamReader, GivesTheSameEventsHoweverTheTextIsCut) {
  const std::string text =
      " {\"k\\u00e9y\": [1, -2.5e-1, 18446744073709551615, true, null],\n \"s\": \"a\\n\xc3\xa9\"} "
      "\n";
  const std::string expected =
      "{ k\xc3\xa9y= [ 1 -0.25 18446744073709551615u true null ] s= 'a\n\xc3\xa9' } ";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    EXPECT_EQ(read(text, piece), expected) << piece;
  }
  EXPECT_EQ(read("12", 1), "12 ");
}

TEST(JsonStreamReader, NamesThePlaceOfAnErrorHoweverTheTextIsCut) {
  struct Case {
    std::string text;
    std::string_view place;
    std::string_view what;
  };
  const Case cases[] = {
      {"{\n\"a\": x}", "line 2, column 6 (byte 7)", "syntax error"},
      {"[1, 2]\n[", "line 2, column 1 (byte 7)", "something follows the value"},
      {"[\"ok\",\n  \"bad\"]", "line 2, column 7", "a bad string"},
      {"[1", "line 1, column 3 (byte 2)", "incomplete"},
      {"[[[[[[[[[1", "line 1, column 9", "too deep"},
      {"\"\xff\"", "line 1, column 2", "syntax"},
      {"1e999", "", "too large"},
      {"", "line 1, column 1 (byte 0)", "incomplete"},
  };
  for (const Case& c : cases) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{100}}) {
      const std::string message = read(c.text, piece);
      EXPECT_NE(message.find(c.what), std::string::npos) << c.text << ": " << message;
      EXPECT_NE(message.find(c.place), std::string::npos) << c.text << ": " << message;
    }
  }
}

TEST(JsonStreamReader, BoundsStrings) {
  EXPECT_EQ(read("\"abc\"", 2, 3), "'abc' ");
  EXPECT_NE(read("\"abcd\"", 2, 3).find("more than 3 bytes"), std::string::npos);
  EXPECT_NE(read("{\"abcd\": 1}", 2, 3).find("more than 3 bytes"), std::string::npos);
}

}  // namespace
}  // namespace egret::base
