"""Who may ask the server of `neff-bench watch`, and for what."""

import http.client
import socket
from urllib.parse import urlsplit

import pytest

from tests.doors.watch.watching import INPUTS, KERNEL, Watch


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    (folder / "my_kernels.py").write_text(KERNEL)
    found = Watch(folder, "my_kernels.py:scale_rows", *INPUTS)
    found.next()
    yield found
    found.end()


def ask(running, path="", method="GET", **headers):
    """Status and headers of an answer. Words of header names are joined by underscores."""
    parts = urlsplit(running.address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    whole = path if path.startswith("/") else parts.path + path
    connection.putrequest(method, whole, skip_host=True)
    for name, value in {"Host": parts.netloc, **headers}.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    connection.close()
    return answer.status, dict(answer.getheaders())


def test_its_own_page_may_ask(running):
    for path in ("", "watch.js", "watch.css", "picture/1"):
        status, headers = ask(running, path, Sec_Fetch_Site="same-origin")
        assert status == 200, path
        assert (
            "default-src 'none'" in headers["content-security-policy"] and headers["referrer-policy"] == "no-referrer"
        )
    assert ask(running, "", Sec_Fetch_Site="none")[0] == 200  # the address typed in
    forwarded = f"localhost:{urlsplit(running.address).port + 1}"
    assert ask(running, "", Host=forwarded)[0] == 200


@pytest.mark.parametrize(
    ("path", "method", "headers", "status"),
    [
        ("", "GET", {"Host": "evil.example"}, 400),
        ("", "GET", {"Host": "evil.example:80"}, 400),
        ("", "GET", {"Host": "127.0.0.1.evil.example"}, 400),
        ("/", "GET", {}, 403),
        ("/wrong/events", "GET", {}, 403),
        ("/..%2f..%2fetc%2fpasswd", "GET", {}, 403),
        ("", "GET", {"Sec_Fetch_Site": "cross-site"}, 403),
        ("events", "GET", {"Sec_Fetch_Site": "same-site"}, 403),
        ("pin?save=1", "POST", {"Origin": "http://evil.example"}, 403),
        ("pin?save=1", "POST", {"Sec_Fetch_Site": "cross-site"}, 403),
        ("pin?save=1", "GET", {}, 405),
        ("pin?save=99", "POST", {}, 404),
        ("pin?save=x", "POST", {}, 404),
        ("picture/99", "GET", {}, 404),
        (f"picture/{'9' * 5000}", "GET", {}, 404),
        (f"picture/1?over={'9' * 5000}", "GET", {}, 404),
        ("../session.py", "GET", {}, 404),
        ("watch.html/../session.py", "GET", {}, 404),
        ("", "GET", {"X": "x" * 1_000_000}, 400),
        ("", "DELETE", {}, 405),
        ("", "PUT", {}, 405),
    ],
)
def test_a_hostile_request_is_refused(running, path, method, headers, status):
    assert ask(running, path, method, **headers)[0] == status


@pytest.mark.parametrize("target", ["*", "evil:443"])
def test_a_request_for_no_path_is_refused(running, target):
    parts = urlsplit(running.address)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        connection.sendall(f"OPTIONS {target} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 403")


def test_it_listens_on_this_machine_alone(running):
    port = urlsplit(running.address).port
    found = [at for *_, (at, *_) in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    # Where the machine has no other address: a socket that listens on all of them is reached by each of 127.0.0.0/8, too.
    other = next((at for at in found if not at.startswith("127.")), "127.0.0.2")
    with pytest.raises(OSError):
        socket.create_connection((other, port), timeout=10)


def test_the_pin_is_all_that_a_request_changes(running):
    before = running.state()
    assert ask(running, "pin?save=1", "POST", Sec_Fetch_Site="same-origin")[0] == 204
    assert running.state() == {**before, "pinned": 1}
    assert ask(running, "pin", "POST")[0] == 204
    assert running.state() == before
