// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/attention_kernel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "backends/cpu/loops/attention_tiles.h"
#include "backends/cpu/loops/exponentials.h"
#include "backends/cpu/loops/parallel_loop.h"
#include "backends/cpu/loops/product_tiles.h"
#include "backends/cpu/plan/epilogue.h"
#include "backends/cpu/plan/onednn.h"
#include "backends/cpu/plan/onednn_call.h"
#include "backends/cpu/plan/reader_layout.h"
#include "backends/cpu/regions/attention_group.h"

namespace egret::backends::cpu {
namespace {

using dnnl::memory;

constexpr std::int64_t kScoresInCache = 64 << 10;  // elements, a quarter of a usual L2 cache
constexpr std::int64_t kLine = 64;                 // bytes
constexpr std::int64_t kTileBlock = 64;            // rows of a block by tiles

std::int64_t padded(std::int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

// The matrices of an operand, one for each batch element; its batch axes may be missing or of size
// 1.
struct Matrices {
  Operand operand;
  ir::Shape batch_strides;  // one a batch axis of the result, in elements; 0: the same matrix
  std::int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0;

  // Decomposes the row-major number of a batch element into its indices, last axis first. An axis
  // that the operand lacks or repeats has stride 0 and adds nothing.
  std::int64_t offset(std::int64_t element, const ir::Shape& batch) const {
    std::int64_t at = 0;
    for (std::size_t i = batch.size(); i-- > 0; element /= batch[i])
      at += element % batch[i] * batch_strides[i];
    return at;
  }
  memory::desc described() const {
    return descriptor({rows, columns}, {{row_stride, column_stride}, 1});
  }
};

Matrices matrices_of(const Operand& operand, std::size_t batch_axes) {
  const ir::Shape shape = operand.shape();
  const ir::Shape& strides = operand.layout.strides;
  const std::size_t rank = shape.size();
  Matrices m{.operand = operand, .batch_strides = ir::Shape(batch_axes, 0)};
  // Reads one axis, counted from the last one. An axis of size 1 gets stride 1, since its own
  // stride may be 0 or arbitrary.
  const auto axis = [&](std::size_t from_end, std::int64_t& size, std::int64_t& stride) {
    if (from_end > rank) {
      size = 1;
      stride = 1;
    } else {
      size = shape[rank - from_end];
      stride = size > 1 ? strides[rank - from_end] : 1;
    }
  };
  axis(1, m.columns, m.column_stride);
  axis(2, m.rows, m.row_stride);
  for (std::size_t i = 0; i < batch_axes && i + 2 < rank; ++i) {
    const std::size_t a = rank - 3 - i;
    m.batch_strides[batch_axes - 1 - i] = shape[a] > 1 ? strides[a] : 0;
  }
  // A single row or column gets the stride of a dense matrix.
  if (m.rows == 1) m.row_stride = m.columns * m.column_stride;
  if (m.columns == 1 && m.rows > 1) m.column_stride = m.row_stride == 1 ? m.rows : 1;
  return m;
}

// The value in place if matrices can be read there; else a row-major copy.
Operand readable(PlanBuilder& builder, ir::NodeId id) {
  const Operand& home = builder.home(id);
  const ir::Shape shape = home.shape();
  // A reorder needs positive strides inside a matrix. A batch axis may have stride 0: offset() then
  // returns the same matrix for each element.
  bool plain = home.layout.block == 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool of_matrix = i + 2 >= shape.size();
    plain = plain && (home.layout.strides[i] > 0 || shape[i] == 1 ||
                      (!of_matrix && home.layout.strides[i] == 0));
  }
  return plain ? home : builder.in_row_major(id);
}

// An operand of the pointwise operators between product and softmax.
struct Addend {
  Matrices matrices;
  bool by_row = false;  // whether it varies over rows of scores
};

// Offsets of a thread's buffers in its part of the scratch space, in bytes.
struct Scratch {
  std::int64_t keys = 0, values = 0, queries = 0, scores = 0, sums = 0, result = 0, library = 0,
               end = 0;
};

// The sizes of the computation, for one batch element.
struct Shape {
  ir::Shape batch;
  std::int64_t rows = 0, depth = 0, columns = 0, width = 0;  // q: rows x depth, v: columns x width
  std::int64_t block = 0;                                    // rows at a time

