"""URLs of one server, of a cluster and of Sentinels."""

import pytest

from hearsay.collector.store.servers.urls import Seed, parse_url

SECRET = "open-sesame"


def test_one_server() -> None:
    target = parse_url("rediss://example.org/3")
    assert (target.seeds, target.sentinel, target.tls) == ((Seed("example.org", 6379),), None, True)


def test_nodes_of_a_cluster_share_user_password_and_parameters() -> None:
    target = parse_url(f"redis://me:{SECRET}@a:7000,[::1]:7001,c/0?client_name=x")
    assert target.seeds == (Seed("a", 7000), Seed("::1", 7001), Seed("c", 6379))
    assert target.address == "a:7000,[::1]:7001,c:6379"
    assert target.url_of(target.seeds[1]) == f"redis://me:{SECRET}@[::1]:7001/0?client_name=x"


def test_sentinels_have_a_password_of_their_own() -> None:
    target = parse_url(f"rediss+sentinel://me:{SECRET}@a:1,b/main/2?sentinel_password=other&client_name=x")
    assert (target.seeds, target.sentinel) == ((Seed("a", 1), Seed("b", 26379)), "main")
    assert target.address == "a:1,b:26379/main"
    assert target.url_of(Seed("x", 9)) == f"rediss://me:{SECRET}@x:9/2?client_name=x"
    assert target.url_of_sentinel(Seed("a", 1)) == "rediss://a:1?password=other"


@pytest.mark.parametrize(
    "url",
    [
        "http://a:1",
        "redis://",
        "redis://a:1,,b:2/0",
        "redis://a:x,b:2/0",
        "redis://a:1,b:99999/0",
        "redis+sentinel://a:1",
        "redis+sentinel://a:1/",
        f"redis://:{SECRET}/x@a:1,b:2/0",
        "unix://",
    ],
)
def test_what_names_nothing_is_refused_without_a_word_of_it(url: str) -> None:
    with pytest.raises(ValueError) as refused:
        parse_url(url)
    assert SECRET not in str(refused.value)
