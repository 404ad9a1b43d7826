"""RAY_ADDRESS: what is done before Ray itself, which tries for minutes to reach a cluster, is told of an address."""

from __future__ import annotations

import socket

import pytest

from rejoinder.errors import CallError
from rejoinder.scoring.ray import _connect, _host_and_port, _is_on_loopback, _outer_address


def listening(host: str) -> socket.socket:
    return socket.create_server((host, 0))


def test_an_address_where_nothing_answers_is_one_line() -> None:
    with listening("127.0.0.1") as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    for given in (address, "127.0.0.1:99999", "no-such-host.invalid:6379"):
        with pytest.raises(CallError, match=rf"^RAY_ADDRESS is {given}, but nothing answers there: expected the"):
            _connect(given)


@pytest.mark.parametrize("address", ["auto", "ray://host:10001", "", "host", "host:port"])
def test_addresses_of_other_kinds_are_left_to_ray(address: str) -> None:
    assert _host_and_port(address) == ("", None)


def test_a_cluster_on_loopback_is_recognised() -> None:
    """A Ray of our own too; not a cluster that also listens elsewhere, or is elsewhere."""
    with listening("127.0.0.1") as inner, listening("0.0.0.0") as everywhere:
        assert _is_on_loopback(f"localhost:{inner.getsockname()[1]}") == (_outer_address() != "127.0.0.1")
        assert not _is_on_loopback(f"127.0.0.1:{everywhere.getsockname()[1]}")
    assert _is_on_loopback(None)
    assert not _is_on_loopback("10.0.0.5:6379")
    assert not _is_on_loopback("auto")
