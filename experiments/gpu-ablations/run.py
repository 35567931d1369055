# SPDX-License-Identifier: Apache-2.0
"""What the searches of TASO, TENSAT and PET gain on today's GPU: their models, each as built and as they would rewrite it.

The gains of the papers, on their devices over the engines of their day, stand beside. Without a GPU nothing is
measured, and the experiment says why. $EGRET_EXPERIMENT_SECONDS limits a run; the same command goes on.
"""
import pathlib
import statistics
import sys
import tempfile

from lib import egret, gpu, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["model", "batch", "way", "operators_before", "operators_after", "original_ms", "optimized_ms", "speedup",
           "paper_speedup", "optimize_s", "check_error", "check_bound", "revision"]


def row_of(original, way, precision, seconds, folder):
    optimized = pathlib.Path(folder) / "optimized.onnx"
    place = ["--backend", "cuda", "--precision", precision]
    report = egret.call("optimize", original, "-o", optimized, *place, "--allow-slower", *way)
    (before, after), _ = gpu.bench([original, optimized], precision, seconds)
    return {"operators_before": report["operators_before"], "operators_after": report["operators_after"],
            "original_ms": f"{1e3 * before:.4f}", "optimized_ms": f"{1e3 * after:.4f}",
            "speedup": f"{before / after:.3f}", "optimize_s": f"{report['seconds']:.1f}",
            "check_error": f"{report['check']['max_error']:.3g}", "check_bound": f"{report['check']['bound']:.3g}"}


def main():
    mode, config = settings.read(__doc__, HERE)
    size = config[mode]
    reason = gpu.why_not()
    if reason is not None:
        print("nothing measured:", reason)
        return 0
    chip = gpu.name().split(",")[0]
    table = results.Table("gpu-ablations", results.on_machine(mode, chip), COLUMNS, ["model", "batch", "way"],
                          {"device": chip, "precision": size["precision"]}, of_host=False)
    missing = settings.WithinTime((model, batch, way) for model, batch, ways in size["rows"] for way in ways
                                  if not table.has(model=model, batch=batch, way=way))
    with tempfile.TemporaryDirectory() as folder:
        for model, batch, way in missing:
            original = pathlib.Path(folder) / "original.onnx"
            egret.run("zoo", model, "--batch", batch, "-o", original)
            row = row_of(original, config["ways"][way], size["precision"], size["seconds"], folder)
            paper = config["papers"].get(way, {}).get(f"{model} x{batch}", "")
            table.add(model=model, batch=batch, way=way, paper_speedup=paper, **row)
            print(f"  {model} x{batch}, {way}: {row['original_ms']} -> {row['optimized_ms']} ms, {row['speedup']} "
                  f"(paper {paper or '-'})", flush=True)
    if missing.left:
        return 0
    table.finish()
    table.print()
    gains = {way: statistics.geometric_mean(float(row["speedup"]) for row in table.rows if row["way"] == way)
             for way in {row["way"] for row in table.rows}}
    return results.judge(HERE / "expected.json", mode, gains)


if __name__ == "__main__":
    sys.exit(main())
