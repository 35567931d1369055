// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/recurrent_body.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "ir/core/size_reference.h"
#include "ir/graph/onnx_arguments.h"

namespace egret::ir {
namespace {

constexpr std::array kExtras = {"bias", "lengths", "initial_h", "initial_c", "peepholes"};
constexpr std::int64_t kMaxSteps = 4096;

// An activation as text is "tanh", or "leaky_relu:0.01" with its parameters.
struct ActivationSpec {
  std::string_view onnx_name;
  std::string_view op;
  int parameters;  // how many of alpha and beta it has
  std::array<double, 2> defaults;
};
constexpr std::array kActivations = {
    ActivationSpec{"Relu", "relu", 0, {}},
    ActivationSpec{"Tanh", "tanh", 0, {}},
    ActivationSpec{"Sigmoid", "sigmoid", 0, {}},
    ActivationSpec{"Softsign", "softsign", 0, {}},
    ActivationSpec{"Softplus", "softplus", 0, {}},
    ActivationSpec{"LeakyRelu", "leaky_relu", 1, {0.01}},
    ActivationSpec{"ThresholdedRelu", "thresholded_relu", 1, {1.0}},
    ActivationSpec{"Elu", "elu", 1, {1.0}},
    ActivationSpec{"HardSigmoid", "hard_sigmoid", 2, {0.2, 0.5}},
    ActivationSpec{"Affine", "affine", 2, {1.0, 0.0}},
    ActivationSpec{"ScaledTanh", "scaled_tanh", 2, {1.0, 1.0}},
};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string joined(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

Value apply_activation(Body& b, const std::string& text, Value x) {
  const std::vector<std::string> parts = split(text, ':');
  const auto spec =
      std::ranges::find(kActivations, parts.empty() ? "" : parts[0], &ActivationSpec::op);
  if (spec == kActivations.end() || static_cast<int>(parts.size()) > 1 + spec->parameters) {
    return b.fail("there is no activation '" + text + "'");
  }
  std::array<double, 2> parameters = spec->defaults;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const char* end = parts[i].data() + parts[i].size();
    if (std::from_chars(parts[i].data(), end, parameters[i - 1]).ptr != end) {
      return b.fail("'" + parts[i] + "' in activation '" + text + "' is no number");
    }
  }
  const auto [alpha, beta] = parameters;
  const DType dtype = b.type(x).dtype;
  if (spec->op == "affine") {
    return b("add", {b("mul", {x, b.scalar(dtype, alpha)}), b.scalar(dtype, beta)});
  }
  if (spec->op == "scaled_tanh") {
    return b("mul", {b("tanh", {b("mul", {x, b.scalar(dtype, beta)})}), b.scalar(dtype, alpha)});
  }
  Attrs attrs;
  if (spec->parameters >= 1) attrs.set("alpha", alpha);
  if (spec->parameters >= 2) attrs.set("beta", beta);
  return b(spec->op, {x}, attrs);
}

Value part(Body& b, Value x, std::int64_t axis, std::int64_t start, std::int64_t size) {
  const Index whole = b.type(x).dims[static_cast<std::size_t>(axis)];
  if (start == 0 && whole.same(size)) return x;
  return b("slice", {x}, {{"axis", axis}, {"start", start}, {"size", size}});
}

// Element i of the first axis, without that axis.
Value element(Body& b, Value x, std::int64_t i) {
  const TensorType type = b.type(x);
  Integers target;
  for (int axis = 1; axis < type.rank(); ++axis) target.push_back(target_of_axis(type, axis));
  const Value one = part(b, x, 0, i, 1);
  for (std::size_t axis = 0; axis < target.size(); ++axis) {
    // The slice is reshaped to one axis less, so axis k of the result is axis k + 1 of the slice.
    if (refers_to_axis(target[axis])) target[axis] = size_of_axis(static_cast<int>(axis) + 1);
  }
  return b("reshape", {one}, {{"shape", target}});
}

// The value with a new first axis of size 1.
Value with_axis(Body& b, Value x, int at = 0) {
  const TensorType type = b.type(x);
  Integers target;
  for (int axis = 0; axis < type.rank(); ++axis) target.push_back(target_of_axis(type, axis));
  target.insert(target.begin() + at, 1);
  return b("reshape", {x}, {{"shape", target}});
}

Value stacked(Body& b, std::span<const Value> parts, std::int64_t axis) {
  return parts.size() == 1 ? parts[0] : b.builder().add("concat", parts, {{"axis", axis}});
}

// The body of a recurrent operator, unrolled over a known number of steps. The product of all
// inputs with the weights is one matmul before the loop (projected()); only the product with the
// state is in it.
class Unrolled {
 public:
  Unrolled(Body& b, const RecurrentCell& cell) : b_(b), cell_(cell) {}