  std::int64_t elements() const {
    std::int64_t count = 1;
    for (const std::int64_t size : batch) count *= size;
    return count;
  }
};

// What follows the product of queries and keys, for tiles: `addend` counts the addends before it.
struct TileOperation {
  ScoreOperation operation;
  std::size_t addend = 0;
};

// The primitives of one thread. Each thread has its own, because a Call holds the addresses it
// works on.
struct Worker {
  std::vector<Call> pack;            // keys, values
  std::vector<Call> score, product;  // of whole blocks, and of the last one where it is shorter
};

// softmax(q k + addends) v, block by block. For each batch element, k and v are packed once. A
// block of rows of scores is computed, exponentiated and multiplied by v while it lies in the
// cache; the whole matrix of scores never exists. A block has all columns, so that the softmax
// needs no correction from block to block, unlike in FlashAttention (Dao et al., 2022).
class AttentionStep : public Step {
 public:
  Shape shape;
  Matrices q, k, v, y;
  std::vector<Addend> addends;
  Scratch scratch;
  Operand memory;
  std::vector<Worker> workers;            // one a thread; empty: products are computed by tiles
  std::vector<TileOperation> operations;  // of tiles
  int threads = 1;

  std::vector<Operand> operands() const {
    std::vector<Operand> all{q.operand, k.operand, v.operand, y.operand, memory};
    for (const Addend& addend : addends) all.push_back(addend.matrices.operand);
    return all;
  }

  base::Status run(const Addresses& addresses) override {
    const std::int64_t elements = shape.elements();
    // Where threads outnumber batch elements, several threads share one; each packs its own copy.
    // A piece is a range of row blocks of one batch element. There are at least as many pieces as
    // threads, unless an element has too few blocks for that.
    const std::int64_t blocks = (shape.rows + shape.block - 1) / shape.block;
    const std::int64_t parts = std::min(blocks, (threads + elements - 1) / elements);
    std::atomic<int> failed = dnnl_success;
    parallel_for(threads, threads, [&](std::int64_t worker) {
      const std::int64_t pieces = elements * parts;
      // Contiguous ranges of pieces differ in length by at most one.
      for (std::int64_t p = pieces * worker / threads; p < pieces * (worker + 1) / threads; ++p) {
        const auto run = workers.empty() ? &AttentionStep::run_tiles : &AttentionStep::run_piece;
        const int status = (this->*run)(addresses, worker, p / parts, blocks * (p % parts) / parts,
                                        blocks * (p % parts + 1) / parts);
        if (status != dnnl_success) failed = status;
      }
    });
    if (failed != dnnl_success)
      return base::unavailable("oneDNN failed in attention, with code " + std::to_string(failed));
    return base::ok();
  }

 private:
  // The same as run_piece(), by tiles.
  int run_tiles(const Addresses& addresses, std::int64_t worker, std::int64_t element,
                std::int64_t first, std::int64_t last) {
    const auto matrix = [&](const Matrices& m, std::int64_t row) {
      return StridedMatrix{
          addresses.at(m.operand) + m.offset(element, shape.batch) + row * m.row_stride,
          m.row_stride, m.column_stride};
    };
    const AttentionSizes sizes{shape.depth, shape.columns, shape.width};
    float* const own =
        reinterpret_cast<float*>(addresses.at<std::byte>(memory) + worker * scratch.end);
    std::array<ScoreOperation, kMostAttentionNodes> used;
    const std::int64_t end = std::min(shape.rows, last * shape.block);
    for (std::int64_t row = first * shape.block; row < end; row += AttentionSizes::kMostRows) {
      for (std::size_t i = 0; i < operations.size(); ++i) {
        used[i] = operations[i].operation;
        if (used[i].kind == ScoreOperation::Kind::kLinear) continue;
        const Addend& addend = addends[operations[i].addend];
        used[i].row_stride = addend.by_row ? addend.matrices.row_stride : 0;
        used[i].matrix = matrix(addend.matrices, addend.by_row ? row : 0).data;
      }
      attend(sizes, std::min(AttentionSizes::kMostRows, end - row), matrix(q, row), matrix(k, 0),
             matrix(v, 0), {used.data(), operations.size()}, own,
             addresses.at(y.operand) + y.offset(element, shape.batch) + row * y.row_stride,
             y.row_stride);
    }
    return dnnl_success;
  }

