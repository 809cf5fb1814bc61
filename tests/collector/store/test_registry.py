"""The registry: one definition a name, found by every process, forgotten without a trace."""

from typing import Any

import pytest
import redis

from hearsay.collector.errors import SurveyConflict, UnknownSurvey
from hearsay.collector.store import keys
from hearsay.collector.store.registry import MAXIMUM_SHARDS, Registry
from hearsay.collector.survey.placement import shard_numbers
from hearsay.collector.survey.survey import Survey, parse
from hearsay.collector.writer import Writer
from hearsay.mechanisms.counts.design import WM_PROPERTIES
from hearsay.mechanisms.counts.integers import to_integers
from hearsay.mechanisms.counts.packing import pack
from hearsay.mechanisms.counts.program import Program
from hearsay.workers.context import Context, set_current
from tests.pipeline import cut_all, fold, fold_all, singles


def survey(name: str = "drinks", **more: Any) -> Survey:
    domain = {"kind": "categorical", "size": 8}
    return parse({"name": name, "mechanism": "identity", "epsilon": 1.0, "domain": domain, **more})


@pytest.fixture
def registry(client: redis.Redis, prefix: str) -> Registry:
    set_current(Context(client, prefix))
    return Registry(client, prefix)


def test_a_survey_is_found_by_another_process(registry: Registry, client: redis.Redis) -> None:
    registry.add(survey(window={"every": "1h", "retain": "2d"}), shards=3)
    found = Registry(client, registry.prefix).get("drinks")
    assert found.survey.canonical() == survey(window={"every": "1h", "retain": "2d"}).canonical()
    assert len(found.shards) == 3
    numbers = shard_numbers("drinks", found.survey.tag8, 3)
    assert tuple(shard.shard for shard in found.shards) == numbers
    assert found.shards[2].keys.stream == f"{registry.prefix}:{{drinks.{found.survey.tag8}.{numbers[2]}}}:stream"
    assert not found.look().closed


def test_an_unknown_name_is_one_line(registry: Registry) -> None:
    shows = rf"hearsay survey list --prefix {registry.prefix} shows those that are"
    with pytest.raises(UnknownSurvey, match=rf"^survey 'drinks' is not registered; {shows}$"):
        registry.get("drinks")


def test_the_same_definition_again_is_welcome(registry: Registry, client: redis.Redis) -> None:
    first = registry.add(survey())
    Writer(first.shards[0]).publish(singles(first.shards[0], range(8)), 8)
    again = registry.add(survey())
    assert again.survey.tag == first.survey.tag
    assert client.xlen(again.shards[0].keys.stream) == 8


def test_another_definition_under_the_name_is_refused(registry: Registry) -> None:
    first = registry.add(survey())
    other = survey(epsilon=2.0)
    with pytest.raises(SurveyConflict) as caught:
        registry.add(other)
    assert str(caught.value) == (
        f"survey drinks exists with another definition (tag {first.survey.tag8}, this one is {other.tag8}), which "
        "differs in epsilon; delete it first or choose another name"
    )
    assert registry.get("drinks").survey.tag == first.survey.tag


def test_all_keys_that_differ_are_named_and_no_value(registry: Registry) -> None:
    table = {"name": "colours", "mechanism": "grr", "epsilon": 1.0}
    domain = {"kind": "categorical", "size": 3}
    registry.add(parse({**table, "domain": domain, "window": {"every": "1h", "retain": "1d"}}))
    for other, differing in (
        ({"domain": {"kind": "ordinal", "size": 4}, "window": {"every": "1h"}}, "domain.kind, domain.size"),
        ({"domain": domain, "window": {"every": "2h", "retain": "9d"}}, "window.every"),
        ({"domain": domain, "window": {"every": "1h"}, "mechanism": "olh"}, "mechanism, options.variant, options.t"),
        ({"domain": domain, "window": {"every": "1h"}, "durable": "disk"}, "durable"),
        ({"domain": domain, "window": {"every": "1h"}, "answers": {"minimum_reports": 7}}, "answers.minimum_reports"),
    ):
        with pytest.raises(SurveyConflict, match=rf"\), which differs in {differing}; delete"):
            registry.add(parse({**table, **other}))


def test_another_number_of_shards_is_refused(registry: Registry) -> None:
    registry.add(survey(), shards=2)
    with pytest.raises(
        SurveyConflict,
        match=r"exists with 2 shards, got 1; change them with: hearsay survey shards drinks 1$",
    ):
        registry.add(survey(), shards=1)


def test_the_same_definition_again_keeps_the_shards_it_has(registry: Registry) -> None:
    registry.add(survey(), shards=2)
    again = registry.add(survey(window={"retain": "9d"}))
    assert (len(again.shards), again.survey.retain) == (2, "9d")


@pytest.mark.parametrize("shards", [0, -1, MAXIMUM_SHARDS + 1])
def test_impossible_numbers_of_shards_are_refused(registry: Registry, shards: int) -> None:
    with pytest.raises(SurveyConflict, match=rf"^shards must be in 1..{MAXIMUM_SHARDS}, got {shards}$"):
        registry.add(survey(), shards)
    assert registry.list() == []


def test_how_long_results_are_kept_may_change(registry: Registry) -> None:
    registry.add(survey(window={"every": "1h", "retain": "2d"}))
    registry.add(survey(window={"every": "1h", "retain": "9d"}))
    assert registry.get("drinks").survey.retain == "9d"


def test_surveys_are_listed_by_name(registry: Registry) -> None:
    for name in ("water", "drinks", "meals"):
        registry.add(survey(name))
    assert [found.survey.name for found in registry.list()] == ["drinks", "meals", "water"]


