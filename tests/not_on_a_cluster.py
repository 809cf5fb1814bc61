"""Which tests `make test CLUSTER=1` leaves out, and why. All others that use a server run on three masters."""

from collections.abc import Collection

BY_FIXTURE = {"own_server": "kills, fills or slows one server of its own"}
BY_NAME = {
    "store/test_connect.py": "is about connecting to one server",
    "test_a_million_writers_do_not_stop_the_server": "asks one server how long its commands took",
    "test_a_small_range_costs_at_most_two_milliseconds": "asks one server how long its commands took",
    "test_one_round_trip_tells_what_was_counted": "counts the calls of one server",
    "test_many_surveys_are_one_round_trip_for_each_node": "counts the calls of one server",
    "test_clocks.py": "turns a clock that stands in a key of one server",
    "test_a_clock_that_jumps_neither_ends_a_round": "turns a clock that stands in a key of one server",
    "test_walk.py": "counts what a step asks of one server",
    "test_a_window_that_is_over_is_cut_at_once": "turns a clock that stands in a key of one server",
    "test_time_that_went_by_never_goes_back": "turns a clock that stands in a key of one server",
    "test_an_id_from_the_future_raises_no_floor": "turns a clock that stands in a key of one server",
    "test_protocol.py": "turns a clock that stands in a key of one server",
    "test_every_role_tries_what_it_must_not": "puts commands to one server by hand",
    "test_a_queue_that_the_user_may_not_use_is_named": "is about the queue, which runs on no cluster",
    "test_a_taken_port_is_an_error": "is about the port of one server",
    "test_nobody_is_answered_without_the_password": "is about the password of one server",
    "test_a_server_that_begins_to_evict_is_a_trouble": "changes the setting of one server",
    "test_heartbeats_of_releases_that_say_nothing": "is about releases that knew no cluster",
    "test_ranges_share_jobs_where_every_worker_knows_them": "is about releases that knew no cluster",
}


def why_not_on_a_cluster(nodeid: str, fixtures: Collection[str]) -> str | None:
    """None: it runs there."""
    for fixture, reason in BY_FIXTURE.items():
        if fixture in fixtures:
            return reason
    return next((reason for name, reason in BY_NAME.items() if name in nodeid), None)