  // Blocks [first, last) of one batch element; a dnnl_status_t, as nothing is thrown out of a team.
  int run_piece(const Addresses& addresses, std::int64_t worker, std::int64_t element,
                std::int64_t first, std::int64_t last) {
    Worker& calls = workers[static_cast<std::size_t>(worker)];
    std::byte* const at = addresses.at<std::byte>(memory) + worker * scratch.end;
    const auto place = [&](std::int64_t offset) { return reinterpret_cast<float*>(at + offset); };
    int status = pack(calls.pack[0], addresses, k, element, at + scratch.keys);
    if (status == dnnl_success)
      status = pack(calls.pack[1], addresses, v, element, at + scratch.values);
    const float* const rows = addresses.at(q.operand) + q.offset(element, shape.batch);
    float* const results = addresses.at(y.operand) + y.offset(element, shape.batch);
    for (std::int64_t block = first; block < last && status == dnnl_success; ++block) {
      const std::int64_t row = block * shape.block;
      const std::int64_t count = std::min(shape.block, shape.rows - row);
      // Form 1 is the shorter last block, which has primitives of its own.
      const std::size_t form = count == shape.block ? 0 : 1;
      Call& score = calls.score[form];
      score.set(0, dense_rows(rows + row * q.row_stride, count, place(scratch.queries)));
      score.set(1, at + scratch.keys);
      score.set(2, at + scratch.scores);
      score.set(3, at + scratch.library);
      for (std::size_t i = 0; i < addends.size(); ++i) {
        const Matrices& m = addends[i].matrices;
        score.set(4 + i, addresses.at(m.operand) + m.offset(element, shape.batch) +
                             (addends[i].by_row ? row * m.row_stride : 0));
      }
      status = score.run();
      // exp(score - row maximum), and the row sums. put_rows() divides, after the product.
      for (std::int64_t r = 0; r < count; ++r) {
        float* const scores = place(scratch.scores) + r * shape.columns;
        place(scratch.sums)[r] = exponentials(scores, scores, shape.columns);
      }
      Call& product = calls.product[form];
      product.set(0, at + scratch.scores);
      product.set(1, at + scratch.values);
      product.set(2, at + scratch.result);
      product.set(3, at + scratch.library);
      if (status == dnnl_success) status = product.run();
      // A sum before the division may overflow where the result does not: divided first, then.
      if (status == dnnl_success && !all_finite(place(scratch.result), count * shape.width)) {
        divide_rows(place(scratch.scores), place(scratch.sums), count, shape.columns);
        status = product.run();
      }
      put_rows(place(scratch.result), place(scratch.sums), count, results + row * y.row_stride);
    }
    return status;
  }

  // Reorders the matrix of one batch element into the form that the product primitive chose.
  int pack(Call& call, const Addresses& addresses, const Matrices& m, std::int64_t element,
           std::byte* to) const {
    call.set(0, addresses.at(m.operand) + m.offset(element, shape.batch));
    call.set(1, to);
    return call.run();
  }

  // Rows of q one behind the other: where they lie, or copied.
  const float* dense_rows(const float* from, std::int64_t count, float* copy) const {
    if (q.column_stride == 1 && (q.row_stride == shape.depth || count == 1)) return from;
    for (std::int64_t r = 0; r < count; ++r) {
      const float* const row = from + r * q.row_stride;
      float* const to = copy + r * shape.depth;
      if (q.column_stride == 1) {
        std::memcpy(to, row, static_cast<std::size_t>(shape.depth) * sizeof(float));
      } else {
        for (std::int64_t c = 0; c < shape.depth; ++c) to[c] = row[c * q.column_stride];
      }
    }
    return copy;
  }

  // Dividing the product's rows, of `width` elements, takes fewer divisions than dividing scores.
  void put_rows(const float* from, const float* sums, std::int64_t count, float* to) const {
    for (std::int64_t r = 0; r < count; ++r)
      scaled(from + r * shape.width, 1.0F / sums[r], to + r * y.row_stride, shape.width);
  }
};

class AttentionMaker {
 public:
  AttentionMaker(PlanBuilder& builder, const Group& group)
      : builder_(builder),
        group_(group),
        score_(builder.node(group.anchor())),
        product_(builder.node(group.root())),
        step_(std::make_unique<AttentionStep>()) {}

  base::Status make() {
    // The operators between the product and the softmax become post-operations of the first
    // product.
    Group first = group_;
    first.nodes.resize(first.nodes.size() - 2);
    EGRET_ASSIGN_OR_RETURN(operations_, post_operations(builder_.graph(), first));
    describe_shape();
    find_addends();
    step_->threads = builder_.threads();
    if (!use_tiles()) {
      // Threads divide the batch elements; each primitive runs on one thread.
      const ThreadScope alone(1);
      EGRET_RETURN_IF_ERROR(make_primitives());
    }
    place_output();
    step_->memory = builder_.bytes(step_->scratch.end * builder_.threads());
    const std::vector<Operand> touched = step_->operands();
    builder_.add(std::move(step_), touched, "attention", implementation_);
    return base::ok();
  }

