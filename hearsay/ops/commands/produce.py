"""`hearsay produce`: simulated devices."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click
import numpy as np

from hearsay.collector.limits import FRAME_REPORTS
from hearsay.collector.store.looks.survey_look import look_at_parts
from hearsay.collector.store.registry import Registered
from hearsay.collector.survey.survey import Survey
from hearsay.mechanisms import catalogue
from hearsay.mechanisms.domains.shapes import SHAPES
from hearsay.mechanisms.errors import one_of
from hearsay.mechanisms.exact.randomness import secure, seeded
from hearsay.ops.config import Settings
from hearsay.ops.errors import CheckFailed, OperationError
from hearsay.ops.load import report
from hearsay.ops.load.command import load_task, load_test
from hearsay.ops.operate.send_once import Collection, Sending, rows_sent, sending
from hearsay.ops.server.connection import open_registry
from hearsay.ops.terminal.options import SERVER, CountRange, NumberRange, json_option, seed_option, uses
from hearsay.ops.terminal.present import counted, per_round, print_json
from hearsay.ops.terminal.progress import reports_bar
from hearsay.ops.terminal.stopping import stopping
from hearsay.ops.terminal.values_file import ValuesFile, values_option
from hearsay.producer.fleet import FRAME, Fleet
from hearsay.producer.populations import Population

DEFAULT_DISTRIBUTION = "cauchy"


@click.command()
@click.argument("name")
@click.option("--devices", type=CountRange(1), help="How many devices report; with --values, by default one per row.")
@click.option("--rate", type=NumberRange(1e-6), help="Reports per second; without it, as fast as possible.")
@values_option("Real values, one row per device; more devices than rows start again at the top.")
@click.option("--distribution", metavar="SHAPE",
              help=f"Simulated values: {', '.join(SHAPES)}, or another shape that the domain has.  "
                   f"[default: {DEFAULT_DISTRIBUTION}]")  # fmt: skip
@seed_option
@click.option("--single", is_flag=True, help="Publish every report as a stream entry of its own.")
@click.option("--frame", type=click.IntRange(1, FRAME_REPORTS), help=f"Reports in a frame.  [default: {FRAME}]")
@click.option("--via", metavar="URL", help="Send over HTTP to the gateway at this address, not to Redis.")
@click.option("--processes", type=click.IntRange(1, 256), default=1, show_default=True,
              help="Processes that publish at the same time; they share the reports and the rate.")  # fmt: skip
@click.option("--replay", is_flag=True,
              help="Make some reports beforehand and publish them again and again.")  # fmt: skip
@click.option("--ramp", is_flag=True, help="Find the highest rate that is held.")
@click.option("--report", "report_dir", metavar="DIR", type=click.Path(path_type=Path),
              help="Write a table, the figures and a picture there.")  # fmt: skip
@click.option("--p99", metavar="S", type=NumberRange(0, min_open=True),
              help="Exit with 1 unless the rate is held and 99% are acknowledged within so many seconds.")  # fmt: skip
@click.option("--into-real", is_flag=True,
              help="Publish even if the survey has real reports; simulated ones cannot be taken out.")  # fmt: skip
@click.option("--again", is_flag=True,
              help="With --values: send rows that the survey has from this file already.")  # fmt: skip
@json_option
@uses(*SERVER, "plugins", "key", "durable")
def command(
    settings: Settings,
    name: str,
    devices: int | None,
    rate: float | None,
    values_file: ValuesFile | None,
    distribution: str | None,
    seed: int | None,
    single: bool,
    frame: int | None,
    via: str | None,
    processes: int,
    replay: bool,
    ramp: bool,
    report_dir: Path | None,
    p99: float | None,
    into_real: bool,
    again: bool,
    as_json: bool,
) -> None:
    """Publish the reports of simulated devices.

    Waits while the pipeline signals back-pressure; a restart of the server loses no report. Devices draw from the
    secure source unless --seed is given. If the survey has rounds, the same devices take part in each, until the survey
    is closed. A survey that has other reports is refused without --into-real, and so are drawn values where rows of
    --values were sent; status, page and snapshots show that reports are simulated.

    A row of --values is sent once to a survey, or once to each of its windows of time: notes in the data directory
    record which files were sent. A file that was sent in part continues with its next row; one that was sent is refused
    without --again. A file that another machine sent is not recognised.

    With --via the devices send to a gateway over HTTP. Requests are due by --rate, whether or not earlier ones are
    answered (open loop), and the time to an answer is counted from when a request was due. One without an answer is
    sent again with the same id. --frame is then the number of reports in a request. The gateway counts them as
    simulated, and refuses them without --into-real where other reports came in.

    With --rate, --ramp, --replay, --processes, --report or --p99 it is a load test (docs/how-to/load-test.md): reports
    are due at the rate whatever the pipeline does, and their times to acknowledgement, commit and snapshot run from the
    moment they were due. A rate is held if the last report is acknowledged at most a second late and commits keep up.
    """
    _check_distribution(distribution)
    if values_file is not None and distribution is not None:
        raise click.UsageError("--values and --distribution exclude each other")
    if single and frame is not None:
        raise click.UsageError("--single and --frame exclude each other")
    if values_file is None and devices is None and not ramp:
        raise click.UsageError("--devices is needed unless --values is given")
    if ramp and (devices is not None or rate is not None):
        raise click.UsageError("--ramp chooses rates and numbers of devices itself: leave out --devices and --rate")
    if again and values_file is None:
        raise click.UsageError("--again goes with --values")
    is_test = processes > 1 or replay or ramp or report_dir is not None or p99 is not None
    source = partial(_people, values_file, distribution, seed, settings.data_dir, devices, again)
    if via is not None:
        if is_test:
            raise click.UsageError("--processes, --replay, --ramp, --report and --p99 do not go with --via")
        size = 1 if single else frame
        survey, birth = _behind(via, name, size)
        behind = Collection.behind(via, survey, birth, int(1_000 * time.time()))
        if values_file is None and not into_real:
            _refuse_files(name, behind.birth, settings.data_dir)
        with source(survey, lambda: behind) as people:
            _send_to_gateway(via, settings.key, survey, people, rate, seed, size, into_real, as_json)
        return
    registered = open_registry(settings).get(name)
    if not into_real:
        birth = _refuse_mixture(registered)
        if values_file is None:
            _refuse_files(name, birth, settings.data_dir)
    in_rounds = registered.survey.windows.in_rounds
    if in_rounds and is_test:
        raise click.UsageError("a load test needs a survey without rounds")
    size = None if single else frame or FRAME
    is_load = not in_rounds and (is_test or rate is not None)
    is_sent = values_file is not None and not (replay or ramp)  # which send the same reports again and again
    if is_load:
        if report_dir is not None:  # before rows of a file are noted as sent
            report.prepare(report_dir)
        test = partial(_load_test, settings, registered, values_file, distribution, seed, size, replay, rate, processes,
                       ramp, report_dir, p99, as_json)  # fmt: skip
        if not is_sent:
            test(devices)
            return
        with source(registered.survey, lambda: Collection.of(registered), in_order=processes == 1) as people:
            people.trying_all()
            test(people.total, people.first, people.telling(lambda _: None))
        return
    with source(registered.survey, lambda: Collection.of(registered), in_order=not in_rounds) as people:
        _publish(registered, people, seed, size, rate, settings.durable, as_json)
        if in_rounds:
            people.ended(counted=False)


def _load_test(
    settings: Settings,
    registered: Registered,
    values_file: ValuesFile | None,
    distribution: str | None,
    seed: int | None,
    size: int | None,
    replay: bool,
    rate: float | None,
    processes: int,
    ramp: bool,
    report_dir: Path | None,
    p99: float | None,
    as_json: bool,
    devices: int | None,
    first: int = 0,
    went_out: Callable[[int], None] = lambda reports: None,
) -> None:
    """Send at a rate; `went_out` is told how many reports did."""
    name, shape = registered.survey.name, distribution or DEFAULT_DISTRIBUTION
    task = load_task(name, shape, values_file, seed, size, replay, rate, devices, registered, settings.durable, first)
    load_test(settings, task, processes, ramp, report_dir, p99, as_json, went_out)


def _check_distribution(distribution: str | None) -> None:
    known = catalogue.shapes()
    if distribution is not None and distribution not in known:
        raise click.BadParameter(
            f"{distribution!r} is not one of {one_of(known, distribution)}.", param_hint="'--distribution'"
        )


def _publish(
    registered: Registered,
    people: Sending,
    seed: int | None,
    size: int | None,
    rate: float | None,
    durable: str,
    as_json: bool,
) -> None:
    """Publish the reports of these people to Redis, and print how many there were and how fast.

    `size` is the number of reports in a frame; None publishes every report as an entry of its own.
    """
    name, mechanism = registered.survey.name, registered.survey.mechanism
    random = secure() if seed is None else seeded(seed)
    started = time.monotonic()
    total, in_order = people.total, not registered.survey.windows.in_rounds
    most_per_device = 1 if mechanism.one_round_each else mechanism.rounds
    with stopping() as stop:
        with reports_bar(f"devices of {name}", total * most_per_device) as bar:
            fleet = Fleet(registered, random, frame=size, rate=rate, stop=stop, on_wait=bar.waiting, durable=durable)
            sent = fleet.take_part(people, total, people.telling(bar.advance) if in_order else bar.advance)
        seconds = time.monotonic() - started
        if as_json:
            print_json({"survey": name, "reports": sent, "seconds": seconds, "reports_per_s": sent / seconds})
        else:
            stopped = _stopped(people, in_order) if stop.is_set() else ""
            click.echo(
                f"{counted(sent, 'report')} published to {name} in {seconds:.1f} s ({sent / seconds:,.0f} reports/s)"
                f"{per_round(registered.survey)}{stopped}"
            )


def _stopped(people: Sending, in_order: bool) -> str:
    """What is said of devices that were stopped."""
    on = "; the same command sends the others" if people.is_noted and in_order else ""
    return f" (stopped; {counted(people.total, 'device')} were asked for{on})"


def _behind(via: str, name: str, size: int | None) -> tuple[Survey, str | None]:
    """The survey as a gateway describes it; so many reports shall be in a request."""
    from hearsay.producer.via.fleet import MOST_IN_REQUEST, fetch_with_birth

    if size is not None and size > MOST_IN_REQUEST:
        raise click.UsageError(f"with --via, --frame must be in 1..{MOST_IN_REQUEST}, got {size}")
    return fetch_with_birth(via, name)


def _send_to_gateway(
    via: str,
    key: str | None,
    survey: Survey,
    people: Sending,
    rate: float | None,
    seed: int | None,
    size: int | None,
    into_real: bool,
    as_json: bool,
) -> None:
    """Send the devices' reports to a gateway over HTTP, `size` in a request, and print how it answered."""
    from hearsay.producer.via.fleet import NO_ANSWER, REQUEST, GatewayFleet

    name, total, in_order = survey.name, people.total, not survey.windows.in_rounds
    random = secure() if seed is None else seeded(seed)
    started = time.monotonic()
    with stopping() as stop:
        with reports_bar(f"devices of {name}", total) as bar:
            fleet = GatewayFleet(
                via, survey, random, size=size or REQUEST, rate=rate, key=key, mixed=into_real, stop=stop,
                on_wait=bar.waiting,
            )  # fmt: skip
            sent = fleet.run(people, total, people.telling(bar.advance) if in_order else bar.advance)
        none = not (sent.accepted or sent.rejected or sent.missed or NO_ANSWER in sent.refused)
        people.ended(counted=in_order, none=none)
        if sent.mixture is not None and not sent.accepted:
            raise _mixture(sent.mixture.partition("; ")[0])
        seconds = time.monotonic() - started
        if as_json:
            print_json({"survey": name, "seconds": seconds, "reports_per_s": sent.accepted / seconds, **sent.table()})
        else:
            latencies = sent.table()
            stopped = _stopped(people, in_order) if stop.is_set() else ""
            click.echo(
                f"{counted(sent.accepted, 'report')} taken by the gateway for {name} in {seconds:.1f} s "
                f"({sent.accepted / seconds:,.0f} reports/s); answered after {latencies['answered_p50_s']:.2f} s "
                f"(median), {latencies['answered_p99_s']:.2f} s (99%){stopped}"
            )
    if sent.refused:
        raise CheckFailed(refusals(sent.refused, sent.reasons))


