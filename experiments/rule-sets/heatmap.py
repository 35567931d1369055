# SPDX-License-Identifier: Apache-2.0
"""A table of rule, model, count as a picture: rules down, models across, the darker the more."""
import math


def svg(counts, models):
    """counts: {(rule, model): number}. Rules stand in the order of how many models use them."""
    total = {}
    for (rule, _), count in counts.items():
        total.setdefault(rule, []).append(count)
    rules = sorted(total, key=lambda r: (-len(total[r]), -sum(total[r]), r))
    cell, left, top = 14, 260, 130
    width, height = left + cell * len(models) + 10, top + cell * len(rules) + 10
    most = math.log1p(max(counts.values(), default=1))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             f'font-family="sans-serif" font-size="10">', f'<rect width="{width}" height="{height}" fill="white"/>']
    for i, model in enumerate(models):
        x = left + cell * i + 10
        parts.append(f'<text x="{x}" y="{top - 6}" transform="rotate(-60 {x} {top - 6})">{model}</text>')
    for j, rule in enumerate(rules):
        y = top + cell * j
        parts.append(f'<text x="{left - 6}" y="{y + 11}" text-anchor="end">{rule}</text>')
        for i, model in enumerate(models):
            count = counts.get((rule, model), 0)
            shade = 255 - round(215 * math.log1p(count) / most)
            colour = f"rgb({shade},{shade},255)" if count else "rgb(245,245,245)"
            parts.append(f'<rect x="{left + cell * i}" y="{y}" width="{cell - 1}" height="{cell - 1}" fill="{colour}">'
                         f"<title>{rule}, {model}: {count}</title></rect>")
    return "\n".join(parts) + "\n</svg>\n"