 private:
  void describe_shape() {
    Shape& s = step_->shape;
    const ir::Shape scores = score_.type.shape();
    s.batch = batch_of(product_.type);
    step_->q = matrices_of(readable(builder_, score_.inputs[0]), s.batch.size());
    step_->k = matrices_of(readable(builder_, score_.inputs[1]), s.batch.size());
    step_->v = matrices_of(readable(builder_, product_.inputs[1]), s.batch.size());
    s.rows = scores[scores.size() - 2];
    s.columns = scores.back();
    s.depth = step_->q.columns;
    s.width = step_->v.columns;
    // As many rows, in multiples of 32, as keep the block of scores within kScoresInCache.
    const std::int64_t fit = std::max(kLeastScores, kScoresInCache / s.columns / 32 * 32);
    s.block = std::min(s.rows, fit);
  }

  void find_addends() {
    for (const PostOperation& operation : operations_) {
      if (operation.kind != PostOperation::Kind::kBinary) continue;
      Addend addend{.matrices = matrices_of(builder_.in_row_major(operation.operand),
                                            step_->shape.batch.size())};
      addend.by_row = addend.matrices.rows > 1;
      step_->addends.push_back(std::move(addend));
    }
  }

  // Without AVX-512, tiles are faster than oneDNN's products, which pack their left matrix. With it
  // they were not measured. False where tiles have no counterpart of an operation.
  bool use_tiles() {
    if (tile_functions() == nullptr || has_whole_tiles()) return false;
    using Kind = ScoreOperation::Kind;
    std::size_t next = 0;
    std::vector<TileOperation> operations;
    for (const PostOperation& one : operations_) {
      if (one.kind == PostOperation::Kind::kEltwise) {
        if (one.algorithm != dnnl::algorithm::eltwise_linear) return false;
        operations.push_back({{.kind = Kind::kLinear, .factor = one.alpha, .addend = one.beta}});
        continue;
      }
      const bool adds = one.algorithm == dnnl::algorithm::binary_add;
      if (!adds && one.algorithm != dnnl::algorithm::binary_mul) return false;
      if (step_->addends[next].matrices.columns != step_->shape.columns) return false;
      operations.push_back({{.kind = adds ? Kind::kAdd : Kind::kMultiply}, next++});
    }
    Shape& s = step_->shape;
    s.block = std::min(s.rows, kTileBlock);
    const AttentionSizes sizes{s.depth, s.columns, s.width};
    const std::int64_t elements =
        sizes.scratch_elements(std::min(s.rows, AttentionSizes::kMostRows));
    step_->scratch.end = padded(elements * static_cast<std::int64_t>(sizeof(float)));
    step_->operations = std::move(operations);
    implementation_ = "own:tiles";
    return true;
  }

  // Addends are matched to binary operations by order: find_addends() visits the same list.
  dnnl::post_ops post_ops(std::int64_t rows) const {
    dnnl::post_ops ops;
    std::size_t next = 0;
    for (const PostOperation& operation : operations_) {
      if (operation.kind == PostOperation::Kind::kEltwise) {
        ops.append_eltwise(1.0F, operation.algorithm, operation.alpha, operation.beta);
      } else {
        ops.append_binary(operation.algorithm, addend_descriptor(step_->addends[next++], rows));
      }
    }
    return ops;
  }

  static memory::desc addend_descriptor(const Addend& addend, std::int64_t rows) {
    const ir::Shape shape{addend.by_row ? rows : 1, addend.matrices.columns};
    return descriptor(shape, row_major(shape));
  }

  static memory::desc dense(std::int64_t rows, std::int64_t columns) {
    return descriptor({rows, columns}, row_major({rows, columns}));
  }

  static dnnl::matmul::primitive_desc product_of(const memory::desc& a, const memory::desc& b,
                                                 const memory::desc& to,
                                                 const dnnl::post_ops& ops) {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attr.set_post_ops(ops);
    return {dnnl::matmul::desc(a, b, to), attr, onednn_engine()};
  }

