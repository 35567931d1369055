# SPDX-License-Identifier: Apache-2.0
"""Times on an H200, and the largest error of each model as a share of its bound."""
from lib import plots


def figures():
    rows = plots.table("gpu/nvidia-h200", "latency")
    labels = list(dict.fromkeys((row["model"], row["batch"]) for row in rows))
    time = {(row["model"], row["batch"], row["precision"]): row["device_ms"] for row in rows}
    drawn, axes = plots.figure(height=0.8 + 0.25 * len(labels))
    plots.bars(axes, [f"{model}, batch {batch:.0f}" for model, batch in labels],
               {precision: [time.get((*label, precision)) for label in labels] for precision in ("f32", "bf16")})
    axes.set_xlabel("ms on the device")
    yield "gpu/nvidia-h200/latency", drawn

    rows = plots.table("gpu/nvidia-h200", "models")
    models = list(dict.fromkeys(plots.values_of(rows, "model")))
    share = {(row["model"], row["precision"]): row["max_error"] / row["bound"]
             for row in rows if row["max_error"] and row["bound"]}
    drawn, axes = plots.figure(height=0.8 + 0.17 * len(models))
    precisions = list(dict.fromkeys(plots.values_of(rows, "precision")))
    plots.dots(axes, models, {p: [share.get((model, p)) for model in models] for p in precisions}, log=True)
    axes.set_xlabel("largest error as a share of the bound")
    yield "gpu/nvidia-h200/models", drawn
