"""Constants in a text: literals, tuples of them, and what is made up where the text has {...}."""

from collections.abc import Callable

from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.lexer import Lexer
from tfc.hlo.literal import Literal
from tfc.hlo.shape import Shape, TokenShape, TupleShape
from tfc.hlo.text.fill import Fill
from tfc.hlo.text.literal_text import parse_literal


class ConstantParser:
    """Reads the literals of constants.

    `fill` makes up those that the text leaves out; None refuses them.
    """

    def __init__(self, lexer: Lexer, fill: Fill | None):
        self.lexer, self.fill = lexer, fill

    def literal(self, shape: Shape, name: str) -> Literal:
        """The literal of the constant `name`, or one that is made up."""
        start = self.lexer.start
        if not self.lexer.elided():
            return parse_literal(self.lexer, shape)
        if self.fill is None:
            self.lexer.error(
                f"the elements of the constant {name} are left out: print the module with "
                "print_large_constants, or make some up with --fill-constants",
                start,
            )
        return self.fill(shape)

    def parts(
        self, shape: TupleShape, name: str, add: Callable[[Instruction], Instruction]
    ) -> tuple[Instruction, ...]:
        """`(literal, …)`, a constant for each; `{...}` stands for all of them, too.

        Args:
            add: enters an instruction into the body.
        """
        lexer, made, start = self.lexer, [], self.lexer.start
        whole = lexer.elided()
        if not whole:
            lexer.expect("(")
        for element in shape.elements:
            if whole:
                lexer.seek(start)  # to be read for each element
            elif made:
                lexer.accept(",")
            if isinstance(element, TupleShape):
                inner = self.parts(element, name, add)
                made.append(add(Instruction("tuple", inner, element, name="tuple")))
            elif isinstance(element, TokenShape):
                lexer.error("a constant cannot hold a token")
            else:
                literal = Attributes(literal=self.literal(element, name))
                made.append(add(Instruction("constant", (), element, literal, "constant")))
        if not whole:
            lexer.expect(")")
        return tuple(made)
