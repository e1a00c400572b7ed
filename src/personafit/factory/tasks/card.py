"""What the card says about task profiles: how even preferences are, who wrote the histories, which tasks there are."""

from collections import Counter

from personafit.factory.bench import REJECTED, Bench
from personafit.factory.tasks.config import open_ontology
from personafit.factory.tasks.interactions import TEMPLATE
from personafit.factory.tasks.profile import Profile
from personafit.people import Task

LEAST_EVEN = 5


def profiles_card(bench: Bench) -> str:
    """Evenness over all attributes, and where it is lowest."""
    rows = [row for row in bench.read_rows("profiles", "balances") if row.get("evenness") is not None]
    if not rows:
        return ""
    rows.sort(key=lambda row: (row["evenness"], row["path"]))
    mean = sum(row["evenness"] for row in rows) / len(rows)
    lines = [
        "## Preferences",
        "",
        f"Evenness of the values given out (normalised entropy; 1 is as even as can be): mean {mean:.3f} over "
        f"{len(rows)} attributes, lowest {rows[0]['evenness']:.3f}; each one's is in `steps/profiles/balances.jsonl`.",
        "",
        "| least even | evenness | given out | most frequent |",
        "|---|---|---|---|",
    ]
    for row in rows[:LEAST_EVEN]:
        counts = row["counts"]
        most = max(counts, key=lambda value: counts[value])
        total = sum(counts.values())
        lines.append(
            f"| {row['path']} | {row['evenness']:.3f} | {total:,} | {most} ({counts[most] / total:.0%}) |"
        )
    refused = sum(row.get("by") == "rule:shares-1" for row in bench.read_rows("profiles", REJECTED))
    if refused:
        lines += ["", f"{refused:,} changes the writer wanted were not made: a rule or a share forbade them."]
    return "\n".join(lines)


def histories_card(bench: Bench) -> str:
    """How many histories a model wrote and how many a template."""
    makers = Counter(row["maker"] == TEMPLATE for row in bench.read_rows("histories"))
    total = makers.total()
    return (
        f"## Histories\n\n{total:,} summaries of past conversations, one for each person and domain: {makers[False]:,} "
        f"written by a model from sampled interactions, {makers[True]:,} by a template. The counting rules find every "
        "preference in each and none gone against."
    )


def tasks_card(bench: Bench) -> str:
    """Tasks by kind, and what a blind guess would hit."""
    kinds: Counter[str] = Counter()
    domains: Counter[str] = Counter()
    ontology, hits, asked = open_ontology(bench.config), 0.0, 0
    profiles = bench.read("profiles", Profile)
    profile = next(profiles)
    for task in bench.read("tasks", Task):  # both are in the order of people
        while profile.id != task.person:
            profile = next(profiles)
        kinds[task.kind] += 1
        domains.update(task.domains)
        for path in task.preferences:
            hits += len(profile.preferences[path]) / len(ontology.attribute(path).values)
            asked += 1
    return "\n".join(
        [
            "## Tasks",
            "",
            f"{kinds['SD']:,} over one domain and {kinds['MD']:,} over several, in {len(domains)} domains "
            f"(from {min(domains.values(), default=0):,} to {max(domains.values(), default=0):,} in one). Naming one value "
            f"at random would hit {hits / max(1, asked):.0%} of the preferences that bear on a task: a coverage no higher "
            "is no skill. Where values are this even, what most *other* people prefer is a worse guess still.",
        ]
    )