  Value build() {
    if (!read_inputs()) return {};
    std::vector<Value> sequences;
    std::vector<Value> last_h;
    std::vector<Value> last_c;
    for (std::int64_t d = 0; d < directions_; ++d) {
      const bool backwards = direction_ == "reverse" || d == 1;
      const RecurrentState last = run(d, backwards);
      if (!b_.builder().ok()) return {};
      sequences.push_back(with_axis(b_, sequence_, 1));
      last_h.push_back(with_axis(b_, last.h));
      if (cell_.has_cell_state) last_c.push_back(with_axis(b_, last.c));
    }
    const std::string& output = b_.text("output");
    if (output == "y") return stacked(b_, sequences, 1);
    if (output == "y_h") return stacked(b_, last_h, 0);
    if (output == "y_c" && cell_.has_cell_state) return stacked(b_, last_c, 0);
    return b_.fail("there is no output '" + output + "'");
  }

 private:
  bool fail(const std::string& message) {
    b_.fail(message);
    return false;
  }

  bool read_inputs() {
    direction_ = b_.text("direction");
    directions_ = direction_ == "bidirectional" ? 2 : 1;
    if (direction_ != "forward" && direction_ != "reverse" && direction_ != "bidirectional") {
      return fail("direction must be forward, reverse or bidirectional, not " + direction_);
    }
    if (b_.rank(0) != 3 || b_.rank(1) != 3 || b_.rank(2) != 3) {
      return fail("x, w and r must have rank 3");
    }
    const TensorType& x = b_.type(b_.input(0));
    const TensorType& r = b_.type(b_.input(2));
    if (!x.dims[0].is_constant()) {
      return fail("the sequence's length " + to_string(x.dims[0]) +
                  " must be known; bind its symbols (--bind NAME=SIZE)");
    }
    steps_ = x.dims[0].constant();
    if (steps_ < 1 || steps_ > kMaxSteps) {
      return fail("a sequence of " + std::to_string(steps_) + " steps; at most " +
                  std::to_string(kMaxSteps) + " are unrolled");
    }
    if (!r.is_concrete() || r.dims[0].constant() != directions_ || r.dims[2].constant() < 1 ||
        r.dims[1].constant() != cell_.gates * r.dims[2].constant()) {
      return fail("r must be [directions, gates*hidden, hidden], not " + to_string(r));
    }
    hidden_ = r.dims[2].constant();
    return read_extras() && read_activations();
  }

  // The optional inputs in the fixed order of kExtras. The text names those that are present, so
  // that inputs after a missing one keep their meaning.
  bool read_extras() {
    int next = 3;
    std::size_t allowed = 0;
    for (const std::string& name : split(b_.text("extras"), ' ')) {
      while (allowed < kExtras.size() && kExtras[allowed] != name) ++allowed;
      if (allowed == kExtras.size()) return fail("extras name '" + name + "' out of place");
      extras_[allowed++] = b_.input(next++);
    }
    if (next == b_.input_count()) return true;
    return fail("extras name " + std::to_string(next - 3) + " inputs of " +
                std::to_string(b_.input_count() - 3));
  }

  bool read_activations() {
    activations_ = split(b_.text("activations"), ' ');
    if (activations_.size() == cell_.activations.size() * static_cast<std::size_t>(directions_)) {
      return true;
    }
    return fail("there must be " + std::to_string(cell_.activations.size()) +
                " activations a direction");
  }

  Value lengths() const { return extras_[1]; }

  // A row [1, n] of `from` [D, n] with that n, from `start` on.
  Value row(Value from, std::int64_t d, std::int64_t start, std::int64_t size) {
    return part(b_, part(b_, from, 0, d, 1), 1, start, size);
  }

  RecurrentDirection direction(std::int64_t d) {
    const auto count = static_cast<std::ptrdiff_t>(cell_.activations.size());
    RecurrentDirection made(
        b_, hidden_, {activations_.begin() + d * count, activations_.begin() + (d + 1) * count});
    made.r_transposed = b_("transpose", {element(b_, b_.input(2), d)}, {{"perm", Integers{1, 0}}});
    if (extras_[4].valid()) made.peepholes = part(b_, extras_[4], 0, d, 1);
    return made;
  }

