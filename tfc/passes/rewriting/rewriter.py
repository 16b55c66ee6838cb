"""The driver that applies rewrite rules to a module until none applies.

What a rule does to an instruction depends on nothing but the instruction and what it is made of,
and neither changes. So an instruction is looked at once: one to which no rule applies is final,
whoever uses it, and so is what another became. The parts of a replacement are looked at before it.

Nothing is done to an instruction that no rule matches.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from tfc.errors import InternalError
from tfc.hlo.ir import Instruction, Module, has_side_effect, map_computations, rebuild
from tfc.hlo.op import OPS
from tfc.passes.rewriting.patterns import Function, Pattern, Rule, constant_value

_MOST_ROUNDS = 64
_MOST_STEPS = 64  # rules applied for each instruction of a module, on average
_CONSTANT = "constant value"


class RuleTable:
    """Rules and functions by opcode, and which of them may match what; shared by many runs."""

    def __init__(self, rules: Sequence[Rule], functions: Mapping[str, Sequence[Function]]):
        self._functions = {opcode: tuple(several) for opcode, several in functions.items()}
        self._rules: dict[str, list[Rule]] = {}
        for rule in rules:
            self._rules.setdefault(rule.left.name, []).append(rule)
        self._known: dict[Hashable, tuple[Function, ...]] = {}

    def candidates(self, instruction: Instruction) -> tuple[Function, ...]:
        """What to try at an instruction: its opcode's, and of the rules those that may match."""
        opcode = instruction.opcode
        rules = self._rules.get(opcode)
        if rules is None:
            return self._functions.get(opcode, ())
        operands = instruction.operands
        kinds = tuple([_CONSTANT if _is_constant(o) else o.opcode for o in operands])
        repeated = len(set(operands)) < len(operands)
        key = (opcode, kinds, repeated)
        found = self._known.get(key)
        if found is None:
            chosen = [r for r in rules if _may_match(r.left, kinds, repeated)]
            found = (*self._functions.get(opcode, ()), *chosen)
            self._known[key] = found
        return found


class Rewriter:
    """Applies a table of rules to modules, counting how often each was used."""

    def __init__(self, table: RuleTable):
        self.counts: Counter[str] = Counter()
        self._table = table
        self._final: dict[Instruction, Instruction] = {}  # what became of each, in the end
        self._held: list[Instruction] = []  # not final, but not to be touched in this round
        self._steps = 0
        self._budget = 0

    def run(self, module: Module) -> Module:
        """The module to which no rule applies.

        Raises:
            InternalError: the rules undo one another; it names those that were still applied.
        """
        self._final.clear()
        size = sum(len(c.instructions) for c in module.computations)
        self._steps, self._budget = 0, _MOST_STEPS * (size + _MOST_STEPS)
        for _ in range(_MOST_ROUNDS):
            module = map_computations(module, lambda c: rebuild(c, self.rewrite))
            if not self._held:
                self._final.clear()
                return module
            for instruction in self._held:
                del self._final[instruction]
            self._held.clear()
        raise InternalError(f"rewriting does not settle on module {module.name}")

    def rewrite(self, instruction: Instruction) -> Instruction:
        """The instruction after all rules that apply to it and to what it is made of.

        Iterative: replacements nest as deep as the module.
        """
        final, stack = self._final, [instruction]
        became: dict[Instruction, Instruction] = {}
        while stack:
            old = stack[-1]
            now = became.get(old, old)
            if now in final:
                final[old] = final[now]
                stack.pop()
                continue
            operands = tuple([final.get(o) for o in now.operands])
            if None in operands:
                stack.extend([o for o in now.operands if o not in final])
                continue
            if operands != now.operands:
                now = now.with_(operands=operands)
            after = self._step(now)
            if after is None:
                final[old] = final[now] = now
                stack.pop()
            elif has_side_effect(now):
                # The effects hang on all of it until they are among the computation's own.
                final[old] = final[after] = after
                self._held.append(after)
                stack.pop()
            else:
                became[old] = after
        return final[instruction]

    def _step(self, instruction: Instruction) -> Instruction | None:
        for function in self._table.candidates(instruction):
            result = function(instruction)
            # A layout that somebody chose is kept: only replacements of the very shape will do.
            if result is not None and result.shape == instruction.shape:
                self._count(function, instruction)
                return result
        return None

    def _count(self, function: Function, instruction: Instruction) -> None:
        self.counts[function.name if isinstance(function, Rule) else function.__name__] += 1
        self._steps += 1
        if self._steps == self._budget:
            self.counts.clear()  # what is counted from here on goes round in a circle
        if self._steps > self._budget + _MOST_STEPS:
            cycle = ", ".join(sorted(self.counts))
            raise InternalError(f"rewriting does not settle at {instruction.name}: {cycle}")


def _is_constant(instruction: Instruction) -> bool:
    return (
        instruction.opcode in ("broadcast", "constant") and constant_value(instruction) is not None
    )


def _may_match(pattern: Pattern, kinds: tuple[str, ...], repeated: bool) -> bool:
    """Whether an instruction whose operands are of these kinds can be the pattern."""
    if len(kinds) != len(pattern.operands):
        return False
    names = [o.name for o in pattern.operands if o.kind == "variable"]
    if len(set(names)) < len(names) and not repeated:
        return False
    orders = [kinds, kinds[::-1]] if OPS[pattern.name].commutative else [kinds]
    return any(all(_fits(o, k) for o, k in zip(pattern.operands, order)) for order in orders)


def _fits(pattern: Pattern, kind: str) -> bool:
    if pattern.kind == "op":
        return pattern.name == kind
    return pattern.kind == "variable" or kind == _CONSTANT
