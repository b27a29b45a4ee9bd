"""A recorded program writes what it likes into the memory that it shares with the recorder: that ends in
good order, in bounded memory, and the trace can be read."""

from harness import Case, fault


@fault("scribbled", {how: how for how in ("noise", "records", "pids", "tick", "truncate")})
def scribbled(case: Case) -> None:
    case.mode = case.dice.choice([["--exact"], ["--exact"], []])
    log = case.new_log()
    command = [str(case.programs / "scribbler"), str(log), case.variant,
               str(case.dice.randint(1, 1 << 30)), str(case.dice.randint(20, 400))]
    recorded = case.run(case.recorder(command))
    case.demand(recorded.status >= 0, f"the recorder died of signal {-recorded.status}")
    case.demand(b"no memory" not in recorded.out, "the shared memory was not found")
    case.one_sentence(recorded.err)
    case.memory_is_bounded()
    foreign = set(case.tally()["names"]) - case.names - {"scribbler"}
    case.demand(case.variant != "pids" or not foreign,
                f"other people's processes are in the trace: {sorted(foreign)}")
    case.report()
    case.report("lines")
