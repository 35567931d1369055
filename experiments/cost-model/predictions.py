# SPDX-License-Identifier: Apache-2.0
"""Predicted against measured times of programs and of what is written for them, on models of the zoo: the error of the
sum over operators, which chooses graphs, and of the times of kernels, which `optimize` reports.

    PYTHONPATH=experiments .venv/bin/python experiments/cost-model/predictions.py [MODEL...]

Each model is optimized with an empty database of costs. Then the original and the result run in turns in one process. An
interrupted run goes on with the rows that are missing."""
import argparse
import pathlib
import statistics
import tempfile

from lib import egret, models, results

MODELS = ["data:ppocr_cls.onnx", "zoo:squeezenet1.1", "zoo:mobilenet-v2", "zoo:nasrnn", "zoo:llama-block", "zoo:unet",
          "shared:light_squeezenet.onnx", "shared:light_shufflenet.onnx", "shared:light_inception_v1.onnx",
          "zoo:resnet18", "zoo:resnet50", "zoo:alexnet", "zoo:inception-v3", "zoo:bert-base"]
BOUND = {"data:ppocr_cls.onnx": {f"p2o.DynamicDimension.{i}": size for i, size in enumerate((1, 48, 192))}}
COLUMNS = ["model", "operators_ms", "kernels_ms", "measured_ms", "written_operators_ms", "written_kernels_ms",
           "written_measured_ms", "chosen", "egret"]
THREADS = 2


def row_of(path, sizes, folder):
    flags = ["--threads", THREADS, *models.bind_flags(sizes)]
    written = pathlib.Path(folder) / "written.onnx"
    answer = egret.call("optimize", path, "-o", written, "--cost-db", pathlib.Path(folder) / "costs.sqlite", *flags)
    before, after = egret.call("bench", path, written, "--time", "3s", *flags)["models"]
    seconds = {"operators": answer["predicted_before_s"], "kernels": answer["kernels_before_s"],
               "measured": before["median_s"], "written_operators": answer["predicted_after_s"],
               "written_kernels": answer["kernels_after_s"], "written_measured": after["median_s"]}
    return {**{f"{name}_ms": f"{1e3 * value:.4f}" for name, value in seconds.items()}, "chosen": answer["chosen"]}


def errors(rows, kind):
    """Relative to the measured time, of originals and of results."""
    return [abs(float(row[f"{which}{kind}_ms"]) / float(row[f"{which}measured_ms"]) - 1)
            for row in rows for which in ("", "written_")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS, metavar="MODEL")
    arguments = parser.parse_args()
    table = results.Table("cost-model", results.on_this_processor("predictions"), COLUMNS, ["model"], {"threads": THREADS})
    revision = egret.version()
    for name, path, sizes, folder in models.without_row(table, {"models": arguments.models, "bind": BOUND}):
        row = row_of(path, sizes, folder)
        table.add(model=name, **row, egret=revision)
        (folder / "costs.sqlite").unlink()
        print(f"  {name}: original {row['kernels_ms']} predicted, {row['measured_ms']} measured; "
              f"{row['chosen']} {row['written_kernels_ms']} and {row['written_measured_ms']}", flush=True)
    if all(table.has(model=model.split(":", 1)[1]) for model in MODELS):
        table.finish()
    for kind in ("operators", "kernels"):
        wrong = errors(table.rows, kind)
        print(f"error of the prediction by {kind}: median {statistics.median(wrong):.1%}, largest {max(wrong):.1%}")


if __name__ == "__main__":
    main()
