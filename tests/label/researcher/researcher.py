"""A researcher without a browser: forms are found in the pages and sent with their own tokens."""

import re
from html import unescape
from typing import Any

import httpx

PASSWORD = "a long enough password"


class Researcher:
    """Somebody who is logged in."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http

    @classmethod
    def first(cls, http: httpx.Client, token: str) -> "Researcher":
        """Set the password with the link of the first start."""
        page = http.get("/setup", params={"token": token})
        data = hidden(page.text) | {"password": PASSWORD, "again": PASSWORD}
        reply = http.post("/setup", data=data)
        assert reply.url.path == "/researcher", reply.text
        return cls(http)

    def page(self, path: str = "", study: str = "pilot") -> str:
        """A page of a study."""
        reply = self.http.get(f"/researcher/studies/{study}{path}")
        assert reply.status_code == 200, (path, reply.status_code, reply.text[:300])
        return reply.text

    def send(self, path: str, action: str, study: str = "pilot", **fields: Any) -> httpx.Response:
        """Fill in the form of a page that goes to an action, and send it."""
        html = self.page(path, study)
        where = f"/researcher/studies/{study}{action}"
        form = re.search(rf'<form method="post" action="{re.escape(where)}".*?</form>', html, re.S)
        assert form is not None, (where, html)
        return self.http.post(where, data=hidden(form[0]) | fields)


def hidden(html: str) -> dict[str, str]:
    """The hidden fields of a form."""
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', html)
    return {name: unescape(value) for name, value in found}