def refusals(refused: Counter[str], reasons: Mapping[str, str]) -> str:
    """How many requests a gateway refused, by code, with its reasons; of a missing key what to do instead."""
    codes = []
    for code, count in sorted(refused.items()):
        reason = "" if code == "key" else reasons.get(code, "").partition("; ")[0]
        codes.append(f"{code} {count} ({reason})" if reason else f"{code} {count}")
    advice = "; give a key with --key or HEARSAY_KEY (`hearsay key add` makes one)" if "key" in refused else ""
    return f"the gateway refused {counted(refused.total(), 'request')}: {', '.join(codes)}{advice}"


def _refuse_mixture(registered: Registered) -> str:
    """Refuse a survey with reports that no simulated device made: nobody could tell them apart afterwards.

    Returns what distinguishes the survey from a deleted one of the same name.
    Shards that do not answer are left out, devices report to the others; where none answers, the error says why.
    """
    parts = look_at_parts([registered]) or [registered.look()]
    real = sum(seen.published_reports - seen.simulated_reports for seen in parts)
    if real > 0:
        raise _mixture(
            f"survey {registered.survey.name} has {counted(real, 'report')} not simulated, and simulated ones cannot "
            "be taken out again"
        )
    return str(parts[0].birth)


def _refuse_files(name: str, birth: str, data_dir: Path) -> None:
    """Refuse to mix devices with drawn values into a survey that rows of files were sent to from this machine."""
    rows = rows_sent(birth, data_dir)
    if rows:
        raise _mixture(
            f"survey {name} has rows of a file ({rows:,} at most), and simulated values cannot be taken out again"
        )


def _mixture(why: str) -> OperationError:
    """The refusal to mix simulated and real reports."""
    return OperationError(f"{why}; use another survey, or --into-real")


@contextmanager
def _people(
    file: ValuesFile | None,
    distribution: str | None,
    seed: int | None,
    data_dir: Path,
    devices: int | None,
    again: bool,
    survey: Survey,
    collection: Callable[[], Collection],
    in_order: bool = True,
) -> Iterator[Sending]:
    """The devices: those rows of a file that have not reported, or simulated ones; only the former ask a server."""
    if file is not None:
        with sending(file, collection(), data_dir, devices, again, in_order) as people:
            yield people
        return
    shape = distribution or DEFAULT_DISTRIBUTION
    yield Sending(Population(shape, survey.mechanism.domain, np.random.default_rng(seed)), devices or 0, None)