  // The sequence's share of all gates, [T, B, G*H], bias included.
  Value projected(Value x, std::int64_t d, RecurrentDirection& made) {
    const Value w = b_("transpose", {element(b_, b_.input(1), d)}, {{"perm", Integers{1, 0}}});
    const Value product = b_("matmul", {x, w});
    if (!extras_[0].valid()) return product;
    const std::int64_t width = cell_.gates * hidden_;
    const Value of_input = row(extras_[0], d, 0, width);
    const Value of_state = row(extras_[0], d, width, width);
    if (cell_.recurrent_bias_apart && cell_.recurrent_bias_apart(b_)) {
      made.recurrent_bias = of_state;
      return b_("add", {product, of_input});
    }
    return b_("add", {product, b_("add", {of_input, of_state})});
  }

  Value reversed_by_length(Value x) {
    return b_("reverse_sequence", {x, lengths()},
              {{"time_axis", std::int64_t{0}}, {"batch_axis", std::int64_t{1}}});
  }

  // Runs direction d, leaves its y [T, B, H] in sequence_ and returns the last state.
  RecurrentState run(std::int64_t d, bool backwards) {
    const bool by_length = backwards && lengths().valid();
    RecurrentDirection made = direction(d);
    const Value x = by_length ? reversed_by_length(b_.input(0)) : b_.input(0);
    const Value shares = projected(x, d, made);
    RecurrentState state;
    if (extras_[2].valid()) state.h = element(b_, extras_[2], d);
    if (extras_[3].valid()) state.c = element(b_, extras_[3], d);
    std::vector<Value> outputs(static_cast<std::size_t>(steps_));
    for (std::int64_t step = 0; step < steps_ && b_.builder().ok(); ++step) {
      // Without lengths a backward direction reads its steps in reverse. With lengths each sequence
      // is reversed within its own length, and the steps run forward over the reversed one.
      const std::int64_t t = backwards && !by_length ? steps_ - 1 - step : step;
      RecurrentState next = cell_.step(made, element(b_, shares, t), state);
      Value y = next.h;
      if (lengths().valid()) {
        const Value running = still_running(step);
        // After a sequence's end its output is 0 and its state stays.
        y = where(running, next.h, {});
        next.h = where(running, next.h, state.h);
        if (next.c.valid()) next.c = where(running, next.c, state.c);
      }
      outputs[static_cast<std::size_t>(t)] = with_axis(b_, y);
      state = next;
    }
    if (!b_.builder().ok()) return {};
    sequence_ = stacked(b_, outputs, 0);
    if (by_length) sequence_ = reversed_by_length(sequence_);
    return state;
  }

  // [B, 1]: whether a sequence has this step.
  Value still_running(std::int64_t step) {
    const Value now = b_.scalar(b_.type(lengths()).dtype, static_cast<double>(step));
    return with_axis(b_, b_("less", {now, lengths()}), 1);
  }

  Value where(Value condition, Value a, Value otherwise) {
    if (!otherwise.valid()) otherwise = b_.scalar(b_.type(a).dtype, 0);
    return b_("where", {condition, a, otherwise});
  }

