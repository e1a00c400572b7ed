"""The card counts what the folder holds: items by half and tier, categories with shares, lengths."""

from pathlib import Path

from personafit.factory import read_config
from personafit.factory.folder import write_card
from tests.factory.builds import write_build
from tests.scripted import write_lines


def test_sizes_categories_and_lengths(tmp_path: Path) -> None:
    config = read_config(write_build(tmp_path, "[people]\n"))
    tiers = ("easy", "easy", "medium", "hard")
    items = [
        {
            "id": f"i{n}",
            "prompt": "x" * 10,
            "slices": {"half": "specific" if n < 3 else "general", "category": "Finance" if n else "Health"},
        }
        for n in range(4)
    ]
    write_lines(tmp_path / "items.jsonl", items)
    write_lines(
        tmp_path / "gold.jsonl", [{"item": f"i{n}", "extra": {"tier": tier}} for n, tier in enumerate(tiers)]
    )
    products = [
        {"kind": "answer", "text": "y" * 30},
        {"kind": "answer", "text": "y" * 50},
        {"kind": "profile", "text": "z"},
    ]
    write_lines(tmp_path / "products.jsonl", products)
    card = write_card(config, tmp_path, [], ["## More\n"])
    assert "| half | easy | medium | hard | all |" in card
    assert "| specific | 2 | 1 | 0 | 3 |" in card
    assert "| general | 0 | 0 | 1 | 1 |" in card
    assert "| Finance | 3 | 75.00 % |" in card
    assert "questions 10, answers 40 (2 answers)" in card
    assert card.endswith("## More\n")