def test_prefixes_do_not_see_each_other(registry: Registry, client: redis.Redis) -> None:
    registry.add(survey())
    assert Registry(client, registry.prefix + "x").list() == []


def test_a_closed_survey_stays_closed_when_it_is_added_again(registry: Registry) -> None:
    registry.add(survey(), shards=2)
    registry.close("drinks")
    assert registry.get("drinks").look().closed
    assert registry.add(survey(), shards=2).look().closed
    statuses = {store.publish("w", 1, [(b"r", b"\x01")], 1).status for store in registry.get("drinks").shards}
    assert statuses == {"closed"}


def test_deleting_leaves_nothing_and_no_other_survey_is_touched(registry: Registry, client: redis.Redis) -> None:
    for name in ("drinks", "drinks-2"):
        store = registry.add(survey(name), shards=2).shards[1]
        Writer(store).publish([*singles(store, range(8)), (b"r", b"\xc1")], 9)
        fold_all(store)
    other = set(client.keys("*{drinks-2.*"))
    assert registry.delete("drinks") > 0
    left = {key for key in client.keys(f"{registry.prefix}:*") if b"{drinks" in key}
    assert left == other
    assert [found.survey.name for found in registry.list()] == ["drinks-2"]
    with pytest.raises(UnknownSurvey):
        registry.delete("drinks")


def test_work_under_way_does_not_bring_a_deleted_survey_back(registry: Registry, client: redis.Redis) -> None:
    store = registry.add(survey()).shards[0]
    Writer(store).publish(singles(store, range(8)), 8)
    fold_all(store)
    reading = store.read("all")
    Writer(store).publish(singles(store, range(8)), 8)
    (under_way,) = cut_all(store)
    Writer(store).publish(singles(store, range(8)), 8)
    client.unlink(store.keys.meta)  # how a deletion begins; the other keys are still there
    assert store.cut(age_ms=0) == "empty"
    assert fold(store, under_way) == "gone"
    assert not store.compact(reading)
    store.set_pressure("memory")
    store.close()
    assert store.skip_range(under_way) == 0
    assert not client.exists(store.keys.meta)
    registry.delete("drinks")
    assert [key for key in client.keys(f"{registry.prefix}:*") if b"{drinks" in key] == []
    assert registry.add(survey()).look().birth is not None


def test_a_name_is_free_again_once_deleted(registry: Registry) -> None:
    registry.add(survey())
    registry.delete("drinks")
    assert registry.add(survey(epsilon=2.0)).survey.epsilon == 2.0


def test_a_writer_of_a_deleted_survey_is_told_so(registry: Registry, client: redis.Redis) -> None:
    store = registry.add(survey()).shards[0]
    registry.delete("drinks")
    assert store.publish("w", 1, [(b"r", b"\x01")], 1).status == "unknown"
    assert not client.exists(store.keys.stream)


def test_what_is_stored_is_the_canonical_form_and_nothing_secret(registry: Registry, client: redis.Redis) -> None:
    registry.add(survey())
    record = client.hget(keys.surveys(registry.prefix), "drinks")
    assert record.startswith(b'{"shards": 1, "survey": {"answers": {"minimum_reports": 1, "postprocess": ')


def test_why_a_mechanism_was_chosen_is_kept(registry: Registry) -> None:
    table = {"name": "drinks", "mechanism": "auto", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 8}}
    chosen = parse(table)
    assert chosen.reason is not None
    assert registry.add(chosen).survey.reason == chosen.reason
    assert registry.add(parse(chosen.canonical())).survey.reason == chosen.reason, "the same survey, spelled out"


def test_a_survey_that_cannot_be_read_hides_no_other_and_can_be_deleted(client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    registry.add(survey("good"))
    store = registry.add(survey("odd")).shards[0]
    record = client.hget(keys.surveys(prefix), "odd").replace(b'"identity"', b'"from-the-future"')
    client.hset(keys.surveys(prefix), "odd", record)
    fresh = Registry(client, prefix)
    assert [registered.survey.name for registered in fresh.list()] == ["good"]
    assert fresh.names() == ["good", "odd"]
    assert fresh.delete("odd") > 0
    assert client.keys(store.keys.base + "*") == []
    assert fresh.names() == ["good"]


def counts(**options: Any) -> Survey:
    domain = {"kind": "count", "max": 5}
    return parse({"name": "visits", "mechanism": "wm", "epsilon": 0.5, "domain": domain, "options": options})


def test_a_matrix_that_another_machine_solved_is_kept(registry: Registry) -> None:
    """Solvers differ in the last digits, and where several matrices are best: the first one registered stays."""
    solved = counts()
    other = pack(to_integers(Program(5, solved.mechanism.design.promise, WM_PROPERTIES, tie=False).solve(),
                             solved.mechanism.design.promise))  # fmt: skip
    first = registry.add(counts(matrix=other))
    assert first.survey.tag != solved.tag
    again = registry.add(solved)
    assert again.survey.tag == first.survey.tag
    assert again.survey.canonical()["options"]["matrix"] == other
    with pytest.raises(SurveyConflict, match="exists with another definition"):
        registry.add(counts(matrix=solved.canonical()["options"]["matrix"]))  # a matrix of one's own is a definition
    with pytest.raises(SurveyConflict, match="exists with another definition"):
        registry.add(parse({**solved.canonical(), "epsilon": 0.6, "options": {}}))
    with pytest.raises(SurveyConflict, match="exists with another definition"):
        registry.add(parse({**solved.canonical(), "mechanism": "gm", "options": {}}))
