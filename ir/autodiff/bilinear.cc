// SPDX-License-Identifier: Apache-2.0
#include "ir/autodiff/bilinear.h"

#include <algorithm>

#include "ir/autodiff/tensor_steps.h"

namespace egret::ir::autodiff {
namespace {

// The roles of variables, as in einsum: g in both factors and the result (batch or group), n only
// in the first, o only in the second, c in both factors but not in the result (contracted).
struct Roles {
  std::vector<int> g, n, c, o;
};

Roles roles_of(const Labelled& first, const Labelled& second, std::span<const int> result,
               std::span<const int> spatial) {
  Roles roles;
  for (const int var : united(first.vars, second.vars)) {
    if (contains(spatial, var)) continue;
    if (!first.has(var)) {
      roles.o.push_back(var);
    } else if (!second.has(var)) {
      roles.n.push_back(var);
    } else {
      (contains(result, var) ? roles.g : roles.c).push_back(var);
    }
  }
  return roles;
}

Shape sizes_of(const GraphBuilder& b, const Labelled& x, std::span<const int> vars) {
  const Shape own = shape_of(b, x.value);
  Shape sizes;
  for (const int var : vars) {
    const auto at = static_cast<std::size_t>(std::ranges::find(x.vars, var) - x.vars.begin());
    sizes.push_back(own[at]);
  }
  return sizes;
}

std::int64_t count(const Shape& sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product *= size;
  return product;
}

using Groups = std::vector<std::vector<int>>;

std::vector<int> joined(const Groups& groups) {
  std::vector<int> all;
  for (const auto& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

// x with one axis for each group of variables.
Value grouped(GraphBuilder& b, const Labelled& x, const Groups& groups) {
  const Labelled sorted = permuted(b, x, joined(groups));
  Shape shape;
  for (const auto& group : groups) shape.push_back(count(sizes_of(b, sorted, group)));
  return reshaped(b, sorted.value, shape);
}

void append(Shape& shape, const Shape& more) {
  shape.insert(shape.end(), more.begin(), more.end());
}

std::vector<int> followed_by(std::vector<int> list, const std::vector<int>& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

}  // namespace

// Any contraction of two tensors is one batched matrix product: the axes of each role are merged
// into one axis, and the result is split again.
Labelled product_sum(GraphBuilder& b, const Labelled& first, const Labelled& second,
                     std::span<const int> result) {
  const Roles r = roles_of(first, second, result, {});
  // Without a contracted variable the sum is a broadcast product. Without N and O a matmul would be
  // a vector product per batch: a pointwise product and a sum.
  if (r.c.empty()) return pointwise(b, "mul", first, second);
  if (r.n.empty() && r.o.empty()) return summed(b, pointwise(b, "mul", first, second), result);
  Shape shape = sizes_of(b, first, r.g);
  append(shape, sizes_of(b, first, r.n));
  append(shape, sizes_of(b, second, r.o));
  Groups rows{r.n, r.c};
  Groups columns{r.c, r.o};
  if (!r.g.empty()) {
    rows.insert(rows.begin(), r.g);
    columns.insert(columns.begin(), r.g);
  }
  const Value product = b.add("matmul", {grouped(b, first, rows), grouped(b, second, columns)});
  return {reshaped(b, product, shape), joined({r.g, r.n, r.o})};
}

namespace {

struct Spatial {
  std::vector<int> x, y, w;

  explicit Spatial(std::span<const WindowAxis> axes) {
    for (const WindowAxis& axis : axes) {
      x.push_back(axis.x);
      y.push_back(axis.y);
      w.push_back(axis.w);
    }
  }
  std::vector<int> all() const { return joined({x, y, w}); }
};

// [N, G*A, s..] of a factor with variables n, g, a, s.
Value image(GraphBuilder& b, const Labelled& x, const std::vector<int>& n,
            const std::vector<int>& g, const std::vector<int>& a, const std::vector<int>& spatial) {
  Groups groups{n, followed_by(g, a)};
  for (const int var : spatial) groups.push_back({var});
  return grouped(b, x, groups);
}

// The kernel [G*first, second, w..].
Value kernel(GraphBuilder& b, const Labelled& w, const std::vector<int>& g,
             const std::vector<int>& first, const std::vector<int>& second,
             const std::vector<int>& spatial) {
  Groups groups{followed_by(g, first), second};
  for (const int var : spatial) groups.push_back({var});
  return grouped(b, w, groups);
}

// The result [N, G*O, s..] as labelled by its variables.
Labelled from_image(GraphBuilder& b, Value image, const Labelled& first, const Labelled& second,
                    const Roles& r, const std::vector<int>& spatial) {
  Shape shape = sizes_of(b, first, r.n);
  append(shape, sizes_of(b, first, r.g));
  append(shape, sizes_of(b, second, r.o));
  const Shape sizes = shape_of(b, image);
  shape.insert(shape.end(), sizes.begin() + 2, sizes.end());
  return {reshaped(b, image, shape), joined({r.n, r.g, r.o, spatial})};
}

struct WindowAttrs {
  Integers strides, before, after, dilations;

  Attrs attrs(std::int64_t group) const {
    Integers pads = before;
    pads.insert(pads.end(), after.begin(), after.end());
    return {{"strides", strides}, {"pads", pads}, {"dilations", dilations}, {"group", group}};
  }
};

}  // namespace

// The sum as a convolution of the image x with the kernel w. g, n, c and o become groups, batch,
// input channels and output channels.
std::optional<Labelled> convolved(GraphBuilder& b, const Labelled& x, const Labelled& w,
                                  std::span<const WindowAxis> axes, std::span<const int> result) {
  const Spatial spatial(axes);
  const Roles r = roles_of(x, w, result, spatial.all());
  Value from = image(b, x, r.n, r.g, r.c, spatial.x);
  WindowAttrs attrs;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const WindowAxis& a = axes[i];
    // A negative offset is padding, a positive one skips elements. The windows reach `reached`
    // elements from the start; the part of x that they use is sliced out, the remainder is padding
    // behind.
    const std::int64_t before = std::max<std::int64_t>(0, -a.offset);
    const std::int64_t start = std::max<std::int64_t>(0, a.offset);
    const std::int64_t reached = a.stride * (a.y_size - 1) + a.dilation * (a.w_size - 1) + 1;
    const std::int64_t used = std::min(a.x_size - start, reached - before);
    if (used <= 0) return std::nullopt;
    from = sliced(b, from, static_cast<int>(i) + 2, start, used);
    attrs.strides.push_back(a.stride);
    attrs.dilations.push_back(a.dilation);
    attrs.before.push_back(before);
    attrs.after.push_back(reached - before - used);
  }
  const Value y = b.add("conv", {from, kernel(b, w, r.g, r.o, r.c, spatial.w)},
                        attrs.attrs(count(sizes_of(b, x, r.g))));
  return from_image(b, y, x, w, r, spatial.y);
}

// The adjoint of convolved() with respect to x: a transposed convolution.
std::optional<Labelled> convolved_back(GraphBuilder& b, const Labelled& y, const Labelled& w,
                                       std::span<const WindowAxis> axes,
                                       std::span<const int> result) {
  const Spatial spatial(axes);
  const Roles r = roles_of(y, w, result, spatial.all());
  WindowAttrs attrs;
  for (const WindowAxis& a : axes) {
    const std::int64_t before = std::max<std::int64_t>(0, -a.offset);
    const std::int64_t room = a.x_size - std::max<std::int64_t>(0, a.offset);
    const std::int64_t left = a.stride * (a.y_size - 1) + a.dilation * (a.w_size - 1) + 1 - before;
    if (left <= 0 || room <= 0) return std::nullopt;
    attrs.strides.push_back(a.stride);
    attrs.dilations.push_back(a.dilation);
    attrs.before.push_back(before);
    // Rows that windows reach beyond the image are cut off.
    attrs.after.push_back(std::max<std::int64_t>(0, left - room));
  }
  // The transposed convolution yields the part of x that windows reach (pads crop it); unsliced()
  // below adds the zeros around it.
  Attrs all = attrs.attrs(count(sizes_of(b, y, r.g)));
  all.set("output_padding", Integers(axes.size(), 0));
  Value x = b.add("conv_transpose",
                  {image(b, y, r.n, r.g, r.c, spatial.y), kernel(b, w, r.g, r.c, r.o, spatial.w)},
                  std::move(all));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    x = unsliced(b, x, static_cast<int>(i) + 2, std::max<std::int64_t>(0, axes[i].offset), 1,
                 axes[i].x_size);
  }
  return from_image(b, x, y, w, r, spatial.x);
}

}  // namespace egret::ir::autodiff
