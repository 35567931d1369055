// SPDX-License-Identifier: Apache-2.0
// The writer's scopes and loops.
#include <algorithm>

#include "backends/codegen/text/writer.h"

namespace egret::backends::codegen {

// A scope inside the current one. `times` multiplies the number of executions, from which the work
// of the kernel is estimated.
Writer::Scope Writer::loop(std::string header, const std::vector<int>& bound, double times) const {
  Scope scope;
  scope.header = std::move(header);
  for (const int symbol : bound) scope.variables |= nest_.symbol(symbol).depends;
  scope.executions = scopes_.back().executions * times;
  scope.divided = scopes_.back().divided;
  scope.packed = scopes_.back().packed;
  return scope;
}

void Writer::open_guarded(const std::string& header) {
  Scope scope = loop(header, {}, 1);
  scope.guarded = true;
  open(std::move(scope));
}

// Emits a scope's header and text into its parent only when the scope closes: until then, hoisted
// lines can still be appended to the parent, in front of it.
void Writer::close_to(std::size_t depth) {
  while (scopes_.size() > depth) {
    const Scope scope = std::move(scopes_.back());
    scopes_.pop_back();
    line(scope.header);
    scopes_.back().text += scope.text;
    line("}");
  }
}

void Writer::line(const std::string& text) {
  scopes_.back().text += std::string(2 * scopes_.size(), ' ') + text + "\n";
}

// The outermost scope that a value may move to: move outward while the scope binds none of its
// variables, and leave a guard only if evaluation is safe without it.
std::size_t Writer::place(ir::VariableSet depends, bool safe) const {
  std::size_t at = scopes_.size() - 1;
  while (at > 0 && (scopes_[at].variables & depends) == 0 && (safe || !scopes_[at].guarded)) --at;
  return at;
}

// Searches from the innermost scope outward: names of closed scopes are gone, so each result is
// visible here.
const std::string* Writer::find(std::map<int, std::string> Scope::*names, int id) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = ((*scope).*names).find(id);
    if (found != ((*scope).*names).end()) return &found->second;
  }
  return nullptr;
}

std::string Writer::declare(const std::string& type, const std::string& value) {
  const std::string name = fresh("v");
  line("const " + type + " " + name + " = " + value + ";");
  return name;
}

std::string Writer::declare(ir::VariableSet depends, const std::string& type,
                            const std::string& value) {
  return is_packed(depends) ? array(depends, type, "v", value) : declare(type, value);
}

void Writer::open_nested(const std::vector<int>& symbols) {
  for (const int symbol : symbols) {
    const std::string name = "i" + std::to_string(symbol);
    const std::int64_t extent = nest_.extent(symbol);
    std::string header = "for (" + index_ + " " + name + " = 0; " + name + " < ";
    header += std::to_string(extent) + "; ++" + name + ") {";
    Scope scope = loop(std::move(header), {symbol}, static_cast<double>(extent));
    scope.symbols[symbol] = name;
    open(std::move(scope));
  }
}

void Writer::open_flat(const std::vector<int>& symbols, const std::string& first,
                       const std::string& stride, const std::string& end, int width) {
  open_flat(symbols, width, [&](const std::string& flat) {
    return "for (" + index_ + " " + flat + " = " + first + "; " + flat + " < " + end + "; " + flat +
           " += " + stride + ") {";
  });
}

// One loop over all symbols. A pack takes `width` neighbors of the last symbol in each turn.
void Writer::open_flat(const std::vector<int>& symbols, int width,
                       const std::function<std::string(const std::string& flat)>& header) {
  const auto name_of = [](int symbol) { return "i" + std::to_string(symbol); };
  const bool is_plain = symbols.size() == 1 && width == 1;
  const std::string flat = is_plain ? name_of(symbols[0]) : fresh("t");
  Scope scope = loop(header(flat), symbols, static_cast<double>(extents(nest_, symbols) / width));
  if (is_plain) scope.symbols[symbols[0]] = flat;
  open(std::move(scope));
  if (is_plain) return;
  // The flat counter in mixed radix: symbol i is flat / below % extent.
  std::int64_t below = 1;
  for (std::size_t i = symbols.size(); i-- > 0;) {
    const bool is_last = i + 1 == symbols.size();
    const std::int64_t extent = nest_.extent(symbols[i]) / (is_last ? width : 1);
    std::string part = below == 1 ? flat : flat + " / " + std::to_string(below);
    if (i > 0) part = (below == 1 ? part : "(" + part + ")") + " % " + std::to_string(extent);
    if (is_last && width > 1) part = "(" + part + ") * " + std::to_string(width);
    const std::string name = name_of(symbols[i]);
    line("const " + index_ + " " + name + " = " + part + ";");
    scopes_.back().symbols[symbols[i]] = name;
    below *= extent;
  }
  if (width > 1) {
    const int last = symbols.back();
    scopes_.back().packed = {last, width, name_of(last)};
    scopes_.back().symbols[last] = scopes_.back().packed.each();
  }
  count(4.0 * static_cast<double>(symbols.size()));
}

