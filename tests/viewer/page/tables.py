"""What a table of a page shows, as text."""

import re


def cells(html: str) -> list[list[str]]:
    """The rows of the body, each as its cells."""
    body = html.split("<tbody>")[1]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr.*?</tr>", body)]


def heads(html: str) -> list[str]:
    """The names of the columns that have one."""
    return re.findall(r"<th [^>]*>(.*?)</th>", html)
