"""Stream orders: right code is right under all, and each kind of missing sync shows under the one that it must."""

from typing import Any

Scenarios = dict[str, Any]


def orders_that_show(seen: dict[str, bool]) -> set[str]:
    return {order for order, right in seen.items() if not right}


def test_arithmetic(scenarios: Scenarios) -> None:
    assert scenarios["arithmetic"] == [2, 2, 2]


def test_synced_code_is_right_under_every_order(scenarios: Scenarios) -> None:
    for name in ("example_eager", "example_graph", "example_graph_inputs_in_place"):
        assert scenarios[name] and orders_that_show(scenarios[name]) == set(), name


def test_quantized_expert_beside_attention_is_right_under_every_order(scenarios: Scenarios) -> None:
    assert orders_that_show(scenarios["quantized_expert_in_a_graph"]) == set()


def test_missing_wait_shows_with_side_streams_first(scenarios: Scenarios) -> None:
    for name in ("example_eager_without_wait", "example_graph_without_wait"):
        shown = orders_that_show(scenarios[name])
        assert "side_first" in shown and not shown & {"serial", "side_last"}, name


def test_missing_record_shows_with_side_streams_first(scenarios: Scenarios) -> None:
    shown = orders_that_show(scenarios["example_eager_without_record"])
    assert "side_first" in shown and not shown & {"serial", "side_last"}


def test_missing_record_stream_shows_with_side_streams_last(scenarios: Scenarios) -> None:
    shown = orders_that_show(scenarios["example_graph_without_record_stream"])
    assert "side_last" in shown and not shown & {"serial", "side_first"}


def test_missing_join_shows_with_side_streams_last(scenarios: Scenarios) -> None:
    shown = orders_that_show(scenarios["example_eager_read_at_once"])
    assert "side_last" in shown and not shown & {"serial", "side_first"}


def test_order_only_sync_shows_nowhere(scenarios: Scenarios) -> None:
    assert orders_that_show(scenarios["example_graph_without_order"]) == set()


def test_buffer_filled_before_its_former_owner_is_done(scenarios: Scenarios) -> None:
    assert scenarios["empty_buffer"] == {"serial": True, "side_first": False}


def test_directed_orders_reach_a_race_far_from_the_start(scenarios: Scenarios) -> None:
    write_first, read_first = 1.0, 0.0
    assert scenarios["directed"] == {
        "serial": write_first,
        "before:30": write_first,
        "before:31": read_first,
        "after:30": read_first,
        "after:31": write_first,
    }


def test_directed_orders_hold_inside_a_replay(scenarios: Scenarios) -> None:
    assert scenarios["directed_replay"] == {
        "before:0": True,
        "before:2": False,
        "before:3": True,
        "after:1": False,
        "after:2": True,
    }


def test_polling_host_gets_on(scenarios: Scenarios) -> None:
    assert scenarios["copies"] is True