// Divides the packs among the takers: taker `own` gets own, own + takers, ..., so that neighboring
// threads access neighboring memory. Where the count is known to divide, the loop becomes a
// condition or a few unrolled turns without a bound check.
void Writer::open_spread(const std::vector<int>& symbols, const std::string& own,
                         std::int64_t takers, std::int64_t packs, int width) {
  constexpr std::int64_t kFewTurns = 4;
  const std::string end = std::to_string(packs), stride = std::to_string(takers);
  open_flat(symbols, width, [&](const std::string& flat) {
    const std::string turn = "const " + index_ + " " + flat + " = " + own;
    if (packs == takers) return "if (" + turn + "; true) {";
    if (packs < takers) return "if (" + turn + "; " + flat + " < " + end + ") {";
    if (packs % takers == 0 && packs / takers <= kFewTurns) {
      const std::string number = fresh("n");
      return "EGRET_UNROLL for (int " + number + " = 0; " + number + " < " +
             std::to_string(packs / takers) + "; ++" + number + ") if (" + turn + " + " + number +
             " * " + stride + "; true) {";
    }
    return "for (" + index_ + " " + flat + " = " + own + "; " + flat + " < " + end + "; " + flat +
           " += " + stride + ") {";
  });
}

void Writer::open_shared(const std::vector<int>& symbols, int width) {
  open_spread(symbols, "(" + index_ + ")threadIdx.x", schedule_.threads,
              extents(nest_, symbols) / width, width);
  scopes_.back().divided = true;
}

// ---- The loops around everything

// The kernel's text. The outermost scope holds what depends on no loop; it becomes the function's
// body.
std::string Writer::body() {
  scopes_.clear();
  open(Scope{});
  if (schedule_.by_rows) {
    write_rows();
  } else {
    write_lanes();
    write_store();
  }
  close_to(1);
  return scopes_.back().text;
}

// By rows, a block of threads (one thread on the host) computes one row at a time: row loops
// around, lanes inside.
void Writer::write_rows() {
  if (target_ == Target::kCuda) {
    open_spread(schedule_.rows, "(" + index_ + ")blockIdx.x", schedule_.blocks,
                schedule_.row_count / schedule_.row_width, schedule_.row_width);
  } else {
    open_flat(schedule_.rows, "(" + index_ + ")low", "1", "(" + index_ + ")high");
  }
  if (target_ == Target::kHost) {
    open_nested(schedule_.lanes);
  } else if (!schedule_.lanes.empty()) {
    open_shared(schedule_.lanes, schedule_.lane_width);
  }
  write_store();
}

// By lanes, every thread computes elements of its own; the host divides [low, high) among its
// threads.
void Writer::write_lanes() {
  if (target_ == Target::kHost) {
    open_flat(schedule_.lanes, "(" + index_ + ")low", "1", "(" + index_ + ")high");
  } else {
    const std::int64_t threads = schedule_.threads;
    open_spread(schedule_.lanes,
                "(" + index_ + ")blockIdx.x * " + std::to_string(threads) + " + threadIdx.x",
                schedule_.blocks * threads, schedule_.lane_count / schedule_.lane_width,
                schedule_.lane_width);
    scopes_.back().divided = true;
  }
}

void Writer::write_store() {
  const std::string element = stored_value();
  const bool one_thread = target_ == Target::kCuda && schedule_.by_rows && schedule_.lanes.empty();
  const std::string who = one_thread ? "if (threadIdx.x == 0) " : "";
  if (scopes_.back().packed.symbol >= 0) return store_pack(who, element);
  line(who + "out[" + form(nest_.output) + "] = " + element + ";");
}

std::string Writer::stored_value() {
  // The store rounds to the output type: skip an equal rounding before it.
  const ir::NestNode& root = nest_.node(nest_.root);
  const bool rounded = root.op == ir::ExprOp::kCast && root.cast == output_ && root.is_real() &&
                       nest_.node(root.kids[0]).is_real() &&
                       (output_ == ir::DType::kF16 || output_ == ir::DType::kBF16);
  const std::string result = value(rounded ? root.kids[0] : nest_.root);
  std::string element = "(" + element_type(output_) + ")" + result;
  if (output_ == ir::DType::kF16) element = "f16_bits(" + result + ")";
  if (output_ == ir::DType::kBF16) element = "bf16_bits(" + result + ")";
  if (output_ == ir::DType::kBool) element = result + " != 0";
  count(2);
  return element;
}

// ---- Loops of a caller

void Writer::open_given(std::span<const GivenLoop> loops) {
  scopes_.clear();
  open(Scope{});
  for (const GivenLoop& given : loops) {
    Scope scope = loop(given.header, {}, given.times);
    for (const auto& [symbol, text] : given.symbols) {
      scope.symbols[symbol] = text;
      scope.variables |= nest_.symbol(symbol).depends;
    }
    for (const auto& [node, text] : given.nodes) scope.nodes[node] = text;
    scope.guarded = given.guarded;
    open(std::move(scope));
    for (const std::string& text : given.lines) line(text);
  }
}

std::string Writer::within_loops(
    std::span<const GivenLoop> loops,
    const std::function<std::string(const std::string& value)>& store) {
  open_given(loops);
  const std::string result = value(nest_.root);
  line(store(result));
  close_to(1);
  return scopes_.back().text;
}

std::string Writer::store_within_loops(std::span<const GivenLoop> loops) {
  open_given(loops);
  write_store();
  close_to(1);
  return scopes_.back().text;
}

}  // namespace egret::backends::codegen
