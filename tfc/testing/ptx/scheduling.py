"""Running a batch of blocks: the threads of one segment at a time.

Threads that can run are kept by the segment they are in. The first segment is next, so threads that
parted wait where they meet again; now and then whole warps that are further on get their turn, as
they may be what others wait for.
"""

from collections import Counter

import numpy as np

from tfc.testing.ptx.instructions.clusters import ClusterWait
from tfc.testing.ptx.instructions.control import Barrier, Barriers, Branch, Finish, Table
from tfc.testing.ptx.instructions.phases import PhaseWait, note_over
from tfc.testing.ptx.instructions.warpgroups import Together
from tfc.testing.ptx.program import Code, Program, Step
from tfc.testing.ptx.state.faults import Fault, Place, Violation
from tfc.testing.ptx.state.phases import Parked
from tfc.testing.ptx.state.threads import ALL, Lanes, Threads

FAIRNESS = 256  # segments until others get a turn


class Scheduler:
    """Runs a program with a batch's threads.

    Args:
        budget: instructions that may be issued; more are an infinite loop.
    """

    def __init__(self, program: Program, threads: Threads, budget: int):
        self.program, self.threads, self.budget = program, threads, budget
        self.ready: dict[int, list[Lanes]] = {0: [ALL]}
        self.barriers = Barriers(threads)
        self.at_cluster: list[tuple[Code, np.ndarray]] = []
        self.gathering: dict[int, tuple[Code, np.ndarray]] = {}
        self.counts: Counter[int] = Counter()
        self.place = Place(program.name)
        self.lanes: Lanes = ALL

    def run(self) -> None:
        """Run all threads to their end.

        Raises:
            Fault: a thread does what it must not.
        """
        turns = 0
        try:
            with np.errstate(all="ignore"):
                while self._is_any_ready():
                    turns += 1
                    if turns % FAIRNESS == 0 and len(self.ready) > 1:
                        self._run_later_warps()
                    number = min(self.ready)
                    self._run(number, self._taken(number))
                self._check_all_left()
                if self.threads.bulk is not None:
                    self.threads.bulk.finish()
                    self.threads.clusters.finish()
                    self.threads.warpgroups.finish()
        except Violation as violation:
            raise self._fault(violation) from None
        for number, lanes in self.counts.items():
            for opcode, times in self.program.code[number].opcodes.items():
                self.threads.report.instructions[opcode] += times * lanes

    def _is_any_ready(self) -> bool:
        """Whether any thread can run, once copies that nobody asks for have come to their end."""
        phases = self.threads.phases
        if phases is not None:
            if phases.has_ended:
                phases.wake()
            if not self.ready and phases.parked:
                self.threads.bulk.land()
                phases.wake()
        if self.at_cluster:
            self._wake_clusters()
        return bool(self.ready)

    def _wake_clusters(self) -> None:
        """Let those go on whose cluster's barrier is complete."""
        clusters = self.threads.clusters
        clusters.settle()
        waiting, self.at_cluster = self.at_cluster, []
        for code, lanes in waiting:
            over = clusters.are_over(lanes)
            if over.any():
                clusters.go_on(lanes[over])
                self._add(code.following, lanes[over])
            if not over.all():
                self.at_cluster.append((code, lanes[~over]))

    def _taken(self, number: int) -> Lanes:
        parts = self.ready.pop(number)
        if len(parts) == 1:
            return parts[0]
        lanes = np.sort(np.concatenate(parts))
        return ALL if len(lanes) == self.threads.count else lanes

    def _run_later_warps(self) -> None:
        """Give warps a turn of which no thread is in the first segment."""
        t = self.threads
        first, *others = sorted(self.ready)
        behind = np.zeros(t.warps, bool)
        for part in self.ready[first]:
            behind[t.warp[part]] = True
        for number in others:
            lanes = t.lane_numbers(self._taken(number))
            free = ~behind[t.warp[lanes]]
            behind[t.warp[lanes]] = True
            if not free.all():
                self._add(number, lanes[~free])
            if free.any():
                self._run(number, lanes[free])

    def _add(self, number: int | None, lanes: Lanes) -> None:
        if number is None:
            self.threads.exited[lanes] = True
        elif isinstance(lanes, slice) or len(lanes):
            self.ready.setdefault(number, []).append(lanes)

    # --- One segment ------------------------------------------------------------------------------

    def _run(self, number: int, lanes: Lanes) -> None:
        t, code = self.threads, self.program.code[number]
        self.budget -= len(code.steps) + 1
        if self.budget < 0:
            raise Violation("budget", "the budget of instructions is spent: an endless loop?")
        t.clock += len(code.steps) + 1
        self.counts[number] += t.how_many(lanes)
        for step in code.steps:
            self.lanes = lanes
            if step.predicate is not None or step.checks or step.marks or step.touches:
                self._run_checked(step, lanes)
            else:
                self._step = step
                step.run(t, lanes)
        self.lanes = lanes
        if code.end is None:
            self._add(code.following, lanes)
        else:
            self._leave(code, lanes)

    def _run_checked(self, step: Step, lanes: Lanes) -> None:
        t = self.threads
        self._step = step
        is_copy = step.instruction.opcode == "mov" and len(step.reads) == 1 == len(step.writes)
        if step.predicate is not None:
            mask = np.broadcast_to(step.predicate(t, lanes), (t.how_many(lanes),))
            if not mask.any():
                return
            lanes = self.lanes = t.within(lanes, mask)
        if not (is_copy and step.predicate is None):
            self._check_written(step, lanes)
        if step.touches:
            t.warpgroups.touch(step.touches, lanes)
        step.run(t, lanes)
        copied = step.checks and is_copy and step.predicate is None
        for register in step.marks:
            t.written[register][lanes] = t.written[step.checks[0]][lanes] if copied else True

    def _check_written(self, step: Step, lanes: Lanes) -> None:
        for register in step.checks:
            written = self.threads.written[register][lanes]
            if not written.all():
                name = self.program.names[register]
                raise Violation("uninitialized", f"a read of register {name}, never written",
                                int(np.flatnonzero(~written)[0]))  # fmt: skip

    # --- Where threads go -------------------------------------------------------------------------

    def _leave(self, code: Code, lanes: Lanes) -> None:
        t, end = self.threads, code.end
        assert code.end_step is not None
        self._step = code.end_step
        self._check_written(code.end_step, lanes)
        if code.end_step.touches:
            t.warpgroups.touch(code.end_step.touches, lanes)
        for register in code.end_step.marks:
            t.written[register][lanes] = True
        taken, rest = lanes, None
        if end is not None and end.predicate is not None:
            mask = np.broadcast_to(end.predicate(t, lanes), (t.how_many(lanes),))
            taken, rest = t.within(lanes, mask), t.within(lanes, ~mask)
            if not mask.any():
                taken = None
            if mask.all():
                rest = None
            if taken is not None and rest is not None:
                both = np.zeros(t.warps, bool)
                both[t.warp[taken]] = True
                t.report.divergent_branches += int(np.count_nonzero(
                    np.bincount(t.warp[rest][both[t.warp[rest]]])))  # fmt: skip
        if rest is not None:
            self._add(code.following, rest)
        if taken is None:
            return
        match end:
            case Finish():
                t.exited[taken] = True
            case Branch():
                self._add(code.targets[0], taken)
            case Table():
                self._follow_table(code, end, taken)
            case Barrier():
                for some, number in self.barriers.arrive(
                    end, t.lane_numbers(taken), code.following
                ):
                    self._add(number, some)
            case PhaseWait():
                self._wait(end, code, t.lane_numbers(taken))
            case ClusterWait():
                some = t.lane_numbers(taken)
                t.clusters.are_over(some)  # refuses those that have not arrived
                self.at_cluster.append((code, some))
            case Together():
                self._gather(end, code, t.lane_numbers(taken))

    def _wait(self, end: PhaseWait, code: Code, lanes: np.ndarray) -> None:
        """Threads whose phase is over go on; others are told once that it is not, then sleep."""
        t = self.threads
        places = end.places(t, lanes)
        numbers = end.numbers(t, lanes, places)
        patient = t.phases.patient[lanes]
        t.bulk.land(places[patient])
        over = t.phases.are_over(places, numbers)
        sleep = ~over & patient
        t.phases.patient[lanes] = ~over & ~sleep
        note_over(t, lanes[over], places[over])
        end.write(t, lanes[~sleep], over[~sleep])
        self._add(code.following, lanes[~sleep])

        def go_on(some: np.ndarray, places: np.ndarray) -> None:
            note_over(t, some, places)
            end.write(t, some, np.ones(len(some), bool))
            self._add(code.following, some)

        if sleep.any():
            t.phases.parked.append(
                Parked(lanes[sleep], places[sleep], numbers[sleep], go_on, code.end_step)
            )

    def _gather(self, end: Together, code: Code, lanes: np.ndarray) -> None:
        """Threads wait for the others of their warpgroup, and do the instruction together."""
        t = self.threads
        _, earlier = self.gathering.pop(id(end), (code, lanes[:0]))
        lanes = np.sort(np.concatenate([earlier, lanes])) if len(earlier) else lanes
        group = t.warpgroups.number
        alive = np.bincount(group[~t.exited], minlength=group[-1] + 1)
        complete = (np.bincount(group[lanes], minlength=group[-1] + 1) == alive)[group[lanes]]
        if not complete.all():
            self.gathering[id(end)] = (code, lanes[~complete])
        if complete.any():
            self.lanes = lanes[complete]
            end.run(t, self.lanes)
            self._add(code.following, self.lanes)

    def _follow_table(self, code: Code, end: Table, lanes: Lanes) -> None:
        t = self.threads
        index = np.broadcast_to(end.index(t, lanes), (t.how_many(lanes),))
        outside = index >= len(code.targets)
        if outside.any():
            raise Violation("out-of-bounds", "an index beyond the table of a branch",
                            int(np.flatnonzero(outside)[0]))  # fmt: skip
        for value in np.unique(index):
            self._add(code.targets[int(value)], t.within(lanes, index == value))

    def _check_all_left(self) -> None:
        phases = self.threads.phases
        if phases is not None and phases.parked:
            parked = phases.parked[0]
            self.lanes, self._step = parked.lanes, parked.end
            lack = phases.lack(int(parked.places[0]))
            raise Violation("barrier", f"a wait for a phase that never ends: {lack}", 0)
        for code, lanes in self.at_cluster:
            assert code.end_step is not None
            self.lanes, self._step = lanes, code.end_step
            raise Violation("barrier", "a barrier that some threads of the cluster never reach", 0)
        for code, lanes in self.gathering.values():
            assert code.end_step is not None
            self.lanes, self._step = lanes, code.end_step
            raise Violation("divergence", "some threads of the warpgroup never come here", 0)
        waiting = [entry for entries in self.barriers.waiting.values() for entry in entries]
        if waiting:
            ended = int(np.count_nonzero(self.threads.exited))
            self.lanes = waiting[0].lanes
            for code in self.program.code:
                if code.end is waiting[0].barrier and code.end_step is not None:
                    self._step = code.end_step
            raise Violation(
                "barrier",
                "a barrier that some threads of the block never reach "
                f"({sum(len(w.lanes) for w in waiting)} wait, {ended} have ended)",
                0,
            )

    def _fault(self, violation: Violation) -> Fault:
        t, instruction = self.threads, self._step.instruction
        place = Place(self.program.name, instruction.line, instruction.text)
        thread = block = None
        if violation.lane is not None:
            lanes = t.lane_numbers(self.lanes)
            thread, block = t.position(int(lanes[min(violation.lane, len(lanes) - 1)]))
        return Fault(violation.kind, violation.message, place, thread, block, violation.address)
