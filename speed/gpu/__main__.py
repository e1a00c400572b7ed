"""Run the GPU measurements and keep them: `python -m speed.gpu [scoring-0.5b] [scoring-7b] [training] [--steps N] --out FILE`."""

import argparse
import json
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
import transformers

from speed.gpu.scoring import scoring


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["scoring-0.5b", "scoring-7b", "training"])
    parser.add_argument("--out", type=Path, help="JSON file to write; what it holds already is kept.")
    parser.add_argument("--steps", type=int, default=100, help="Training steps of each trainer.")
    arguments = parser.parse_args()
    found: dict[str, Any] = {}
    if arguments.out and arguments.out.is_file():
        found = json.loads(arguments.out.read_text())
    found["hardware"] = torch.cuda.get_device_name()
    found["versions"] = {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "python": platform.python_version(),
    }
    found["date"] = datetime.now(UTC).date().isoformat()
    for what in arguments.what:
        kind, _, shape = what.partition("-")
        if kind == "scoring":
            result = scoring(shape, people=16 if shape == "0.5b" else 4)
            found[f"scoring_{shape}"] = result
            found[f"scoring_{shape}_vs_padded"] = result["vs_padded"]
            found[f"scoring_{shape}_vs_sorted"] = result["vs_sorted"]
        else:
            from speed.gpu.training import training

            found.update(training(arguments.steps))
        print(json.dumps(found, indent=1), flush=True)
        if arguments.out:
            arguments.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