  // Makes the products for a whole block and, where the rows do not divide, for the last one. Both
  // must read the same packed k and v: the descriptors that the first product chooses are given to
  // the second.
  base::Status make_primitives() {
    const Shape& s = step_->shape;
    std::vector<std::int64_t> counts{s.block};
    if (s.rows % s.block != 0) counts.push_back(s.rows % s.block);
    memory::desc keys = any_layout({s.depth, s.columns});
    memory::desc values = any_layout({s.columns, s.width});
    std::vector<dnnl::matmul::primitive_desc> scores, products;
    std::int64_t library = 0;
    for (const std::int64_t count : counts) {  // the full block chooses the packed forms
      scores.push_back(
          product_of(dense(count, s.depth), keys, dense(count, s.columns), post_ops(count)));
      products.push_back(product_of(dense(count, s.columns), values, dense(count, s.width), {}));
      keys = scores[0].weights_desc();
      values = products[0].weights_desc();
      for (const auto& pd : {scores.back(), products.back()}) {
        EGRET_RETURN_IF_ERROR(reject_reference(pd.impl_info_str()));
        library = std::max(library, static_cast<std::int64_t>(pd.scratchpad_desc().get_size()));
      }
    }
    implementation_ = scores[0].impl_info_str();
    const dnnl::reorder::primitive_desc pack_keys(onednn_engine(), step_->k.described(),
                                                  onednn_engine(), keys);
    const dnnl::reorder::primitive_desc pack_values(onednn_engine(), step_->v.described(),
                                                    onednn_engine(), values);
    lay_out_scratch(static_cast<std::int64_t>(keys.get_size()),
                    static_cast<std::int64_t>(values.get_size()), library);
    for (int i = 0; i < builder_.threads(); ++i) {
      Worker& worker = step_->workers.emplace_back();
      worker.pack.emplace_back(dnnl::reorder(pack_keys),
                               arguments(DNNL_ARG_FROM, step_->k.described(), keys));
      worker.pack.emplace_back(dnnl::reorder(pack_values),
                               arguments(DNNL_ARG_FROM, step_->v.described(), values));
      for (std::size_t form = 0; form < counts.size(); ++form) {
        worker.score.push_back(call_of(scores[form], counts[form], true));
        worker.product.push_back(call_of(products[form], counts[form], false));
      }
    }
    return base::ok();
  }

  static std::vector<Call::Argument> arguments(int key, const memory::desc& from,
                                               const memory::desc& to) {
    return {{key, from}, {DNNL_ARG_TO, to}};
  }

  // The order of the arguments is what run_piece() counts on: source, weights, result, scratch,
  // addends.
  Call call_of(const dnnl::matmul::primitive_desc& pd, std::int64_t rows, bool scores) const {
    std::vector<Call::Argument> list{{DNNL_ARG_SRC, pd.src_desc()},
                                     {DNNL_ARG_WEIGHTS, pd.weights_desc()},
                                     {DNNL_ARG_DST, pd.dst_desc()},
                                     {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc()}};
    std::size_t next = 0;
    for (std::size_t i = 0; scores && i < operations_.size(); ++i) {
      if (operations_[i].kind != PostOperation::Kind::kBinary) continue;
      list.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1,
                      addend_descriptor(step_->addends[next++], rows)});
    }
    return {dnnl::matmul(pd), list};
  }

  // Places the buffers of a thread one behind the other, each on its own cache lines.
  void lay_out_scratch(std::int64_t keys, std::int64_t values, std::int64_t library) {
    const Shape& s = step_->shape;
    constexpr auto kElement = static_cast<std::int64_t>(sizeof(float));
    Scratch& at = step_->scratch;
    at.keys = 0;
    at.values = at.keys + padded(keys);
    at.queries = at.values + padded(values);
    at.scores = at.queries + padded(s.block * s.depth * kElement);
    at.sums = at.scores + padded(s.block * s.columns * kElement);
    at.result = at.sums + padded(s.block * kElement);
    at.library = at.result + padded(s.block * s.width * kElement);
    at.end = at.library + padded(library);
  }

  // Writes the value in the layout of its only reader, a transpose, if there is one. Rows are
  // contiguous, as put_rows() writes them.
  void place_output() {
    const ir::NodeId root = group_.root();
    const Layout layout =
        layout_of_transpose(builder_.graph(), root).value_or(row_major(product_.type.shape()));
    step_->y = matrices_of(builder_.output(root, layout), step_->shape.batch.size());
    step_->y.row_stride = layout.strides[layout.strides.size() - 2];
  }

  PlanBuilder& builder_;
  const Group& group_;
  const ir::Node& score_;
  const ir::Node& product_;
  std::vector<PostOperation> operations_;
  std::unique_ptr<AttentionStep> step_;
  std::string implementation_;
};

}  // namespace

base::Status make_attention_kernel(PlanBuilder& builder, const Group& group) {
  for (const ir::NodeId product : {group.anchor(), group.root()}) {
    if (builder.given_form(product) != OperandForm::kF32) return base::unsupported("is in f32");
  }
  return AttentionMaker(builder, group).make();
}

}  // namespace egret::backends::cpu
