"""Captured graphs: what npugraph_ex issues, what a capture refuses, replay."""

from typing import Any

Scenarios = dict[str, Any]


def by_role(launches: list[list[Any]]) -> list[str]:
    """The launches as short text, with streams named by their part in the example."""
    origin = launches[0][2]
    products = [stream for _, operator, stream, _, _ in launches if operator == "aclnnMm" and stream != origin]
    sides = {stream for _, _, stream, _, _ in launches} - {origin, products[0]} - {1}
    names = {origin: "main", products[0]: "stream1", sides.pop(): "stream2", 1: "caller"}
    events: dict[int, int] = {}
    return [
        f"{names[stream]} {operator.removeprefix('aclnn') or call}"
        + ("" if event is None else f" e{events.setdefault(event, len(events))}")
        for call, operator, stream, event, _ in launches
    ]


def test_launches_of_the_documentations_example(scenarios: Scenarios) -> None:
    assert by_role(scenarios["example_graph_launches"]) == [
        "main capture_begin",
        "main record e0",
        "stream2 wait e0",
        "stream1 wait e0",
        "main Add",
        "main Add",
        "main record e1",
        "stream1 wait e1",
        "stream1 Mm",
        "stream1 record e2",
        "main Mm",
        "stream2 wait e2",
        "stream2 Add",
        "stream1 record e3",
        "main wait e3",
        "stream2 record e4",
        "main wait e4",
        "main capture_end",
        "caller replay",
    ]


def test_launches_are_numbered_within_the_graph(scenarios: Scenarios) -> None:
    numbers = [node for call, _, _, _, node in scenarios["example_graph_launches"] if call == "launch"]
    assert numbers == [0, 1, 2, 3, 4]


def test_replay_copies_the_inputs_and_launches_nothing_else(scenarios: Scenarios) -> None:
    assert scenarios["graph_replays_do_not_launch_again"] == ["launch", "replay", "sync"]


def test_unjoined_stream_is_refused(scenarios: Scenarios) -> None:
    assert "error code is 107025" in scenarios["unjoined_capture"]


def test_host_sync_in_a_capture_is_refused(scenarios: Scenarios) -> None:
    assert "error code is 107027" in scenarios["sync_in_capture"]


def test_plain_graph_replays_on_new_input_and_an_empty_one_is_accepted(scenarios: Scenarios) -> None:
    assert scenarios["plain_graph"] == [2]


def test_core_limits_reach_the_operators(scenarios: Scenarios) -> None:
    assert scenarios["cores"] == [
        ["aclnnAdds", 24, 48],
        ["aclnnMm", 4, 8],
        ["aclnnMuls", 2, 3],
        ["aclnnInplaceAdds", 24, 48],
    ]
