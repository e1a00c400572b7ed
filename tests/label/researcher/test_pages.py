"""What the researcher's pages say of two raters whose votes are known, and what their buttons do."""

import re

from tests.label.researcher.conftest import HOSTILE, OVERLAP, PAGES, text_of
from tests.label.researcher.researcher import Researcher

Votes = dict[str, dict[str, str]]
PATHS = (
    "",
    "/numbers",
    "/remarks",
    "/adjudicate",
    "/invitations",
    "/trail",
    "/raters/0",
    "/raters/2",
)


def agreeing(votes: Votes) -> tuple[int, int]:
    """Pages both answered, and those on which they agree."""
    first, second = votes.values()
    both = set(first) & set(second)
    return len(both), sum(first[page] == second[page] for page in both)


def shown_agreement(researcher: Researcher) -> list[str]:
    """The cells of the agreement table: question, raters, items, then figures."""
    html = researcher.page()
    table = re.search(r'id="agreement".*?<tbody>(.*?)</tbody>', html, re.S)
    return (
        []
        if table is None
        else [text_of(cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", table[1], re.S)]
    )


def test_the_numbers_are_those_of_the_votes(researcher: Researcher, votes: Votes) -> None:
    shared, same = agreeing(votes)
    cells = shown_agreement(researcher)
    assert cells[:3] == ["fit", "2", str(shared)]
    assert cells[3].startswith(f"{same / shared:.2f}"), cells
    page = text_of(researcher.page())
    answered = sum(map(len, votes.values()))
    assert f"{answered} of {OVERLAP * PAGES} pages answered" in page
    for code, given in votes.items():
        assert re.search(rf"{code} active {len(given)}/{len(given)}", page)
    assert "4.0 s" in page
    assert "5.0 s" in page


def test_excluding_changes_agreement_and_taking_in_again_restores_it(
    researcher: Researcher, votes: Votes
) -> None:
    before = shown_agreement(researcher)
    code = list(votes)[1]
    refused = researcher.send("/raters/1", "/raters/1/exclude", reason="  ")
    assert refused.status_code == 400
    assert "needs a reason" in refused.text
    researcher.send("/raters/1", "/raters/1/exclude", reason=HOSTILE)
    alone = shown_agreement(researcher)
    assert alone[:3] == ["fit", "1", "0"]
    assert "undefined" in " ".join(alone)
    assert re.search(rf"{code} excluded", text_of(researcher.page()))
    researcher.send("/raters/1", "/raters/1/resume")
    assert shown_agreement(researcher) == before
    trail = text_of(researcher.page("/trail"))
    assert "excluded seat: 1" in trail
    assert "included again" in trail


def test_a_warning_reaches_the_rater_s_seat_and_can_be_taken_back(
    researcher: Researcher, votes: Votes
) -> None:
    researcher.send("/raters/0", "/raters/0/warn", message="Please read both answers.")
    assert "Please read both answers." in researcher.page("/raters/0")
    researcher.send("/raters/0", "/raters/0/warn", message="")
    assert "Please read both answers." not in researcher.page("/raters/0")


def test_pausing_a_rater_and_the_study(researcher: Researcher, votes: Votes) -> None:
    researcher.send("/raters/0", "/raters/0/pause", reason="break")
    assert 'class="state paused"' in researcher.page("/raters/0")
    researcher.send("/raters/0", "/raters/0/resume")
    for state in ("paused", "open", "closed", "open"):
        researcher.send("", "/state", state=state)
        assert f'class="state {state}"' in researcher.page()
    assert researcher.send("", "/state", state="burnt").status_code == 400


def test_adding_raters_makes_invitations(researcher: Researcher, votes: Votes) -> None:
    before = researcher.page("/invitations").count("/join/")
    researcher.send("", "/more", raters="2")
    page = researcher.page("/invitations")
    assert page.count("/join/") == before + 2


def test_flags_and_notes_are_listed_with_who_and_where(researcher: Researcher, votes: Votes) -> None:
    page = researcher.page("/remarks")
    rows = [text_of(row) for row in re.findall(r"<tr>.*?</tr>", page, re.S)[1:]]
    assert sum(" flag " in row for row in rows) == 2
    assert sum(" note " in row for row in rows) == 4
    for code in votes:
        assert any(code in row for row in rows)


def test_scripts_in_every_text_stay_text(researcher: Researcher, votes: Votes) -> None:
    researcher.send("/raters/1", "/raters/1/warn", message=HOSTILE)
    for path in PATHS:
        page = researcher.page(path)
        assert "<script>alert" not in page, path
        assert "<b>bold" not in page, path
    assert "&lt;script&gt;alert" in researcher.page("/remarks")
    assert "<script>alert" not in researcher.http.get("/researcher").text


def test_unknown_studies_and_raters_are_not_found(researcher: Researcher) -> None:
    assert researcher.http.get("/researcher/studies/none").status_code == 404
    assert researcher.http.get("/researcher/studies/pilot/raters/99").status_code == 404
    assert researcher.http.get("/researcher/studies/pilot/raters/99999999999999999999").status_code == 422


def test_pages_speak_chinese_to_a_browser_that_asks_for_it(researcher: Researcher, votes: Votes) -> None:
    reply = researcher.http.get("/researcher/studies/pilot", headers={"accept-language": "zh-CN"})
    assert 'lang="zh"' in reply.text
    assert "评分者" in reply.text
