"""Operations that touch the world outside: tokens, channels, collectives, custom calls."""
