"""The dataset card of a pushed folder: front matter that `datasets` and the hub read, then the folder's own card."""

import re
from pathlib import Path

from personafit.benchmarks.benchmark import BenchmarkInfo
from personafit.benchmarks.hub.layouts import FOLDER_FILES

SPLIT = "test"  # a benchmark is nothing to train on
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
FIRST = "items"  # the configuration shown first

_LANGUAGE = re.compile(r"[a-z]{2,3}")


def dataset_card(folder: Path, info: BenchmarkInfo, repo: str, licence: dict[str, str]) -> str:
    """The README.md of the repository."""
    from huggingface_hub import DatasetCardData

    languages = [language for language in info.language if _LANGUAGE.fullmatch(language)]
    front = DatasetCardData(
        license=licence["license"],
        license_name=licence.get("license_name"),
        language=languages or None,
        pretty_name=info.title or info.name,
        size_categories=[_size(folder / "items.jsonl")],
        tags=["personafit", "personalization", "benchmark"],
        configs=_configs(folder),
    )
    own = folder / "card.md"
    text = own.read_text(encoding="utf-8").strip() if own.is_file() else ""
    return f"---\n{front.to_yaml()}\n---\n\n{text or f'# {info.title or info.name}'}\n\n{_use(repo)}"


def _configs(folder: Path) -> list[dict[str, object]]:
    """One configuration for each file that holds records; an empty file cannot be loaded."""
    records = [name for name in FOLDER_FILES if name.endswith(".jsonl")]
    names = [name for name in records if (folder / name).is_file() and (folder / name).stat().st_size]
    return [
        {
            "config_name": Path(name).stem,
            **({"default": True} if Path(name).stem == FIRST else {}),
            "data_files": [{"split": SPLIT, "path": name}],
        }
        for name in sorted(names, key=lambda name: Path(name).stem != FIRST)
    ]


def _size(items: Path) -> str:
    with items.open("rb") as file:
        count = sum(1 for line in file if line.strip())
    return next((name for most, name in SIZES if count < most), "n>1M")


def _use(repo: str) -> str:
    return f"""## Use

```bash
personafit data get {repo} --out DIR
personafit run DIR
```

```python
items = datasets.load_dataset("{repo}", "items", split="{SPLIT}")
```
"""
