"""What the fitted surface rater says of each pair that a fold trains on: `python -m speed.gpu.offsets DATA PAIRS OUT`.

For `quality.py --offsets`. In each fold the rater is cross-fitted on the fold's own training people, so that neither a pair's own
person nor the people held out had a say in its margin.
"""

import argparse
import json
from pathlib import Path

from personafit.train.pairwise import cross_fit
from speed.gpu.blended import choices_of
from speed.gpu.quality import deal, read_pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="PersonaFeedback's folder.")
    parser.add_argument("pairs", type=Path, help="The tokenised pairs.")
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    choices = choices_of(arguments.data)
    pairs = read_pairs(arguments.pairs)
    found: list[dict[str, float]] = []
    for held in deal(sorted({pair["person"] for pair in pairs})):
        names = [pair["id"] for pair in pairs if pair["person"] not in held]
        margins = cross_fit([choices[name] for name in names])
        found.append(dict(zip(names, map(float, margins), strict=True)))
        print(f"{len(names):,} pairs, {100 * (margins > 0).mean():.1f} % right", flush=True)
    arguments.out.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