  Body& b_;
  const RecurrentCell& cell_;
  std::string direction_;
  std::int64_t directions_ = 1;
  std::int64_t steps_ = 0;
  std::int64_t hidden_ = 0;
  std::array<Value, kExtras.size()> extras_{};
  std::vector<std::string> activations_;
  Value sequence_{};
};

// ---- ONNX ----

// ONNX's names, in any case, and its separate lists of parameters as Egret's texts.
base::Result<std::vector<std::string>> imported_activations(const OnnxNode& node,
                                                            const RecurrentCell& cell,
                                                            std::size_t directions) {
  const std::vector<std::string> names = node.texts("activations");
  std::vector<std::string> result;
  if (names.empty()) {
    for (std::size_t d = 0; d < directions; ++d) {
      result.insert(result.end(), cell.activations.begin(), cell.activations.end());
    }
    return result;
  }
  // Parameters are given in the order of the functions that have them.
  std::array<std::vector<double>, 2> given = {node.reals("activation_alpha", {}),
                                              node.reals("activation_beta", {})};
  std::array<std::size_t, 2> used{};
  for (const std::string& name : names) {
    const auto spec = std::ranges::find_if(kActivations, [&](const ActivationSpec& s) {
      return std::ranges::equal(s.onnx_name, name, [](char a, char b) {
        const auto lower = [](char c) {
          return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        };
        return lower(a) == lower(b);
      });
    });
    if (spec == kActivations.end()) return base::unsupported("activation '" + name + "'");
    std::string text(spec->op);
    for (std::size_t i = 0; i < static_cast<std::size_t>(spec->parameters); ++i) {
      const double value = used[i] < given[i].size() ? given[i][used[i]++] : spec->defaults[i];
      text += ":" + to_string(AttrValue(value));
    }
    result.push_back(std::move(text));
  }
  return result;
}

Value permuted(OnnxNode& node, Value x, Integers perm) {
  return node.builder().add("transpose", {x}, {{"perm", std::move(perm)}});
}

// y_h as the last step of each direction of y [T, D, B, H]: saves a second operator.
Value last_steps(OnnxNode& node, Value y, bool bidirectional, bool reverse) {
  GraphBuilder& g = node.builder();
  const std::int64_t last = g.type(y).dims.empty() ? 0 : g.type(y).dims[0].constant() - 1;
  const auto at = [&](std::int64_t step, std::int64_t d) {
    Value one = g.add("slice", {y}, {{"axis", 0}, {"start", step}, {"size", 1}});
    if (bidirectional) one = g.add("slice", {one}, {{"axis", 1}, {"start", d}, {"size", 1}});
    const TensorType& type = g.type(one);
    if (type.rank() != 4) return Value{};
    return g.add("reshape", {one},
                 {{"shape", Integers{1, target_of_axis(type, 2), target_of_axis(type, 3)}}});
  };
  if (!bidirectional) return at(reverse ? 0 : last, 0);
  return g.add("concat", {at(last, 0), at(0, 1)}, {{"axis", 0}});
}

// Whether all sequences have the full length, which makes the input `lengths` redundant.
bool all_full(const OnnxNode& node, std::int64_t time_axis) {
  const auto lengths = node.constant_integers(4);
  const Dims& dims = node.type(node.input(0)).dims;
  const auto axis = static_cast<std::size_t>(time_axis);
  if (!lengths || axis >= dims.size() || !dims[axis].is_constant()) return false;
  return std::ranges::all_of(*lengths, [&](std::int64_t n) { return n == dims[axis].constant(); });
}

OnnxOutputs import(OnnxNode& node, const std::string& name, const RecurrentCell& cell,
                   const std::vector<std::string>& flags) {
  const bool batch_first = node.integer("layout", 0) != 0;
  const std::string direction = node.text("direction", "forward");
  const bool bidirectional = direction == "bidirectional";
  EGRET_ASSIGN_OR_RETURN(const auto activations,
                         imported_activations(node, cell, bidirectional ? 2 : 1));
  std::vector<Value> inputs{node.input(0), node.input(1), node.input(2)};
  if (node.has_attr("hidden_size")) {  // r says it too
    EGRET_ASSIGN_OR_RETURN(const std::int64_t hidden, known_size(node, inputs[2], 2));
    if (hidden != node.integer("hidden_size", hidden)) {
      return base::bad_input("hidden_size is not the last size of r");
    }
  }
  if (batch_first) inputs[0] = permuted(node, inputs[0], {1, 0, 2});
  std::vector<std::string> extras;
  constexpr std::array kAtInput = {3, 4, 5, 6, 7};  // of kExtras
  bool has_lengths = false;
  for (std::size_t i = 0; i < kExtras.size(); ++i) {
    if (kAtInput[i] >= node.input_count() || !node.has_input(kAtInput[i])) continue;
    const bool of_lengths = i == 1;
    if (of_lengths && all_full(node, batch_first ? 1 : 0)) continue;
    has_lengths = has_lengths || of_lengths;
    Value extra = node.input(kAtInput[i]);
    const bool is_state = i == 2 || i == 3;
    if (is_state && batch_first) extra = permuted(node, extra, {1, 0, 2});
    inputs.push_back(extra);
    extras.emplace_back(kExtras[i]);
  }
  Attrs attrs{{"direction", direction},
              {"activations", joined(activations)},
              {"extras", joined(extras)},
              {"clip", node.real("clip", 0)}};
  for (const std::string& flag : flags) attrs.set(flag, node.integer(flag, 0));

  const auto output = [&](const char* which) {
    attrs.set("output", std::string(which));
    return node.builder().add(name, inputs, attrs);
  };
  std::vector<Value> outputs(static_cast<std::size_t>(node.output_count()));
  const Value y = node.has_output(0) || !has_lengths ? output("y") : Value{};
  if (node.has_output(0)) outputs[0] = batch_first ? permuted(node, y, {2, 0, 1, 3}) : y;
  for (std::size_t i = 1; i < outputs.size(); ++i) {
    if (!node.has_output(static_cast<int>(i))) continue;
    outputs[i] = i == 2        ? output("y_c")
                 : has_lengths ? output("y_h")
                               : last_steps(node, y, bidirectional, direction == "reverse");
    if (batch_first) outputs[i] = permuted(node, outputs[i], {1, 0, 2});
  }
  return outputs;
}

// Egret keeps activations as one text, ONNX as a list. Only default activations are written as the
// ONNX operator; a cell with others is written as its body.
base::Status write(OnnxWriter& writer, const RecurrentCell& cell,
                   const std::vector<std::string>& flags) {
  const Attrs& attrs = writer.attrs();
  std::vector<std::string> defaults = cell.activations;
  const std::string& direction = attrs.text("direction");
  if (direction == "bidirectional") {
    defaults.insert(defaults.end(), cell.activations.begin(), cell.activations.end());
  }
  if (attrs.text("activations") != joined(defaults)) {
    return base::unsupported("activations other than the default ones");
  }
  std::vector<OnnxWriter::Attribute> attributes{
      {"hidden_size", writer.input_type(2).dims[2].constant()}, {"direction", direction}};
  if (attrs.real("clip") > 0) attributes.push_back({"clip", attrs.real("clip")});
  for (const std::string& flag : flags) {
    if (attrs.integer(flag) != 0) attributes.push_back({flag, attrs.integer(flag)});
  }
  std::vector<std::string> inputs{writer.input(0), writer.input(1), writer.input(2)};
  const std::vector<std::string> extras = split(attrs.text("extras"), ' ');
  int next = 3;
  for (const char* name : kExtras) {
    const bool given = std::ranges::find(extras, name) != extras.end();
    inputs.push_back(given ? writer.input(next++) : "");
  }
  while (inputs.back().empty()) inputs.pop_back();
  const std::string& output = attrs.text("output");
  writer.emit(cell.onnx_name, std::move(inputs), std::move(attributes), "",
              cell.has_cell_state ? 3 : 2,
              output == "y"     ? 0
              : output == "y_h" ? 1
                                : 2);
  return base::ok();
}

}  // namespace

Value RecurrentDirection::gate(Value gates, int g, int count) const {
  return part(b, gates, 1, g * hidden, count * hidden);
}

Value RecurrentDirection::activated(int k, Value gate) const {
  const double clip = b.real("clip");
  if (clip > 0) gate = b("clip", {gate}, {{"min", -clip}, {"max", clip}});
  return function(k, gate);
}

Value RecurrentDirection::function(int k, Value value) const {
  return apply_activation(b, activations_[static_cast<std::size_t>(k)], value);
}

Value RecurrentDirection::sum(Value a, Value c) const {
  return !a.valid() ? c : !c.valid() ? a : b("add", {a, c});
}

Value RecurrentDirection::scaled(Value a, Value c) const {
  return a.valid() && c.valid() ? b("mul", {a, c}) : Value{};
}

Value RecurrentDirection::state_product(Value h) const {
  return h.valid() ? b("matmul", {h, r_transposed}) : Value{};
}

Operator recurrent_operator(std::string name, std::string doc, RecurrentCell cell,
                            std::vector<std::string> flags) {
  const std::string onnx_name = cell.onnx_name;
  auto build = [cell](Body& b) { return Unrolled(b, cell).build(); };
  auto import_named = [name, cell, flags](OnnxNode& node) {
    return import(node, name, cell, flags);
  };
  auto write_named = [cell, flags](OnnxWriter& writer) { return write(writer, cell, flags); };
  const std::string gates = std::to_string(4 * cell.gates);
  const std::vector<std::string> types{"f32[2,B,3]", "f32[1," + gates + ",3]",
                                       "f32[1," + gates + ",4]"};
  const Attrs shown{{"activations", joined(cell.activations)}};
  Operator op =
      composite(std::move(name), std::move(doc), {"x", "w", "r", "extras"})
          .variadic(0)
          .attr("direction", std::string("forward"), "forward, reverse or bidirectional")
          .attr("activations", AttrKind::kText,
                "functions of each direction, separated by blanks; parameters after "
                "colons: leaky_relu:0.01")
          .attr("extras", std::string(),
                "which of bias, lengths, initial_h, initial_c, peepholes follow r")
          .attr("clip", 0.0, "gates are clipped to [-clip, clip] before activation; 0: not")
          .attr("output", std::string("y"), "y, y_h or y_c")
          .shown_on(types, shown)
          .with_body(std::move(build))
          .onnx_import(onnx_name, std::move(import_named))
          .onnx_export(std::move(write_named), 7);
  for (const std::string& flag : flags) {
    std::move(op).attr(flag, std::int64_t{0}, "as ONNX's attribute of that name");  // in place
  }
  return op;
}

}  // namespace egret::ir
