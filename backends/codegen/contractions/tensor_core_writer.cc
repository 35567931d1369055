// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/contractions/tensor_core_writer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "backends/codegen/text/nest_facts.h"

namespace egret::backends::codegen {
namespace {

constexpr int kChunkBytes = 16;  // of cp.async and of a row of ldmatrix
// Between rows of shared memory: eight neighbouring rows then lie in all banks.
constexpr int kPadBytes = 16;
constexpr int kFragmentRows = 16, kFragmentColumns = 8;
constexpr int kStagedPad = 8;  // sums between rows
// Indices are of 32 bits. Offsets of terms outside of all guards may be beyond the tensor.
constexpr std::int64_t kMostElements = std::numeric_limits<std::int32_t>::max() / 4;
// Operations of one thread that take as long as one product takes on all cores together.
constexpr double kOperationsOfAProduct = 1.0 / 32;

const char* name_of(Fragments fragments) {
  switch (fragments) {
    case Fragments::kNone: break;
    case Fragments::kF16: return "f16";
    case Fragments::kBF16: return "bf16";
    case Fragments::kTF32: return "tf32";
    case Fragments::kS8S8: return "s8_s8";
    case Fragments::kS8U8: return "s8_u8";
    case Fragments::kU8S8: return "u8_s8";
    case Fragments::kU8U8: return "u8_u8";
  }
  return "";
}

// How a stage holds a term.
std::string term_text(Fragments fragments) {
  switch (term_bytes(fragments)) {
    case 2: return "unsigned short";
    case 4: return "float";
    default: return "unsigned char";
  }
}

std::string as_term(Fragments fragments, const std::string& value) {
  switch (fragments) {
    case Fragments::kF16: return "f16_bits(" + value + ")";
    case Fragments::kBF16: return "bf16_bits(" + value + ")";
    case Fragments::kTF32: return "(float)" + value;
    default: return "(unsigned char)" + value;
  }
}

// A read, also behind casts to wider types.
int plain_read(const ir::LoopNest& nest) {
  int id = nest.root;
  while (nest.node(id).op == ir::ExprOp::kCast) {
    const ir::NestNode& cast = nest.node(id);
    const bool widens = cast.is_real()
                            ? cast.cast == ir::DType::kF32 || cast.cast == ir::DType::kF64
                            : ir::byte_size(cast.type) >= 4;
    if (!widens || nest.node(cast.kids[0]).is_real() != cast.is_real()) return -1;
    id = cast.kids[0];
  }
  return nest.node(id).op == ir::ExprOp::kRead ? id : -1;
}

}  // namespace

TensorCoreWriter::TensorCoreWriter(const ContractionForm& form,
                                   std::span<const ir::TensorType> inputs, ir::DType output,
                                   Fragments fragments)
    : form_(form),
      inputs_(inputs.begin(), inputs.end()),
      output_(output),
      fragments_(fragments),
      bytes_(term_bytes(fragments)) {
  const ir::DType sum = form.type == ir::DType::kF64 ? ir::DType::kF32 : form.type;
  inputs_.emplace_back(sum, ir::Shape{1});
  left_ = part(form.left, &form.left.rows, form.rows, 'l');
  right_ = part(form.right, &form.right.columns, form.columns, 'r');
  epilogue_ = part(form.epilogue, nullptr, 1, 'e');
  set_layout(left_);
  set_layout(right_);
}

TensorCoreWriter::Part TensorCoreWriter::part(const ContractionForm::Part& form,
                                              const std::vector<int>* own, std::int64_t count,
                                              char prefix) const {
  Part part;
  part.form = &form;
  part.own = own;
  part.count = count;
  part.prefix = prefix;
  part.packing = std::make_unique<Packing>(form.nest, inputs_, output_, LeastPacks{});
  part.writer = std::make_unique<Writer>(form.nest, *part.packing, schedule_, Target::kCuda,
                                         inputs_, output_);
  return part;
}

bool TensorCoreWriter::is_possible() const {
  for (const ir::TensorType& type : inputs_) {
    if (type.elements() > kMostElements) return false;
  }
  if (form_.batch * form_.rows * form_.columns > kMostElements || form_.depth > kMostElements)
    return false;
  return !form_.has_guards || is_integer(fragments_) ||
         (form_.left.bounds_exclude && form_.right.bounds_exclude);
}

// Whether all chunks of neighbours along `symbol` are contiguous, aligned, and inside of all bounds
// or outside of one.
bool TensorCoreWriter::is_copied_along(const Part& part, int symbol,
                                       const ir::NestNode& read) const {
  const ir::LoopNest& nest = part.form->nest;
  if (nest.extent(symbol) % chunk() != 0 || read.form.factor(symbol) != 1 ||
      read.form.constant % chunk() != 0)
    return false;
  const bool aligned = std::ranges::all_of(read.form.parts, [&](const auto& each) {
    return each.symbol == symbol ||
           (nest.symbol(each.symbol).kind == ir::IndexSymbol::Kind::kVariable &&
            each.factor % chunk() == 0);
  });
  return aligned && std::ranges::all_of(part.form->bounds, [&](int id) {
           return nest.guard(id).form.factor(symbol) == 0;
         });
}

void TensorCoreWriter::set_layout(Part& part) const {
  const ir::LoopNest& nest = part.form->nest;
  const std::vector<int>&own = *part.own, &depth = part.form->depth;
  const int id = plain_read(nest);
  const bool plain = id >= 0 && nest.node(id).checked.empty() &&
                     ir::byte_size(inputs_[static_cast<std::size_t>(nest.node(id).input)].dtype) ==
                         static_cast<std::size_t>(bytes_);
  if (plain && !depth.empty() && is_copied_along(part, depth.back(), nest.node(id))) {
    part.copied = true;
  } else if (plain && bytes_ == 2 && !own.empty() &&
             is_copied_along(part, own.back(), nest.node(id))) {
    part.copied = true;
    part.along_depth = false;
  } else {
    // Neighbouring threads read neighbours in memory.
    const Neighbours found = neighbours_in_memory(*part.form, own);
    part.along_depth = found.along_depth || !found.along_own || bytes_ != 2;
  }
  if (part.copied) part.read = id;
}

int TensorCoreWriter::stride(const Part& part, int size) const {
  return (part.along_depth ? kStageBytes : size * bytes_) + kPadBytes;
}

int TensorCoreWriter::stage_bytes(const Part& part, int size) const {
  return stride(part, size) * (part.along_depth ? size : deep());
}

std::string TensorCoreWriter::inside(const Part& part) const {
  const ir::LoopNest& nest = part.form->nest;
  SymbolNames names;
  for (const auto* symbols : {&part.form->batch, part.own, &part.form->depth}) {
    for (const int symbol : *symbols) names[symbol] = part.prefix + text_of(symbol);
  }
  std::string text;
  for (const int id : part.form->bounds)
    text += " && " + affine_text(nest.guard(id).form, names) + " <= 0";
  return text;
}

// Scopes that bind all variables of a factor, from `batch`, `own` and `k`.
std::vector<TensorCoreWriter::Loop> TensorCoreWriter::digits(const Part& part, double times) const {
  const ir::LoopNest& nest = part.form->nest;
  const std::string prefix(1, part.prefix);
  return {numbered_loop(nest, part.form->batch, prefix, "batch", "{", times, "int"),
          numbered_loop(nest, *part.own, prefix, "own", "{", 1, "int"),
          numbered_loop(nest, part.form->depth, prefix, "k", "{", 1, "int")};
}

// Starts copies of a stage: chunk by chunk, zeros for what is outside.
std::string TensorCoreWriter::copy(const Part& part, int size, const std::string& at) const {
  if (!part.copied) return {};
  const int chunks = size * kStageBytes / kChunkBytes, threads = tiles_.threads();
  const int of_row = part.along_depth ? kStageBytes / kChunkBytes : size / chunk();
  const ir::NestNode& read = part.form->nest.node(part.read);
  std::string text = "EGRET_UNROLL for (int i = 0; i < " + text_of(ceil_div(chunks, threads)) +
                     "; ++i) {\nconst int number = i * " + text_of(threads) + " + thread;\n";
  if (chunks % threads != 0) text += "if (number >= " + text_of(chunks) + ") break;\n";
  const std::string row = "number / " + text_of(of_row);
  const std::string column = "number % " + text_of(of_row) + " * " + text_of(chunk());
  text += std::string("const int own = ") + part.prefix + "_first + " +
          (part.along_depth ? row : column) + ";\n";
  text +=
      "const int k = next * " + text_of(deep()) + " + " + (part.along_depth ? column : row) + ";\n";
  SymbolNames names;
  for (const Loop& loop : digits(part, 1)) {
    for (const std::string& line : loop.lines) text += line + "\n";
    names.insert(loop.symbols.begin(), loop.symbols.end());
  }
  text += "const bool in = own < " + text_of(part.count) + " && k < " + text_of(form_.depth) +
          inside(part) + ";\n";
  const std::string input = "in" + text_of(read.input);
  text += "copy_chunk(" + at + " + (" + row + ") * " + text_of(stride(part, size)) +
          " + number % " + text_of(of_row) + " * " + text_of(kChunkBytes) + ", " + input +
          " + (in ? " + affine_text(read.form, names) + " : 0), in);\n";
  return text + "}\n";
}

// Computes a stage into registers.
std::string TensorCoreWriter::load(Part& part, int size) {
  if (part.copied) return {};
  const int threads = tiles_.threads(), each = size * deep() / threads;
  const std::string held = part.prefix + std::string("_held");
  const int of_row = part.along_depth ? deep() : size;
  const std::string row = "number / " + text_of(of_row), column = "number % " + text_of(of_row);
  // Each block of the other side's tiles computes the factor again.
  const bool is_left = part.prefix == 'l';
  const std::int64_t blocks =
      is_left ? ceil_div(form_.columns, tiles_.columns) : ceil_div(form_.rows, tiles_.rows);
  std::vector<Loop> loops = digits(part, static_cast<double>(form_.batch * blocks * form_.depth) *
                                             static_cast<double>(part.count));
  loops[1].header = "EGRET_UNROLL for (int i = 0; i < " + text_of(each) + "; ++i) {";
  const std::string lines[] = {
      "const int number = i * " + text_of(threads) + " + thread;",
      "const int own = " + std::string(1, part.prefix) + "_first + " +
          (part.along_depth ? row : column) + ";",
      "const int k = next * " + text_of(deep()) + " + " + (part.along_depth ? column : row) + ";",
      held + "[i] = 0;"};
  loops[1].lines.insert(loops[1].lines.begin(), std::begin(lines), std::end(lines));
  Loop guard{.header = "if (own < " + text_of(part.count) + " && k < " + text_of(form_.depth) +
                       inside(part) + ") {",
             .guarded = true};
  // Tiles reach beyond the factor. Only behind the guard are the variables in their ranges, so it
  // binds them, and no read that depends on them is written before it.
  for (Loop* loop : {&loops[1], &loops[2]})
    guard.symbols.insert(guard.symbols.end(), loop->symbols.begin(), loop->symbols.end());
  loops[1].symbols.clear();
  loops[2].symbols.clear();
  loops.push_back(std::move(guard));
  return part.writer->within_loops(loops, [&](const std::string& value) {
    return held + "[i] = " + as_term(fragments_, value) + ";";
  });
}

// Stores what load() computed.
std::string TensorCoreWriter::put(const Part& part, int size, const std::string& at) const {
  if (part.copied) return {};
  const int threads = tiles_.threads(), each = size * deep() / threads;
  const std::string of_row = text_of(part.along_depth ? deep() : size);
  return "EGRET_UNROLL for (int i = 0; i < " + text_of(each) + "; ++i) {\nconst int number = i * " +
         text_of(threads) + " + thread;\n*(" + term_text(fragments_) + "*)(" + at + " + number / " +
         of_row + " * " + text_of(stride(part, size)) + " + number % " + of_row + " * " +
         text_of(bytes_) + ") = " + part.prefix + "_held[i];\n}\n";
}

// Loads the fragments of a warp: of the left factor 16 rows at a time, of the right factor 16
// columns. Four matrices of 8 rows of 16 bytes, of which each thread names one row. The halves of
// the terms come first for columns, and second for rows.
std::string TensorCoreWriter::fragments(const Part& part, int size, int warp_size) const {
  const bool is_left = part.prefix == 'l';
  const std::string name = is_left ? "a" : "b", s = text_of(stride(part, size));
  const std::string own = is_left ? "lane / 8 % 2 * 8" : "lane / 16 * 8";
  const std::string half = is_left ? "lane / 16" : "lane / 8 % 2";
  const std::string first = std::string(is_left ? "warp_m" : "warp_n") + " + i * 16 + " + own;
  std::string address = std::string(is_left ? "l" : "r") + "_stage + ";
  if (part.along_depth) {
    address += "(" + first + " + lane % 8) * " + s + " + step * " + text_of(kFragmentBytes) +
               " + " + half + " * " + text_of(kChunkBytes);
  } else {
    address += "(step * " + text_of(kFragmentBytes / bytes_) + " + " + half +
               " * 8 + lane % 8) * " + s + " + (" + first + ") * " + text_of(bytes_);
  }
  std::string text = "EGRET_UNROLL for (int i = 0; i < " + text_of(warp_size / 16) + "; ++i) ";
  text += std::string(part.along_depth ? "load_matrices(" : "load_transposed(") + name + "[i], " +
          address + ");\n";
  return text;
}

std::string TensorCoreWriter::multiply() const {
  const int mi = tiles_.warp_rows / kFragmentRows, pairs = tiles_.warp_columns / 16;
  std::string text = "EGRET_UNROLL for (int step = 0; step < " +
                     text_of(kStageBytes / kFragmentBytes) + "; ++step) {\n";
  text += "unsigned a[" + text_of(mi) + "][4], b[" + text_of(pairs) + "][4];\n";
  text += fragments(left_, tiles_.rows, tiles_.warp_rows);
  text += fragments(right_, tiles_.columns, tiles_.warp_columns);
  if (fragments_ == Fragments::kTF32) {
    text += "EGRET_UNROLL for (int i = 0; i < " + text_of(mi) + "; ++i) round_to_tf32(a[i]);\n";
    text += "EGRET_UNROLL for (int i = 0; i < " + text_of(pairs) + "; ++i) round_to_tf32(b[i]);\n";
  }
  text += "EGRET_UNROLL for (int i = 0; i < " + text_of(mi) +
          "; ++i) EGRET_UNROLL for (int j = 0; j < " + text_of(2 * pairs) + "; ++j)\n  multiply_" +
          name_of(fragments_) +
          "(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);\n";
  return text + "}\n";
}

// The sum of the terms that no guard excludes, where a zero in the place of the others made it NaN.
std::string TensorCoreWriter::sum_again() {
  std::string text = "if (sum != sum) {\nsum = 0;\nfor (int k = 0; k < " + text_of(form_.depth) +
                     "; ++k) {\nfloat factors[2];\nint present = 0;\n";
  for (Part* part : {&left_, &right_}) {
    std::vector<Loop> loops = digits(*part, 0);
    loops[0].lines.insert(loops[0].lines.begin(),
                          std::string("const int own = ") + (part == &left_ ? "m" : "n") + ";");
    loops.push_back({.header = "if (true" + inside(*part) + ") {", .guarded = true});
    text += part->writer->within_loops(loops, [&](const std::string& value) {
      return "factors[" + text_of(part == &left_ ? 0 : 1) + "] = (float)" + value + "; ++present;";
    });
  }
  return text + "if (present == 2) sum += factors[0] * factors[1];\n}\n}";
}

// Sums of 16 rows of each warp at a time.
std::string TensorCoreWriter::epilogue() {
  const bool integer = is_integer(fragments_);
  const std::string type = integer ? "int" : "float";
  const int stride = tiles_.warp_columns + kStagedPad;
  const std::string s = text_of(stride), width = text_of(tiles_.warp_columns);
  std::string text = type + "* const staged = (" + type + "*)tiles + warp * " +
                     text_of(kFragmentRows * stride) + ";\n";
  text += "EGRET_UNROLL for (int i = 0; i < " + text_of(tiles_.warp_rows / kFragmentRows) +
          "; ++i) {\n__syncwarp();\n";
  text += "EGRET_UNROLL for (int j = 0; j < " + text_of(tiles_.warp_columns / kFragmentColumns) +
          "; ++j) EGRET_UNROLL for (int e = 0; e < 4; ++e)\n  staged[(lane / 4 + e / 2 * 8) * " +
          s + " + j * 8 + lane % 4 * 2 + e % 2] = sums[i][j][e];\n__syncwarp();\n";
  const ir::LoopNest& nest = form_.epilogue.nest;
  const double count = static_cast<double>(form_.rows) * static_cast<double>(form_.columns);
  std::vector<Loop> loops{
      numbered_loop(nest, form_.epilogue.batch, "e", "batch", "{", static_cast<double>(form_.batch),
                    "int"),
      {.header = "for (int at = lane; at < " + text_of(kFragmentRows * tiles_.warp_columns) +
                 "; at += " + text_of(kWarpThreads) + ") {",
       .times = count,
       .lines = {"const int m = l_first + warp_m + i * 16 + at / " + width + ";",
                 "const int n = r_first + warp_n + at % " + width + ";"}},
      {.header = "if (m < " + text_of(form_.rows) + " && n < " + text_of(form_.columns) + ") {"}};
  Loop& inner = loops.back();
  for (const auto& [symbols, flat] :
       {std::pair{&form_.epilogue.rows, "m"}, {&form_.epilogue.columns, "n"}}) {
    Loop own = numbered_loop(nest, *symbols, "e", flat, "", 1, "int");
    inner.lines.insert(inner.lines.end(), own.lines.begin(), own.lines.end());
    inner.symbols.insert(inner.symbols.end(), own.symbols.begin(), own.symbols.end());
  }
  const std::string staged = "staged[at / " + width + " * " + s + " + at % " + width + "]";
  if (integer) {
    inner.lines.push_back("const i64 sum = i64((" + element_type(form_.type) + ")" + staged + ");");
  } else {
    inner.lines.push_back("float sum = " + staged + ";");
    if (form_.has_guards) inner.lines.push_back(sum_again());
  }
  inner.nodes.emplace_back(form_.sum, "sum");
  return text + epilogue_.writer->store_within_loops(loops) + "}\n";
}

TensorCoreWriter::Text TensorCoreWriter::text(const TensorCoreTiles& tiles) {
  tiles_ = tiles;
  const int left_bytes = stage_bytes(left_, tiles.rows);
  const int bytes = left_bytes + stage_bytes(right_, tiles.columns);
  const int staged = tiles.warps() * kFragmentRows * (tiles.warp_columns + kStagedPad) * 4;
  const std::int64_t row_blocks = ceil_div(form_.rows, tiles.rows);
  const std::int64_t column_blocks = ceil_div(form_.columns, tiles.columns);
  const std::string ring = text_of(tiles.stages), ahead = text_of(tiles.stages - 1);
  Text result;
  std::string& body = result.body;
  body = "  __shared__ Chunk memory[" +
         text_of(ceil_div(std::max(tiles.stages * bytes, staged), kChunkBytes)) + "];\n" +
         "  unsigned char* const tiles = (unsigned char*)memory;\n"
         "  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;\n";
  const std::string warps = text_of(tiles.columns / tiles.warp_columns);
  body += "  const int warp_m = warp / " + warps + " * " + text_of(tiles.warp_rows) +
          ", warp_n = warp % " + warps + " * " + text_of(tiles.warp_columns) + ";\n";
  // Blocks that run at the same time share columns.
  body += "  const int l_first = (int)blockIdx.x % " + text_of(row_blocks) + " * " +
          text_of(tiles.rows) + ", r_first = (int)blockIdx.x / " + text_of(row_blocks) + " % " +
          text_of(column_blocks) + " * " + text_of(tiles.columns) + ", batch = (int)blockIdx.x / " +
          text_of(row_blocks * column_blocks) + ";\n";
  body += std::string("  ") + (is_integer(fragments_) ? "int" : "float") + " sums[" +
          text_of(tiles.warp_rows / kFragmentRows) + "][" +
          text_of(tiles.warp_columns / kFragmentColumns) + "][4] = {};\n";
  for (const auto& [part, size] : {std::pair{&left_, tiles.rows}, {&right_, tiles.columns}}) {
    if (!part->copied)
      body += "  " + term_text(fragments_) + " " + part->prefix + "_held[" +
              text_of(size * deep() / tiles.threads()) + "];\n";
  }
  const std::string blocks = text_of(ceil_div(form_.depth, deep()));
  // The first turns only fill the ring.
  body += "for (int block = 1 - " + ring + "; block < " + blocks + "; ++block) {\n";
  body += "if (block >= 0) {\nwait_for_copies<" + text_of(tiles.stages - 2) +
          ">();\n__syncthreads();\n}\n";
  body += "const int next = block + " + ahead + ";\n";
  body += "unsigned char* const l_next = tiles + next % " + ring + " * " + text_of(bytes) +
          ", * const r_next = l_next + " + text_of(left_bytes) + ";\n";
  body += "if (next < " + blocks + ") {\n" + copy(left_, tiles.rows, "l_next") +
          copy(right_, tiles.columns, "r_next") + load(left_, tiles.rows) +
          load(right_, tiles.columns) + "}\ncommit_copies();\n";
  body += "if (block >= 0) {\nconst unsigned char* const l_stage = tiles + block % " + ring +
          " * " + text_of(bytes) + ", * const r_stage = l_stage + " + text_of(left_bytes) + ";\n" +
          multiply() + "}\n";
  if (!left_.copied || !right_.copied) {
    body += "if (next < " + blocks + ") {\n" + put(left_, tiles.rows, "l_next") +
            put(right_, tiles.columns, "r_next") + "}\n";
  }
  body += "}\nwait_for_copies<0>();\n__syncthreads();\n";
  body += epilogue();
  result.blocks = form_.batch * row_blocks * column_blocks;
  result.operations = form_.products() * kOperationsOfAProduct + left_.writer->operations() +
                      right_.writer->operations() + epilogue_.writer->operations();
  return result;
}

}  // namespace egret::backends::codegen
