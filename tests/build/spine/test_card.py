"""The card counts what the folder holds: items by half and tier."""

from pathlib import Path

from personafit.build import read_config
from personafit.build.folder import write_card
from tests.build.builds import write_build
from tests.scripted import write_lines


def test_sizes(tmp_path: Path) -> None:
    config = read_config(write_build(tmp_path, "[people]\n"))
    tiers = ("easy", "easy", "medium", "hard")
    items = [{"id": f"i{n}", "slices": {"half": "specific" if n < 3 else "general"}} for n in range(4)]
    write_lines(tmp_path / "items.jsonl", items)
    write_lines(
        tmp_path / "gold.jsonl", [{"item": f"i{n}", "extra": {"tier": tier}} for n, tier in enumerate(tiers)]
    )
    card = write_card(config, tmp_path, [], ["## More\n"])
    assert "| half | easy | medium | hard | all |" in card
    assert "| specific | 2 | 1 | 0 | 3 |" in card
    assert "| general | 0 | 0 | 1 | 1 |" in card
    assert card.endswith("## More\n")
