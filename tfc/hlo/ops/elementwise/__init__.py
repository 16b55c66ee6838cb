"""Operations whose result element depends on the operands' elements at the same place alone."""
