# SPDX-License-Identifier: Apache-2.0
"""What happens to a run when one of its ranks is killed (SIGKILL) or stopped (SIGSTOP) at a random time."""
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

from lib import egret, ranks, results, settings, small_models

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["number", "model", "signal", "rank", "after_s", "ended", "code", "named", "seconds", "left_over"]
LONGEST_S = 60


def parent_of(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def processes_of(plan):
    """Egret's processes that run this plan: of each rank the one that works, and the one that waits for it."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue
        rank = re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", environment)
        if rank and words[0].endswith(b"egret") and str(plan).encode() in words:
            found.setdefault(int(rank[1]), []).append(int(folder.name))
    return found


def workers_of(plan):
    """By rank: the process whose parent is one of egret's too."""
    return {rank: pid for rank, both in processes_of(plan).items() for pid in both if parent_of(pid) in both}


def wait_for_ranks(plan, count):
    """Until all have computed for a while."""
    deadline = time.monotonic() + LONGEST_S
    while time.monotonic() < deadline:
        running = workers_of(plan)
        if len(running) == count and all(seconds_used(pid) > 0.3 for pid in running.values()):
            return running
        time.sleep(0.05)
    raise RuntimeError("the ranks do not start")


def seconds_used(pid):
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0


def strike(plan, config, sent, rank, after):
    arguments = ["train-step", plan, "--steps", "1000000", "--limit-exchange", config["limit_exchange_s"],
                 "--progress=never"]
    with subprocess.Popen(ranks.command(config["ranks"], *arguments), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=ranks.ENVIRONMENT) as run:
        running = wait_for_ranks(plan, config["ranks"])
        time.sleep(after)
        os.kill(running[rank], sent)
        start = time.monotonic()
        try:
            said = run.communicate(timeout=LONGEST_S)[0]
            ended = True
        except subprocess.TimeoutExpired:
            ended = False
            run.kill()
            said = run.communicate()[0]
        seconds = time.monotonic() - start
    time.sleep(0.5)
    left = [pid for both in processes_of(plan).values() for pid in both]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    named = f"rank {rank} (process {running[rank]})" in said
    return {"ended": int(ended), "code": run.returncode, "named": int(named), "seconds": f"{seconds:.2f}",
            "left_over": len(left)}


def main():
    mode, config = settings.read(__doc__, HERE)
    table = results.Table("rank-death", mode, COLUMNS, ["number"],
                          {"egret": egret.version(), "seed": config["seed"], "ranks": config["ranks"],
                           "limit_exchange_s": config["limit_exchange_s"]})
    draw = random.Random(config["seed"])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plans = {model: folder / f"{model}.json" for model in config["models"]}
        for model, plan in plans.items():
            small_models.WRITE[model](folder)
            egret.run("plan", folder / f"{model}.onnx", "--train", "--loss", "mse", "--mesh", f"x={config['ranks']}",
                      "-o", plan)
        for number in range(config[mode]["deaths"]):
            sent = signal.SIGKILL if number % 2 == 0 else signal.SIGSTOP
            model = config["models"][number // 2 % len(config["models"])]
            rank = draw.randrange(config["ranks"])
            after = draw.uniform(0, config["latest_s"])
            if not table.has(number=number):
                table.add(number=number, model=model, signal=sent.name, rank=rank, after_s=f"{after:.3f}",
                          **strike(plans[model], config, sent, rank, after))
    table.finish()
    table.print()
    measured = {
        "ended": min(int(row["ended"]) for row in table.rows),
        "left_over": max(int(row["left_over"]) for row in table.rows),
        "code_8": sum(int(row["code"]) == 8 for row in table.rows) / len(table.rows),
        "named": sum(int(row["named"]) for row in table.rows) / len(table.rows),
        "seconds": max(float(row["seconds"]) for row in table.rows),
    }
    return results.judge(HERE / "expected.json", mode, measured)


if __name__ == "__main__":
    sys.exit(main())
